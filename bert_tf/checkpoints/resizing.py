"""Changes of size that somebody asks for: the length of the position table, the vocabulary."""

import dataclasses

import numpy as np

from bert_tf.errors import InputError
from bert_tf.text import vocab

_POSITIONS = "encoder/embeddings/position"
_WORDS = "encoder/embeddings/word"
_OUTPUT_BIAS = "masked_lm/output_bias"


def extend_positions(contents, num_positions):
    """Gives the position table another length.

    A longer table repeats the one there is from its start, as Longformer does (Beltagy et al.
    2020, section 5: position embeddings are copied "multiple times" for "a strong bias to
    attending to the local context"). A shorter one is its start.

    Args:
      contents: `Contents`.
      num_positions: int, rows wanted.

    Returns:
      (new `Contents`, str that says what was done).
    """
    table = contents.arrays[_POSITIONS]
    found = len(table)
    if num_positions < 1:
        raise InputError(f"--extend_positions={num_positions} must be at least 1.")
    rows = np.arange(num_positions) % found
    text = (
        f"Positions: {found} -> {num_positions}; the rows from {found} on repeat those from 0 on, "
        "to be trained further."
    )
    if num_positions <= found:
        text = f"Positions: {found} -> {num_positions}; the rows from {num_positions} on are gone."
    config = dataclasses.replace(contents.config, max_position_embeddings=num_positions)
    arrays = contents.arrays | {_POSITIONS: table[rows]}
    return dataclasses.replace(contents, config=config, arrays=arrays), text


def vocab_subset(contents, vocab_file):
    """Keeps the rows of the tokens of a smaller vocabulary, in its order.

    Args:
      contents: `Contents` with a vocabulary.
      vocab_file: path of a vocab.txt, every token of which the present one has.

    Returns:
      (new `Contents`, str that says what was done).

    Raises:
      InputError: there is no vocabulary to choose from, or it lacks a token.
    """
    if not contents.vocab_file:
        raise InputError(
            f"--vocab_subset chooses tokens by name, and {contents.source} has no vocabulary "
            "beside it. Give --vocab_file of its model."
        )
    there = vocab.from_file(contents.vocab_file, "vocabulary")
    wanted = vocab.from_file(vocab_file, "--vocab_subset")
    rows = contents.arrays[_WORDS].shape[0]
    if missing := [t for t in wanted.tokens if there.ids.get(t, rows) >= rows]:
        raise InputError(
            f"--vocab_subset={vocab_file} has {len(missing)} tokens that {contents.source} has no "
            f"embedding of: {', '.join(missing[:20])}{' ...' if len(missing) > 20 else ''}. Take "
            "them out; a subset only leaves tokens away."
        )
    chosen = [there.ids[token] for token in wanted.tokens]
    arrays = dict(contents.arrays)
    for path in (_WORDS, _OUTPUT_BIAS):
        if path in arrays:
            arrays[path] = arrays[path][chosen]
    return dataclasses.replace(
        contents,
        config=dataclasses.replace(contents.config, vocab_size=len(wanted)),
        arrays=arrays,
        vocab_file=vocab_file,
    ), f"Vocabulary: {rows} rows -> {len(wanted)}, those of the tokens in {vocab_file}."

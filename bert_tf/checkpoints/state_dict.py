"""A model without a framework: its arrays under our paths, and all that travels with them."""

import dataclasses

import numpy as np

from bert_tf.checkpoints.kinds import KINDS, default_labels
from bert_tf.checkpoints.variables import POOLER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text import vocab

_POSITIONS = "encoder/embeddings/position"
_WORDS = "encoder/embeddings/word"
_OUTPUT_BIAS = "masked_lm/output_bias"


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateDict:
    """What a checkpoint of any format holds.

    Attributes:
      config: of the encoder.
      arrays: float32 arrays by the path of the variable.
      kind: key of `kinds.KINDS`.
      source: where it was read.
      vocab_file: path of a vocab.txt, or None.
      do_lower_case: casing of the text side; None if the checkpoint does not say.
      labels: label of each output of a classifier; () if the checkpoint does not say.
      num_texts: texts per example; None if the checkpoint does not say.
    """

    config: BertConfig
    arrays: dict[str, np.ndarray]
    kind: str
    source: str
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    labels: tuple[str, ...] = ()
    num_texts: int | None = None

    @property
    def num_outputs(self) -> int:
        """C: outputs of the classifier; 0 without one."""
        bias = self.arrays.get("classifier/bias")
        return 0 if bias is None else len(bias)

    @property
    def output_labels(self) -> tuple[str, ...]:
        """A label for each output, if need be LABEL_0, LABEL_1 ...; () for a kind without any."""
        if not KINDS[self.kind].is_labelled:
            return ()
        return self.labels or default_labels(self.num_outputs)

    def with_pooler(self) -> "StateDict":
        """The same with a pooler; one that is missing gets the initial weights of training."""
        if POOLER[0] in self.arrays:
            return self
        size = self.config.hidden_size
        draws = np.random.default_rng(0).normal(size=2 * size * size)
        kernel = draws[np.abs(draws) < 2][: size * size]  # truncated, as the released code's
        kernel = kernel.reshape(size, size) * self.config.initializer_range
        pooler = zip(POOLER, (kernel, np.zeros(size)), strict=True)
        arrays = {path: array.astype(np.float32) for path, array in pooler}
        return dataclasses.replace(self, arrays=self.arrays | arrays)


def extend_positions(state_dict: StateDict, num_positions: int) -> tuple[StateDict, str]:
    """Gives the position table another length.

    A longer table repeats the present one from its start, as Longformer does (Beltagy et al. 2020,
    section 5: position embeddings are copied "multiple times" for "a strong bias to attending to
    the local context"). A shorter one is its start.

    Returns:
      The new state dict, and a sentence that says what was done.

    Raises:
      InputError: `num_positions` is below 1.
    """
    table = state_dict.arrays[_POSITIONS]
    present = len(table)
    if num_positions < 1:
        raise InputError(f"--extend_positions={num_positions} must be at least 1.")
    if num_positions <= present:
        change = f"the rows from {num_positions} on are gone."
    else:
        change = f"the rows from {present} on repeat those from 0 on, to be trained further."
    config = dataclasses.replace(state_dict.config, max_position_embeddings=num_positions)
    arrays = state_dict.arrays | {_POSITIONS: table[np.arange(num_positions) % present]}
    changed = dataclasses.replace(state_dict, config=config, arrays=arrays)
    return changed, f"Positions: {present} -> {num_positions}; {change}"


def vocab_subset(state_dict: StateDict, vocab_file: str) -> tuple[StateDict, str]:
    """Keeps only the rows of the tokens of a smaller vocabulary, in its order.

    Args:
      vocab_file: path of a vocab.txt, all of whose tokens the present vocabulary has.

    Returns:
      The new state dict, and a sentence that says what was done.

    Raises:
      InputError: there is no vocabulary to choose from, or it lacks a token.
    """
    if not state_dict.vocab_file:
        raise InputError(
            "--vocab_subset chooses tokens by name, and there is no vocabulary next to "
            f"{state_dict.source}. Give --vocab_file of its model."
        )
    present = vocab.from_file(state_dict.vocab_file, "vocabulary")
    wanted = vocab.from_file(vocab_file, "--vocab_subset")
    num_rows = len(state_dict.arrays[_WORDS])
    if missing := [t for t in wanted.tokens if present.ids.get(t, num_rows) >= num_rows]:
        raise InputError(
            f"--vocab_subset={vocab_file} has {len(missing)} tokens for which {state_dict.source} "
            f"has no embedding: {', '.join(missing[:20])}{' ...' if len(missing) > 20 else ''}. "
            "Remove them; a subset cannot add tokens."
        )
    rows = [present.ids[token] for token in wanted.tokens]
    arrays = dict(state_dict.arrays)
    for path in (_WORDS, _OUTPUT_BIAS):
        if path in arrays:
            arrays[path] = arrays[path][rows]
    changed = dataclasses.replace(
        state_dict,
        config=dataclasses.replace(state_dict.config, vocab_size=len(wanted)),
        arrays=arrays,
        vocab_file=vocab_file,
    )
    text = f"Vocabulary: {num_rows} rows -> {len(wanted)}, those of the tokens in {vocab_file}."
    return changed, text

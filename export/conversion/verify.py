"""Compares source and result of a conversion, both run by this package on the same texts."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_tf import checkpoints, features, files
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import POOLER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.options import Conversion

TOLERANCE = 1e-5
_MAX_TEXTS = 64
_MAX_TOKENS = 128

_TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "BERT is conceptually simple and empirically powerful.",
    "Who was Jim Henson? Jim Henson was a puppeteer.",
    "Crème brûlée — straße, 東京 and 서울!",
    "In 1971, 3.5 % of them (unaffable) were re-counted.",
    "short",
)

WordIds = list[list[int]]  # [W (T)]


class MismatchError(ValueError):
    """The result of a conversion computes something else than its source."""


@dataclasses.dataclass(frozen=True)
class Side:
    """The source or the result.

    Attributes:
      state_dict: what the checkpoint holds.
      skip: what of it is left out, see `checkpoints.load`.
    """

    checkpoint: Checkpoint
    state_dict: StateDict
    skip: tuple[str, ...] = ()


def read_texts(options: Conversion) -> Sequence[str]:
    """The texts of the file that the options name, or those built in.

    Raises:
      InputError: the file has none.
    """
    if not options.verify_file:
        return _TEXTS
    files.require_file(options.verify_file, "--verify_file")
    with open(options.verify_file, encoding="utf-8", errors="replace") as file:
        texts = [line.strip() for line in file if line.strip()][:_MAX_TEXTS]
    if not texts:
        raise InputError(f"--verify_file={options.verify_file} has no line with text.")
    return texts


def compare(source: Side, result: Side, texts: Sequence[str]) -> str:
    """Runs both sides.

    Returns:
      A sentence with the largest difference of each output.

    Raises:
      MismatchError: one is above `TOLERANCE`.
    """
    word_ids, kept = _token_ids(source.state_dict, result.state_dict, texts)
    one, other = (
        outputs(side, _batch(rows, side.state_dict.config))
        for side, rows in zip((source, result), word_ids, strict=True)
    )
    if "masked_lm_logits" in one:
        one["masked_lm_logits"] = one["masked_lm_logits"][..., kept]
    differences = {name: float(np.abs(one[name] - other[name]).max()) for name in one}
    listed = ", ".join(f"{name} {value:.1e}" for name, value in differences.items())
    text = f"Largest difference on {len(texts)} texts: {listed}."
    if wrong := [name for name, value in differences.items() if not value <= TOLERANCE]:
        raise MismatchError(
            f"{text} Above {TOLERANCE:.0e}: {', '.join(wrong)}. Nothing was written. To write it "
            "nevertheless, leave out --verify."
        )
    return text


def _token_ids(
    source: StateDict, result: StateDict, texts: Sequence[str]
) -> tuple[tuple[WordIds, WordIds], list[int] | slice]:
    """Ids of the texts' tokens in the source and in the result, and the source's rows in both.

    The tokens are those of the result, whose vocabulary may be a part of the source's.
    """
    longest = min(source.config.max_position_embeddings, result.config.max_position_embeddings)
    longest = min(longest, _MAX_TOKENS)
    if not result.vocab_file or not source.vocab_file:
        rng = np.random.default_rng(0)
        ids = [list(rng.integers(1, result.config.vocab_size, longest)) for _ in texts]
        return (ids, ids), slice(None)
    vocabulary, sources = (vocab.from_file(path) for path in (result.vocab_file, source.vocab_file))
    tokenizer = WordPieceTokenizer(vocabulary, bool(result.do_lower_case))
    ids = [packing.pack(tokenizer.encode(text), None, vocabulary, longest)[0] for text in texts]
    kept = [sources.ids[token] for token in vocabulary.tokens]
    is_subset = vocabulary.tokens != sources.tokens
    return ([[kept[i] for i in row] for row in ids], ids), kept if is_subset else slice(None)


def _batch(word_ids: WordIds, config: BertConfig) -> dict[str, np.ndarray]:
    """The encoder's inputs: the second half of each row is of the second type."""
    second = min(1, config.type_vocab_size - 1)
    type_ids = [[0] * (len(row) // 2) + [second] * (len(row) - len(row) // 2) for row in word_ids]
    return encoder_inputs(word_ids, type_ids)


def outputs(side: Side, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the model of one side computes.

    Args:
      batch: the encoder's inputs, int32 [B T]; for a multiple choice its rows are the choices of
        one question.

    Returns:
      Float arrays by name, of the outputs whose weights the side has.
    """
    state_dict = side.state_dict
    model = _model(state_dict)
    held = state_dict.arrays.keys()
    fresh = [variable.path for variable in model.variables if variable.path not in held]
    checkpoints.load(model, side.checkpoint, skip=side.skip, fresh=fresh)
    encoder = getattr(model, "encoder", model)
    computed = {name: encoder(batch)[name] for name in ("sequence_output", "pooled_output")}
    if POOLER[0] not in held:
        del computed["pooled_output"]
    if model is not encoder:
        if state_dict.kind == "choice":
            batch = {feature.name: batch[feature.name][None] for feature in features.ENCODER_INPUTS}
        computed |= model(batch)
    if "masked_lm/output_bias" not in held:
        computed.pop("masked_lm_logits", None)
    return {name: np.asarray(value, np.float32) for name, value in computed.items()}


def _model(state_dict: StateDict) -> Any:
    metadata = model_directory.ModelMetadata(
        kind=state_dict.kind,
        task="converted",
        do_lower_case=bool(state_dict.do_lower_case),
        max_seq_length=state_dict.config.max_position_embeddings,
        labels=state_dict.output_labels,
        num_texts=2 if "next_sentence/bias" in state_dict.arrays else 1,
    )
    return model_directory.new_model(state_dict.config, metadata)

"""Source and result of a conversion, both loaded by this package, on the same texts."""

import dataclasses

import numpy as np

from bert_tf import checkpoints, features, files
from bert_tf.checkpoints import model_directory, variables
from bert_tf.errors import InputError
from bert_tf.examples import batching, packing
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer

TOLERANCE = 1e-5
_MOST_TEXTS = 64
_MOST_TOKENS = 128

_TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "BERT is conceptually simple and empirically powerful.",
    "Who was Jim Henson? Jim Henson was a puppeteer.",
    "Crème brûlée — straße, 東京 and 서울!",
    "In 1971, 3.5 % of them (unaffable) were re-counted.",
    "short",
)


class MismatchError(ValueError):
    """The result of a conversion computes something else than its source."""


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two.

    Attributes:
      checkpoint: `Checkpoint`.
      contents: `Contents`, what it holds.
      skip: what of it is left out, see `checkpoints.load`.
    """

    checkpoint: object
    contents: object
    skip: tuple = ()


def read_texts(options):
    """The texts that the options name, or those built in.

    Raises:
      InputError: the file has none.
    """
    if not options.verify_file:
        return _TEXTS
    files.require_file(options.verify_file, "--verify_file")
    with open(options.verify_file, encoding="utf-8", errors="replace") as file:
        texts = [line.strip() for line in file if line.strip()][:_MOST_TEXTS]
    if not texts:
        raise InputError(f"--verify_file={options.verify_file} has no line with text.")
    return texts


def compare(source, result, texts):
    """Runs both sides.

    Args:
      source, result: `Side`.
      texts: list of str.

    Returns:
      str, the largest difference of each output, for people.

    Raises:
      MismatchError: one is above `TOLERANCE`.
    """
    word_ids, kept = _token_ids(source.contents, result.contents, texts)
    one, other = (
        outputs(side, _batch(rows, side.contents.config))
        for side, rows in zip((source, result), word_ids, strict=True)
    )
    if "masked_lm_logits" in one:
        one["masked_lm_logits"] = one["masked_lm_logits"][..., kept]
    differences = {name: float(np.abs(one[name] - other[name]).max()) for name in one}
    listed = ", ".join(f"{name} {value:.1e}" for name, value in differences.items())
    text = f"Largest difference on {len(texts)} texts: {listed}."
    if wrong := [name for name, value in differences.items() if not value <= TOLERANCE]:
        raise MismatchError(
            f"{text} Above {TOLERANCE:.0e}: {', '.join(wrong)}. Nothing was written. Leave out "
            "--verify to write it all the same."
        )
    return text


def _token_ids(source, result, texts):
    """(rows of ids for the source, the same tokens' ids for the result, kept rows of the source).

    The tokens are those of the result, whose vocabulary may be a part of the source's.
    """
    longest = min(source.config.max_position_embeddings, result.config.max_position_embeddings)
    longest = min(longest, _MOST_TOKENS)
    if not result.vocab_file or not source.vocab_file:
        rng = np.random.default_rng(0)
        ids = [list(rng.integers(1, result.config.vocab_size, longest)) for _ in texts]
        return (ids, ids), slice(None)
    vocabulary, there = (vocab.from_file(side.vocab_file) for side in (result, source))
    tokenizer = WordPieceTokenizer(vocabulary, result.do_lower_case)
    ids = [packing.pack(tokenizer.encode(text), None, vocabulary, longest)[0] for text in texts]
    kept = [there.ids[token] for token in vocabulary.tokens]
    is_subset = vocabulary.tokens != there.tokens
    return ([[kept[i] for i in row] for row in ids], ids), kept if is_subset else slice(None)


def _batch(word_ids, config):
    """The encoder's inputs: the second half of each row is of the second type."""
    second = min(1, config.type_vocab_size - 1)
    type_ids = [[0] * (len(row) // 2) + [second] * (len(row) - len(row) // 2) for row in word_ids]
    return batching.encoder_inputs(word_ids, type_ids)


def outputs(side, batch):
    """What the model of one side computes.

    Args:
      side: `Side`.
      batch: dict of the encoder's inputs, int32 [B T]; its rows are the choices of one question
        where that is the kind of model.

    Returns:
      dict from the name of an output to a float array; of outputs whose weights it has.
    """
    contents = side.contents
    model = _model(contents)
    told = contents.arrays.keys()
    fresh = [variable.path for variable in model.variables if variable.path not in told]
    checkpoints.load(model, side.checkpoint, skip=side.skip, fresh=fresh)
    encoder = getattr(model, "encoder", model)
    found = {name: encoder(batch)[name] for name in ("sequence_output", "pooled_output")}
    if variables.POOLER[0] not in told:
        del found["pooled_output"]
    if model is not encoder:
        if contents.kind == "choice":
            batch = {feature.name: batch[feature.name][None] for feature in features.ENCODER_INPUTS}
        found |= model(batch)
    if "masked_lm/output_bias" not in told:
        found.pop("masked_lm_logits", None)
    return {name: np.asarray(value, np.float32) for name, value in found.items()}


def _model(contents):
    metadata = model_directory.ModelMetadata(
        kind=contents.kind,
        task="converted",
        do_lower_case=bool(contents.do_lower_case),
        max_seq_length=contents.config.max_position_embeddings,
        labels=variables.default_labels(contents.num_outputs),
        num_texts=2 if "next_sentence/bias" in contents.arrays else 1,
    )
    return model_directory.new_model(contents.config, metadata)

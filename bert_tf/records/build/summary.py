"""What a build read and made: counts that add up over its parts, shares and warnings."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bert_tf.examples.choices import EXAMPLE_TYPES
from bert_tf.formatting import size
from bert_tf.options import PretrainingData
from bert_tf.text.vocab import Vocabulary

_MANY_UNKNOWN = 0.05
_MANY_CAPPED = 0.05


@dataclasses.dataclass(frozen=True)
class Counts:
    """Numbers that add up."""

    def __add__(self, other: Self) -> Self:
        fields = dataclasses.fields(self)
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields))


@dataclasses.dataclass(frozen=True)
class TextCounts(Counts):
    """Counts of the input.

    Attributes:
      num_short_documents: left out, with too few sentences for the type of examples.
      num_bytes: of the text, not compressed.
      num_short_tokens: those in short documents.
      num_unknown: tokens that are [UNK].
      num_dropped_spans: annotated spans that cross the end of a sentence or overlap.
      num_dropped_paragraphs: of Wikipedia, with markup that could not be read.
    """

    num_documents: int = 0
    num_short_documents: int = 0
    num_sentences: int = 0
    num_invalid_lines: int = 0
    num_bytes: int = 0
    num_tokens: int = 0
    num_short_tokens: int = 0
    num_unknown: int = 0
    num_dropped_spans: int = 0
    num_dropped_paragraphs: int = 0


@dataclasses.dataclass(frozen=True)
class ExampleCounts(Counts):
    """Counts of the output.

    Attributes:
      num_label_1: pairs with a random second text, or with swapped texts.
      num_capped: examples in which P lowered the share of masked tokens.
      num_special: tokens that no text gave, [CLS] and [SEP].
      num_positions: what the examples would take if they were padded.
      num_predictions: tokens to predict.
      num_masked: those of them that became [MASK].
      num_kept: those of them that stayed.
    """

    num_examples: int = 0
    num_pairs: int = 0
    num_label_1: int = 0
    num_capped: int = 0
    num_tokens: int = 0
    num_special: int = 0
    num_positions: int = 0
    num_predictions: int = 0
    num_masked: int = 0
    num_kept: int = 0

    @property
    def num_randomized(self) -> int:
        """Tokens to predict that became another token."""
        return self.num_predictions - self.num_masked - self.num_kept


def count_rows(rows: npt.NDArray, vocabulary: Vocabulary) -> ExampleCounts:
    """Counts examples, [n] of `examples.pretraining.row_dtype`."""
    word_ids, positions = rows["word_ids"], rows["positions"].astype(np.intp)
    # Where P is not used up this finds a [CLS], which is neither [MASK] nor the label there, 0.
    put_in = np.take_along_axis(word_ids, positions, axis=1)
    is_special = (word_ids == vocabulary.cls_id) | (word_ids == vocabulary.sep_id)
    return ExampleCounts(
        num_examples=len(rows),
        num_pairs=int((rows["pair_label"] >= 0).sum()),
        num_label_1=int((rows["pair_label"] == 1).sum()),
        num_capped=int(rows["is_capped"].sum()),
        num_tokens=int(rows["num_tokens"].sum(dtype=np.int64)),
        num_special=int(np.count_nonzero(is_special)),
        num_positions=word_ids.size,
        num_predictions=int(rows["num_predictions"].sum(dtype=np.int64)),
        num_masked=int(np.count_nonzero(put_in == vocabulary.mask_id)),
        num_kept=int(np.count_nonzero(put_in == rows["labels"])),
    )


def example_text(row: Any, vocabulary: Vocabulary) -> str:
    """An example to look at, one row of `count_rows`: its tokens, predictions and label."""
    tokens, count = vocabulary.tokens, row["num_predictions"]
    wanted = zip(row["positions"][:count], row["labels"][:count], strict=True)
    lines = [
        f"Example: {' '.join(tokens[word_id] for word_id in row['word_ids'][: row['num_tokens']])}"
    ]
    if row["positions"].size:
        to_predict = ", ".join(f"{position} {tokens[label]}" for position, label in wanted)
        lines.append(f"  to predict: {to_predict}")
    if row["pair_label"] >= 0:
        lines.append(f"  label: {row['pair_label']}")
    return "\n".join(lines)


def text(read: TextCounts, made: ExampleCounts, options: PretrainingData) -> str:
    """The summary to print, warnings last."""
    lines = [
        f"Read {read.num_documents:,} documents, {read.num_sentences:,} sentences, "
        f"{read.num_tokens:,} tokens, {size(read.num_bytes)} of text.",
        f"Wrote {made.num_examples:,} examples, {made.num_tokens:,} tokens; "
        f"{_percent(made.num_tokens, made.num_positions)} of {options.max_seq_length} positions "
        "hold one.",
        _masks(made, options),
    ]
    if made.num_pairs:
        share = _percent(made.num_label_1, made.num_pairs)
        lines.append(f"{EXAMPLE_TYPES[options.example_type].label_1}: {share}.")
    return "\n".join(lines + [f"WARNING: {each}" for each in _warnings(read, made, options)])


def _masks(made: ExampleCounts, options: PretrainingData) -> str:
    if not options.mask:
        return (
            "No masks: run_pretraining.py --dynamic_masking draws them, "
            f"at most {options.num_predictions} in an example."
        )
    return (
        f"Tokens to predict: "
        f"{_percent(made.num_predictions, made.num_tokens - made.num_special)} of the text; "
        f"{_percent(made.num_masked, made.num_predictions)} of them became [MASK], "
        f"{_percent(made.num_randomized, made.num_predictions)} another token, "
        f"{_percent(made.num_kept, made.num_predictions)} are kept."
    )


def _warnings(read: TextCounts, made: ExampleCounts, options: PretrainingData) -> Iterator[str]:
    example_type = EXAMPLE_TYPES[options.example_type]
    if read.num_short_documents:
        yield (
            f"{read.num_short_documents} documents have fewer than two sentences and were "
            f"left out ({_percent(read.num_short_tokens, read.num_tokens)} of the text): "
            "no sentence follows. Blank lines separate documents, not sentences."
            if example_type.has_pair
            else f"{read.num_short_documents} documents have no token and were left out."
        )
    if read.num_invalid_lines:
        yield (
            f"{read.num_invalid_lines} lines are not UTF-8; the bytes that cannot be decoded "
            "were dropped."
        )
    if read.num_dropped_spans:
        yield f"{read.num_dropped_spans} spans cross the end of a sentence or overlap: left out."
    if read.num_dropped_paragraphs:
        yield f"{read.num_dropped_paragraphs} paragraphs hold markup nobody could read: left out."
    if read.num_unknown > _MANY_UNKNOWN * read.num_tokens:
        yield (
            f"{_percent(read.num_unknown, read.num_tokens)} of the tokens are [UNK]; "
            "is the vocabulary one for this language?"
        )
    if made.num_capped > _MANY_CAPPED * made.num_examples:
        room = options.max_seq_length - example_type.num_special_tokens
        yield (
            f"--max_predictions_per_seq={options.num_predictions} kept "
            f"{_percent(made.num_capped, made.num_examples)} of the examples below "
            f"--masked_lm_prob={options.masked_lm_prob}; "
            f"{math.ceil(round(options.masked_lm_prob * room, 6))} would be enough for "
            f"--max_seq_length={options.max_seq_length}."
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"

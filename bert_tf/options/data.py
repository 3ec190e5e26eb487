"""Flags of the scripts that read a corpus or inspect its records."""

import dataclasses
import math

from bert_tf.errors import InputError
from bert_tf.examples.choices import (
    DYNAMIC_GRANULARITIES,
    EXAMPLE_TYPES,
    GRANULARITIES,
    MaskSettings,
)
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_not_negative, require_positive, require_seed

# Where longer parts than tokens are masked together, the number of masked tokens varies from
# example to example. Measured: with this many slots above the average the share stays as asked.
_SPARE_PREDICTIONS = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextInput:
    """How text is read; shared by every script that reads a corpus."""

    input_file: str = option(
        REQUIRED,
        "Text: comma-separated files, globs or directories; plain, .gz, .bz2 or .zst.",
        is_path=True,
    )
    input_format: str = option(
        "auto",
        "(new) sentences: one per line, blank lines between documents, as released. text: running "
        "text, one document per file. jsonl: one document per line. wikipedia: an XML dump. "
        "wikiextractor: <doc> elements. auto: by the file's name and first bytes.",
        choices=("auto", "sentences", "text", "jsonl", "wikipedia", "wikiextractor"),
    )
    text_field: str = option("text", "(new) Field of the JSON lines that holds the text.")
    language: str = option("en", "(new) Language of running text, to split it into sentences.")
    do_lower_case: bool = option(True, "Lower-case and strip accents; false for cased models.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingData(TextInput):
    """Flags of create_pretraining_data.py."""

    vocab_file: str = option(REQUIRED, "vocab.txt of the model to pre-train.", is_path=True)
    output_file: str = option(
        REQUIRED,
        "TFRecords to write: comma-separated files, each of which gets an equal share of the "
        "examples. name@8 means eight files, name-00000-of-00008 and so on.",
        is_path=True,
    )
    example_type: str = option(
        "nsp",
        "(new) What an example is. "
        + " ".join(f"{name}: {each.help}." for name, each in EXAMPLE_TYPES.items()),
        choices=tuple(EXAMPLE_TYPES),
        renamed="objective",
    )
    mask: bool = option(
        True,
        "(new) Mask tokens. false: records without masks, for left-to-right objectives and for "
        "--dynamic_masking of run_pretraining.py, which draws masks by the flags given here.",
    )
    mask_granularity: str = option(
        MaskSettings.granularity,
        "(new) What is masked together: token, word, ngram (1 to --max_ngram words) or span "
        '(entities and phrases of the field "spans" of JSON lines).',
        choices=GRANULARITIES,
        renamed="masking",
        renamed_note="its value piece is now token",
    )
    do_whole_word_mask: bool = option(False, "The released name of --mask_granularity=word.")
    max_ngram: int = option(
        MaskSettings.max_ngram, "(new) Maximum words of an n-gram for --mask_granularity=ngram."
    )
    segmented_text: bool = option(
        False,
        "(new) White space separates words, as a Chinese segmenter leaves it; "
        "--mask_granularity=word and ngram take these words.",
    )
    masked_lm_prob: float = option(MaskSettings.masked_lm_prob, "Share of the tokens to predict.")
    mask_prob: float = option(
        MaskSettings.mask_prob, "(new) Share of the tokens to predict that become [MASK]."
    )
    random_prob: float = option(
        MaskSettings.random_prob,
        "(new) Share of the tokens to predict that become a random token; the rest stays.",
    )
    max_seq_length: int = option(128, "Tokens per example, special tokens included.")
    max_predictions_per_seq: int | None = option(
        None,
        "Maximum masked tokens per example; none: what --masked_lm_prob needs, 20 for 128.",
    )
    pad_to_max_seq_length: bool = option(
        True, "(new) Store every example padded, as released; false: without padding."
    )
    random_seed: int = option(12345, "Seed of every random choice.")
    dupe_factor: int = option(10, "Passes over the text, each with its own masks and pairs.")
    short_seq_prob: float = option(0.1, "Probability that a pair is made shorter on purpose.")
    num_workers: int | None = option(
        None, "(new) Processes; none: one per core, fewer for little text."
    )
    scratch_dir: str | None = option(
        None,
        "(new) Directory for unfinished work; none: that of the first output file.",
        is_path=True,
    )

    def __post_init__(self) -> None:
        require_positive(self, "max_predictions_per_seq", "dupe_factor", "max_ngram", "num_workers")
        require_seed(self)
        if self.max_seq_length < 5:
            raise InputError(
                f"--max_seq_length={self.max_seq_length} must be at least 5: [CLS], two [SEP] and "
                "a token for each of the two texts."
            )
        self._check_probabilities()
        if self.do_whole_word_mask and self.mask_granularity not in ("token", "word"):
            raise InputError(
                f"--do_whole_word_mask and --mask_granularity={self.mask_granularity} exclude each "
                "other; give one."
            )
        if not self.mask:
            self._check_unmasked()
        if self.segmented_text and self.granularity not in ("word", "ngram"):
            raise InputError(
                "--segmented_text says what a word is and needs --mask_granularity=word or "
                "--mask_granularity=ngram."
            )

    def _check_probabilities(self) -> None:
        if not 0 < self.masked_lm_prob <= 1:
            raise InputError(f"--masked_lm_prob={self.masked_lm_prob} must be in (0, 1].")
        for name in ("short_seq_prob", "mask_prob", "random_prob"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"--{name}={getattr(self, name)} must be in [0, 1].")
        if self.mask_prob + self.random_prob > 1 + 1e-9:
            raise InputError(
                f"--mask_prob={self.mask_prob} and --random_prob={self.random_prob} add up to "
                "more than 1; what is left of 1 is the share of tokens that stay."
            )

    def _check_unmasked(self) -> None:
        """Refuses masks that only this script can draw, and passes that write the same rows."""
        needs_masks = {
            "mask_granularity": self.granularity not in DYNAMIC_GRANULARITIES,
            "max_ngram": self.max_ngram != MaskSettings.max_ngram,
            "segmented_text": self.segmented_text,
        }
        for name, is_given in needs_masks.items():
            if is_given:
                value = str(getattr(self, name)).lower()
                raise InputError(
                    f"--{name}={value} means nothing with --mask=false: masks drawn while records "
                    "are read have --mask_granularity=token or word, a word being a token and the "
                    f'"##" tokens behind it. Leave out --{name}, or give --mask=true.'
                )
        if EXAMPLE_TYPES[self.example_type].is_alike_in_every_pass and self.dupe_factor > 1:
            raise InputError(
                f"--dupe_factor={self.dupe_factor} would write every row of "
                f"--example_type={self.example_type} {self.dupe_factor} times: its passes differ "
                "in their masks alone, and --mask=false leaves them out. Give --dupe_factor=1."
            )

    @property
    def granularity(self) -> str:
        """What is masked together, by either flag."""
        return "word" if self.do_whole_word_mask else self.mask_granularity

    @property
    def has_group_starts(self) -> bool:
        """Whether the corpus says what is masked together: words of a segmenter, or spans."""
        return self.segmented_text or self.granularity == "span"

    @property
    def is_padded(self) -> bool:
        """Whether every example is stored as long as `max_seq_length`."""
        return self.pad_to_max_seq_length and not EXAMPLE_TYPES[self.example_type].is_packed

    @property
    def num_slots(self) -> int:
        """P of the records, 0 without masks."""
        return self.num_predictions if self.mask else 0

    @property
    def num_predictions(self) -> int:
        """P, the maximum masked tokens of an example, whoever draws them."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        needed = num_predictions_needed(self.masked_lm_prob, self.max_seq_length)
        return needed if self.granularity == "token" else needed + _SPARE_PREDICTIONS


def num_predictions_needed(masked_lm_prob: float, max_seq_length: int) -> int:
    """P for a share of the tokens of a row: 20 for 15 % of 128."""
    return math.ceil(round(masked_lm_prob * max_seq_length, 6))


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnVocabulary(TextInput):
    """Flags of bert_tf.vocabulary.learn."""

    output_file: str = option(REQUIRED, "vocab.txt to write.", is_path=True)
    vocab_size: int = option(
        30522,
        "Total tokens, special and [unused] ones included; --extend keeps the size of its file.",
    )
    num_unused: int | None = option(
        None,
        "Slots for [unused] tokens; none: as released, 994, or 101 with --do_lower_case=false.",
    )
    min_frequency: int = option(
        2, "Minimum occurrences of a wordpiece of more than one character, or of a word to add."
    )
    character_coverage: float = option(
        1.0,
        "Share of the text's characters that get their own tokens, most frequent first. Words with "
        "any other character become [UNK].",
    )
    extend: str | None = option(
        None,
        "Released vocab.txt: put words of the text into its [unused] slots instead of learning "
        "a new vocabulary.",
        is_path=True,
    )
    num_new_words: int | None = option(
        None, "Maximum words that --extend adds; none: one for each [unused] slot."
    )
    eval_file: str | None = option(
        None,
        "Text of the same format that is not learned from, to measure the vocabulary on.",
        is_path=True,
    )
    num_workers: int | None = option(None, "Processes that count words; none: one per core.")

    def __post_init__(self) -> None:
        require_positive(self, "vocab_size", "min_frequency", "num_new_words", "num_workers")
        if not 0 < self.character_coverage <= 1:
            raise InputError(f"--character_coverage={self.character_coverage} must be in (0, 1].")
        if self.num_unused is not None:
            require_not_negative(self, "num_unused")
        if self.num_new_words is not None and not self.extend:
            raise InputError("--num_new_words needs --extend, the vocabulary to add words to.")
        if self.num_unused is not None and self.extend:
            raise InputError("--num_unused is for a new vocabulary; --extend keeps every slot.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class InspectRecords:
    """Flags of bert_tf.records.inspect."""

    vocab_file: str = option(REQUIRED, "vocab.txt that the records were made with.", is_path=True)
    num_examples: int = option(3, "Examples to print, from the start of the first file.")
    picture: str | None = option(None, "SVG file to draw the statistics to.", is_path=True)

    def __post_init__(self) -> None:
        require_not_negative(self, "num_examples")
        if self.picture and not self.picture.endswith(".svg"):
            raise InputError(
                f"--picture={self.picture} must end in .svg, the format that is drawn."
            )

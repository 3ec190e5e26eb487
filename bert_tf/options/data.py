"""Flags of what reads a corpus or looks at its records."""

import dataclasses
import math

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.options.checks import require_not_negative, require_positive, require_seed

# Whole units make the number of masked tokens vary from example to example; measured, so many
# slots above what is needed on average keep the share that was asked for.
_SPARE_PREDICTIONS = 3
# What --dynamic_masking can draw.
_UNITS_WHILE_READING = ("piece", "word")
# Rows of them do not depend on chance.
_ALIKE_IN_EVERY_PASS = ("doc_sentences", "packed")
_MAX_NGRAM = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextInput:
    """How text is read; shared by every script that reads a corpus."""

    input_file: str = option(
        REQUIRED,
        "Text: comma-separated files, globs or directories; plain, .gz, .bz2 or .zst.",
    )
    input_format: str = option(
        "auto",
        "(new) sentences: one a line, a blank line between documents, as released. text: running "
        "text, a file a document. jsonl: a document a line. wikipedia: an XML dump. "
        "wikiextractor: <doc> elements. auto: by the file's name and first bytes.",
        choices=("auto", "sentences", "text", "jsonl", "wikipedia", "wikiextractor"),
    )
    text_field: str = option("text", "(new) Field of the JSON lines that holds the text.")
    language: str = option("en", "(new) Language of running text, to split it into sentences.")
    do_lower_case: bool = option(True, "Lower-case and strip accents; false for cased models.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingData(TextInput):
    """Flags of create_pretraining_data.py."""

    vocab_file: str = option(REQUIRED, "vocab.txt of the model to pre-train.")
    output_file: str = option(
        REQUIRED,
        "TFRecords to write: comma-separated files, each of which gets an equal share of the "
        "examples. name@8 stands for eight files, name-00000-of-00008 and so on.",
    )
    objective: str = option(
        "nsp",
        "(new) What an example is. nsp: two texts, the second the next one or a random one. sop: "
        "two texts in order or swapped. full_sentences: text filled up across documents. "
        "doc_sentences: text of one document. packed: several of those in one row.",
        choices=("nsp", "sop", "full_sentences", "doc_sentences", "packed"),
    )
    mask: bool = option(
        True,
        "(new) Mask; false: records without masks, for --dynamic_masking of run_pretraining.py, "
        "which draws them as the flags here say, and for left-to-right objectives.",
    )
    masking: str = option(
        "piece",
        "(new) What is masked together: piece, word, ngram (1 to --max_ngram words) or span "
        '(entities and phrases of the field "spans" of JSON lines).',
        choices=("piece", "word", "ngram", "span"),
    )
    do_whole_word_mask: bool = option(False, "The released name of --masking=word.")
    max_ngram: int = option(
        _MAX_NGRAM, "(new) Words masked together at the most by --masking=ngram."
    )
    segmented_text: bool = option(
        False,
        "(new) White space parts words, as a Chinese segmenter leaves it; --masking=word and "
        "ngram take these words.",
    )
    masked_lm_prob: float = option(0.15, "Share of the tokens to predict.")
    mask_prob: float = option(0.8, "(new) Share of the tokens to predict that become [MASK].")
    random_prob: float = option(
        0.1, "(new) Share of them in whose place comes a random token; the rest stays."
    )
    max_seq_length: int = option(128, "Tokens per example, special tokens included.")
    max_predictions_per_seq: int | None = option(
        None,
        "Masked tokens per example at the most; none: what --masked_lm_prob needs, 20 for 128.",
    )
    pad_to_max_seq_length: bool = option(
        True, "(new) Store every example padded, as released; false: without padding."
    )
    random_seed: int = option(12345, "Seed of every random choice.")
    dupe_factor: int = option(10, "Passes over the text, each with masks, and pairs, of its own.")
    short_seq_prob: float = option(0.1, "Probability of a pair made shorter on purpose.")
    num_workers: int | None = option(
        None, "(new) Processes; none: one per core, fewer for little text."
    )
    scratch_dir: str | None = option(
        None, "(new) Where unfinished work lies; none: beside the first output file."
    )

    def __post_init__(self):
        require_positive(self, "max_predictions_per_seq", "dupe_factor", "max_ngram", "num_workers")
        require_seed(self)
        if self.max_seq_length < 5:
            raise InputError(
                f"--max_seq_length={self.max_seq_length} must be at least 5: [CLS], two [SEP] and "
                "a token for each of the two texts."
            )
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
        if self.do_whole_word_mask and self.masking not in ("piece", "word"):
            raise InputError(
                f"--do_whole_word_mask and --masking={self.masking} exclude each other; give one."
            )
        if not self.mask:
            self._check_unmasked()
        if self.segmented_text and self.unit not in ("word", "ngram"):
            raise InputError(
                "--segmented_text says what a word is and needs --masking=word or --masking=ngram."
            )

    def _check_unmasked(self):
        """Refuses what asks for masks that only this script can draw, or for rows twice."""
        of_masks_drawn_here = {
            "masking": self.unit not in _UNITS_WHILE_READING,
            "max_ngram": self.max_ngram != _MAX_NGRAM,
            "segmented_text": self.segmented_text,
        }
        for name, is_given in of_masks_drawn_here.items():
            if is_given:
                value = str(getattr(self, name)).lower()
                raise InputError(
                    f"--{name}={value} means nothing with --mask=false: masks drawn while records "
                    'are read are of --masking=piece or word, a word being a piece and the "##" '
                    f"pieces behind it. Leave out --{name}, or give --mask=true."
                )
        if self.objective in _ALIKE_IN_EVERY_PASS and self.dupe_factor > 1:
            raise InputError(
                f"--dupe_factor={self.dupe_factor} would write every row of "
                f"--objective={self.objective} so many times: its passes differ in their masks "
                "alone, and --mask=false leaves them out. Give --dupe_factor=1."
            )

    @property
    def unit(self):
        """What is masked together, the released flag taken in."""
        return "word" if self.do_whole_word_mask else self.masking

    @property
    def num_slots(self):
        """P of the records, 0 without masks."""
        return self.num_predictions if self.mask else 0

    @property
    def num_predictions(self):
        """P, the masked tokens of an example at the most, whoever draws them."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        needed = num_predictions_needed(self.masked_lm_prob, self.max_seq_length)
        return needed if self.unit == "piece" else needed + _SPARE_PREDICTIONS


def num_predictions_needed(masked_lm_prob, max_seq_length):
    """P that a share of the tokens of a row takes: 20 for 15 % of 128."""
    return math.ceil(round(masked_lm_prob * max_seq_length, 6))


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnVocabulary(TextInput):
    """Flags of bert_tf.vocabulary.learn."""

    output_file: str = option(REQUIRED, "vocab.txt to write.")
    vocab_size: int = option(
        30522, "Tokens in all, special and [unused] ones included; --extend keeps that of its file."
    )
    num_unused: int | None = option(
        None, "Slots for later; none: as many as released, 994, or 101 with --do_lower_case=false."
    )
    min_frequency: int = option(
        2, "How often a piece of more than one character, or a word to add, must occur."
    )
    character_coverage: float = option(
        1.0,
        "Share of the text's characters that get tokens of their own, the most frequent ones "
        "first. Words with any of the others become [UNK].",
    )
    extend: str | None = option(
        None,
        "Released vocab.txt: put words of the text into its [unused] slots instead of learning "
        "a new vocabulary.",
    )
    num_new_words: int | None = option(
        None, "Words for --extend to add at the most; none: one for each [unused] slot."
    )
    eval_file: str | None = option(
        None, "Text of the same format that is not learned from, to measure the vocabulary on."
    )
    num_workers: int | None = option(None, "Processes that count words; none: one per core.")

    def __post_init__(self):
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
    """Flags of bert_tf.records.inspect.show."""

    vocab_file: str = option(REQUIRED, "vocab.txt that the records were made with.")
    num_examples: int = option(3, "Examples to print, the first ones of the first file.")
    picture: str | None = option(None, "SVG file to draw the statistics in.")

    def __post_init__(self):
        require_not_negative(self, "num_examples")
        if self.picture and not self.picture.endswith(".svg"):
            raise InputError(f"--picture={self.picture} must end in .svg: that is what is drawn.")

"""What each script can be told: one frozen dataclass of flags per script.

Names and defaults are those of the released scripts, so that every published command line
works; a flag that the release lacks has "(new)" in its help. The checks that need no file run
when the options are made.
"""

import dataclasses
import math

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

# Whole units make the number of masked tokens vary from example to example; measured, so many
# slots above what is needed on average keep the share that was asked for.
_SPARE_PREDICTIONS = 3


def _require_positive(options, *names):
    for name in names:
        value = getattr(options, name)
        if value is not None and not value > 0:  # not a number is not above 0
            raise InputError(f"--{name}={value} must be above 0.")


def _require_not_negative(options, *names):
    for name in names:
        value = getattr(options, name)
        if not value >= 0:
            raise InputError(f"--{name}={value} must be at least 0.")


def _require_seed(options):
    _require_not_negative(options, "random_seed")
    if options.random_seed >= 2**31:
        raise InputError(f"--random_seed={options.random_seed} must be below 2**31.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Devices:
    """Where it runs."""

    use_tpu: bool = option(False, "Run on a TPU. Not supported yet: true is an error.")
    tpu_name: str | None = option(None, "Accepted from published commands; needs --use_tpu.")
    tpu_zone: str | None = option(None, "Accepted from published commands; needs --use_tpu.")
    gcp_project: str | None = option(None, "Accepted from published commands; needs --use_tpu.")
    master: str | None = option(None, "Accepted from published commands; needs --use_tpu.")
    num_tpu_cores: int = option(8, "Accepted from published commands; needs --use_tpu.")
    distribution_strategy: str = option(
        "auto",
        "(new) one_device, mirrored over every local device, or auto: mirrored where there is "
        "more than one GPU.",
        choices=("auto", "one_device", "mirrored"),
    )

    def __post_init__(self):
        if self.use_tpu:
            raise InputError(
                "--use_tpu=true is not supported by this version; give --use_tpu=false to train "
                "on the CPU or on one or more GPUs."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(Devices):
    """What the three training scripts share."""

    bert_config_file: str = option(REQUIRED, "bert_config.json (or Hugging Face config.json).")
    output_dir: str = option(REQUIRED, "Model directory to write, or to go on with.")
    init_checkpoint: str | None = option(
        None, "Weights to start from: a TF1 checkpoint, a Hugging Face or a model directory."
    )
    do_train: bool = option(False, "Train.")
    do_eval: bool = option(False, "Evaluate on the dev set.")
    train_batch_size: int = option(32, "Examples per update over all replicas.")
    learning_rate: float = option(5e-5, "Peak of the schedule, reached after the warm-up.")
    save_checkpoints_steps: int = option(1000, "Updates between two saves of the training state.")
    iterations_per_loop: int = option(1000, "Accepted from published commands; has no effect.")
    lr_schedule: str = option(
        "linear",
        "(new) How the learning rate falls after the warm-up.",
        choices=("linear", "polynomial", "cosine", "constant"),
    )
    lr_power: float = option(1.0, "(new) Of --lr_schedule=polynomial; published LAMB runs: 0.5.")
    lr_end_ratio: float = option(0.0, "(new) Share of its peak that the learning rate falls to.")
    optimizer: str = option(
        "adamw", "(new) adamw, or lamb for batches of thousands.", choices=("adamw", "lamb")
    )
    weight_decay_rate: float = option(0.01, "(new) Decay of the weights per unit learning rate.")
    adam_bias_correction: bool = option(
        True, "(new) Adam as published; false: without bias correction, as the release has it."
    )
    max_grad_norm: float = option(1.0, "(new) Global norm that gradients are clipped to.")
    dtype: str = option(
        "float32",
        "(new) Type that layers compute in; weights stay float32. float16 scales the loss.",
        choices=("float32", "bfloat16", "float16"),
    )
    random_seed: int = option(12345, "(new) Seed of initial weights, data order and dropout.")

    def __post_init__(self):
        super().__post_init__()
        _require_positive(
            self, "train_batch_size", "learning_rate", "save_checkpoints_steps", "max_grad_norm"
        )
        _require_not_negative(self, "weight_decay_rate")
        _require_seed(self)
        _check_schedule(self)


def _check_schedule(options):
    _require_positive(options, "lr_power")
    if not 0 <= options.lr_end_ratio < 1:
        raise InputError(f"--lr_end_ratio={options.lr_end_ratio} must be in [0, 1).")
    if options.lr_power != 1 and options.lr_schedule != "polynomial":
        raise InputError(f"--lr_power={options.lr_power} needs --lr_schedule=polynomial.")
    if options.lr_end_ratio and options.lr_schedule == "constant":
        raise InputError("--lr_schedule=constant never falls; leave out --lr_end_ratio.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreTraining(Training):
    """Flags of run_pretraining.py."""

    input_file: str = option(REQUIRED, "Records to train on: comma-separated files or globs.")
    eval_input_file: str | None = option(
        None, "(new) Held-out records for --do_eval; none: --input_file, as released."
    )
    vocab_file: str | None = option(
        None, "(new) vocab.txt; none: the one beside --bert_config_file or --init_checkpoint."
    )
    max_seq_length: int = option(128, "Tokens per example; must equal that of the records.")
    max_predictions_per_seq: int | None = option(
        None, "Masked tokens per example, as in the records; none: whatever the records have."
    )
    num_train_steps: int = option(100_000, "Updates in all.")
    num_warmup_steps: int = option(10_000, "Updates over which the learning rate rises.")
    eval_batch_size: int = option(8, "Examples per batch in evaluation.")
    max_eval_steps: int = option(100, "Batches in evaluation at the most; 0: every record.")

    def __post_init__(self):
        super().__post_init__()
        _require_positive(
            self, "max_seq_length", "max_predictions_per_seq", "num_train_steps", "eval_batch_size"
        )
        _require_not_negative(self, "num_warmup_steps", "max_eval_steps")
        if not (self.do_train or self.do_eval):
            raise InputError("Nothing to do: give --do_train, --do_eval or both.")
        if self.num_warmup_steps >= self.num_train_steps:
            raise InputError(
                f"--num_warmup_steps={self.num_warmup_steps} must be below "
                f"--num_train_steps={self.num_train_steps}."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning(Training):
    """What the two fine-tuning scripts share."""

    vocab_file: str = option(REQUIRED, "vocab.txt the checkpoint was trained with.")
    do_lower_case: bool = option(True, "Lower-case and strip accents; false for cased models.")
    do_predict: bool = option(False, "Write predictions.")
    predict_batch_size: int = option(8, "Examples per batch in prediction.")
    num_train_epochs: float = option(3.0, "Passes over the training set.")
    warmup_proportion: float = option(0.1, "Share of the updates in which the rate rises.")
    batch_pieces: int = option(
        4, "(new) Pieces of similar length that a batch is cut into; same update, less padding."
    )
    max_train_examples: int | None = option(None, "(new) Train on the first so many examples.")

    def __post_init__(self):
        super().__post_init__()
        _require_positive(
            self, "predict_batch_size", "num_train_epochs", "batch_pieces", "max_train_examples"
        )
        if not 0 <= self.warmup_proportion < 1:
            raise InputError(f"--warmup_proportion={self.warmup_proportion} must be in [0, 1).")
        if not (self.do_train or self.do_eval or self.do_predict):
            raise InputError("Nothing to do: give --do_train, --do_eval or --do_predict.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classifier(FineTuning):
    """Flags of run_classifier.py."""

    data_dir: str = option(REQUIRED, "Directory with the task's original TSV files.")
    task_name: str = option(REQUIRED, "Entry of bert_tf.tasks.registry, e.g. mrpc or sst-2.")
    max_seq_length: int = option(128, "Tokens per example, special tokens included.")
    eval_batch_size: int = option(8, "Examples per batch in evaluation.")

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "max_seq_length", "eval_batch_size")


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionAnswering(FineTuning):
    """Flags of run_squad.py."""

    train_file: str | None = option(None, "SQuAD JSON to train on.")
    predict_file: str | None = option(None, "SQuAD JSON to answer.")
    max_predict_examples: int | None = option(None, "(new) Answer the first so many questions.")
    max_seq_length: int = option(384, "Tokens per window, question and special tokens included.")
    doc_stride: int = option(128, "Tokens from the start of one window to that of the next.")
    max_query_length: int = option(64, "Tokens of the question that are kept.")
    n_best_size: int = option(20, "Answers per question in nbest_predictions.json.")
    max_answer_length: int = option(30, "Tokens of an answer at the most.")
    verbose_logging: bool = option(False, "Print more of the windows.")
    version_2_with_negative: bool = option(False, "Questions may have no answer (SQuAD 2.0).")
    null_score_diff_threshold: float = option(
        0.0, "No answer where the null score exceeds the best answer's by more than this."
    )

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "max_seq_length", "doc_stride", "max_query_length", "n_best_size")
        _require_positive(self, "max_answer_length", "max_predict_examples")
        if self.do_train and not self.train_file:
            raise InputError("--do_train needs --train_file.")
        if (self.do_predict or self.do_eval) and not self.predict_file:
            raise InputError("--do_predict and --do_eval need --predict_file.")


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
    masking: str = option(
        "piece",
        "(new) What is masked together: piece, word, ngram (1 to --max_ngram words) or span "
        '(entities and phrases of the field "spans" of JSON lines).',
        choices=("piece", "word", "ngram", "span"),
    )
    do_whole_word_mask: bool = option(False, "The released name of --masking=word.")
    max_ngram: int = option(3, "(new) Words masked together at the most by --masking=ngram.")
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
        _require_positive(
            self, "max_predictions_per_seq", "dupe_factor", "max_ngram", "num_workers"
        )
        _require_seed(self)
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
        if self.segmented_text and self.unit not in ("word", "ngram"):
            raise InputError(
                "--segmented_text says what a word is and needs --masking=word or --masking=ngram."
            )

    @property
    def unit(self):
        """What is masked together, the released flag taken in."""
        return "word" if self.do_whole_word_mask else self.masking

    @property
    def num_predictions(self):
        """P, the masked tokens of an example at the most."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        needed = math.ceil(round(self.masked_lm_prob * self.max_seq_length, 6))
        return needed if self.unit == "piece" else needed + _SPARE_PREDICTIONS


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnVocabulary(TextInput):
    """Flags of bert_tf.text.learn_vocab."""

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
        _require_positive(self, "vocab_size", "min_frequency", "num_new_words", "num_workers")
        if not 0 < self.character_coverage <= 1:
            raise InputError(f"--character_coverage={self.character_coverage} must be in (0, 1].")
        if self.num_unused is not None:
            _require_not_negative(self, "num_unused")
        if self.num_new_words is not None and not self.extend:
            raise InputError("--num_new_words needs --extend, the vocabulary to add words to.")
        if self.num_unused is not None and self.extend:
            raise InputError("--num_unused is for a new vocabulary; --extend keeps every slot.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class InspectRecords:
    """Flags of bert_tf.records.inspect."""

    vocab_file: str = option(REQUIRED, "vocab.txt that the records were made with.")
    num_examples: int = option(3, "Examples to print, the first ones of the first file.")
    picture: str | None = option(None, "SVG file to draw the statistics in.")

    def __post_init__(self):
        _require_not_negative(self, "num_examples")
        if self.picture and not self.picture.endswith(".svg"):
            raise InputError(f"--picture={self.picture} must end in .svg: that is what is drawn.")

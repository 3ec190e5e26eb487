"""Flags of the fine-tuning scripts on training sets that are larger than memory."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Streaming:
    """Where the rows of the training set are while it trains."""

    stream_records: bool = option(
        False,
        "(new) Write the training set, tokenized, to records in --output_dir, and train from them: "
        "for data sets larger than memory. The weights are the same.",
    )

    @property
    def given_records(self) -> str | None:
        """Records that are there in place of a training set."""
        return None

    @property
    def has_records(self) -> bool:
        """Whether the rows of the training set are in records."""
        return bool(self.stream_records or self.given_records)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleasedRecords(Streaming):
    """Records of google-research/bert, which have one label for each row."""

    train_records: str | None = option(
        None,
        "(new) train.tf_record that google-research's run_classifier.py has written, in place of "
        "the training set of --task_name or --task_file, which says the labels.",
        is_path=True,
    )

    @property
    def given_records(self) -> str | None:
        return self.train_records


def check(options: Streaming) -> None:
    """Refuses what needs the examples or the rows in memory.

    Raises:
      InputError: another flag does.
    """
    if not options.has_records:
        return
    records, excluded = "stream_records", ["teacher", "feature_based"]
    if options.given_records:
        records = "train_records"
        excluded += ["class_weights", "train_file", "stream_records"]
    for name in excluded:
        if getattr(options, name, None) not in (None, False):
            raise InputError(
                f"--{records} and --{name} exclude each other: --{name} is for a training set of "
                "texts in memory. Leave one out."
            )

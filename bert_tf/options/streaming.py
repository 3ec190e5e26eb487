"""Flags of run_classifier.py on training sets that are larger than memory."""

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


def check(options: Streaming) -> None:
    """Refuses what needs the rows in memory.

    Raises:
      InputError: another flag adds arrays to the rows.
    """
    for name in ("teacher", "feature_based") if options.stream_records else ():
        if value := getattr(options, name, None):
            raise InputError(
                f"--stream_records and --{name}={value} exclude each other: what --{name} computes "
                "for the rows is kept in memory. Leave one out."
            )

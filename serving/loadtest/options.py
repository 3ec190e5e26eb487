"""Flags of `python -m serving.loadtest`."""

import dataclasses

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.flagging import option
from serving.client.command import ServerFlags

_CLOSED_CONCURRENCY = 8
_OPEN_CONCURRENCY = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadTest(ServerFlags):
    """Flags of the load test."""

    concurrency: int | None = option(
        None,
        "Requests in progress at once: without --rate always so many, each sent when another one "
        f"is answered ({_CLOSED_CONCURRENCY}); with --rate at most so many ({_OPEN_CONCURRENCY}).",
    )
    rate: float | None = option(
        None,
        "Requests per second, sent at random times whether earlier ones are answered or not; "
        "latency counts from the time at which a request was due.",
    )
    batch_size: int = option(1, "Rows per request.")
    input_file: str | None = option(
        None,
        "File with a row per line, a tab between the texts of a row; default: made-up texts.",
        is_path=True,
    )
    num_words: int = option(
        32, "Words of a made-up text, on average; the length of rows of numbers."
    )
    duration_seconds: float = option(10.0, "Seconds that are measured.")
    warmup_seconds: float = option(2.0, "Seconds of the same load before, which do not count.")
    processes: int = option(1, "Processes that send, where one is too slow.")
    output: str | None = option(None, "File for the figures as JSON.", is_path=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("concurrency", "batch_size", "num_words", "processes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name}={value} must be at least 1.")
        for name in ("rate", "duration_seconds"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"--{name}={value:g} must be more than 0.")
        if self.warmup_seconds < 0:
            raise InputError(f"--warmup_seconds={self.warmup_seconds:g} must be at least 0.")
        if self.in_progress < self.processes:
            raise InputError(
                f"--processes={self.processes} cannot share {self.in_progress} requests in "
                "progress; give a larger --concurrency."
            )

    def require_files(self) -> None:
        """Checks that what is read is there, and that what is written can be."""
        super().require_files()
        if self.input_file:
            files.require_file(self.input_file, "--input_file")
        if self.output:
            read = self.input_file or ""
            files.require_output_file(self.output, "--output", read, "--input_file")

    @property
    def in_progress(self) -> int:
        """Requests in progress at once, or at most."""
        return self.concurrency or (_OPEN_CONCURRENCY if self.rate else _CLOSED_CONCURRENCY)

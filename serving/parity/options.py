"""Flags of `python -m serving.parity`."""

import dataclasses
import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.flagging import option
from serving.client.command import ServerFlags


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parity(ServerFlags):
    """Flags of the comparison."""

    model_name: str = option(
        "", "Name of the model on the server; default: the one that the requests name."
    )
    requests: str | None = option(
        None,
        "TFRecord file of PredictionLogs: what --record wrote, a request log, or warm-up requests "
        "(assets.extra/tf_serving_warmup_requests of a version).",
        is_path=True,
    )
    input_file: str | None = option(
        None,
        "Instead of --requests, to record: a file with a row per line, a tab between the texts "
        "of a row.",
        is_path=True,
    )
    record: str | None = option(
        None, "File to write the requests to with the answers that they get.", is_path=True
    )
    saved_model: str | None = option(
        None,
        "Version of a model, as models/NAME/1, that is asked in this process instead of a server.",
        is_path=True,
    )
    batch_size: int = option(32, "Rows per request that is made of --input_file.")
    tolerance: float = option(1e-5, "Largest absolute difference of numbers that is the same.")
    min_identical: float = option(
        1.0, "Smallest share of rows of an output whose strings, such as labels, are the same."
    )
    num_shown: int = option(5, "Rows that differ to print, of each output.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.requests) == bool(self.input_file):
            raise InputError("Give --requests or --input_file, and not both.")
        if self.input_file and not self.record:
            raise InputError(
                "--input_file has no answers to compare with; record them first: give --record."
            )
        if self.input_file and not (self.model_name or self.saved_model):
            raise InputError("--model_name is missing; --input_file does not name a model.")
        if self.batch_size < 1:
            raise InputError(f"--batch_size={self.batch_size} must be at least 1.")
        if self.tolerance < 0 or self.num_shown < 0:
            raise InputError("--tolerance and --num_shown must be at least 0.")
        if not 0 <= self.min_identical <= 1:
            raise InputError(f"--min_identical={self.min_identical:g} must be from 0 to 1.")

    def require_files(self) -> None:
        """Checks that what is read is there, and that what is written can be."""
        super().require_files()
        for name in ("requests", "input_file"):
            if path := getattr(self, name):
                files.require_file(path, f"--{name}")
        file = os.path.join(self.saved_model or "", "saved_model.pb")
        if self.saved_model and not os.path.isfile(file):
            raise InputError(
                f"--saved_model={self.saved_model} holds no saved_model.pb. Wanted: the directory "
                "of a version, as models/NAME/1."
            )
        if self.record:
            source = "--requests" if self.requests else "--input_file"
            read = self.requests or self.input_file or ""
            files.require_output_file(self.record, "--record", read, source)

    @property
    def asked(self) -> str:
        """What is asked, for messages."""
        return self.saved_model or self.url

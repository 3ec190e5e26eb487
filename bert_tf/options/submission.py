"""Flags of `bert-tf submission`."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Submission:
    """What goes to the GLUE server."""

    output_dirs: str = option(
        REQUIRED,
        "(new) Comma-separated --output_dir of run_classifier.py, each with predictions of the "
        "test set of a task of GLUE. One without a model is given as TASK=DIRECTORY.",
        is_path=True,
    )
    submission_file: str = option("submission.zip", "(new) The file to write.", is_path=True)
    fill_missing: bool = option(
        False,
        "(new) Answer the tasks that no directory has by their most frequent answer: the server "
        "wants the files of all.",
    )
    wnli_majority: bool = option(
        False,
        "(new) Answer WNLI by its majority class, as the paper does (appendix B.1), even if there "
        "are predictions.",
    )

    def __post_init__(self) -> None:
        if not self.directories:
            raise InputError(f"--output_dirs={self.output_dirs} names no directory.")
        if not self.submission_file.endswith(".zip"):
            raise InputError(
                f"--submission_file={self.submission_file} must end in .zip, as the server wants."
            )

    @property
    def directories(self) -> list[tuple[str, str]]:
        """(task, directory) of each; the task is "" where it is not given."""
        parts = [part.strip() for part in self.output_dirs.split(",")]
        named = [part.partition("=") for part in parts if part]
        return [(task, path) if equals else ("", task) for task, equals, path in named]

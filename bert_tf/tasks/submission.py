"""`bert-tf submission`: predictions of several tasks to a file for the server of GLUE.

The server takes a zip file with a TSV file for each task, of the header `index<TAB>prediction`
and a row for each row of the task's test set (gluebenchmark.com, section FAQ).
"""

import contextlib
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_tf import commands, files
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.options import Submission
from bert_tf.tasks import predictions, registry


class ServerFile(NamedTuple):
    """A file that the server wants.

    Attributes:
      name: of the file.
      task: of `registry.REGISTRY`.
      source: name of the predictions in an output directory.
      num_rows: of the published test set.
      labels: the possible answers; empty for numbers from 0 to 5.
      majority: the most frequent answer of the training set. The sets of MNLI, QNLI and RTE are
        balanced; there it is entailment.
    """

    name: str
    task: str
    source: str
    num_rows: int
    labels: tuple[str, ...]
    majority: str


_YES_NO = ("0", "1")
_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("contradiction", "entailment", "neutral")
_ONE = "predictions.tsv"

# The sizes: Wang et al. 2018, table 1, and QNLI and AX as the server has them today.
SERVER_FILES = (
    ServerFile("CoLA.tsv", "cola", _ONE, 1_063, _YES_NO, "1"),
    ServerFile("SST-2.tsv", "sst-2", _ONE, 1_821, _YES_NO, "1"),
    ServerFile("MRPC.tsv", "mrpc", _ONE, 1_725, _YES_NO, "1"),
    ServerFile("STS-B.tsv", "sts-b", _ONE, 1_379, (), "2.500"),
    ServerFile("QQP.tsv", "qqp", _ONE, 390_965, _YES_NO, "0"),
    ServerFile(
        *("MNLI-m.tsv", "mnli", "predictions_matched.tsv"),
        *(9_796, _THREE_WAY, "entailment"),
    ),
    ServerFile(
        *("MNLI-mm.tsv", "mnli", "predictions_mismatched.tsv"),
        *(9_847, _THREE_WAY, "entailment"),
    ),
    ServerFile("QNLI.tsv", "qnli", _ONE, 5_463, _TWO_WAY, "entailment"),
    ServerFile("RTE.tsv", "rte", _ONE, 3_000, _TWO_WAY, "entailment"),
    ServerFile("WNLI.tsv", "wnli", _ONE, 146, _YES_NO, "0"),
    ServerFile("AX.tsv", "ax", _ONE, 1_104, _THREE_WAY, "entailment"),
)
_LOW, _HIGH = 0.0, 5.0  # of STS-B


class Part(NamedTuple):
    """A file of the submission: its rows (id, answer), and where they are from."""

    file: ServerFile
    rows: list[tuple[str, str]]
    source: str


def main(options: Submission) -> None:
    """Writes the zip file and says what is in it.

    Raises:
      InputError: a directory has no predictions for the server, two have the same, or these are
        not of the whole test set.
    """
    parts = collect(options)
    missing = [file.name for file in SERVER_FILES if file not in [part.file for part in parts]]
    write(options.submission_file, parts)
    for part in parts:
        print(f"  {part.file.name:12}{len(part.rows):>9,} rows  {part.source}")
    print(f"Submission: {options.submission_file}, {len(parts)} of {len(SERVER_FILES)} files")
    if missing:
        print(
            f"Missing: {', '.join(missing)}. The server wants all files. Predict them with "
            "run_classifier.py --do_predict, or give --fill_missing."
        )


def collect(options: Submission) -> list[Part]:
    """The files of the submission, in the order of `SERVER_FILES`.

    Raises:
      InputError: see `main`.
    """
    found = _found(options)
    parts = []
    for file in SERVER_FILES:
        if file.task == "wnli" and options.wnli_majority:
            parts.append(_majority(file, "majority answer 0 (paper, appendix B.1)"))
        elif file in found:
            parts.append(Part(file, _read(found[file], file), found[file]))
        elif options.fill_missing:
            parts.append(_majority(file, f"majority answer {file.majority}"))
    return parts


def _found(options: Submission) -> dict[ServerFile, str]:
    """The paths of the predictions for each file of the server."""
    found: dict[ServerFile, str] = {}
    for task, directory in options.directories:
        for file, path in _predicted(task, directory).items():
            if file in found:
                raise InputError(
                    f"{found[file]} and {path} are both predictions for {file.name}; leave out "
                    "one of the directories."
                )
            found[file] = path
    return found


def _predicted(task: str, directory: str) -> dict[ServerFile, str]:
    """The paths of the predictions in an output directory.

    Args:
      task: "" if the model in the directory is to say it.
    """
    task = task or _trained_task(directory)
    with contextlib.suppress(InputError):  # a task of the user's own
        task = registry.get(task).name
    wanted = {
        file: os.path.join(directory, file.source) for file in SERVER_FILES if file.task == task
    }
    if not wanted:
        tasks = ", ".join(dict.fromkeys(file.task for file in SERVER_FILES))
        raise InputError(
            f"--output_dirs: {directory} is of task {task}, which is not one of GLUE. These are: "
            f"{tasks}."
        )
    found = {file: path for file, path in wanted.items() if os.path.exists(path)}
    if not found:
        raise InputError(
            f"--output_dirs: {directory} has no predictions of {task}. Make them with "
            f"run_classifier.py --task_name={task} --do_predict --output_dir={directory}."
        )
    return found


def _trained_task(directory: str) -> str:
    """The task of the model in a directory."""
    if metadata := model_directory.read_metadata(directory):
        return metadata.task
    if not os.path.isdir(directory):
        raise InputError(
            f"--output_dirs: {directory} does not exist. Give --output_dir of run_classifier.py."
        )
    raise InputError(
        f"--output_dirs: {directory} has no model.json that says the task. If it has predictions, "
        f"name their task, for instance ax={directory}."
    )


def _majority(file: ServerFile, source: str) -> Part:
    return Part(file, [(str(row), file.majority) for row in range(file.num_rows)], source)


def _read(path: str, file: ServerFile) -> list[tuple[str, str]]:
    """Predictions as the server wants them.

    Raises:
      InputError: they are not of the whole test set, an id is there twice, or an answer is none of
        the task's.
    """
    rows = predictions.read(path)
    if len(rows) != file.num_rows:
        raise InputError(
            f"{path} has {len(rows):,} rows, and the test set of {file.name} has "
            f"{file.num_rows:,}. Predict all of it: run_classifier.py --task_name={file.task} "
            "--do_predict."
        )
    by_id = dict(rows)
    if len(by_id) != len(rows):
        raise InputError(f"{path}: {len(rows) - len(by_id):,} ids are there more than once.")
    return [(row_id, _answer(path, file, row_id, answer)) for row_id, answer in rows]


def _answer(path: str, file: ServerFile, row_id: str, answer: str) -> str:
    if answer in file.labels:
        return answer
    if not file.labels and _is_number(answer):
        return f"{min(max(float(answer), _LOW), _HIGH):.3f}"
    wanted = f"the labels {', '.join(file.labels)}" if file.labels else "numbers"
    raise InputError(f"{path}: the prediction of {row_id} is {answer!r}; {file.name} has {wanted}.")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def write(path: str, parts: Sequence[Part]) -> None:
    """Writes a zip file; the same parts give the same bytes."""
    texts: Mapping[str, str] = {
        part.file.name: "index\tprediction\n"
        + "".join(f"{row_id}\t{answer}\n" for row_id, answer in part.rows)
        for part in parts
    }
    with files.replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, text in texts.items():
            # A ZipInfo without a date has that of 1980.
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    commands.run("submission")

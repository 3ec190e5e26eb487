"""What a form of a model costs and how far its answers are from those of the model."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf import features, files, formatting
from bert_tf.errors import InputError
from export.kinds.module import TEXT_SIGNATURE, Row, ServingModule
from export.version.write import Exported

BATCH_SIZE = 32
_MAX_ROWS = 2000  # of a file
_ALONE_ROWS = 20
_REPEATS = 3

Ids = Mapping[str, npt.NDArray[np.int32]]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How far the outputs of a form are from those of its model.

    Attributes:
      difference: largest one of a number.
      num_labels: answers that were compared: rows, or tokens of a tagger; 0 if the outputs are no
        labels.
      num_kept: those of them that are the same.
    """

    difference: float
    num_labels: int
    num_kept: int


@dataclasses.dataclass(frozen=True)
class Speed:
    """CPU time of a process that answers.

    Attributes:
      alone_ms: milliseconds for a row by itself, the median.
      rows_per_second: in batches of `BATCH_SIZE`.
    """

    alone_ms: float
    rows_per_second: float


def read_rows(path: str, num_inputs: int) -> list[tuple[str, ...]]:
    """Rows of a text file, a line each and a tab between the texts of one.

    Raises:
      InputError: there is no text, or a line has another number of texts.
    """
    files.require_file(path, "--measure_file")
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\r\n") for line in file]
    rows = [tuple(line.split("\t")) for line in lines if line.strip()][:_MAX_ROWS]
    if not rows:
        raise InputError(f"--measure_file={path} has no line with text.")
    for number, row in enumerate(rows, start=1):
        if len(row) != num_inputs:
            raise InputError(
                f"--measure_file={path}: text {number} has {len(row)} columns, and the model takes "
                f"{num_inputs}. Separate the texts of a row by tabs."
            )
    return rows


def rows_of(module: ServingModule, path: str | None) -> list[Row]:
    """Rows to measure an exported model on, of a file or built in.

    Raises:
      InputError: see `read_rows`; or there are not as many texts in each row of the model.
    """
    if path is None:
        return module.check_rows()
    if set(module.inputs.values()) != {1}:
        raise InputError(
            "--measure_file: rows of this model have any number of texts. Leave the flag out; "
            "it is then measured on built-in texts."
        )
    return list(read_rows(path, len(module.inputs)))


def of_version(
    exported: Exported, model: Any, form: Any, rows: Sequence[Row], activation: str
) -> str:
    """Measures a version that was written; returns what was found, for people.

    Args:
      model: whose answers are wanted.
      form: what the version computes.
      rows: that the text signature answers.
      activation: see `agreement`.
    """
    module = exported.module
    found = agreement(model, form, [module.ids_of(batch) for batch in in_batches(rows)], activation)
    feeds = exported.signatures[TEXT_SIGNATURE].feeds
    signature = tf.saved_model.load(exported.path).signatures[TEXT_SIGNATURE]

    def answer(rows: Sequence[Row]) -> Any:
        return signature(**{name: tf.constant(each) for name, each in feeds(rows).items()})

    return f"Measured on {len(rows):,} rows: {text(found, speed(answer, rows))}."


def in_batches(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The rows, `BATCH_SIZE` at a time."""
    for start in range(0, len(rows), BATCH_SIZE):
        yield rows[start : start + BATCH_SIZE]


def agreement(
    model: Callable[[Ids], Mapping[str, Any]],
    form: Callable[[Ids], Mapping[str, Any]],
    batches: Sequence[Ids],
    activation: str,
) -> Agreement:
    """Compares what two give for the same ids.

    Args:
      model, form: from the encoder's inputs to named outputs.
      batches: these inputs.
      activation: what makes answers of logits, see `checkpoints.kinds.Kind`.
    """
    difference, num_labels, num_kept = 0.0, 0, 0
    for batch in batches:
        wanted, given = model(batch), form(batch)
        for name in wanted.keys() & given.keys():
            if isinstance(wanted[name], list):
                continue
            want, got = (_of_tokens(np.asarray(each[name]), batch) for each in (wanted, given))
            difference = max(difference, float(np.abs(got - want).max(initial=0.0)))
            if name.endswith("logits") and activation != "linear":
                is_kept = _labels(got, activation) == _labels(want, activation)
                num_labels, num_kept = num_labels + is_kept.size, num_kept + int(is_kept.sum())
    return Agreement(difference, num_labels, num_kept)


def _of_tokens(outputs: npt.NDArray, batch: Ids) -> npt.NDArray:
    """Outputs [B T ...] at real tokens; others as they are."""
    mask = batch[features.MASK.name]
    is_of_tokens = mask.ndim == 2 and outputs.ndim == 3 and outputs.shape[:2] == mask.shape
    return outputs[mask > 0] if is_of_tokens else outputs


def _labels(logits: npt.NDArray, activation: str) -> npt.NDArray:
    return logits > 0 if activation == "sigmoid" else logits.argmax(axis=-1)


def speed(answer: Callable[[Sequence[Any]], Any], rows: Sequence[Any]) -> Speed:
    """Measures what answers rows; each new shape is computed once before.

    Args:
      answer: from some rows to anything.
    """
    alone = [[row] for row in rows[:_ALONE_ROWS]]
    batches = [batch for batch in in_batches(rows[: 10 * BATCH_SIZE])]
    for batch in (*alone, *batches):
        answer(batch)
    alone_seconds = [_seconds(answer, batch) for _ in range(_REPEATS) for batch in alone]
    batch_seconds = [sum(_seconds(answer, batch) for batch in batches) for _ in range(_REPEATS)]
    num_rows = sum(map(len, batches))
    return Speed(
        1e3 * statistics.median(alone_seconds), num_rows / statistics.median(batch_seconds)
    )


def _seconds(answer: Callable[[Sequence[Any]], Any], rows: Sequence[Any]) -> float:
    start = time.process_time()
    answer(rows)
    return time.process_time() - start


def text(found: Agreement, of_model: Speed | None = None) -> str:
    """What was found, for people."""
    parts = [f"largest difference from the model {formatting.number(found.difference, 2)}"]
    if found.num_labels:
        share = formatting.percent(found.num_kept / found.num_labels, 4)
        parts.append(f"{share} of {found.num_labels:,} labels kept")
    if of_model:
        parts.append(
            f"{formatting.number(of_model.alone_ms, 3)} ms of CPU for a row alone, "
            f"{formatting.number(of_model.rows_per_second, 3)} rows per CPU second at {BATCH_SIZE}"
        )
    return "; ".join(parts)

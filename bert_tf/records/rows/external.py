"""Records that google-research's run_classifier.py has written, as rows.

Its `train.tf_record` has `input_ids`, `input_mask` and `segment_ids` [T], `label_ids` [1] and
`is_real_example`. The records stay where they are; a directory of rows gets an index of them.
"""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples.rows import Rows
from bert_tf.progress import Progress
from bert_tf.records import check
from bert_tf.records.rows import layout, write
from bert_tf.records.rows.layout import ENTRY, Description
from bert_tf.records.rows.read import RecordRows

_WANTED = (*features.ENCODER_INPUTS, features.LABEL_IDS)


def index(
    path: str, directory: str, *, max_seq_length: int, vocab_size: int, num_labels: int
) -> RecordRows:
    """The real examples of a file, whose index is written to a directory unless it is there.

    Args:
      path: of the records.
      directory: of the index; see `layout`.
      max_seq_length: T, which the records must have.
      vocab_size: V of the model.
      num_labels: C of the model.

    Raises:
      InputError: it is not such a file, was made with another length or vocabulary, or has
        labels that the task lacks.
    """
    check.record_names([path], _WANTED, {"T": max_seq_length})
    made_from = {
        "records": os.path.abspath(path),
        "num_bytes": os.path.getsize(path),
        "changed": os.path.getmtime(path),
        "max_seq_length": max_seq_length,
    }
    if rows := RecordRows.open(directory, made_from):
        return rows
    with files.replacing_directory(directory) as temporary:
        entries, digest = _read(path, temporary, max_seq_length, vocab_size, num_labels)
        np.save(os.path.join(temporary, layout.INDEX), entries)
        description = Description(
            made_from=made_from,
            records=os.path.abspath(path),
            num_rows=len(entries),
            max_seq_length=max_seq_length,
            num_sequences=None,
            labels=[features.LABEL_IDS.name],
            digest=digest,
        )
        layout.write_description(temporary, description)
    rows = RecordRows.open(directory, made_from)
    assert rows, "it was just written"
    return rows


def _read(
    path: str, directory: str, max_seq_length: int, vocab_size: int, num_labels: int
) -> tuple[np.ndarray, str]:
    """The index of the real examples of a file, and their digest."""
    entries: list[tuple[int, int, int, int]] = []
    digest = write.Digest(directory)
    with Progress("read records", check.num_records(path), "records") as progress:
        for number, (offset, data) in enumerate(check.records(path)):
            progress.advance()
            values = tf.train.Example.FromString(data).features.feature
            if layout.IS_REAL in values and not values[layout.IS_REAL].int64_list.value[0]:
                continue
            arrays = {
                each.name: np.array(values[each.record_name].int64_list.value) for each in _WANTED
            }
            _check(path, number, arrays, max_seq_length, vocab_size, num_labels)
            length = int(arrays[features.MASK.name].sum())
            ids, types = (
                arrays[f.name][:length].tolist() for f in (features.WORD_IDS, features.TYPE_IDS)
            )
            label = arrays[features.LABEL_IDS.name].astype(np.int32)
            digest.add(Rows([ids], [types], {features.LABEL_IDS.name: label}))
            entries.append((offset, len(data), length, 1))
    if not entries:
        raise InputError(f"{path} has no real example: is_real_example is 0 in each.")
    return np.array(entries, ENTRY), digest.finish(None)[0]


def _check(
    path: str,
    number: int,
    arrays: dict[str, Any],
    max_seq_length: int,
    vocab_size: int,
    num_labels: int,
) -> None:
    ids, labels = arrays[features.WORD_IDS.name], arrays[features.LABEL_IDS.name]
    if {len(arrays[each.name]) for each in features.ENCODER_INPUTS} != {max_seq_length}:
        raise InputError(
            f"{path}: record {number} has {len(ids)} ids; {max_seq_length} were wanted. Give its "
            "--max_seq_length, or make the records again."
        )
    if not 0 <= ids.min() <= ids.max() < vocab_size:
        raise InputError(
            f"{path}: record {number} has ids from {ids.min()} to {ids.max()}; the vocabulary has "
            f"{vocab_size} tokens. Give the --vocab_file that the records were made with."
        )
    if len(labels) != 1 or not 0 <= labels[0] < num_labels:
        raise InputError(
            f"{path}: record {number} has label_ids {labels.tolist()}; one from 0 to "
            f"{num_labels - 1} was wanted, the number of a label of the task. Give the "
            "--task_name that the records were made with."
        )

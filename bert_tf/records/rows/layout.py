"""What a directory of rows holds.

    train.tf_record  a `tf.train.Example` for each row, with the names of the released scripts:
                     `input_ids`, `input_mask`, `segment_ids` [T], or [W * T] of a row of W
                     sequences, padded with zeros; `is_real_example`, which is 1; and the labels
    index.npy        [N] of `ENTRY`, where in that file each row is
    rows.json        `Description`

The directory appears complete, or not at all.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from bert_tf import features
from bert_tf.features import Feature

RECORDS, INDEX, DESCRIPTION = "train.tf_record", "index.npy", "rows.json"

# Where a row's bytes begin and how many they are; tokens of its longest sequence; sequences.
ENTRY = np.dtype(
    [("offset", "<i8"), ("num_bytes", "<i4"), ("length", "<i4"), ("num_sequences", "<i4")]
)

# Features that a row may have next to the encoder's inputs.
LABELS: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        *(features.LABEL_IDS, features.LABEL_VALUES, features.LABEL_VECTORS),
        *(features.TOKEN_LABEL_IDS, features.START_POSITIONS, features.END_POSITIONS),
        features.EXAMPLE_WEIGHTS,
    )
}
IS_REAL = "is_real_example"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Description:
    """What the rows are.

    Attributes:
      made_from: what decides them: a digest of the data, the vocabulary and so on.
      records: the path of the records; None: `RECORDS`, next to this file.
      num_rows: N.
      max_seq_length: T, that rows are padded to.
      num_sequences: W, the most sequences of a row; None: a row is one sequence.
      labels: names of the label features.
      digest: that of `Rows.digest` for the same rows in memory.
    """

    made_from: dict[str, Any]
    records: str | None
    num_rows: int
    max_seq_length: int
    num_sequences: int | None
    labels: list[str]
    digest: str


def write_description(directory: str, description: Description) -> None:
    """Writes `DESCRIPTION` into a directory."""
    with open(os.path.join(directory, DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(description), file, indent=2, sort_keys=True)


def read_description(directory: str) -> Description | None:
    """What a directory holds; None if that is not known."""
    try:
        with open(os.path.join(directory, DESCRIPTION), encoding="utf-8") as file:
            return Description(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None

"""Reads the names and shapes in real index files and accounts for each of them by our table.

    python -m benchmarks.checkpoints.released_names --checkpoints=../shared/checkpoints

Writes them to tests/data/released_names, where a test reads them.
"""

import dataclasses
import json
import pathlib

from bert_tf import files, flagging
from bert_tf.checkpoints import coverage, variables
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.config import BertConfig
from bert_tf.flagging import option

ROOT = pathlib.Path(__file__).parents[2]

# Folder of each index, the file here, rows of its word embeddings.
INDEXES = (
    ("chinese_L-12_H-768_A-12-index-only", "chinese_L-12_H-768_A-12", 21128),
    ("multi_cased-squad-index-only", "multi_cased_squad", 119547),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    checkpoints: str = option("../shared/checkpoints", "Folder of the folders with an index.")


def account(shapes, vocab_size):
    """(variables by group, names that are not weights, names in no row, shapes that differ)."""
    config = BertConfig(vocab_size=vocab_size)
    checkpoint = Checkpoint(
        path="index", format=TensorFlow1(), shapes=shapes, read_array=None, config=config
    )
    rows = checkpoint.format.rows(config)
    names = coverage.FileNames(checkpoint, rows, ())
    present = [row for row in rows if names.holds(row)]
    wanted = variables.shapes(config)
    wrong = [text for row in present for text in names.shape_problems(row, wanted[row.path])]
    groups = {}
    for row in present:
        top = row.path.split("/")[0]
        groups[top] = groups.get(top, 0) + len(row.names)
    return groups, names.not_weights, names.unused(present), wrong


def main(options):
    from tensorflow.python.training import py_checkpoint_reader

    found = {}
    for folder, name, vocab_size in INDEXES:
        prefix = pathlib.Path(options.checkpoints) / folder / "bert_model.ckpt"
        reader = py_checkpoint_reader.NewCheckpointReader(str(prefix))
        shapes = {n: tuple(s) for n, s in sorted(reader.get_variable_to_shape_map().items())}
        lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(s)}" for n, s in shapes.items())
        target = ROOT / "tests/data/released_names" / f"{name}.json"
        files.write_text(target, "{\n" + lines + "\n}\n")
        groups, not_weights, unused, wrong = account(shapes, vocab_size)
        found[name] = {
            "names": len(shapes),
            "by group": groups,
            "no weights": not_weights,
            "in no row": unused,
            "other shapes": wrong,
        }
        print(f"{name}: {len(shapes)} names; {groups}; no weights: {list(not_weights)}; ", end="")
        print(f"in no row: {unused}; other shapes: {wrong}")
    target = ROOT / "benchmarks/results/released_names.json"
    files.write_text(target, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

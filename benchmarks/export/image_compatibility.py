"""SavedModels in the TensorFlow of each TensorFlow Serving image, and what the check says of them.

    python -m benchmarks.export.image_compatibility --work_dir=environments --exports=1,2

Exports are versions that `export.savedmodel` wrote; small graphs that need something new are made
in addition (`new_graphs`). Each environment has the TensorFlow of an image, with the TensorFlow
Text whose libraries load into it, but without those that the image does not link. In it, each
SavedModel is loaded and asked twice: by `tf.saved_model.load` and by a session, as the server does.
Compared are all outputs with those of this environment.
"""

import dataclasses
import json
import pathlib
import sys

import numpy as np

from benchmarks import child_process
from benchmarks.export import environments, new_graphs, op_registries
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from export.images import operations, saved_model, table

ROOT = pathlib.Path(__file__).parents[2]
CHILD = ROOT / "benchmarks/export/run_saved_models.py"
TEXTS = (
    "Which rocket carried the astronauts to the Moon?",
    "",
    "Crème brûlée — straße, ΣΊΣΥΦΟΣ… 2² ﬁne",
    "東京 and 서울\u200b!\x00?",
    "word " * 600,
    "a" * 300,
    "another short one",
    "The Amazon rainforest has more kinds of trees than any other forest. " * 9,
)
RUNS = ("load", "session")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    work_dir: str = option(REQUIRED, "For environments and small graphs.", is_path=True)
    exports: str = option(REQUIRED, "Versions of exported models, comma-separated.", is_path=True)
    images: str | None = option(None, "Images to run, comma-separated; none: all.")
    keep: bool = option(False, "Keep the environments.")
    results: str = option(
        str(ROOT / "benchmarks/results/image_compatibility.json"), "File to write.", is_path=True
    )


def main(options: Options) -> None:
    paths = [str(pathlib.Path(path).resolve()) for path in options.exports.split(",")]
    names = {path: f"export {pathlib.Path(path).parent.name}" for path in paths}
    names |= new_graphs.save(pathlib.Path(options.work_dir, "graphs").resolve())
    task = pathlib.Path(options.work_dir, "task.json")
    task.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(task, json.dumps({path: inputs(path) for path in names}))
    wanted = answers(sys.executable, task, ())["models"]
    findings = {path: operations.examine(saved_model.read(path)) for path in names}
    results = _earlier(options.results)
    for release in environments.chosen(options.images):
        without = op_registries.NOT_LINKED[release.text_of_image]
        with environments.environment(release, options.work_dir, options.keep) as python:
            found = answers(python, task, without)
        results[release.image] = {
            "tensorflow": found["tensorflow"],
            "tensorflow_text": release.tensorflow_text,
            "not loaded": found["not loaded"],
            "graphs": {
                name: {run: outcome(found["models"][path][run], wanted[path][run]) for run in RUNS}
                for path, name in names.items()
            },
        }
        print(f"{release.image}: {json.dumps(results[release.image], indent=1)}", flush=True)
        write(options.results, results, {name: findings[path] for path, name in names.items()})


def write(path: str, results: dict, findings: dict[str, operations.Findings]) -> None:
    """Writes the results of all images, with what the check says of each graph in each of them."""
    for image, result in results.items():
        for name, outcomes in result["graphs"].items():
            problems = "; ".join(findings[name].problems[image]) if name in findings else ""
            outcomes["check"] = problems or "can run it"
    in_order = {image: results[image] for image in table.images() if image in results}
    files.write_text(path, json.dumps(in_order, indent=1) + "\n")


def _earlier(path: str) -> dict:
    """The results of images that ran before."""
    file = pathlib.Path(path)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def inputs(path: str) -> dict[str, list]:
    """Values for each input of the signature: texts, in another order each, or numbers."""
    (meta_graph,) = saved_model.read(path).meta_graphs
    given = meta_graph.signature_def["serving_default"].inputs
    texts = [text.encode("utf-8").hex() for text in TEXTS]
    is_text = {name: given[name].dtype == 7 for name in sorted(given)}  # DT_STRING
    return {
        name: texts[shift:] + texts[:shift] if is_text[name] else [-1.5, 0.25, 3.0]
        for shift, name in enumerate(is_text)
    }


def answers(python: str, task: pathlib.Path, without: tuple[str, ...]) -> dict:
    """What `run_saved_models` writes."""
    path = task.with_name("answers.json")
    child_process.run([python, str(CHILD), str(task), str(path), *without])
    return json.loads(path.read_text(encoding="utf-8"))


def outcome(found: dict, wanted: dict) -> str:
    """The error, or the largest difference of a number and the share of other values."""
    if "error" in found:
        return found["error"]
    names = wanted["outputs"]
    pairs = [(np.array(found["outputs"][name]), np.array(names[name])) for name in names]
    if any(a.shape != b.shape for a, b in pairs):
        return "other shapes"
    numbers = [np.abs(a - b).max() for a, b in pairs if a.dtype.kind in "if"]
    others = [(a != b).ravel() for a, b in pairs if a.dtype.kind not in "if"]
    text = f"largest difference {max(map(float, numbers), default=0.0):.1e}"
    if others:
        different = np.concatenate(others)
        text += f", {different.sum()} of {different.size} texts and truths differ"
    return text


if __name__ == "__main__":
    flagging.run(main, Options)

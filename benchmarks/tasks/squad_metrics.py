"""The official SQuAD evaluation script and `tasks.squad_metrics` on the same predictions.

python -m benchmarks.tasks.squad_metrics --official_script=evaluate-v1.1.py --data=dev-v1.1.json
    [--predictions=predictions.json] [--version_2_with_negative]

Without --predictions, the gold answers are damaged in ways that the rules must see through.
"""

import dataclasses
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks import squad, squad_metrics

RESULTS = pathlib.Path(__file__).parents[1] / "results"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    official_script: str = option(REQUIRED, "evaluate-v1.1.py or evaluate-v2.0.py.")
    data: str = option(REQUIRED, "SQuAD JSON file with gold answers, may be .gz.")
    predictions: str | None = option(None, "predictions.json; default: damaged gold answers.")
    version_2_with_negative: bool = option(False, "The script and the data are those of 2.0.")
    seed: int = option(1, "Of the damage.")


def damaged(examples, seed):
    """A prediction per question: its gold answers, right, nearly right and wrong."""
    rng = random.Random(seed)
    changes = (
        lambda text: text,
        str.upper,
        lambda text: f"the {text}.",
        lambda text: f"  {text.replace(' ', '  ')}\u00a0",
        lambda text: " ".join(text.split()[1:]),
        lambda text: f"{text} and {text}",
        lambda text: text.replace("-", " ").replace("'", ""),
        lambda text: "",
        lambda text: "An.",
        lambda text: "something else",
    )
    predictions = {}
    for example in examples:
        gold = rng.choice(example.answers).text if example.answers else ""
        predictions[example.question_id] = rng.choice(changes)(gold)
    return predictions


def official_scores(script, data, predictions):
    """Runs the official script, which takes plain JSON files only."""
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        raw = pathlib.Path(data).read_bytes()
        (folder / "data.json").write_bytes(gzip.decompress(raw) if data.endswith(".gz") else raw)
        (folder / "predictions.json").write_text(json.dumps(predictions))
        run = subprocess.run(
            [sys.executable, pathlib.Path(script).absolute(), "data.json", "predictions.json"],
            cwd=directory,
            capture_output=True,
            text=True,
        )
    if run.returncode:
        raise InputError(f"{script} failed on {data}: {run.stderr.strip().splitlines()[-1]}")
    return json.loads(run.stdout)


def main(options):
    examples, _ = squad.read_examples(
        options.data, version_2_with_negative=options.version_2_with_negative
    )
    if options.predictions:
        predictions = json.loads(pathlib.Path(options.predictions).read_text())
    else:
        predictions = damaged(examples, options.seed)
    ours = squad_metrics.evaluate(examples, predictions, options.version_2_with_negative)
    official = official_scores(options.official_script, options.data, predictions)
    print(f"{'key':16}{'official':>22}{'ours':>22}  equal")
    for key, value in official.items():
        print(f"{key:16}{value:>22}{ours.get(key, 'none'):>22}  {value == ours.get(key)}")
    name = f"squad_metrics_v{2 if options.version_2_with_negative else 1}.json"
    summary = {
        "data": pathlib.Path(options.data).name,
        "questions": len(examples),
        "predictions": "a model's" if options.predictions else "damaged gold answers",
        "official": official,
        "ours": ours,
        "equal": official == ours,
    }
    files.write_text(RESULTS / name, json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

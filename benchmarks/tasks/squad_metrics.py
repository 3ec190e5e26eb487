"""The official SQuAD evaluation script and `tasks.squad_metrics` on the same predictions.

python -m benchmarks.tasks.squad_metrics --official_script=evaluate-v2.0.py --data=dev-v2.0.json
    --version_2_with_negative [--predictions=predictions.json --na_prob_file=null_odds.json]

Without --predictions, the gold answers are damaged in ways that the rules must see through. Those
of 2.0 are scored with null odds and a threshold, and the best thresholds are compared as well;
without --na_prob_file the odds are made up, with many equal ones.
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
from bert_tf.examples import readers
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks import squad_metrics

RESULTS = pathlib.Path(__file__).parents[1] / "results"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    official_script: str = option(REQUIRED, "evaluate-v1.1.py or evaluate-v2.0.py.")
    data: str = option(REQUIRED, "SQuAD JSON file with gold answers, may be .gz.")
    predictions: str | None = option(None, "predictions.json; default: damaged gold answers.")
    version_2_with_negative: bool = option(False, "The script and the data are those of 2.0.")
    na_prob_file: str | None = option(None, "null_odds.json; default: made-up odds.")
    na_prob_thresh: float = option(0.0, "Threshold of the null odds.")
    seed: int = option(1, "Of the damage and of the odds.")


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


def made_up_odds(examples, seed):
    """Null odds of every question, larger without an answer, with one decimal: many are equal."""
    rng = random.Random(seed)
    return {e.question_id: round(rng.gauss(-1.0 if e.answers else 1.0, 2.0), 1) for e in examples}


def official_scores(options, predictions, null_odds):
    """Runs the official script, which takes plain JSON files only."""
    script, data = options.official_script, options.data
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        raw = pathlib.Path(data).read_bytes()
        (folder / "data.json").write_bytes(gzip.decompress(raw) if data.endswith(".gz") else raw)
        (folder / "predictions.json").write_text(json.dumps(predictions))
        command = [sys.executable, pathlib.Path(script).absolute(), "data.json", "predictions.json"]
        if options.version_2_with_negative:
            (folder / "odds.json").write_text(json.dumps(null_odds))
            command += ["--na-prob-file=odds.json", f"--na-prob-thresh={options.na_prob_thresh}"]
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if run.returncode:
        raise InputError(f"{script} failed on {data}: {run.stderr.strip().splitlines()[-1]}")
    return json.loads(run.stdout)


def our_scores(options, examples, predictions, null_odds):
    """The same with our code."""
    if not options.version_2_with_negative:
        return squad_metrics.evaluate_v1(examples, predictions)
    answers = squad_metrics.with_threshold(predictions, null_odds, options.na_prob_thresh)
    best = squad_metrics.best_thresholds(examples, predictions, null_odds)
    return squad_metrics.evaluate_v2(examples, answers) | best


def main(options):
    layout = readers.SquadLayout(version_2_with_negative=options.version_2_with_negative)
    examples = layout.read(options.data)
    if options.predictions:
        predictions = json.loads(pathlib.Path(options.predictions).read_text())
    else:
        predictions = damaged(examples, options.seed)
    null_odds = made_up_odds(examples, options.seed)
    if options.na_prob_file:
        null_odds = json.loads(pathlib.Path(options.na_prob_file).read_text())
    ours = our_scores(options, examples, predictions, null_odds)
    official = official_scores(options, predictions, null_odds)
    print(f"{'key':18}{'official':>22}{'ours':>22}  equal")
    for key, value in official.items():
        print(f"{key:18}{value:>22}{ours.get(key, 'none'):>22}  {value == ours.get(key)}")
    name = f"squad_metrics_v{2 if options.version_2_with_negative else 1}.json"
    summary = {
        "data": pathlib.Path(options.data).name,
        "questions": len(examples),
        "predictions": "a model's" if options.predictions else "damaged gold answers",
        "official": official,
        "ours": ours,
        "equal": official == ours,
    }
    if options.version_2_with_negative:
        summary["null_odds"] = "a model's" if options.na_prob_file else "made up"
    files.write_text(RESULTS / name, json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

"""Table 7 of the paper: named entities from frozen layers, and from fine-tuning.

    python -m benchmarks.tasks.feature_based_ner --data_dir=DIR --init_checkpoint=WEIGHTS --work=out

DIR has the files of CoNLL-2003. Six trainings with --feature_based and one of the whole model, one
after the other; each goes on where it was stopped, and a complete one is only read. Writes
benchmarks/results/feature_based_ner.json after each and prints the table.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

from bert_tf import files
from bert_tf.frozen_layers import FROZEN_LAYERS

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/feature_based_ner.json"
FINE_TUNING = "fine_tuning"
# F1 on the dev set, BERT-Base cased, mean of five runs (paper, table 7).
PAPER = {
    "embeddings": 91.0,
    "second_to_last": 95.6,
    "last": 94.9,
    "weighted_last_four": 95.9,
    "concat_last_four": 96.1,
    "weighted_all": 95.5,
    FINE_TUNING: 96.4,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data_dir", required=True, help="files of CoNLL-2003")
    parser.add_argument("--init_checkpoint", required=True)
    parser.add_argument("--work", required=True, help="folder for the model directories")
    parser.add_argument("--do_lower_case", default="true", choices=("true", "false"))
    parser.add_argument("--rows", nargs="*", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--seeds", type=int, nargs="*", default=[12345])
    parser.add_argument("--train_batch_size", type=int, default=32)
    parser.add_argument("--epochs", type=float, default=10.0, help="of the BiLSTM")
    parser.add_argument("--learning_rate", type=float, default=1e-3, help="of the BiLSTM")
    parser.add_argument("--lstm_units", type=int, default=768)
    parser.add_argument("--fine_tuning_epochs", type=float, default=2.0)
    parser.add_argument("--fine_tuning_learning_rate", type=float, default=1e-4)
    parser.add_argument("--max_train_examples", type=int, help="a slice, to try this program")
    parser.add_argument("--results", default=str(RESULTS))
    arguments = parser.parse_args()
    found = {}
    for row in arguments.rows:
        found[row] = [train(row, seed, arguments) for seed in arguments.seeds]
        write(found, arguments)
    print(table(found))


def train(row, seed, arguments):
    """Trains a row of the table, if it is not complete; dict of its scores and seconds."""
    output = pathlib.Path(arguments.work, f"{row}-{seed}")
    kept = output / "benchmark.json"
    if kept.is_file():
        return json.loads(kept.read_text())
    start = time.monotonic()
    subprocess.run(command(row, seed, output, arguments), cwd=ROOT, check=True)
    lines = (output / "eval_results.txt").read_text().splitlines()
    scores = dict(line.split(" = ") for line in lines)
    result = {
        "f1": 100.0 * float(scores["eval_entity_f1"]),
        "best_f1": 100.0 * float(scores["best_eval_entity_f1"]),
        "seconds": time.monotonic() - start,  # of the last start, where it was stopped before
    }
    files.write_text(kept, json.dumps(result) + "\n")
    return result


def command(row, seed, output, arguments):
    """The call of run_classifier.py for a row."""
    is_frozen = row != FINE_TUNING
    epochs = arguments.epochs if is_frozen else arguments.fine_tuning_epochs
    rate = arguments.learning_rate if is_frozen else arguments.fine_tuning_learning_rate
    flags = {
        "task_name": "conll-2003",
        "data_dir": arguments.data_dir,
        "init_checkpoint": arguments.init_checkpoint,
        "do_lower_case": arguments.do_lower_case,
        "output_dir": output,
        "train_batch_size": arguments.train_batch_size,
        "num_train_epochs": epochs,
        "learning_rate": rate,
        "random_seed": seed,
    }
    if is_frozen:
        flags |= {"feature_based": row, "lstm_units": arguments.lstm_units}
    if arguments.max_train_examples:
        flags["max_train_examples"] = arguments.max_train_examples
    script = [sys.executable, str(ROOT / "run_classifier.py"), "--do_train", "--do_eval"]
    return script + [f"--{name}={value}" for name, value in flags.items()]


def write(found, arguments):
    settings = {k: v for k, v in vars(arguments).items() if k not in ("work", "results", "rows")}
    settings["data_dir"] = pathlib.Path(arguments.data_dir).name
    settings["init_checkpoint"] = pathlib.Path(arguments.init_checkpoint).name
    text = json.dumps({"settings": settings, "rows": found}, indent=2) + "\n"
    files.write_text(arguments.results, text)


def table(found):
    """The rows next to those of the paper."""
    lines = [f"{'':32}{'dev F1':>8}{'spread':>8}{'paper':>8}{'seconds':>9}"]
    for row, results in found.items():
        title = FROZEN_LAYERS[row].title if row in FROZEN_LAYERS else "Fine-tuning"
        scores = [result["f1"] for result in results]
        spread = f"{statistics.stdev(scores):8.2f}" if len(scores) > 1 else f"{'':8}"
        seconds = statistics.mean(result["seconds"] for result in results)
        mean = statistics.mean(scores)
        lines.append(f"{title:32}{mean:8.2f}{spread}{PAPER[row]:8.1f}{seconds:9.0f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

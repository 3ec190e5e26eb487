"""--grid with a training: the run has a process of its own, and its model is that of the grid."""

import csv
import signal
import subprocess
import sys

WORDS = "who wrote this book when did she live it was about love and pride".split()
# In place of training, what `python -m bert_tf.training.grid` does with a command that never ends.
ENDLESS = """
import runpy, time
from bert_tf import commands
commands.main = lambda: print("started", flush=True) or time.sleep(60)
runpy.run_module("bert_tf.training.grid", run_name="__main__")
"""


def test_a_grid_from_data_to_predictions(run, tiny_bert, tmp_path):
    rows = [f"{' '.join(WORDS[i:])}\t{'good' if i % 2 else 'bad'}" for i in range(11)]
    (tmp_path / "train.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    printed = run(
        [
            "run_classifier.py",
            *(f"--{split}_file={tmp_path}/train.tsv" for split in ("train", "dev", "test")),
            f"--init_checkpoint={tiny_bert}",
            f"--output_dir={tmp_path}/out",
            *("--do_train", "--do_eval", "--do_predict", "--max_seq_length=23"),
            *("--grid=learning_rate=1e-3", "--num_train_epochs=1", "--random_seed=7"),
        ]
    )
    assert "Run 1 of 1, learning_rate=0.001+seed=7: accuracy " in printed
    made = tmp_path / "out/runs/learning_rate=0.001+seed=7"
    assert "11 examples in batches of 32" in (made / "log.txt").read_text()
    with open(tmp_path / "out/grid_results.tsv", encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    results = (made / "eval_results.txt").read_text()
    assert f"best_eval_accuracy = {float(row['accuracy']):.9g}\n" in results
    index = "best/bert_model.ckpt.index"
    assert (tmp_path / "out" / index).samefile(made / index)
    assert len((tmp_path / "out/predictions.tsv").read_text().splitlines()) == 12


def test_a_run_ends_when_its_grid_is_killed(environment):
    command = [sys.executable, "-c", ENDLESS]
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipe) as process:
        assert process.stdout.readline() == "started\n"
        process.stdin.close()
        assert process.wait(timeout=30) == -signal.SIGTERM

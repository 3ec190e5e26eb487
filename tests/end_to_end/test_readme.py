"""The README as a reader pastes it: its shell blocks as one script, then its Python blocks.

It runs on a copy of the checkout in which `quickstart/`, which `make quickstart` leaves there, has
a tiny model for weights.
"""

import json
import os
import subprocess
import sys

from tests.reference import shell_blocks, snippets

PAGE = "README.md"
QUESTION = "Which rocket carried the astronauts to the Moon?"
SCRIPTS = ("create_pretraining_data", "run_pretraining", "run_classifier", "run_squad")


def test_the_readme_runs_from_top_to_bottom(
    checkout, tiny_bert, environment, free_port, lines_of_tensorflow
):
    leave_what_the_quickstart_leaves(checkout, tiny_bert)
    script = shell_blocks.script(PAGE)
    for name in SCRIPTS:
        assert f"{name}.py" in script
    script = script.replace("8501", str(free_port))
    printed = finished(["bash", "-e", "-c", script], checkout, environment)
    labels = json.loads((checkout / "out/topics/model.json").read_text())["labels"]
    (answer,) = [line for line in printed.splitlines() if line.endswith(f"\t{QUESTION}")]
    assert answer.split(": ")[0] in labels
    for path in ("train.tfrecord", "pretrained/eval_results.txt", "squad/predictions.json"):
        assert (checkout / "out" / path).stat().st_size > 0

    for name in ("topics", "pretrained"):
        (checkout / "quickstart" / name).symlink_to(checkout / "out" / name)
    blocks = "".join(snippets.blocks(PAGE))
    printed += finished([sys.executable, "-c", blocks], checkout, environment)
    assert lines_of_tensorflow(printed) == []


def leave_what_the_quickstart_leaves(checkout, tiny_bert):
    """Makes `quickstart/weights` and `.venv`, whose Python is here the one that runs the test."""
    (checkout / "quickstart").mkdir()
    (checkout / "quickstart" / "weights").symlink_to(tiny_bert)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    folder = os.path.dirname(sys.executable)
    (checkout / ".venv" / "bin" / "activate").write_text(f'PATH="{folder}:$PATH"\n')


def finished(arguments, folder, environment):
    """What a command printed, once it has ended well."""
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout

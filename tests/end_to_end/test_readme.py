"""Every command that the README prints runs as it stands, on a tiny model."""

import contextlib
import json
import pathlib
import re
import shlex
import subprocess

README = pathlib.Path(__file__).parents[2] / "README.md"


def commands():
    """The commands in the README's shell blocks, one string each, in order."""
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip()]


def test_all_commands_of_the_readme_run_in_their_order(
    checkout, tiny_bert, environment, server, free_port
):
    answers = []
    with contextlib.ExitStack() as stack:
        for command in commands():
            arguments = shlex.split(
                command.replace("$BERT", str(tiny_bert)).replace("8501", str(free_port))
            )
            if arguments[1:3] == ["-m", "serving"]:
                stack.enter_context(server(arguments, checkout, environment, free_port))
            else:
                answers.append(finished(arguments, checkout, environment))
    scripts = " ".join(commands())
    for name in ("create_pretraining_data", "run_pretraining", "run_classifier", "run_squad"):
        assert f"{name}.py" in scripts
    labels = json.loads((checkout / "out/topics/model.json").read_text())["labels"]
    (answer,) = [answer for answer in answers if "Which rocket" in answer]
    assert answer.split(": ")[0] in labels
    for path in ("train.tfrecord", "pretrained/eval_results.txt", "squad/predictions.json"):
        assert (checkout / "out" / path).stat().st_size > 0


def finished(arguments, checkout, environment):
    done = subprocess.run(
        arguments,
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""What the README starts, started in a checkout. `test_wheel.py` runs all of the README."""

from bert_tf.commands import COMMANDS
from tests.reference import shell_blocks


def test_every_program_of_the_readme_starts_in_a_checkout(run):
    starts = shell_blocks.starts("README.md")
    assert {"python run_pretraining.py", "python -m serving"} <= starts.keys()
    assert {"data", "pretrain", "classify", "squad", "export", "serve"} <= set(starts.values())
    for start, name in starts.items():
        printed = run([*start.split()[1:], "--help"])
        assert printed.startswith(f"{COMMANDS[name].summary}\n\nUsage: {start} [FLAGS]"), start

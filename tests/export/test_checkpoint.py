import subprocess
import sys

import pytest

from export import checkpoint
from export.conversion import convert, verify


def test_the_flags(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "export.checkpoint", "--from=nothing/bert_model.ckpt", "--to=tf1"]
        + [f"--output={tmp_path / 'out'}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "ERROR: No checkpoint at nothing/bert_model.ckpt" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_difference_is_an_exit_status(monkeypatch, capsys):
    def differ(_):
        raise verify.MismatchError("pooled_output differs")

    monkeypatch.setattr(convert, "run", differ)
    with pytest.raises(SystemExit) as exit_error:
        checkpoint.main(None)
    assert exit_error.value.code == 1
    assert "ERROR: pooled_output differs" in capsys.readouterr().err

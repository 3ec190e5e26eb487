"""A run that a full disk ends says what its directory keeps and how to go on."""

import errno
import types

import pytest

from bert_tf.errors import DiskFullError, InputError
from bert_tf.training.resume import completion, full_disk
from tests.reference.state_run import DATA, Run


def write(path, num_bytes):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes(num_bytes))


def test_nothing_yet(tmp_path):
    text = full_disk.what_is_kept(str(tmp_path / "out"))
    assert f"{tmp_path}/out keeps no training state yet. Free some space (" in text
    assert " are free) and run the same command again: it starts from the beginning." in text


def test_a_complete_run_has_no_state_and_is_not_trained_again(tmp_path):
    write(tmp_path / "last" / "bert_model.ckpt.index", 11)
    completion.finish(str(tmp_path), 7, keeps_states=False)
    text = full_disk.what_is_kept(str(tmp_path))
    assert "keeps the weights in last/." in text
    assert text.endswith("run the same command again: it writes what is missing.")


def test_states_and_weights_with_their_sizes(tmp_path):
    Run(tmp_path / "training").save(3, 5)
    (tmp_path / "training" / "step-5" / DATA).write_bytes(b"damaged")
    write(tmp_path / "best" / "bert_model.ckpt.index", 2_000_011)
    text = full_disk.what_is_kept(str(tmp_path))
    assert "keeps the training state of step 3 and the weights in best/. Free" in text
    state = sum(path.stat().st_size for path in (tmp_path / "training" / "step-3").iterdir())
    assert f"a training state takes {state / 1000:.3g} kB" in text
    assert "weights take 2 MB) and run the same command again: it goes on after step 3." in text


def test_a_run_is_explained_and_other_errors_are_not(tmp_path):
    errors = iter(
        [OSError(errno.ENOSPC, "No space left on device", "flags.txt"), InputError("x"), OSError()]
    )

    @full_disk.explained
    def run(given):
        """The docstring."""
        raise next(errors)

    options = types.SimpleNamespace(output_dir=str(tmp_path))
    given = types.SimpleNamespace(inputs=types.SimpleNamespace(options=options))
    assert run.__doc__ == "The docstring."
    with pytest.raises(
        DiskFullError, match=r"The disk is full \(flags.txt\). .* keeps no training"
    ):
        run(given)
    with pytest.raises(InputError, match="x"):
        run(given)
    with pytest.raises(OSError):
        run(given)

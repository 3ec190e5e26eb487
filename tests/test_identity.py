"""Identities: written once, then compared."""

import json

import pytest

from bert_tf import identity
from bert_tf.errors import InputError


def test_the_first_one_is_written_and_the_same_one_passes(tmp_path):
    path = str(tmp_path / "identity.json")
    assert identity.differences(path, {"seed": 3, "phases": [(17, 4)]}) == []
    assert list(tmp_path.iterdir()) == []
    identity.keep(path, {"seed": 3, "phases": [(17, 4)]})
    identity.keep(path, {"seed": 5})
    assert json.loads((tmp_path / "identity.json").read_text()) == {"seed": 3, "phases": [[17, 4]]}
    assert identity.differences(path, {"phases": [(17, 4)], "seed": 3}) == []


def test_differences_are_named_on_both_sides(tmp_path):
    path = str(tmp_path / "identity.json")
    identity.keep(path, {"seed": 3, "dtype": "float32", "old": 1})
    assert identity.differences(path, {"seed": 5, "dtype": "float32", "new": "a"}) == [
        "new is None there and 'a' here",
        "old is 1 there and None here",
        "seed is 3 there and 5 here",
    ]


def test_what_version_0_1_0_wrote_is_read(tmp_path):
    path = str(tmp_path / "identity.json")
    masks = [{"unit": "piece", "max_ngram": 3}]
    identity.keep(path, {"seed": 4, "batch_pieces": 4, "masks": masks})
    now = {"seed": 4, "masks": [{"granularity": "token", "max_ngram": 3}]}
    assert identity.differences(path, now) == []
    assert identity.differences(path, now | {"seed": 2}) == ["seed is 4 there and 2 here"]


def test_fine_tuning_of_version_0_1_0_has_other_dropout_masks(tmp_path):
    path = str(tmp_path / "identity.json")
    identity.keep(path, {"seed": 4, "batch_pieces": 4})
    (difference,) = identity.differences(path, {"seed": 4, "dropout_masks": "by row"})
    assert difference.startswith("version 0.1.0 began it")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b'{"seed": 3, "dty', r"is damaged \(Unterminated string"),
        (b"[3]", r"is damaged \(it is no JSON object\)"),
        (b"\x00\xff\x00", "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_way_out(tmp_path, content, what):
    path = tmp_path / "training" / "identity.json"
    path.parent.mkdir()
    path.write_bytes(content)
    wanted = rf"training/identity.json {what}.*remove the file and run the command again"
    with pytest.raises(InputError, match=wanted):
        identity.differences(str(path), {"seed": 3})


def test_what_earlier_runs_lack_has_the_value_they_were_made_with(tmp_path):
    path = str(tmp_path / "identity.json")
    identity.keep(path, {"seed": 3})
    now = {"seed": 3, "layer_lr_decay": 1.0, "reinit_layers": None}
    assert identity.differences(path, now) == []
    assert identity.differences(path, now | {"layer_lr_decay": 0.9}, is_part=True) == [
        "layer_lr_decay is 1.0 there and 0.9 here"
    ]
    assert identity.differences(path, {"seed": 3}) == []  # pre-training has no such options


def test_an_entry_is_read(tmp_path):
    path = str(tmp_path / "identity.json")
    assert identity.value(path, "best_metric") is None
    identity.keep(path, {"best_metric": "loss"})
    assert [identity.value(path, name) for name in ("best_metric", "seed")] == ["loss", None]


def test_other_weights_to_decay_towards_are_explained(tmp_path):
    path = str(tmp_path / "identity.json")
    identity.keep(path, {"anchors_sha256": "a"})
    (difference,) = identity.differences(path, {"anchors_sha256": "b"})
    assert difference.startswith("the weights of --init_checkpoint are others now")

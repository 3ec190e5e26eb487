"""Identities: written once, then compared."""

import json

from bert_tf import identity


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
    identity.keep(path, {"batch_pieces": 4, "masks": [{"unit": "piece", "max_ngram": 3}]})
    now = {"num_micro_batches": 4, "masks": [{"granularity": "token", "max_ngram": 3}]}
    assert identity.differences(path, now) == []
    assert identity.differences(path, now | {"num_micro_batches": 2}) == [
        "num_micro_batches is 4 there and 2 here"
    ]

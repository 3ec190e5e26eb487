"""Records without masks, read by every path: the same run as from masked records."""

import dataclasses
import random
import shutil

import numpy as np
import pytest

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.records import manifest
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.pretraining import pretrain, pretraining_data
from bert_tf.training.step import objectives
from tests.reference import pretraining_runs, records
from tests.reference.pretraining_runs import (
    assert_close,
    weights,
    write_model,
)

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##i", "##j"]
VOCABULARY = Vocabulary(TOKENS)
CLS, SEP, MASK, TEXT = 2, 3, 4, 5


@pytest.fixture
def bert(tmp_path):
    return write_model(tmp_path, TOKENS, 0.1)


def values(number, num_tokens, *, is_masked, is_packed, pad):
    """A record of `num_tokens` at the most; its second token is masked, or nothing is."""
    rng = random.Random(1000 * num_tokens + number)
    text = [rng.randrange(TEXT, len(TOKENS)) for _ in range(rng.randint(3, num_tokens - 5))]
    word_ids = [CLS, *text, SEP, CLS if is_packed else TEXT, TEXT + 1, SEP]
    found = records.pretraining_values(
        [CLS, MASK, *word_ids[2:]] if is_masked else word_ids,
        [1],
        [word_ids[1]],
        pair_label=None if is_packed else number % 2,
        sizes={"T": num_tokens, "P": 3} if pad else None,
    )
    if is_packed:
        padding = [0] * (num_tokens - len(word_ids) if pad else 0)
        found[features.SEQUENCE_IDS] = [1] * (len(text) + 2) + [2] * 3 + padding
    if not is_masked:
        found = {key: each for key, each in found.items() if key not in features.MASKED_LM}
    return found


def write(
    bert, name, num_tokens=17, *, is_masked=False, is_packed=False, pad=True, entry=True, **flags
):
    """A file of 23 records and, unless told otherwise, its manifest."""
    (bert / name).mkdir()
    kind = {"is_masked": is_masked, "is_packed": is_packed, "pad": pad}
    path = records.write_file(
        bert / name / "a.tfrecord", [values(n, num_tokens, **kind) for n in range(23)]
    )
    if entry:
        made = {"max_seq_length": num_tokens, "max_predictions_per_seq": 3, "dupe_factor": 1}
        made |= {"mask": is_masked, "example_type": "packed" if is_packed else "nsp"}
        records.enter([path], VOCABULARY, **made | {"pad_to_max_seq_length": pad} | flags)
    return path


def flags(bert, path, name, **changes):
    return pretraining_runs.run_options(bert, path, name, **{"dynamic_masking": True} | changes)


def trained(*arguments, **changes):
    """The weights after a run of seven updates."""
    made = flags(*arguments, **changes)
    pretrain.run(made)
    return weights(made.output_dir)


def results(directory):
    lines = (directory / "eval_results.txt").read_text().splitlines()
    return {name: float(value) for name, value in (line.split(" = ") for line in lines)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The directory of a run on the file "records", fed from the host and evaluated."""
    bert = write_model(tmp_path_factory.mktemp("finished"), TOKENS, 0.1)
    trained(bert, write(bert, "records"), "out", do_eval=True)
    return bert / "out"


def test_weights_do_not_depend_on_micro_batches_or_who_feeds_them(bert, finished):
    path = write(bert, "records")
    changes = {"length_buckets": "17", "gradient_accumulation_steps": 2, "iterations_per_loop": 3}
    assert_close(trained(bert, path, "by devices", **changes), weights(finished), 1e-6)


def test_held_out_masks_are_always_the_same_and_those_of_a_run_stay(bert, finished):
    path = write(bert, "records")
    shutil.copytree(finished, bert / "out")
    first = results(bert / "out")
    assert first["masked_lm_loss"] > 0
    changes = {"do_train": False, "do_eval": True, "eval_batch_size": 5, "random_seed": 3}
    pretrain.run(flags(bert, path, "out", **changes))
    again = results(bert / "out")
    assert again["masked_lm_loss"] == pytest.approx(first["masked_lm_loss"], rel=1e-5)
    assert again["masked_lm_accuracy"] == pytest.approx(first["masked_lm_accuracy"])
    with pytest.raises(InputError, match="masks is .*'max_predictions_per_seq': 3.* there"):
        trained(bert, path, "out", max_predictions_per_seq=5)


def found_records(bert, path, objective="mlm_nsp", is_evaluation=False, **changes):
    given = flags(bert, path, "out", objective=objective, **changes)
    return pretraining_data.find_records(given, VOCABULARY, 17, is_evaluation=is_evaluation)


@pytest.mark.parametrize(
    ("objective", "kind"),
    [
        ("mlm", {}),
        ("mlm", {"pad": False}),
        ("mlm", {"is_packed": True, "pad": False}),
        ("ltr", {"is_packed": True, "pad": False}),
        ("ltr_nsp", {}),
    ],
    ids=str,
)
def test_every_batch_and_micro_batch_is_that_of_masked_records(bert, objective, kind):
    """Left to right the model's batches, of which masks are undone."""
    prepare = objectives.PRETRAINING[objective].prepare
    shares = {"first_row": 4, "num_rows": 4}
    cut = {"num_micro_batches": 2, "length_buckets": (11, 13), "num_replicas": 2}
    found = []
    for is_masked in (True, False):
        path = write(bert, f"masked_{is_masked}", is_masked=is_masked, **kind)
        reader = found_records(bert, path, objective).reader(8, 12345)
        micro_batches = reader.micro_batches(3, **cut, **shares).unbatch()
        read = [reader.batches(), reader.batches(5, **shares), micro_batches]
        found.append([prepare(batch) for each in read for batch in each.take(6)])
    for one, other in zip(*found, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], name)


def test_held_out_records_keep_the_masks_that_they_have(bert):
    path = write(bert, "records", is_masked=True)
    held_out = found_records(bert, path, is_evaluation=True, max_predictions_per_seq=5)
    assert held_out.masks is None
    assert held_out.sizes["P"] == 3
    batch = next(held_out.reader(23, 1).once().as_numpy_iterator())
    assert (batch["input_word_ids"][:, 1] == MASK).all()


def test_masks_are_drawn_as_the_manifest_says(bert):
    shares = {"masked_lm_prob": 0.5, "mask_prob": 0.0, "random_prob": 0.25}
    path = write(bert, "records", mask_granularity="word", max_predictions_per_seq=7, **shares)
    found = found_records(bert, path)
    assert dataclasses.asdict(found.masks).items() >= (shares | {"granularity": "word"}).items()
    assert found.sizes == {"T": 17, "P": 7}
    batches = list(found.reader(8, 1).batches().take(30).as_numpy_iterator())
    used = np.concatenate([batch["masked_lm_weights"] for batch in batches]) > 0
    labels = np.concatenate([batch["masked_lm_ids"] for batch in batches])
    word_ids = np.concatenate([batch["input_word_ids"] for batch in batches])
    assert MASK not in word_ids
    # Half of a row's text, which are 5 to 14 tokens; seven at the most.
    assert used.sum(axis=1).max() == 7
    positions = np.concatenate([batch["masked_lm_positions"] for batch in batches])
    for row in range(len(word_ids)):
        chosen = set(positions[row][used[row]].tolist())
        stood = word_ids[row].copy()
        stood[positions[row][used[row]]] = labels[row][used[row]]
        for place in range(1, 16):
            continues_a_word = stood[place] >= len(TOKENS) - 2 and stood[place - 1] >= TEXT
            assert not continues_a_word or (place in chosen) == (place - 1 in chosen)


@pytest.mark.parametrize(
    ("kind", "changes", "wanted"),
    [
        ({}, {}, 3),  # its manifest
        ({}, {"max_predictions_per_seq": 5}, 5),
        ({"entry": False}, {}, 3),  # 15 % of 17
        ({"entry": False, "is_masked": True}, {}, 3),
        ({"is_masked": True}, {"max_predictions_per_seq": 5}, 5),  # not what the records have
    ],
    ids=str,
)
def test_predictions_of_a_row(bert, kind, changes, wanted):
    found = found_records(bert, write(bert, "records", **kind), **changes)
    batch = next(found.reader(8, 1).batches().as_numpy_iterator())
    assert found.sizes["P"] == batch["masked_lm_ids"].shape[1] == wanted
    assert found.masks.max_predictions_per_seq == wanted


def test_without_a_manifest_masks_are_those_of_the_paper(bert):
    masks = found_records(bert, write(bert, "records", entry=False)).masks
    assert (masks.masked_lm_prob, masks.mask_prob, masks.random_prob) == (0.15, 0.8, 0.1)
    assert masks.granularity == "token"


def test_left_to_right_records_need_no_masks(bert):
    path = write(bert, "records")
    for changes in ({}, {"dynamic_masking": False, "max_predictions_per_seq": 20}):
        found = found_records(bert, path, "ltr", **changes)
        assert (found.masks, found.sizes) == (None, {"T": 17})
        names = {"input_word_ids", "input_mask", "input_type_ids"}
        assert found.reader(8, 1).batches().element_spec.keys() == names


@pytest.mark.parametrize("is_evaluation", [False, True])
def test_masked_lm_without_masks_is_refused_with_the_way_out(bert, is_evaluation):
    path = write(bert, "records")
    with pytest.raises(InputError, match="has no masks.*--dynamic_masking=true") as error:
        found_records(bert, path, is_evaluation=is_evaluation, dynamic_masking=False)
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"mask_granularity": "span"}, "--mask_granularity=span.*--dynamic_masking=false"),
        ({"mask_granularity": "word", "segmented_text": True}, "--segmented_text=true"),
    ],
    ids=str,
)
def test_units_that_records_do_not_tell_are_not_drawn(bert, made, message):
    path = write(bert, "records", is_masked=True, **made)
    with pytest.raises(InputError, match=message):
        found_records(bert, path)
    assert found_records(bert, path, dynamic_masking=False).masks is None
    assert manifest.find(path).is_masked


def test_masked_and_unmasked_files_together_are_refused(bert):
    paths = ",".join(write(bert, f"{kind}", is_masked=kind) for kind in (True, False))
    with pytest.raises(InputError, match="has no masked_lm_ids.*--mask"):
        found_records(bert, paths)

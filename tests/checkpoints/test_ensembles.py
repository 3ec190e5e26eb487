"""Several model directories become one, or are refused with what differs."""

import dataclasses
import os

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.checkpoints import ensembles, model_directory
from bert_tf.checkpoints.model_directory import ModelDirectory, ModelMetadata
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
METADATA = ModelMetadata(
    kind="classify", task="t", labels=("x", "y", "z"), do_lower_case=True, max_seq_length=12
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]


@pytest.fixture
def new(tmp_path):
    """`new(name, **changes)`: the path of a model directory; with weights if there is a `seed`."""

    def make(name, seed=None, tokens=TOKENS, **changes):
        vocab_file = tmp_path / f"{name}.txt"
        vocab_file.write_text("\n".join(tokens) + "\n")
        metadata = dataclasses.replace(METADATA, **changes)
        path = str(tmp_path / name)
        model_directory.create(path, CONFIG, str(vocab_file), metadata)
        if seed is not None:
            model = model_directory.new_model(CONFIG, metadata)
            rng = np.random.default_rng(seed)
            for variable in model.variables:
                variable.assign(rng.normal(size=variable.shape))
            checkpoints.save(model, os.path.join(path, "last"))
        return path

    return make


def test_an_ensemble_lives_without_its_members(new, tmp_path):
    members = ensembles.open_members([new("one", 1), new("two", 2)])
    models = [member.build_model() for member in members]
    metadata = dataclasses.replace(METADATA, settings=ensembles.settings(members))
    path = str(tmp_path / "both")
    ensembles.write(ModelDirectory(path, CONFIG, members[0].vocabulary, metadata), members)
    for member in members:
        os.rename(member.path, f"{member.path} gone")
    opened = ModelDirectory.open(path)
    assert [member.digest() for member in opened.members] == list(
        opened.metadata.settings["members"].values()
    )
    batch = {
        "input_word_ids": np.array([[2, 5, 3]], np.int32),
        "input_mask": np.ones((1, 3), np.int32),
        "input_type_ids": np.zeros((1, 3), np.int32),
    }
    logits = [np.asarray(model(batch)["logits"], np.float64) for model in models]
    wanted = np.mean([np.exp(x) / np.exp(x).sum() for x in logits], axis=0)
    found = np.exp(np.asarray(opened.build_model()(batch)["logits"], np.float64))
    np.testing.assert_allclose(found / found.sum(), wanted, rtol=1e-5)


def test_a_digest_is_that_of_what_decides_the_answers(new):
    one, same, other = (ModelDirectory.open(new(f"{i}", seed)) for i, seed in enumerate((1, 1, 2)))
    assert one.digest() == same.digest() != other.digest()
    (open(os.path.join(same.path, "eval_results.txt"), "w")).close()
    assert one.digest() == same.digest()


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"labels": ("x", "z", "y")}, "labels is ('x', 'z', 'y') there and ('x', 'y', 'z') here"),
        ({"kind": "multi_label"}, "kind is 'multi_label' there and 'classify' here"),
        ({"max_seq_length": 11}, "max_seq_length is 11 there and 12 here"),
        ({"tokens": [*TOKENS[:5], "b", "a"]}, "the vocabularies differ"),
        ({"settings": {"members": {}}}, "is an ensemble itself"),
    ],
)
def test_members_that_answer_something_else_are_refused(new, changes, wanted):
    with pytest.raises(InputError, match="cannot answer as one") as refused:
        ensembles.open_members([new("one"), new("two", **changes)])
    assert wanted in str(refused.value)


def test_another_ensemble_is_another_run(new, tmp_path):
    members = ensembles.open_members([new("one", 1), new("two", 2)])
    settings = [ensembles.settings(each) for each in (members, members[::-1], ())]
    first, second, none = (dataclasses.replace(METADATA, settings=each) for each in settings)
    path = str(tmp_path / "both")
    ensembles.write(ModelDirectory(path, CONFIG, members[0].vocabulary, first), members)
    model_directory.prepare(path, CONFIG, members[0].vocab_file, first)
    for other in (second, none):
        with pytest.raises(InputError, match="an ensemble of other models"):
            model_directory.prepare(path, CONFIG, members[0].vocab_file, other)

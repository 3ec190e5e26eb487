import dataclasses

import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from export import options
from export.conversion import verify
from tests.checkpoints import samples

TEXTS = ("abc word1", "a", "zyx word2 cab")

OUTPUTS = {
    "encoder": set(),
    "pretrain": {"masked_lm_logits", "next_sentence_logits"},
}


def side(tmp_path, name, kind, change=lambda arrays: None, **kwargs):
    """`Side` of a written sample, whose arrays `change` may alter."""
    given = samples.state_dict(kind, tmp_path / f"given-{name}", **kwargs)
    arrays = {path: array.copy() for path, array in given.arrays.items()}
    change(arrays)
    given = dataclasses.replace(given, arrays=arrays)
    folder = tmp_path / name
    folder.mkdir()
    HuggingFace().write(given, str(folder))
    return verify.Side(open_checkpoint(folder), given)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_weights_give_the_same(tmp_path, kind):
    text = verify.compare(side(tmp_path, "one", kind), side(tmp_path, "two", kind), TEXTS)
    names = {"sequence_output", "pooled_output"} | OUTPUTS.get(kind, {"logits"})
    assert (
        text
        == f"Largest difference on 3 texts: {', '.join(f'{n} 0.0e+00' for n in names_in(text))}."
    )
    assert set(names_in(text)) == names


def names_in(text):
    return [part.split()[0] for part in text.split(": ")[1].split(", ")]


@pytest.mark.parametrize(
    ("kind", "path", "named"),
    [
        ("span", "span/kernel", "Above 1e-05: logits"),
        ("choice", "classifier/kernel", "Above 1e-05: logits"),
        ("pretrain", "masked_lm/output_bias", "Above 1e-05: masked_lm_logits"),
        ("encoder", "encoder/pooler/bias", "Above 1e-05: pooled_output"),
        ("encoder", "encoder/embeddings/type", "Above 1e-05: sequence_output, pooled_output"),
    ],
)
def test_a_difference_is_found_and_named(tmp_path, kind, path, named):
    def change(arrays):
        arrays[path][1] *= 1.1

    one, other = side(tmp_path, "one", kind), side(tmp_path, "two", kind, change)
    with pytest.raises(verify.MismatchError, match=named):
        verify.compare(one, other, TEXTS)


def test_what_is_no_number_is_a_difference(tmp_path):
    def change(arrays):
        arrays["span/bias"][0] = np.nan

    with pytest.raises(verify.MismatchError, match="logits"):
        verify.compare(side(tmp_path, "one", "span"), side(tmp_path, "two", "span", change), TEXTS)


def test_without_a_pooler(tmp_path):
    def given(name):
        return side(tmp_path, name, "span", without=("encoder/pooler",))

    assert "pooled_output" not in verify.compare(given("one"), given("two"), TEXTS)


def test_texts_of_a_file(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("one\n\n  two  \n")
    given = {"source": "a", "target": "tf1", "output": "b"}
    assert verify.read_texts(options.Conversion(**given, verify_file=str(path))) == ["one", "two"]
    assert len(verify.read_texts(options.Conversion(**given, verify=True))) > 3
    path.write_text("\n")
    with pytest.raises(InputError, match="no line with text"):
        verify.read_texts(options.Conversion(**given, verify_file=str(path)))

import pytest

from bert_tf.checkpoints import model_directory, variables
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness


@pytest.mark.parametrize("kind", variables.KINDS)
def test_paths_and_shapes_are_those_of_the_model_of_each_kind(kind):
    labels = ("x", "y", "z") if kind in ("classify", "tag") else ()
    metadata = model_directory.ModelMetadata(
        kind=kind, task="t", do_lower_case=True, max_seq_length=7, labels=labels, num_texts=2
    )
    model = model_directory.new_model(harness.config(), metadata)
    shapes = variables.shapes(harness.config(), metadata.num_outputs)
    wanted = {
        p: s for p, s in shapes.items() if p.split("/")[0] in ("encoder", *samples.TOPS[kind])
    }
    assert {variable.path: tuple(variable.shape) for variable in model.variables} == wanted


@pytest.mark.parametrize(
    ("tops", "num_outputs", "told", "kind"),
    [
        ((), 0, None, "encoder"),
        (("masked_lm", "next_sentence"), 0, None, "pretrain"),
        (("masked_lm",), 0, None, "pretrain"),
        (("span",), 0, None, "span"),
        (("classifier",), 3, None, "classify"),
        (("classifier",), 1, None, "regress"),
        (("classifier",), 3, "tag", "tag"),
        (("classifier",), 1, "choice", "choice"),
    ],
)
def test_kind(tops, num_outputs, told, kind):
    found = [f"{top}/bias" for top in tops]
    assert variables.kind_of(["encoder/embeddings/word", *found], num_outputs, told) == kind


def test_heads_of_two_kinds_are_refused():
    with pytest.raises(InputError, match="classifier, span.*--skip='span"):
        variables.kind_of(["classifier/bias", "span/bias"], 3)


def test_another_kind_than_the_one_told_is_refused():
    with pytest.raises(InputError, match="holds span; a model of kind 'tag' .* can be: span"):
        variables.kind_of(["span/bias"], 0, "tag")


@pytest.mark.parametrize(
    ("kind", "num_outputs", "labels", "message"),
    [
        ("choice", 3, (), "has 3 outputs; a model of kind 'choice' has one"),
        ("regress", 2, (), "has 2 outputs"),
        ("classify", 3, ("a", "b"), "3 outputs and there are 2 labels: a, b"),
        ("tag", 2, ("a", "b", "c"), "2 outputs and there are 3 labels"),
        ("span", 0, ("a", "b"), "kind 'span' has no labels; --labels=a,b"),
    ],
)
def test_outputs_that_contradict_kind_or_labels(kind, num_outputs, labels, message):
    with pytest.raises(InputError, match=message):
        variables.check_outputs(kind, num_outputs, labels)
    variables.check_outputs("classify", 2, ("a", "b"))
    variables.check_outputs("choice", 1, ())


def test_labels_that_nobody_gave_are_none():
    assert variables.default_labels(2) == ("LABEL_0", "LABEL_1")
    assert variables.told_labels(["LABEL_0", "LABEL_1"]) == ()
    assert variables.told_labels(["LABEL_1", "LABEL_0"]) == ("LABEL_1", "LABEL_0")


@pytest.mark.parametrize("kind", ["classify", "regress", "choice", "pretrain"])
def test_a_head_that_reads_a_pooler_wants_one(kind):
    found = {
        path for path in variables.shapes(harness.config()) if not path.startswith(variables.POOLER)
    }
    head = "next_sentence" if kind == "pretrain" else "classifier"
    with pytest.raises(InputError, match=f"reads the pooler, .* no pooler.*--skip='{head}/"):
        variables.check_pooler(kind, found, "x")
    variables.check_pooler(kind, found | set(variables.POOLER), "x")


@pytest.mark.parametrize("kind", ["encoder", "tag", "span", "pretrain"])
def test_the_others_do_not(kind):
    variables.check_pooler(kind, {"classifier/kernel", "masked_lm/output_bias"}, "x")

import pytest

from bert_tf.checkpoints import kinds, variables
from bert_tf.checkpoints.variables import POOLER
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness


def test_the_heads_of_each_kind():
    wanted = samples.TOPS | {"tag": ("classifier", "tagger")}  # on frozen layers, the second one
    assert {name: kind.heads for name, kind in kinds.KINDS.items()} == wanted
    assert kinds.HEADS == ("masked_lm", "next_sentence", "classifier", "span", "tagger")


@pytest.mark.parametrize(
    ("kind", "skipped"),
    [
        ("pretrain", ("classifier", "span", "tagger")),
        ("span", ("masked_lm", "next_sentence", "classifier", "tagger")),
        *((kind, kinds.HEADS) for kind in ("encoder", "classify", "multi_label", "regress")),
        *((kind, kinds.HEADS) for kind in ("tag", "choice")),
    ],
)
def test_training_starts_from_a_head_that_does_not_depend_on_labels(kind, skipped):
    assert kinds.KINDS[kind].skipped_heads == skipped


@pytest.mark.parametrize(
    ("tops", "num_outputs", "stated", "kind"),
    [
        ((), 0, None, "encoder"),
        (("masked_lm", "next_sentence"), 0, None, "pretrain"),
        (("masked_lm",), 0, None, "pretrain"),
        (("span",), 0, None, "span"),
        (("classifier",), 3, None, "classify"),
        (("classifier",), 1, None, "regress"),
        (("classifier",), 3, "tag", "tag"),
        (("tagger",), 0, None, "tag"),
        (("classifier",), 1, "choice", "choice"),
    ],
)
def test_kind(tops, num_outputs, stated, kind):
    paths = ["encoder/embeddings/word", *(f"{top}/bias" for top in tops)]
    assert kinds.kind_of(paths, num_outputs, stated) == kind


def test_heads_of_two_kinds_are_refused():
    with pytest.raises(InputError, match="classifier, span.*--skip='span"):
        kinds.kind_of(["classifier/bias", "span/bias"], 3)


def test_another_kind_than_the_stated_one_is_refused():
    with pytest.raises(
        InputError, match="holds span, so it is not a model of kind 'tag'. Its kind can be: span"
    ):
        kinds.kind_of(["span/bias"], 0, "tag")


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
        kinds.check_outputs(kind, num_outputs, labels)
    kinds.check_outputs("classify", 2, ("a", "b"))
    kinds.check_outputs("choice", 1, ())


def test_labels_that_nobody_gave_are_none():
    assert kinds.default_labels(2) == ("LABEL_0", "LABEL_1")
    assert kinds.given_labels(["LABEL_0", "LABEL_1"]) == ()
    assert kinds.given_labels(["LABEL_1", "LABEL_0"]) == ("LABEL_1", "LABEL_0")


@pytest.mark.parametrize("kind", ["classify", "regress", "choice", "pretrain"])
def test_a_head_that_reads_a_pooler_wants_one(kind):
    paths = {path for path in variables.shapes(harness.config()) if not path.startswith(POOLER)}
    head = "next_sentence" if kind == "pretrain" else "classifier"
    with pytest.raises(InputError, match=f"reads the pooler, .* no pooler.*--skip='{head}/"):
        kinds.check_pooler(kind, paths, "x")
    kinds.check_pooler(kind, paths | set(POOLER), "x")


@pytest.mark.parametrize("kind", ["encoder", "tag", "span", "pretrain"])
def test_the_others_do_not(kind):
    kinds.check_pooler(kind, {"classifier/kernel", "masked_lm/output_bias"}, "x")

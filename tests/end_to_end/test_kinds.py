"""run_classifier.py in process, from files to report, for tasks of every kind."""

import json

import pytest

from bert_tf.checkpoints import kinds
from bert_tf.examples.readers import ChoiceLayout, Columns, TextLayout, TokenLayout
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.choice import Choice
from bert_tf.tasks.kinds.multi_label import MultiLabel
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.training.finetuning import classifier_data
from tests.reference import yes_no

TEXTS = TextLayout(
    columns=Columns(text_a="text", label="label"), test_columns=Columns(text_a="text")
)
OWN = {"name": "own", "summary": ""}
FILES = {"train": {"": "train.txt"}, "dev": {"": "dev.txt"}, "test": {"": "test.txt"}}
SENTENCE = "the O\nboat B-LOC\nof I-LOC\nthe O\n"

# By kind: the task, its train, dev and test files, the prediction files, a metric of it.
KINDS = {
    "multi_label": (
        MultiLabel(**OWN, layout=TEXTS, labels=("x", "y", "z"), files=FILES),
        ["text\tlabel\nthe cat\tx,z\nof it\t\nboat\ty\n"] * 2 + ["text\nthe cat\nboat\n"],
        ["test_results.tsv", "predictions.tsv"],
        "micro_f1",
    ),
    "tag": (
        Tagging(**OWN, layout=TokenLayout(), labels=("O", "B-LOC", "I-LOC"), files=FILES),
        [f"{SENTENCE}\n{SENTENCE}"] * 2 + ["the O\ncat O\n"],
        ["predictions.conll"],
        "entity_f1",
    ),
    "choice": (
        Choice(
            **OWN,
            layout=ChoiceLayout(context=("text",), choices=("a", "b", "c"), label="label"),
            files=FILES,
        ),
        ["text\ta\tb\tc\tlabel\nthe\tcat\tof it\tboat\t2\nof\tit\tcat\t\t0\n"] * 2
        + ["text\ta\tb\tc\nthe\tcat\tof it\tboat\n"],
        ["test_results.tsv", "predictions.tsv"],
        "accuracy",
    ),
    "yes_no": (
        yes_no.YesNo(**OWN, layout=TEXTS, files=FILES),
        ["text\tlabel\nthe cat\tyes\nof it\tno\nboat\tyes\n"] * 2 + ["text\nthe cat\n"],
        ["test_results.tsv", "predictions.tsv"],
        "accuracy",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_from_files_to_report(kind, classifier_options, tmp_path, monkeypatch, capsys):
    task, texts, predicted, metric = KINDS[kind]
    monkeypatch.setitem(kinds.KINDS, "yes_no", yes_no.ROW)
    monkeypatch.setitem(registry.REGISTRY, "own", task)
    for split, text in zip(("train", "dev", "test"), texts, strict=True):
        (tmp_path / f"{split}.txt").write_text(text)
    flags = {"task_name": "own", "do_eval": True, "do_predict": True, "max_seq_length": 13}
    classifier_data.main(classifier_options(tmp_path, **flags, num_train_epochs=1.0))
    out = tmp_path / "out"
    results = (out / "eval_results.txt").read_text()
    assert f"eval_{metric} = " in results and "eval_loss = " in results or kind == "yes_no"
    for name in predicted:
        assert (out / name).read_text(), name
    assert json.loads((out / "model.json").read_text())["kind"] == kind
    assert f"<h1>{kinds.KINDS[kind].title}: own<" in (out / "report.html").read_text()
    before = {name: (out / name).read_bytes() for name in predicted}
    capsys.readouterr()
    classifier_data.main(classifier_options(tmp_path, **flags, do_train=False))
    assert {name: (out / name).read_bytes() for name in predicted} == before
    assert results.split("eval_")[1] in (out / "eval_results.txt").read_text()

"""The tasks of GLUE (Wang et al. 2018, arXiv 1804.07461), by the layout of its files."""

from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.examples.readers.delimited import Dialect
from bert_tf.tasks.kinds.classification import Classification
from bert_tf.tasks.kinds.regression import Regression
from bert_tf.tasks.task import Task

_TWO_DOMAINS = {
    "train": {"": "train.tsv"},
    "dev": {"matched": "dev_matched.tsv", "mismatched": "dev_mismatched.tsv"},
    "test": {"matched": "test_matched.tsv", "mismatched": "test_mismatched.tsv"},
}
_ENTAILMENT = ("entailment", "not_entailment")
_MNLI_LABELS = ("contradiction", "entailment", "neutral")

TASKS: dict[str, Task] = {
    "cola": Classification(
        name="cola",
        summary="Is the sentence grammatical?",
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a=3, label=1),  # train and dev have no header, test has one
            test_columns=Columns(text_a="sentence", row_id="index"),
        ),
    ),
    "sst-2": Classification(
        name="sst-2",
        summary="Is the sentence of a film review positive?",
        labels=("0", "1"),
        layout=TextLayout(
            columns=Columns(text_a="sentence", label="label"),
            test_columns=Columns(text_a="sentence", row_id="index"),
        ),
    ),
    "mrpc": Classification(
        name="mrpc",
        summary="Do the two sentences say the same?",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a="#1 String", text_b="#2 String", label="Quality"),
            test_columns=Columns(text_a="#1 String", text_b="#2 String", row_id="index"),
        ),
    ),
    "sts-b": Regression(
        name="sts-b",
        summary="How similar are the two sentences, from 0 to 5?",
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="score"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
        value_range=(0.0, 5.0),
    ),
    "qqp": Classification(
        name="qqp",
        summary="Do the two questions ask the same?",
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a="question1", text_b="question2", label="is_duplicate"),
            test_columns=Columns(text_a="question1", text_b="question2", row_id="id"),
            # Line ends inside questions break a few rows of the official file.
            dialect=Dialect(skip_broken_rows=True),
        ),
    ),
    "mnli": Classification(
        name="mnli",
        summary="Does the second sentence follow, contradict, or neither?",
        labels=_MNLI_LABELS,
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="gold_label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
        files=_TWO_DOMAINS,
    ),
    "qnli": Classification(
        name="qnli",
        summary="Does the sentence answer the question?",
        labels=_ENTAILMENT,
        layout=TextLayout(
            columns=Columns(text_a="question", text_b="sentence", label="label"),
            test_columns=Columns(text_a="question", text_b="sentence", row_id="index"),
        ),
    ),
    "rte": Classification(
        name="rte",
        summary="Does the second sentence follow from the first?",
        labels=_ENTAILMENT,
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
    ),
    "wnli": Classification(
        name="wnli",
        summary="Does the second sentence name what a pronoun refers to?",
        labels=("0", "1"),
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2", label="label"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
    ),
    "ax": Classification(
        name="ax",
        summary="GLUE's diagnostic sentences, to predict with a model of MNLI.",
        labels=_MNLI_LABELS,
        metrics=("matthews", "accuracy"),
        layout=TextLayout(
            columns=Columns(text_a="sentence1", text_b="sentence2"),
            test_columns=Columns(text_a="sentence1", text_b="sentence2", row_id="index"),
        ),
        files={"test": {"": ("diagnostic.tsv", "AX.tsv", "test.tsv")}},
    ),
}

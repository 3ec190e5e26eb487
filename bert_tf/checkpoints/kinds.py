"""The kinds of models: the heads of each, its classes, what a checkpoint of that kind must hold."""

import dataclasses
import importlib
from collections.abc import Collection, Iterable
from typing import Any

from bert_tf.checkpoints.variables import POOLER
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a model answers.

    Attributes:
      name: what model.json and --kind call it.
      title: what a report calls it.
      model: class of the Keras model, as MODULE:CLASS, so that the table loads none.
      task: class of the tasks that train it, as MODULE:CLASS; "" if it is not one of
        `bert_tf.tasks`.
      frozen_model: class of the model that reads the layers of a frozen encoder, as MODULE:CLASS;
        "" if there is none.
      heads: names of the heads it can have, the first parts of the paths of their variables.
      has_num_classes: whether its model takes the number of the classifier's outputs.
      is_labelled: whether each output of its classifier has a label.
      has_single_output: whether its classifier has one output.
      reads_pooler: whether its classifier reads the pooler.
      keeps_head: whether training starts from the head that a checkpoint holds, if it holds one.
      settings: keys that `ModelMetadata.settings` may have.
      settings_are_defaults: whether these only say how questions are asked of the model: a later
        run may change them.
      model_settings: those of them that are arguments of its model's class.
      activation: what makes an answer of its logits: softmax over the last axis, sigmoid, linear.
    """

    name: str
    title: str
    model: str
    task: str = ""
    frozen_model: str = ""
    heads: tuple[str, ...] = ()
    has_num_classes: bool = False
    is_labelled: bool = False
    has_single_output: bool = False
    reads_pooler: bool = False
    keeps_head: bool = False
    settings: tuple[str, ...] = ()
    settings_are_defaults: bool = False
    model_settings: tuple[str, ...] = ()
    activation: str = "softmax"

    @property
    def skipped_heads(self) -> tuple[str, ...]:
        """Heads of a checkpoint that training a model of this kind does not load."""
        kept = self.heads if self.keeps_head else ()
        return tuple(head for head in HEADS if head not in kept)


_MODELS, _TASKS = "bert_tf.modeling.models", "bert_tf.tasks.kinds"
_POOLING = ("window_pooling",)
_WINDOWS = ("long_texts", "max_windows", "window_stride", *_POOLING)
# A question-answering head is kept, so that one data set can follow another (paper, section 4.2).
# A classifier is not, since its labels need not be those of the new task.
_ALL = (
    Kind("encoder", "Encoder", model="bert_tf.modeling.encoder:Encoder"),
    Kind(
        "pretrain",
        "Pre-training",
        model=f"{_MODELS}:PretrainingModel",
        heads=("masked_lm", "next_sentence"),
        keeps_head=True,
    ),
    Kind(
        "classify",
        "Classification",
        model=f"{_MODELS}:ClassifierModel",
        task=f"{_TASKS}.classification:Classification",
        heads=("classifier",),
        has_num_classes=True,
        is_labelled=True,
        reads_pooler=True,
        settings=_WINDOWS,
        model_settings=_POOLING,
    ),
    Kind(
        "multi_label",  # any number of the labels
        "Classification with several labels",
        model=f"{_MODELS}:ClassifierModel",
        task=f"{_TASKS}.multi_label:MultiLabel",
        heads=("classifier",),
        has_num_classes=True,
        is_labelled=True,
        reads_pooler=True,
        settings=_WINDOWS,
        model_settings=_POOLING,
        activation="sigmoid",
    ),
    Kind(
        "regress",
        "Regression",
        model=f"{_MODELS}:ClassifierModel",
        task=f"{_TASKS}.regression:Regression",
        heads=("classifier",),
        has_num_classes=True,
        has_single_output=True,
        reads_pooler=True,
        settings=_WINDOWS,
        model_settings=_POOLING,
        activation="linear",
    ),
    Kind(
        "span",  # the part of a text that answers
        "Question answering",
        model=f"{_MODELS}:SpanModel",
        task=f"{_TASKS}.question_answering:QuestionAnswering",
        heads=("span",),
        keeps_head=True,
        settings=(
            "doc_stride",
            "max_query_length",
            "n_best_size",
            "max_answer_length",
            "null_score_diff_threshold",
        ),
        settings_are_defaults=True,
    ),
    Kind(
        "tag",  # a label for each token
        "Tagging",
        model=f"{_MODELS}:TokenClassifierModel",
        task=f"{_TASKS}.tagging:Tagging",
        frozen_model="bert_tf.modeling.frozen_tagger:FrozenTaggerModel",
        heads=("classifier", "tagger"),
        has_num_classes=True,
        is_labelled=True,
        settings=("document_context",),
    ),
    Kind(
        "choice",  # one of the texts
        "Multiple choice",
        model=f"{_MODELS}:MultipleChoiceModel",
        task=f"{_TASKS}.choice:Choice",
        heads=("classifier",),
        has_single_output=True,
        reads_pooler=True,
    ),
)
KINDS = {kind.name: kind for kind in _ALL}
HEADS = tuple(dict.fromkeys(head for kind in _ALL for head in kind.heads))


def load_class(name: str) -> Any:
    """The class that MODULE:CLASS names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def heads_of(paths: Iterable[str]) -> list[str]:
    """Names of the heads that variables belong to, sorted."""
    return sorted({path.split("/")[0] for path in paths} - {"encoder"})


def kind_of(
    paths: Iterable[str],
    num_outputs: int,
    stated: str | None = None,
    source: str = "The checkpoint",
) -> str:
    """Finds the kind of model that variables make.

    A classifier alone does not show its kind. Unless `stated` names it, a classifier of one output
    is a regression and any other a classification.

    Args:
      paths: paths of the variables.
      num_outputs: C of the classifier, if there is one.
      stated: the kind that the checkpoint's files or the user name, or None.
      source: what an error calls the checkpoint.

    Raises:
      InputError: there are heads of two kinds, or of another kind than `stated`.
    """
    heads = heads_of(paths)
    possible = ["encoder"]
    if heads:
        possible = [kind.name for kind in _ALL if set(heads) <= set(kind.heads)]
    if not possible:
        raise InputError(
            f"{source} holds heads of several kinds: {', '.join(heads)}. Leave out those that "
            "you do not want, e.g. --skip='span/.*'."
        )
    if stated is not None:
        if stated not in possible:
            raise InputError(
                f"{source} holds {', '.join(heads) or 'no head'}, so it is not a model of kind "
                f"{stated!r}. Its kind can be: {', '.join(sorted(possible))}. Name one with "
                "--kind of python -m export.checkpoint; it takes precedence over the files."
            )
        return stated
    if heads == ["classifier"]:
        return "regress" if num_outputs == 1 else "classify"
    (kind,) = possible
    return kind


def check_outputs(kind: str, num_outputs: int, labels: tuple[str, ...]) -> None:
    """Compares the width of a classifier with its kind and its labels.

    Raises:
      InputError: they contradict each other, or a kind without labels has some.
    """
    if KINDS[kind].has_single_output and num_outputs != 1:
        raise InputError(
            f"The classifier has {num_outputs} outputs; a model of kind {kind!r} has one. "
            "Give --kind=classify or --kind=tag."
        )
    if labels and not KINDS[kind].is_labelled:
        raise InputError(f"A model of kind {kind!r} has no labels; --labels={','.join(labels)}.")
    if labels and len(labels) != num_outputs:
        raise InputError(
            f"The classifier has {num_outputs} outputs and there are {len(labels)} labels: "
            f"{', '.join(labels[:20])}. Give --labels, one for each output, separated by commas."
        )


def check_pooler(kind: str, paths: Collection[str], source: str) -> None:
    """Checks that there is a pooler if a head reads it.

    Raises:
      InputError: a head reads the pooler and there is none.
    """
    reads_pooler = KINDS[kind].reads_pooler or "next_sentence/kernel" in paths
    if reads_pooler and POOLER[0] not in paths:
        head = "next_sentence" if kind == "pretrain" else "classifier"
        tag = " If it classifies tokens, it reads none: --kind=tag." if kind == "classify" else ""
        raise InputError(
            f"{source} is a model of kind {kind!r}, whose {head} head reads the pooler, and holds "
            f"no pooler.{tag} To leave out the head: --skip='{head}/.*'."
        )


def default_labels(num_outputs: int) -> tuple[str, ...]:
    """The labels of outputs that nobody has named, as Hugging Face spells them."""
    return tuple(f"LABEL_{index}" for index in range(num_outputs))


def given_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, or () if they are only the `default_labels`."""
    labels = tuple(labels)
    return () if labels == default_labels(len(labels)) else labels

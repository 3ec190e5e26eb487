"""`load`: whatever is at a path, as an object that answers strings."""

import os
from typing import TypeAlias

import keras

from bert_tf.checkpoints.model_directory import MEMBERS, ModelDirectory, read_metadata
from bert_tf.errors import InputError
from bert_tf.library import (
    exported,
    hub_layer,  # noqa: F401  Keras knows its class then, and can load a file with one
    masked_lm,
    presets,
)
from bert_tf.library.exported import ExportedModel
from bert_tf.library.masked_lm import MaskedLM
from bert_tf.library.question_answerer import QuestionAnswerer
from bert_tf.library.text_chooser import TextChooser
from bert_tf.library.text_classifier import TextClassifier, TextRegressor
from bert_tf.library.text_embedder import TextEmbedder
from bert_tf.library.text_model import TextModel
from bert_tf.library.trained_model import TrainedModel
from bert_tf.library.word_tagger import WordTagger
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.text_task import TextTask

Trained: TypeAlias = TrainedModel | WordTagger | TextChooser
Loaded: TypeAlias = TextModel | keras.Model | ExportedModel | Trained

_CLASSES: dict[str, type[TextModel]] = {
    "encoder": TextEmbedder,
    "pretrain": MaskedLM,
    "classify": TextClassifier,
    "regress": TextRegressor,
    "span": QuestionAnswerer,
}
# Of kinds that only a training makes, and that are not trained further here.
_TRAINED: dict[str, type[WordTagger] | type[TextChooser]] = {
    "tag": WordTagger,
    "choice": TextChooser,
}


def load(path: str | os.PathLike[str]) -> Loaded:
    """Loads a trained model, whatever its kind.

    Args:
      path: the --output_dir of a training, an export (its base path or a version), a .keras file,
        or anything that `from_preset` takes.

    Returns:
      by what is there:
      a classifier: a `TextClassifier`; called on texts it gives labels with probabilities.
      a regressor: a `TextRegressor`, which gives numbers.
      a model of SQuAD: a `QuestionAnswerer`, which takes questions and contexts.
      a pre-trained model: a `MaskedLM`, which fills [MASK]s.
      an encoder without a head: a `TextEmbedder`, which gives vectors.
      a tagger: a `WordTagger`, which gives words with tags, and entities.
      a model of choices: a `TextChooser`, which takes contexts with choices.
      an ensemble of these, or one that reads long texts in windows: a `TrainedModel`, which answers
      texts and is not trained further.
      an export: an `ExportedModel`, which answers as the model itself.
      a .keras file: the model that was saved.

    Raises:
      InputError: there is nothing readable, or a model of another kind; see the message.
    """
    path = os.fspath(path)
    if path.endswith(".keras") and os.path.isfile(path):
        return keras.saving.load_model(path)
    if version := exported.find(path):
        return ExportedModel(version)
    metadata = read_metadata(path)
    if metadata and metadata.kind in _TRAINED:
        return _TRAINED[metadata.kind](ModelDirectory.open(path, "path"))
    is_more_than_one_row = metadata and metadata.settings.keys() & {MEMBERS, "long_texts"}
    if metadata and is_more_than_one_row and metadata.kind in _CLASSES:
        if not isinstance(registry.of_model(metadata), TextTask):
            raise InputError(
                f"{path} is an ensemble of kind {metadata.kind!r}, which has no class in Python. "
                "run_squad.py --do_predict answers with it; its members can be loaded: "
                f"{os.path.join(path, MEMBERS, '1')}."
            )
        return TrainedModel(ModelDirectory.open(path, "path"))
    source = presets.open_preset(path)
    kind = source.kind
    if kind == "pretrain" and not masked_lm.can_fill(source):
        kind = "encoder"
    if kind not in _CLASSES:
        raise InputError(
            f"{source.checkpoint.path} is a model of kind {kind!r}, which has no class in Python. "
            "What answers strings: the --output_dir of its training on the command line "
            "(run_classifier.py --do_predict), and an export of it (export.savedmodel) here. "
            f"Its encoder: bert_tf.Encoder.from_preset({path!r})."
        )
    return _CLASSES[kind].of(source)

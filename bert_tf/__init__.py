"""BERT in TensorFlow 2 and Keras, from raw text to a served answer.

The names of the library (docs/library.md) load TensorFlow when they are first used.
"""

from typing import TYPE_CHECKING

from bert_tf import quiet

if TYPE_CHECKING:
    from bert_tf.config import BertConfig
    from bert_tf.library.encoder import Encoder
    from bert_tf.library.fine_tuning import fine_tune
    from bert_tf.library.hub_layer import HubLayer
    from bert_tf.library.loading import load
    from bert_tf.library.masked_lm import MaskedLM
    from bert_tf.library.question_answerer import QuestionAnswerer
    from bert_tf.library.text_classifier import TextClassifier, TextRegressor
    from bert_tf.library.text_embedder import TextEmbedder
    from bert_tf.library.tokenizer import Tokenizer

__version__ = "0.2.0.dev0"

# The module of each name.
_MODULES = {
    "BertConfig": "bert_tf.config",
    "Encoder": "bert_tf.library.encoder",
    "HubLayer": "bert_tf.library.hub_layer",
    "MaskedLM": "bert_tf.library.masked_lm",
    "QuestionAnswerer": "bert_tf.library.question_answerer",
    "TextClassifier": "bert_tf.library.text_classifier",
    "TextEmbedder": "bert_tf.library.text_embedder",
    "TextRegressor": "bert_tf.library.text_classifier",
    "Tokenizer": "bert_tf.library.tokenizer",
    "fine_tune": "bert_tf.library.fine_tuning",
    "load": "bert_tf.library.loading",
}

__all__ = [
    "BertConfig",
    "Encoder",
    "HubLayer",
    "MaskedLM",
    "QuestionAnswerer",
    "TextClassifier",
    "TextEmbedder",
    "TextRegressor",
    "Tokenizer",
    "fine_tune",
    "load",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_MODULES[name]), name)
    if name != "BertConfig":
        # The first name registers every class with Keras, which can load a .keras file then.
        importlib.import_module("bert_tf.library.loading")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


quiet.install()  # here, because any module, or the user, may be the first to import TensorFlow

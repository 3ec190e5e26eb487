"""The table of kinds: what exports a model of each."""

from bert_tf.checkpoints import kinds
from export.kinds.module import Served, ServingModule

_HERE = "export.kinds"
# From the kind of model to the class of its export, as MODULE:CLASS, so that only one is loaded.
_CLASSES = {
    "encoder": f"{_HERE}.embedding:EmbeddingModule",
    "pretrain": f"{_HERE}.masked_lm:MaskedLmModule",
    "classify": f"{_HERE}.text:TextModule",
    "multi_label": f"{_HERE}.text:TextModule",
    "regress": f"{_HERE}.text:TextModule",
    "span": f"{_HERE}.question_answering:QuestionModule",
    "choice": f"{_HERE}.choice:ChoiceModule",
    "tag": f"{_HERE}.tagging:TaggingModule",
}


def make(served: Served) -> ServingModule:
    """The export of a model."""
    module: ServingModule = kinds.load_class(_CLASSES[served.directory.metadata.kind])(served)
    return module

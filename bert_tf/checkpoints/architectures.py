"""Recognizes models that are not BERT, by the model type in a config or by names of weights."""

import re
from collections.abc import Collection

from bert_tf.errors import InputError

# What people call a model, by the model_type of a Hugging Face config.json.
_MODEL_TYPES = {
    "albert": "ALBERT",
    "big_bird": "BigBird",
    "camembert": "CamemBERT, a RoBERTa",
    "deberta": "DeBERTa",
    "deberta-v2": "DeBERTa",
    "distilbert": "DistilBERT",
    "electra": "ELECTRA",
    "ernie": "ERNIE",
    "mobilebert": "MobileBERT",
    "modernbert": "ModernBERT",
    "mpnet": "MPNet",
    "nomic_bert": "Nomic BERT",
    "roberta": "RoBERTa",
    "squeezebert": "SqueezeBERT",
    "xlm-roberta": "XLM-RoBERTa",
}

# Names that only the weights of one architecture have.
_NAMES = (
    (r"(roberta|lm_head)\..*", "RoBERTa"),
    (r"(distilbert\..*|(.*\.)?transformer\.layer\.\d+\.attention\.q_lin\..*)", "DistilBERT"),
    (r"(albert\..*|(.*\.)?encoder\.albert_layer_groups\..*)", "ALBERT"),
    (r"bert/encoder/(transformer/group_\d+|embedding_hidden_mapping_in)/.*", "ALBERT"),
    (r"(electra|generator|discriminator_predictions)[./].*", "ELECTRA"),
    (r"(.*\.)?embeddings_project\.(weight|bias)", "ELECTRA"),
    (r"(deberta\..*|(.*\.)?encoder\.rel_embeddings\..*)", "DeBERTa"),
    (r"(mobilebert\..*|(.*\.)?embeddings\.embedding_transformation\..*)", "MobileBERT"),
    (r"(.*\.)?layers\.\d+\.attn\.Wqkv\..*", "ModernBERT"),
)


def check_model_type(model_type: str | None, path: str | None) -> None:
    """Refuses the config of another architecture.

    Raises:
      InputError: `model_type` is given and not "bert"; the message names the architecture.
    """
    if model_type in (None, "bert"):
        return
    known = _MODEL_TYPES.get(model_type)
    named = f"model_type={model_type!r}" + (f", that is {known}" if known else "")
    raise InputError(f"{path} is of another architecture: {named}; only BERT is read.")


def check_names(names: Collection[str], path: str) -> None:
    """Refuses weights whose names are those of another architecture.

    Raises:
      InputError: a name is one that only another architecture has.
    """
    for pattern, title in _NAMES:
        foreign = [name for name in names if re.fullmatch(pattern, name)]
        if foreign:
            raise InputError(
                f"{path} is of another architecture, {title}: {len(foreign)} of its {len(names)} "
                f"names are {title}'s, e.g. {min(foreign)}; only BERT is read."
            )

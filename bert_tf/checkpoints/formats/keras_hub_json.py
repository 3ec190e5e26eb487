"""The JSON files of a keras-hub preset, read and written.

Each is one serialised Keras object: the name of its class and its config.
"""

import json
import os
from typing import Any

from bert_tf.checkpoints.formats.base import read_json
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.config import BertConfig, from_json
from bert_tf.errors import InputError

CONFIG_FILE = "config.json"
TASK_FILE = "task.json"
TOKENIZER_FILE = "tokenizer.json"
PREPROCESSOR_FILE = "preprocessor.json"
METADATA_FILE = "metadata.json"

_BERT_CONFIG = "bert_config"  # our key in metadata.json
_BACKBONE = "BertBackbone"

# keras-hub's name of a size, and ours.
_SIZES = (
    ("vocabulary_size", "vocab_size"),
    ("num_layers", "num_hidden_layers"),
    ("num_heads", "num_attention_heads"),
    ("hidden_dim", "hidden_size"),
    ("intermediate_dim", "intermediate_size"),
    ("max_sequence_length", "max_position_embeddings"),
    ("num_segments", "type_vocab_size"),
)
_IGNORED = {"name", "trainable", "dtype", "dropout"}
_FLOATS = ("float16", "bfloat16", "float32", "float64", "mixed_float16", "mixed_bfloat16")

# Kind of a task, by its class in keras-hub or in keras-nlp. An embedder has no weights of its own.
_KINDS = {
    "BertTextClassifier": "classify",
    "BertClassifier": "classify",
    "BertMaskedLM": "pretrain",
    "BertTextEmbedder": "encoder",
}

# Module and class of the task of a kind. A multiple choice scores one text, as a regression does.
_TASKS = {
    "pretrain": ("bert_masked_lm", "BertMaskedLM"),
    "classify": ("bert_text_classifier", "BertTextClassifier"),
    "multi_label": ("bert_text_classifier", "BertTextClassifier"),
    "regress": ("bert_text_classifier", "BertTextClassifier"),
    "choice": ("bert_text_classifier", "BertTextClassifier"),
}

# Constants of keras-hub's backbone: tanh form of GELU, epsilon of LayerNorm.
ACTIVATION = "gelu"
EPSILON = 1e-12

_FORMS = {"gelu": "its tanh form", "gelu_erf": "the exact GELU"}


def read_object(path: str) -> tuple[str, dict[str, Any]]:
    """Reads a serialised Keras object: the name of its class, and its config.

    Raises:
      InputError: the file is not such an object.
    """
    values = read_json(path)
    if not isinstance(values.get("config"), dict):
        raise InputError(
            f"{path} does not describe a Keras object; an object with class_name and config was "
            "wanted, as save_to_preset of keras-hub writes it."
        )
    return str(values.get("class_name")), values["config"]


def read_config(directory: str) -> BertConfig:
    """Reads the configuration of a preset.

    Raises:
      InputError: it is of another architecture, has quantized weights or an unknown key.
    """
    path = os.path.join(directory, CONFIG_FILE)
    name, values = read_object(path)
    if name != _BACKBONE:
        raise InputError(
            f"{path} describes a {name}; BERT's is a {_BACKBONE}. Other architectures of "
            "keras-hub are not read."
        )
    sizes = {ours: values[theirs] for theirs, ours in _SIZES if theirs in values}
    unknown = values.keys() - _IGNORED - {theirs for theirs, _ in _SIZES}
    missing = [theirs for theirs, ours in _SIZES if ours not in sizes]
    if unknown or missing:
        raise InputError(
            f"{path}: unknown keys {sorted(unknown)}, missing keys {missing} of a {_BACKBONE}."
        )
    if (dtype := _policy(values.get("dtype"))) not in _FLOATS:
        raise InputError(
            f"{path}: dtype is {dtype}; wanted: one of {', '.join(_FLOATS)}. Quantized weights are "
            "not read; give the preset that they were quantized from."
        )
    dropout = values.get("dropout", 0.1)
    try:
        config = BertConfig(
            **sizes,
            hidden_act=ACTIVATION,
            layer_norm_eps=EPSILON,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return _remembered(directory, config) or config


def _remembered(directory: str, config: BertConfig) -> BertConfig | None:
    """The configuration that we left in metadata.json, or None; keras-hub removes it on saving.

    Raises:
      InputError: it has other sizes than config.json.
    """
    path = os.path.join(directory, METADATA_FILE)
    values = read_json(path).get(_BERT_CONFIG) if os.path.isfile(path) else None
    if values is None:
        return None
    remembered = from_json(json.dumps(values), f"{path}: {_BERT_CONFIG}")
    wrong = [ours for _, ours in _SIZES if getattr(remembered, ours) != getattr(config, ours)]
    if wrong:
        raise InputError(
            f"{path} and {CONFIG_FILE} differ in {', '.join(wrong)}. Remove {_BERT_CONFIG} from "
            f"{METADATA_FILE} if {CONFIG_FILE} is right."
        )
    return remembered


def _policy(dtype: str | dict[str, Any] | None) -> str:
    """Name of a dtype policy, or of its class for a map of policies, which has no name."""
    if dtype is None or isinstance(dtype, str):
        return dtype or "float32"
    return str(dtype.get("config", {}).get("name", dtype.get("class_name")))


def read_task(directory: str, config: BertConfig) -> tuple[str | None, list[str]]:
    """Reads the kind of a preset's task.json, None without one, and notes on what differs here.

    Raises:
      InputError: the class of the task is unknown.
    """
    path = os.path.join(directory, TASK_FILE)
    if not os.path.isfile(path):
        return None, []
    name, values = read_object(path)
    if name not in _KINDS:
        raise InputError(
            f"{path} describes a {name}; known: {', '.join(_KINDS)}. To read the encoder alone, "
            f"give a copy of the directory without {TASK_FILE} and task.weights.h5."
        )
    notes = []
    if name == "BertMaskedLM":
        notes.append(_masked_lm_note(config))
    if name == "BertTextEmbedder":
        notes.append("Only the encoder of keras-hub's BertTextEmbedder is read, not its pooling.")
    if (activation := values.get("activation") or "linear") != "linear":
        notes.append(f"keras-hub returns {activation} of the logits; this package the logits.")
    if _KINDS[name] == "classify" and values.get("num_classes") == 1:
        return "regress", notes
    return _KINDS[name], notes


def _masked_lm_note(config: BertConfig) -> str:
    return (
        "keras-hub computes the masked LM head with the exact GELU and a LayerNorm epsilon of "
        f"1e-5; here it has {_FORMS[config.hidden_act]} and {config.layer_norm_eps:g}, like the "
        "encoder, so masked LM logits differ slightly."
    )


def read_tokenizer(directory: str) -> tuple[bool | None, list[str]]:
    """Reads the casing of a preset's tokenizer.json, None without one, and notes on differences."""
    path = os.path.join(directory, TOKENIZER_FILE)
    if not os.path.isfile(path):
        return None, []
    _, values = read_object(path)
    lowercase = bool(values.get("lowercase"))
    notes = []
    if lowercase and not values.get("strip_accents"):
        notes.append(
            "Its tokenizer lowercases and keeps accents (strip_accents is false); here accents "
            "are removed too, as in the code that the English models were trained with."
        )
    usual = {"suffix_indicator": "##", "oov_token": "[UNK]", "split": True}
    other = {key: values[key] for key in usual if values.get(key, usual[key]) != usual[key]}
    if other:
        notes.append(f"Its tokenizer has {other}, which is not BERT's WordPiece; it is ignored.")
    return lowercase, notes


def unsupported(config: BertConfig) -> list[str]:
    """Sentences on what keras-hub's encoder cannot compute at all."""
    problems = []
    if config.hidden_act not in _FORMS:
        problems.append(f"hidden_act is {config.hidden_act!r}; keras-hub computes GELU only.")
    if config.is_causal:
        problems.append("is_causal is true; keras-hub's BERT sees tokens on both sides.")
    return problems


def notes(state_dict: StateDict) -> list[str]:
    """Sentences on what keras-hub will compute differently from this package."""
    config, notes = state_dict.config, []
    if config.hidden_act == "gelu_erf":
        notes.append(
            "The weights were trained with the exact GELU (hidden_act gelu_erf, Hugging Face's "
            '"gelu"). keras-hub always computes its tanh form, so every output differs: for the '
            "MiniLM of six layers by up to 0.004."
        )
    if config.layer_norm_eps != EPSILON:
        notes.append(
            f"layer_norm_eps is {config.layer_norm_eps:g}; keras-hub always computes {EPSILON:g}."
        )
    if state_dict.kind == "pretrain":
        notes.append(_masked_lm_note(config))
    if config.attention_probs_dropout_prob != config.hidden_dropout_prob:
        notes.append(
            f"attention_probs_dropout_prob is {config.attention_probs_dropout_prob:g}; keras-hub "
            f"has one rate for both, {config.hidden_dropout_prob:g} of hidden_dropout_prob."
        )
    if state_dict.kind == "choice":
        notes.append("keras-hub has no multiple choice; its BertTextClassifier scores one text.")
    if state_dict.labels:
        notes.append(f"keras-hub keeps no labels; its outputs are {', '.join(state_dict.labels)}.")
    if state_dict.vocab_file is None:
        notes.append("There is no vocabulary, so the preset has no tokenizer.")
    elif state_dict.do_lower_case is None:
        notes.append("The casing is unknown; the preset's tokenizer keeps case.")
    return notes


def objects(state_dict: StateDict) -> dict[str, str]:
    """The text of each JSON file of a preset, by file name."""
    sizes = {theirs: getattr(state_dict.config, ours) for theirs, ours in _SIZES}
    backbone = _object(
        "bert_backbone", _BACKBONE, sizes | {"dropout": state_dict.config.hidden_dropout_prob}
    )
    described = {CONFIG_FILE: backbone, METADATA_FILE: _metadata(state_dict)}
    if state_dict.vocab_file:
        described[TOKENIZER_FILE] = _tokenizer(bool(state_dict.do_lower_case))
    if state_dict.kind in _TASKS:
        module, name = _TASKS[state_dict.kind]
        if state_dict.vocab_file:
            described[PREPROCESSOR_FILE] = _preprocessor(
                module, name, state_dict, described[TOKENIZER_FILE]
            )
        values: dict[str, Any] = {
            "backbone": backbone,
            "preprocessor": described.get(PREPROCESSOR_FILE),
        }
        if state_dict.num_outputs:
            values |= {"num_classes": state_dict.num_outputs, "activation": "linear"}
            values |= {"dropout": state_dict.config.hidden_dropout_prob}
        described[TASK_FILE] = _object(module, name, values, dtype=None)
    return {name: json.dumps(value, indent=4) + "\n" for name, value in described.items()}


def _metadata(state_dict: StateDict) -> dict[str, Any]:
    """metadata.json, which keras-hub overwrites and never reads: what its config cannot say."""
    encoder = [a.size for path, a in state_dict.arrays.items() if path.startswith("encoder/")]
    return {
        "parameter_count": sum(encoder),
        "tasks": ["MaskedLM", "TextClassifier"],
        _BERT_CONFIG: json.loads(state_dict.config.to_json()),
    }


def _preprocessor(
    module: str, name: str, state_dict: StateDict, tokenizer: dict[str, Any]
) -> dict[str, Any]:
    values = {
        "tokenizer": tokenizer,
        "config_file": PREPROCESSOR_FILE,
        "sequence_length": state_dict.config.max_position_embeddings,
        "truncate": "round_robin",
    }
    return _object(f"{module}_preprocessor", f"{name}Preprocessor", values)


def _tokenizer(lowercase: bool) -> dict[str, Any]:
    values = {
        "config_file": TOKENIZER_FILE,
        "vocabulary": None,
        "sequence_length": None,
        "lowercase": lowercase,
        "strip_accents": lowercase,  # the released code does both or neither
        "split": True,
        "suffix_indicator": "##",
        "oov_token": "[UNK]",
        "special_tokens": None,
        "special_tokens_in_strings": False,
    }
    return _object("bert_tokenizer", "BertTokenizer", values, dtype="int32")


def _object(
    module: str, name: str, config: dict[str, Any], dtype: str | None = "float32"
) -> dict[str, Any]:
    own: dict[str, Any] = {"name": module}
    if dtype:
        policy = {"module": "keras", "class_name": "DTypePolicy", "registered_name": None}
        own |= {"trainable": True, "dtype": policy | {"config": {"name": dtype}}}
    return {
        "module": f"keras_hub.src.models.bert.{module}",
        "class_name": name,
        "config": own | config,
        "registered_name": f"keras_hub>{name}",
    }

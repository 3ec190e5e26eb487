"""What the JSON files of a keras-hub preset say, read to ours and written from ours.

A file is one serialised Keras object: the name of its class and its config.
"""

import json
import os

from bert_tf import config as config_lib
from bert_tf.checkpoints.formats.checkpoint import read_json
from bert_tf.errors import InputError

CONFIG_FILE = "config.json"
TASK_FILE = "task.json"
TOKENIZER_FILE = "tokenizer.json"
PREPROCESSOR_FILE = "preprocessor.json"
METADATA_FILE = "metadata.json"

_BERT_CONFIG = "bert_config"  # ours, in metadata.json
_BACKBONE = "BertBackbone"

# keras-hub's name of a size, ours.
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

# Kind of a task's class, the names of it in keras-nlp included. An embedder has no weights.
_KINDS = {
    "BertTextClassifier": "classify",
    "BertClassifier": "classify",
    "BertMaskedLM": "pretrain",
    "BertTextEmbedder": "encoder",
}

# Module and class of a kind's task. A multiple choice scores one text, as a regression does.
_TASKS = {
    "pretrain": ("bert_masked_lm", "BertMaskedLM"),
    "classify": ("bert_text_classifier", "BertTextClassifier"),
    "regress": ("bert_text_classifier", "BertTextClassifier"),
    "choice": ("bert_text_classifier", "BertTextClassifier"),
}

# Constants of keras-hub's backbone: tanh form of GELU, epsilon of LayerNorm.
ACTIVATION = "gelu"
EPSILON = 1e-12

_FORMS = {"gelu": "its tanh form", "gelu_erf": "the exact GELU"}


def read_object(path):
    """A serialised Keras object: (name of its class, its config).

    Raises:
      InputError: the file is not such an object.
    """
    values = read_json(path)
    if not isinstance(values.get("config"), dict):
        raise InputError(
            f"{path} is no description of a Keras object; an object with class_name and config "
            "was wanted, as save_to_preset of keras-hub writes it."
        )
    return str(values.get("class_name")), values["config"]


def read_config(directory):
    """`BertConfig` of a preset.

    Raises:
      InputError: another architecture, quantized weights, or a key that is not known.
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
            f"{path}: dtype {dtype} is none of {', '.join(_FLOATS)}. Quantized weights are not "
            "read; give the preset they were quantized from."
        )
    dropout = values.get("dropout", 0.1)
    try:
        config = config_lib.BertConfig(
            **sizes,
            hidden_act=ACTIVATION,
            layer_norm_eps=EPSILON,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return _remembered(directory, config) or config


def _remembered(directory, config):
    """The `BertConfig` that we left in metadata.json; keras-hub removes it when it saves.

    Raises:
      InputError: it has other sizes than config.json.
    """
    path = os.path.join(directory, METADATA_FILE)
    values = read_json(path).get(_BERT_CONFIG) if os.path.isfile(path) else None
    if values is None:
        return None
    found = config_lib.from_json(json.dumps(values), f"{path}: {_BERT_CONFIG}")
    wrong = [ours for _, ours in _SIZES if getattr(found, ours) != getattr(config, ours)]
    if wrong:
        raise InputError(
            f"{path} and {CONFIG_FILE} differ in {', '.join(wrong)}. Remove {_BERT_CONFIG} from "
            f"{METADATA_FILE} if {CONFIG_FILE} is right."
        )
    return found


def _policy(dtype):
    """Name of a dtype policy: a string, or what Keras serialises; a map of them has no name."""
    if dtype is None or isinstance(dtype, str):
        return dtype or "float32"
    return str(dtype.get("config", {}).get("name", dtype.get("class_name")))


def read_task(directory, config):
    """(kind, list of notes) of a preset's task.json, (None, []) without one.

    Args:
      directory: str.
      config: `BertConfig` of the preset.

    Raises:
      InputError: a task of a class that is not known.
    """
    path = os.path.join(directory, TASK_FILE)
    if not os.path.isfile(path):
        return None, []
    name, values = read_object(path)
    if name not in _KINDS:
        raise InputError(
            f"{path} describes a {name}; known: {', '.join(_KINDS)}. Without {TASK_FILE} and "
            "task.weights.h5 the directory is a preset of the encoder alone."
        )
    notes = []
    if name == "BertMaskedLM":
        notes.append(_masked_lm_note(config))
    if name == "BertTextEmbedder":
        notes.append("The pooling of keras-hub's BertTextEmbedder is left out; the encoder is not.")
    if (activation := values.get("activation") or "linear") != "linear":
        notes.append(f"keras-hub answers {activation} of the logits; here the logits are answered.")
    if _KINDS[name] == "classify" and values.get("num_classes") == 1:
        return "regress", notes
    return _KINDS[name], notes


def _masked_lm_note(config):
    return (
        "keras-hub computes the masked LM head with the exact GELU and a LayerNorm epsilon of "
        f"1e-5; here it has {_FORMS[config.hidden_act]} and {config.layer_norm_eps:g}, as the "
        "encoder, so masked LM logits differ slightly."
    )


def read_tokenizer(directory):
    """(do_lower_case or None, list of notes) of a preset's tokenizer.json."""
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
        notes.append(f"Its tokenizer has {other}, which is not BERT's WordPiece and is left out.")
    return lowercase, notes


def unsupported(config):
    """What keras-hub's encoder cannot compute at all: list of sentences."""
    problems = []
    if config.hidden_act not in _FORMS:
        problems.append(f"hidden_act is {config.hidden_act!r}; keras-hub computes GELU only.")
    if config.is_causal:
        problems.append("is_causal is true; keras-hub's BERT sees tokens on both sides.")
    return problems


def notes(contents):
    """What keras-hub will do otherwise with `contents` than this package: list of sentences."""
    config, found = contents.config, []
    if config.hidden_act == "gelu_erf":
        found.append(
            "The weights were trained with the exact GELU (hidden_act gelu_erf, Hugging Face's "
            '"gelu"). keras-hub always computes its tanh form, so every output differs: with the '
            "MiniLM of six layers by up to 0.004."
        )
    if config.layer_norm_eps != EPSILON:
        found.append(
            f"layer_norm_eps is {config.layer_norm_eps:g}; keras-hub always computes {EPSILON:g}."
        )
    if contents.kind == "pretrain":
        found.append(_masked_lm_note(config))
    if config.attention_probs_dropout_prob != config.hidden_dropout_prob:
        found.append(
            f"attention_probs_dropout_prob is {config.attention_probs_dropout_prob:g}; keras-hub "
            f"has one rate for both, {config.hidden_dropout_prob:g} of hidden_dropout_prob."
        )
    if contents.kind == "choice":
        found.append("keras-hub has no multiple choice; its BertTextClassifier scores one text.")
    if contents.labels:
        found.append(f"keras-hub keeps no labels; its outputs are {', '.join(contents.labels)}.")
    if contents.vocab_file is None:
        found.append("There is no vocabulary, so the preset has no tokenizer.")
    elif contents.do_lower_case is None:
        found.append("Nothing tells the casing; the preset's tokenizer keeps case.")
    return found


def objects(contents):
    """The JSON files of a preset: dict from file name to text."""
    sizes = {theirs: getattr(contents.config, ours) for theirs, ours in _SIZES}
    backbone = _object(
        "bert_backbone", _BACKBONE, sizes | {"dropout": contents.config.hidden_dropout_prob}
    )
    found = {CONFIG_FILE: backbone, METADATA_FILE: _metadata(contents)}
    if contents.vocab_file:
        found[TOKENIZER_FILE] = _tokenizer(bool(contents.do_lower_case))
    if contents.kind in _TASKS:
        module, name = _TASKS[contents.kind]
        if contents.vocab_file:
            found[PREPROCESSOR_FILE] = _preprocessor(module, name, contents, found[TOKENIZER_FILE])
        values = {"backbone": backbone, "preprocessor": found.get(PREPROCESSOR_FILE)}
        if contents.num_outputs:
            values |= {"num_classes": contents.num_outputs, "activation": "linear"}
            values |= {"dropout": contents.config.hidden_dropout_prob}
        found[TASK_FILE] = _object(module, name, values, dtype=None)
    return {name: json.dumps(value, indent=4) + "\n" for name, value in found.items()}


def _metadata(contents):
    """metadata.json, which keras-hub writes anew and never reads: what its config cannot say."""
    encoder = [a.size for path, a in contents.arrays.items() if path.startswith("encoder/")]
    return {
        "parameter_count": sum(encoder),
        "tasks": ["MaskedLM", "TextClassifier"],
        _BERT_CONFIG: json.loads(contents.config.to_json()),
    }


def _preprocessor(module, name, contents, tokenizer):
    values = {
        "tokenizer": tokenizer,
        "config_file": PREPROCESSOR_FILE,
        "sequence_length": contents.config.max_position_embeddings,
        "truncate": "round_robin",
    }
    return _object(f"{module}_preprocessor", f"{name}Preprocessor", values)


def _tokenizer(lowercase):
    values = {
        "config_file": TOKENIZER_FILE,
        "vocabulary": None,
        "sequence_length": None,
        "lowercase": lowercase,
        "strip_accents": lowercase,  # the released code does both or none
        "split": True,
        "suffix_indicator": "##",
        "oov_token": "[UNK]",
        "special_tokens": None,
        "special_tokens_in_strings": False,
    }
    return _object("bert_tokenizer", "BertTokenizer", values, dtype="int32")


def _object(module, name, config, dtype="float32"):
    own = {"name": module}
    if dtype:
        policy = {"module": "keras", "class_name": "DTypePolicy", "registered_name": None}
        own |= {"trainable": True, "dtype": policy | {"config": {"name": dtype}}}
    return {
        "module": f"keras_hub.src.models.bert.{module}",
        "class_name": name,
        "config": own | config,
        "registered_name": f"keras_hub>{name}",
    }

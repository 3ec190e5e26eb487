"""`BertConfig`: the sizes of an encoder, read strictly from either family of config files."""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from bert_tf import files
from bert_tf.errors import InputError

# Hugging Face's "gelu" is the exact form, Google's the tanh form (released modeling.py).
_HUGGING_FACE_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_fast": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
_TO_HUGGING_FACE_ACTIVATIONS = {
    "gelu": "gelu_new",  # the one of the three names for the tanh form that every version knows
    "gelu_erf": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
ACTIVATIONS = tuple(_TO_HUGGING_FACE_ACTIVATIONS)

# Keys of released multilingual and Chinese files that no released code reads, and one of TF Model
# Garden that tells which of its layouts a checkpoint has.
_GOOGLE_IGNORED = frozenset(
    ["directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"]
    + ["pooler_size_per_head", "pooler_type", "backward_compatible"]
)

# Keys of Hugging Face files that do not change what the encoder computes.
_HUGGING_FACE_IGNORED = frozenset(
    ["_name_or_path", "_num_labels", "architectures", "attn_implementation", "_attn_implementation"]
    + ["bos_token_id", "classifier_dropout", "directionality", "do_sample", "dtype"]
    + ["eos_token_id", "finetuning_task", "gradient_checkpointing", "id2label", "label2id"]
    + ["language", "name", "num_labels", "output_attentions", "output_hidden_states"]
    + ["output_past", "problem_type", "pooler_fc_size", "pooler_num_attention_heads"]
    + ["pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "return_dict"]
    + ["sep_token_id", "tokenizer_class", "torch_dtype", "torchscript", "transformers_version"]
    + ["use_cache", "_attn_implementation_autoset", "initializer_factor"]
    + ["sbert_ce_default_activation_function", "sentence_transformers"]
)

# Keys that would change what the encoder computes, and the only value that it supports.
_HUGGING_FACE_REQUIRED = {
    "model_type": "bert",
    "position_embedding_type": "absolute",
    "pad_token_id": 0,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "tie_word_embeddings": True,
    "pruned_heads": {},
    "chunk_size_feed_forward": 0,
}
_HUGGING_FACE_WRITTEN = {
    "model_type": "bert",
    "pad_token_id": 0,
    "tie_word_embeddings": True,
    "dtype": "float32",
}

_HUGGING_FACE_MARKS = ("model_type", "architectures", "transformers_version")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Encoder sizes and constants. Field names are the keys of a released bert_config.json.

    Raises:
      InputError: a size or constant is not positive, a rate is outside [0, 1), the hidden size
        is not a multiple of the number of heads, or the activation is not in `ACTIVATIONS`.
    """

    vocab_size: int  # V; [PAD] is id 0
    hidden_size: int = 768  # H; paper section 3, BASE
    num_hidden_layers: int = 12  # L
    num_attention_heads: int = 12  # A
    intermediate_size: int = 3072  # I; 4H in the paper
    hidden_act: str = "gelu"  # the tanh form, as the released code computes it
    hidden_dropout_prob: float = 0.1  # probability of dropping
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2  # every released checkpoint; the released code's default is 16
    initializer_range: float = 0.02  # standard deviation, truncated normal
    layer_norm_eps: float = 1e-12  # released code; not in the paper
    is_causal: bool = False  # tokens see only those before them: the LTR model of section 5.1

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field, getattr(self, field.name))
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size={self.hidden_size} is not a multiple of "
                f"num_attention_heads={self.num_attention_heads}."
            )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"{name}={getattr(self, name)} must be in [0, 1).")
        for name in ("initializer_range", "layer_norm_eps"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"{name}={getattr(self, name)} must be above 0.")
        if self.hidden_act not in ACTIVATIONS:
            raise InputError(
                f"hidden_act={self.hidden_act!r} is unknown; known: {', '.join(ACTIVATIONS)}."
            )

    @property
    def size_per_head(self) -> int:
        """D: hidden_size / num_attention_heads."""
        return self.hidden_size // self.num_attention_heads

    def to_json(self) -> str:
        """The text of a bert_config.json in the released dialect.

        It has one extra key, `layer_norm_eps`, and for a causal model also `is_causal`.
        """
        values = dataclasses.asdict(self)
        if not self.is_causal:
            del values["is_causal"]
        return json.dumps(values, indent=2, sort_keys=True) + "\n"

    def to_hugging_face(self) -> dict[str, Any]:
        """The keys of a Hugging Face config.json that say what the encoder computes."""
        values = dataclasses.asdict(self)
        values["is_decoder"] = values.pop("is_causal")
        values["hidden_act"] = _TO_HUGGING_FACE_ACTIVATIONS[self.hidden_act]
        return values | _HUGGING_FACE_WRITTEN


def _check_type(field: dataclasses.Field, value: object) -> None:
    if field.type is int and (type(value) is not int or value < 1):
        raise InputError(f"{field.name}={value!r} must be an integer of at least 1.")
    if field.type is float and type(value) not in (int, float):
        raise InputError(f"{field.name}={value!r} must be a number.")
    if field.type is bool and type(value) is not bool:
        raise InputError(f"{field.name}={value!r} must be true or false.")


def from_json(text: str, source: str = "bert_config.json") -> BertConfig:
    """Reads the text of a bert_config.json or of a Hugging Face config.json (model type BERT).

    Args:
      source: what error messages call the text.

    Raises:
      InputError: not a JSON object, an unknown or missing key, or a value that the encoder does
        not support.
    """
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{source} is not JSON: {error}.") from None
    if not isinstance(values, dict):
        raise InputError(f"{source} is a JSON {type(values).__name__}; an object was wanted.")
    if is_hugging_face(values):
        values = _from_hugging_face(values, source)
    else:
        values = {key: value for key, value in values.items() if key not in _GOOGLE_IGNORED}
        _drop_embedding_size(values, source)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    if unknown := sorted(values.keys() - known):
        raise InputError(
            f"{source} has unknown keys {unknown}; known: {sorted(known)}. Remove those that do "
            "not change what the encoder computes."
        )
    if "vocab_size" not in values:
        raise InputError(f"{source} has no vocab_size.")
    try:
        return BertConfig(**values)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def is_hugging_face(values: Mapping[str, Any]) -> bool:
    """Whether a config is in Hugging Face's dialect, not in the released one."""
    return any(mark in values for mark in _HUGGING_FACE_MARKS)


def _drop_embedding_size(values: dict[str, Any], source: str) -> None:
    """Removes TF Model Garden's key, which is null for BERT and smaller than H for ALBERT."""
    size = values.pop("embedding_size", None)
    if size is not None and size != values.get("hidden_size", BertConfig.hidden_size):
        raise InputError(
            f"{source}: embedding_size={size!r} is not BERT as this encoder computes it; wanted "
            "null or the hidden_size. Factorized embeddings are ALBERT's."
        )


def _from_hugging_face(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Keeps what the encoder uses; a value that it does not support is an error."""
    kept = {}
    for key, value in values.items():
        if key in _HUGGING_FACE_REQUIRED:
            if value not in (None, _HUGGING_FACE_REQUIRED[key]):
                raise InputError(
                    f"{source}: {key}={value!r} is not BERT as this encoder computes it; "
                    f"wanted {_HUGGING_FACE_REQUIRED[key]!r}."
                )
        elif key == "is_decoder":
            kept["is_causal"] = False if value is None else value
        elif key not in _HUGGING_FACE_IGNORED:
            kept[key] = value
    if "hidden_act" in kept:
        act = kept["hidden_act"]
        if not isinstance(act, str) or act not in _HUGGING_FACE_ACTIVATIONS:
            raise InputError(
                f"{source}: hidden_act={act!r} is unknown; "
                f"known: {', '.join(_HUGGING_FACE_ACTIVATIONS)}."
            )
        kept["hidden_act"] = _HUGGING_FACE_ACTIVATIONS[act]
    else:
        kept["hidden_act"] = "gelu_erf"  # Hugging Face's default where the key is absent
    return kept


def from_file(path: files.StrPath, what: str = "--bert_config_file") -> BertConfig:
    """Reads a config file; see `from_json`.

    Args:
      what: what error messages call the file.
    """
    files.require_file(path, what)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{what}={path} is not UTF-8: {error}.") from None
    return from_json(text, source=os.fspath(path))

"""Checkpoints of Hugging Face: config.json, model.safetensors or its shards, tokenizer files."""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from bert_tf import files
from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats import safetensors_files
from bert_tf.checkpoints.formats.base import (
    Arrays,
    Checkpoint,
    Format,
    first_file,
    read_config,
    read_conversion,
    read_json,
)
from bert_tf.checkpoints.formats.rows import NameTable
from bert_tf.checkpoints.kinds import given_labels, heads_of
from bert_tf.checkpoints.model_directory import VOCAB_FILE
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import POOLER
from bert_tf.config import is_hugging_face
from bert_tf.errors import InputError
from bert_tf.text import vocab

CONFIG_FILE = "config.json"

# Ending of a shard's name, which its index does not have.
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.safetensors$")

# transformers writes a model in one file up to this size.
MAX_SHARD_BYTES = 5 * 10**9

# The pooler of a model whose class in transformers has none. transformers calls it unexpected in
# the file of the weights, and does not look for it in another file.
_POOLER_FILE = "pooler.safetensors"

_KINDS = {
    "BertModel": "encoder",
    "BertForPreTraining": "pretrain",
    "BertForMaskedLM": "pretrain",
    "BertLMHeadModel": "pretrain",
    "BertForNextSentencePrediction": "pretrain",
    "BertForSequenceClassification": "classify",
    "BertForTokenClassification": "tag",
    "BertForQuestionAnswering": "span",
    "BertForMultipleChoice": "choice",
}
_PROBLEM_TYPES = {
    "regression": "regress",
    "single_label_classification": "classify",
    "multi_label_classification": "multi_label",
}
_ARCHITECTURES = {
    "encoder": "BertModel",
    "pretrain": "BertForPreTraining",
    "classify": "BertForSequenceClassification",
    "multi_label": "BertForSequenceClassification",
    "regress": "BertForSequenceClassification",
    "tag": "BertForTokenClassification",
    "span": "BertForQuestionAnswering",
    "choice": "BertForMultipleChoice",
}
_WITHOUT_POOLER = (
    "BertForMaskedLM",
    "BertLMHeadModel",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
)

# Names as they were, or as files of the bare encoder have them, and as they are today.
_BASE_MODEL = re.compile(r"(embeddings|encoder|pooler)\.")
_LEGACY = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


class HuggingFace(Format):
    """Checkpoints of transformers' BERT."""

    name = "huggingface"
    title = "Hugging Face"
    accepted = (
        "a directory with config.json and model.safetensors, or model.safetensors.index.json and "
        "its shards"
    )
    table = NameTable(
        names={
            "encoder/embeddings/word": "bert.embeddings.word_embeddings.weight",
            "encoder/embeddings/position": "bert.embeddings.position_embeddings.weight",
            "encoder/embeddings/type": "bert.embeddings.token_type_embeddings.weight",
            "encoder/embeddings/layer_norm": "bert.embeddings.LayerNorm",
            "encoder/pooler": "bert.pooler.dense",
            "masked_lm/transform": "cls.predictions.transform.dense",
            "masked_lm/layer_norm": "cls.predictions.transform.LayerNorm",
            "masked_lm/output_bias": "cls.predictions.bias",
            "next_sentence": "cls.seq_relationship",
            "classifier": "classifier",
            "span": "qa_outputs",
        },
        layer="bert.encoder.layer.{n}.",
        in_layer={
            "attention/qkv": "attention.self.{part}",
            "attention/output": "attention.output.dense",
            "attention_layer_norm": "attention.output.LayerNorm",
            "feed_forward/intermediate": "intermediate.dense",
            "feed_forward/output": "output.dense",
            "output_layer_norm": "output.LayerNorm",
        },
        endings={"kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias"},
        transposed=".*/kernel",
    )

    # Buffers: the row numbers of the position table, and its type ids.
    not_weights = (r"(bert\.)?embeddings\.(position_ids|token_type_ids)",)

    # The masked LM decoder is the word embeddings again; a file may hold both or only one of them.
    tied = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }

    def canonical_name(self, name: str) -> str:
        """The name of today.

        It starts with `bert.`, which files of the bare encoder leave out, and ends in `weight` or
        `bias`, where files converted before 2019 have `gamma` or `beta`.
        """
        if _BASE_MODEL.match(name):
            name = f"bert.{name}"
        for old, new in _LEGACY.items():
            if name.endswith(old):
                name = name.removesuffix(old) + new
        return name

    def find(self, path: str) -> str | None:
        """Path of the safetensors file or of the index of shards that `path` is or holds, or None.

        For a shard, it is the index that lists it.
        """
        if os.path.isdir(path):
            return first_file([path], (safetensors_files.SINGLE, safetensors_files.INDEX))
        is_named = path.endswith((".safetensors", ".safetensors.index.json"))
        if not is_named or not os.path.isfile(path):
            return None
        index = _SHARD.sub(".safetensors.index.json", path)
        return index if os.path.isfile(index) else path

    def open(self, path: str) -> Checkpoint:
        """Opens a safetensors file or an index of shards, see `Format.open`."""
        is_index = path.endswith(".index.json")
        opener = safetensors_files.open_index if is_index else safetensors_files.open_file
        directory = os.path.dirname(path)
        config_file = first_file([directory], (CONFIG_FILE, "bert_config.json"))
        values = read_json(config_file) if config_file else {}
        architectures.check_model_type(values.get("model_type"), config_file)
        config = read_config([directory], (CONFIG_FILE, "bert_config.json"))
        shapes, read = _with_pooler(directory, opener(path))
        architectures.check_names(shapes, path)
        labels = _labels(values)
        do_lower_case, notes = _casing(directory)
        return Checkpoint(
            path=path,
            format=self,
            shapes=shapes,
            read_array=read,
            config=config,
            vocab_file=first_file([directory], (VOCAB_FILE, "tokenizer.json")),
            kind=_kind(values, labels),
            labels=given_labels(labels),
            do_lower_case=do_lower_case,
            num_texts=read_conversion(directory).get("num_texts"),
            notes=(*_config_notes(config_file, values), *notes, *_added_token_notes(directory)),
        )

    def write(
        self, state_dict: StateDict, directory: str, max_shard_bytes: int = MAX_SHARD_BYTES
    ) -> None:
        """Writes config.json, the weights and, with a vocabulary, the files of the tokenizer.

        Args:
          max_shard_bytes: see `safetensors_files.write`.

        Raises:
          InputError: transformers has no class that computes this model.
        """
        architecture = _architecture(state_dict)
        arrays = self.arrays(state_dict)
        pooler = {name: arrays[name] for name in arrays if name.startswith("bert.pooler.")}
        if pooler and architecture in _WITHOUT_POOLER:
            arrays = {name: array for name, array in arrays.items() if name not in pooler}
            safetensors_files.save_file(pooler, os.path.join(directory, _POOLER_FILE))
        if state_dict.kind == "encoder":  # as BertModel itself is saved
            arrays = {name.removeprefix("bert."): array for name, array in arrays.items()}
        safetensors_files.write(arrays, directory, max_shard_bytes)
        _write_json(directory, CONFIG_FILE, _config(state_dict, architecture))
        if state_dict.vocab_file:
            vocab.copy(state_dict.vocab_file, os.path.join(directory, VOCAB_FILE))
            _write_tokenizer(state_dict, directory)

    def notes(self, state_dict: StateDict) -> list[str]:
        """What transformers does differently."""
        architecture = _architecture(state_dict)
        if architecture not in _WITHOUT_POOLER or POOLER[0] not in state_dict.arrays:
            return []
        return [
            f"{architecture} of transformers has no pooler; it is in {_POOLER_FILE}, which only "
            "this package reads."
        ]


def _with_pooler(directory: str, arrays: Arrays) -> Arrays:
    """Adds the arrays of `_POOLER_FILE`, if it is there and they are not in the file itself."""
    path = os.path.join(directory, _POOLER_FILE)
    if not os.path.isfile(path):
        return arrays
    shapes, read = arrays
    pooler_shapes, read_pooler = safetensors_files.open_file(path)
    if shapes.keys() & pooler_shapes.keys():
        return arrays
    return shapes | pooler_shapes, lambda n: (read_pooler if n in pooler_shapes else read)(n)


def _kind(values: dict[str, Any], labels: tuple[str, ...]) -> str | None:
    """Kind of the first architecture that a config names, or None."""
    kind = _KINDS.get(next(iter(values.get("architectures") or ()), ""))
    if kind == "classify":
        number = len(labels) or values.get("num_labels")  # old files have only num_labels
        return _PROBLEM_TYPES.get(values.get("problem_type") or "") or (
            "regress" if number == 1 else "classify"
        )
    return kind


def _labels(values: dict[str, Any]) -> tuple[str, ...]:
    """The labels in a config, in the order of their ids."""
    try:
        labels = {int(index): str(label) for index, label in (values.get("id2label") or {}).items()}
    except (ValueError, AttributeError):
        raise InputError(
            f"id2label={values['id2label']!r} in config.json is not an object of labels by number."
        ) from None
    return tuple(labels[index] for index in sorted(labels))


def _config_notes(config_file: str | None, values: dict[str, Any]) -> Iterator[str]:
    """What a config in the released dialect leaves open about weights of Hugging Face."""
    if config_file and not is_hugging_face(values) and values.get("hidden_act") == "gelu":
        yield (
            f"{os.path.basename(config_file)} has no model_type, so it is read as one of the "
            "released code, whose gelu is the tanh form; transformers computes the exact form. "
            "hidden_act gelu_erf there is the exact one."
        )


def _added_token_notes(directory: str) -> Iterator[str]:
    """Tokens that transformers adds to a vocab.txt, which no text here is split into."""
    path = first_file([directory], ("added_tokens.json",))
    vocab_file = first_file([directory], (VOCAB_FILE,))
    if not path or not vocab_file:
        return
    if added := sorted(read_json(path).keys() - vocab.from_file(vocab_file).ids.keys()):
        yield (
            f"Its tokenizer adds tokens that vocab.txt lacks ({len(added)}, e.g. {added[0]}), so "
            "their embeddings are never used here. To use them, give python -m export.checkpoint "
            "--vocab_file=COPY, a vocab.txt that ends with the tokens in the order of their ids."
        )


def _casing(directory: str) -> tuple[bool | None, list[str]]:
    """The casing that the tokenizer files say, or None; and notes."""
    path = first_file([directory], ("tokenizer_config.json",))
    if path:
        values = read_json(path)
        do_lower_case = values.get("do_lower_case", True)  # transformers' default
    else:
        path = first_file([directory], ("tokenizer.json",))
        values = (read_json(path).get("normalizer") or {}) if path else {}
        if values.get("type") != "BertNormalizer":
            return read_conversion(directory).get("do_lower_case"), []
        do_lower_case = values.get("lowercase", True)
    strip_accents = values.get("strip_accents")
    chinese = values.get("tokenize_chinese_chars", values.get("handle_chinese_chars", True))
    if strip_accents in (None, do_lower_case) and chinese:
        return do_lower_case, []
    return do_lower_case, [
        f"Its tokenizer has strip_accents={strip_accents}, tokenize_chinese_chars={chinese}. As in "
        "the released code, text here loses its accents if and only if it is lower-cased, and "
        "each Chinese character is a word."
    ]


def _architecture(state_dict: StateDict) -> str:
    """Name of the class in transformers.

    Raises:
      InputError: it computes the pooler of this model differently.
    """
    is_causal = state_dict.config.is_causal
    name = _ARCHITECTURES[state_dict.kind]
    if state_dict.kind == "pretrain":
        heads = heads_of(state_dict.arrays)
        if heads == ["masked_lm"]:
            name = "BertLMHeadModel" if is_causal else "BertForMaskedLM"
        elif heads == ["next_sentence"]:
            name = "BertForNextSentencePrediction"
    if is_causal and name not in _WITHOUT_POOLER:
        raise InputError(
            f"{state_dict.source} reads from left to right, and its pooler reads the last token; "
            f"that of {name} in transformers reads the first. Leave out what reads the pooler, "
            "e.g. --skip='next_sentence/.*'."
        )
    return name


def _config(state_dict: StateDict, architecture: str) -> dict[str, Any]:
    values = state_dict.config.to_hugging_face() | {"architectures": [architecture]}
    if labels := state_dict.output_labels:
        values["id2label"] = {str(index): label for index, label in enumerate(labels)}
        values["label2id"] = {label: index for index, label in enumerate(labels)}
    if state_dict.kind == "classify":
        values["problem_type"] = "single_label_classification"
    if state_dict.kind == "multi_label":
        values["problem_type"] = "multi_label_classification"
    if state_dict.kind == "regress":
        values |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        values["problem_type"] = "regression"
    return values


def _write_tokenizer(state_dict: StateDict, directory: str) -> None:
    special = dict(zip(("pad", "unk", "cls", "sep", "mask"), vocab.SPECIAL_TOKENS, strict=True))
    special = {f"{name}_token": token for name, token in special.items()}
    _write_json(directory, "special_tokens_map.json", special)
    _write_json(
        directory,
        "tokenizer_config.json",
        special
        | {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": state_dict.do_lower_case,
            "strip_accents": None,  # as do_lower_case
            "tokenize_chinese_chars": True,
            "model_max_length": state_dict.config.max_position_embeddings,
        },
    )


def _write_json(directory: str, name: str, values: dict[str, Any]) -> None:
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    files.write_text(os.path.join(directory, name), text)

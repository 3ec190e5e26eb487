"""Files of Hugging Face: config.json, model.safetensors or its shards, tokenizer files."""

import json
import os
import re

from bert_tf import config as config_lib
from bert_tf import files
from bert_tf.checkpoints import architectures, variables
from bert_tf.checkpoints.formats import hugging_face_names, safetensors_files
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, described, first_file, read_json
from bert_tf.errors import InputError
from bert_tf.text import vocab

CONFIG_FILE = "config.json"
VOCAB_FILE = "vocab.txt"

# Ending of a shard's name, which its index has not.
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.safetensors$")

# transformers writes a model in one file up to this size.
MAX_SHARD_BYTES = 5 * 10**9

# The pooler of a model whose class in transformers has none: kept beside the weights, where
# transformers, which calls it unexpected inside them, does not look.
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
    "classify": "BertForSequenceClassification",
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


def find(path):
    """Path of the safetensors file or the index of shards that `path` holds or is, or None.

    That of a shard stands for the index that lists it.
    """
    if os.path.isdir(path):
        return first_file([path], (safetensors_files.SINGLE, safetensors_files.INDEX))
    if not path.endswith((".safetensors", ".safetensors.index.json")) or not os.path.isfile(path):
        return None
    index = _SHARD.sub(".safetensors.index.json", path)
    return index if os.path.isfile(index) else path


def open(path):  # noqa: A001  the name of this function in every files module
    """Opens a safetensors file or an index of shards, and what stands beside it.

    Raises:
      InputError: it is damaged, or of another architecture.
    """
    is_index = path.endswith(".index.json")
    opener = safetensors_files.open_index if is_index else safetensors_files.open_file
    directory = os.path.dirname(path)
    config_file = first_file([directory], (CONFIG_FILE, "bert_config.json"))
    values = read_json(config_file) if config_file else {}
    architectures.check_model_type(values.get("model_type"), config_file)
    config = config_lib.from_file(config_file, "config") if config_file else None
    shapes, read = _with_pooler(directory, *opener(path))
    architectures.check_names(shapes, path)
    labels = _labels(values)
    do_lower_case, notes = _casing(directory)
    return Checkpoint(
        path,
        "huggingface",
        config,
        first_file([directory], (VOCAB_FILE, "tokenizer.json")),
        shapes,
        read,
        kind=_kind(values, labels),
        labels=variables.told_labels(labels),
        do_lower_case=do_lower_case,
        num_texts=described(directory).get("num_texts"),
        notes=(*_config_notes(config_file, values), *notes, *_added_token_notes(directory)),
    )


def _with_pooler(directory, shapes, read):
    """Adds the arrays of `_POOLER_FILE`, if it is there and they are not in the file itself."""
    path = os.path.join(directory, _POOLER_FILE)
    if not os.path.isfile(path):
        return shapes, read
    more, read_more = safetensors_files.open_file(path)
    if shapes.keys() & more.keys():
        return shapes, read
    return shapes | more, lambda name: (read_more if name in more else read)(name)


def _kind(values, labels):
    """Kind of the first architecture that a config names, or None."""
    kind = _KINDS.get(next(iter(values.get("architectures") or ()), None))
    if kind == "classify":
        number = len(labels) or values.get("num_labels")  # of which old files have only this
        return _PROBLEM_TYPES.get(values.get("problem_type")) or (
            "regress" if number == 1 else "classify"
        )
    return kind


def _labels(values):
    """Tuple of the labels in a config, in the order of their ids."""
    try:
        found = {int(index): str(label) for index, label in (values.get("id2label") or {}).items()}
    except (ValueError, AttributeError):
        raise InputError(f"id2label={values['id2label']!r} in config.json is no dict.") from None
    return tuple(found[index] for index in sorted(found))


def _config_notes(config_file, values):
    """What a config in the released dialect leaves open beside weights of Hugging Face."""
    if values and not config_lib.is_hugging_face(values) and values.get("hidden_act") == "gelu":
        yield (
            f"{os.path.basename(config_file)} has no model_type, so it is taken for one of the "
            "released code, whose gelu is the tanh form; transformers computes the exact form. "
            "hidden_act gelu_erf there is the exact one."
        )


def _added_token_notes(directory):
    """Tokens that transformers adds behind a vocab.txt, which text here is never split into."""
    path = first_file([directory], ("added_tokens.json",))
    vocab_file = first_file([directory], (VOCAB_FILE,))
    if not path or not vocab_file:
        return
    if added := sorted(read_json(path).keys() - vocab.from_file(vocab_file).ids.keys()):
        yield (
            f"Its tokenizer adds tokens that vocab.txt lacks ({len(added)}, e.g. {added[0]}), so "
            "their embeddings are never used here. python -m export.checkpoint --vocab_file=COPY, "
            "a vocab.txt with the tokens at its end in the order of their ids, puts them to use."
        )


def _casing(directory):
    """(casing that the tokenizer files tell or None, list of notes)."""
    path = first_file([directory], ("tokenizer_config.json",))
    if path:
        values = read_json(path)
        do_lower_case = values.get("do_lower_case", True)  # transformers' default
    else:
        path = first_file([directory], ("tokenizer.json",))
        values = (read_json(path).get("normalizer") or {}) if path else {}
        if values.get("type") != "BertNormalizer":
            return described(directory).get("do_lower_case"), []
        do_lower_case = values.get("lowercase", True)
    strip_accents = values.get("strip_accents")
    chinese = values.get("tokenize_chinese_chars", values.get("handle_chinese_chars", True))
    if strip_accents in (None, do_lower_case) and chinese:
        return do_lower_case, []
    return do_lower_case, [
        f"Its tokenizer has strip_accents={strip_accents}, tokenize_chinese_chars={chinese}. As in "
        "the released code, text here loses its accents where it is lower-cased and only there, "
        "and Chinese characters stand alone."
    ]


def write(contents, directory, max_shard_bytes=MAX_SHARD_BYTES):
    """Writes config.json, the weights and, with a vocabulary, the files of the tokenizer.

    Args:
      contents: `Contents`.
      directory: str, there and empty.
      max_shard_bytes: int, see `safetensors_files.write`.

    Raises:
      InputError: transformers has no class that computes this model.
    """
    architecture = _architecture(contents)
    arrays = contents.to_names(hugging_face_names)
    pooler = {name: arrays[name] for name in arrays if name.startswith("bert.pooler.")}
    if pooler and architecture in _WITHOUT_POOLER:
        arrays = {name: array for name, array in arrays.items() if name not in pooler}
        safetensors_files.save_file(pooler, os.path.join(directory, _POOLER_FILE))
    if contents.kind == "encoder":  # as BertModel itself is saved
        arrays = {name.removeprefix("bert."): array for name, array in arrays.items()}
    safetensors_files.write(arrays, directory, max_shard_bytes)
    _write_json(directory, CONFIG_FILE, _config(contents, architecture))
    if contents.vocab_file:
        vocab.copy(contents.vocab_file, os.path.join(directory, VOCAB_FILE))
        _write_tokenizer(contents, directory)


def notes(contents):
    """What transformers does otherwise than this package: list of sentences."""
    architecture, found = _architecture(contents), []
    if architecture in _WITHOUT_POOLER and variables.POOLER[0] in contents.arrays:
        found.append(
            f"{architecture} of transformers has no pooler; it is in {_POOLER_FILE}, which only "
            "this package reads."
        )
    return found


def _architecture(contents):
    """Name of the class in transformers."""
    found = set(variables.heads(contents.arrays))
    name = _ARCHITECTURES.get(contents.kind)
    if contents.kind == "pretrain":
        one = "BertLMHeadModel" if contents.config.is_causal else "BertForMaskedLM"
        name = {("masked_lm",): one, ("next_sentence",): "BertForNextSentencePrediction"}.get(
            tuple(found), "BertForPreTraining"
        )
    if contents.config.is_causal and name not in _WITHOUT_POOLER:
        raise InputError(
            f"{contents.source} reads from left to right, and its pooler reads the last token; "
            f"that of {name} in transformers reads the first. Leave out what reads the pooler, "
            "e.g. --skip='next_sentence/.*'."
        )
    return name


def _config(contents, architecture):
    values = contents.config.to_hugging_face() | {"architectures": [architecture]}
    if contents.kind in variables.LABELLED:
        labels = contents.labels or variables.default_labels(contents.num_outputs)
        values["id2label"] = {str(index): label for index, label in enumerate(labels)}
        values["label2id"] = {label: index for index, label in enumerate(labels)}
    if contents.kind == "classify":
        values["problem_type"] = "single_label_classification"
    if contents.kind == "regress":
        values |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        values["problem_type"] = "regression"
    return values


def _write_tokenizer(contents, directory):
    special = dict(zip(("pad", "unk", "cls", "sep", "mask"), vocab.SPECIAL_TOKENS, strict=True))
    special = {f"{name}_token": token for name, token in special.items()}
    _write_json(directory, "special_tokens_map.json", special)
    _write_json(
        directory,
        "tokenizer_config.json",
        special
        | {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": contents.do_lower_case,
            "strip_accents": None,  # as do_lower_case
            "tokenize_chinese_chars": True,
            "model_max_length": contents.config.max_position_embeddings,
        },
    )


def _write_json(directory, name, values):
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    files.write_text(os.path.join(directory, name), text)

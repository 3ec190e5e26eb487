"""What the tokenizer benchmarks share: the released tokenizer, real text and vocabularies."""

import dataclasses
import glob
import gzip
import importlib.util
import pathlib
import platform
import sys
import types
import unicodedata

from bert_tf import files
from bert_tf.errors import InputError


def released_tokenizer(tokenization_py, vocab_file, do_lower_case):
    """Returns a function from text to ids, by google-research/bert's own code.

    That code imports TensorFlow 1 for reading the vocabulary; a stand-in reads it instead.
    """
    files.require_file(tokenization_py, "--reference_tokenization_py")
    stand_in = types.ModuleType("tensorflow")
    stand_in.gfile = types.SimpleNamespace(GFile=_open_text)
    specification = importlib.util.spec_from_file_location("released", tokenization_py)
    module = importlib.util.module_from_spec(specification)
    tensorflow = sys.modules.pop("tensorflow", None)
    sys.modules["tensorflow"] = stand_in
    try:
        specification.loader.exec_module(module)
    finally:
        del sys.modules["tensorflow"]
        if tensorflow:
            sys.modules["tensorflow"] = tensorflow
    tokenizer = module.FullTokenizer(vocab_file, do_lower_case)
    return lambda text: tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))


def _open_text(path, mode):
    return open(path, mode, encoding="utf-8", newline="\n")


def conditions(options):
    """What a result depends on, without where files lie."""
    import tensorflow_text as tf_text

    numbers = {k: v for k, v in dataclasses.asdict(options).items() if isinstance(v, int)}
    versions = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
    return numbers | {"versions": versions | {"tensorflow_text": tf_text.__version__}}


def vocab_file(data_dir, name):
    return str(pathlib.Path(data_dir) / "vocab" / name / "vocab.txt")


def english_lines(data_dir):
    """Returns the lines (bytes) of the books and the Wikipedia articles, blank ones included."""
    patterns = ("pretrain/gutenberg/*.gz", "pretrain/wikipedia/enwiki_text/*.gz")
    paths = [path for p in patterns for path in sorted(glob.glob(f"{data_dir}/{p}"))]
    if not paths:
        raise InputError(f"--data_dir={data_dir} has no {' and no '.join(patterns)}.")
    lines = []
    for path in paths:
        with gzip.open(path) as file:
            lines += file.read().split(b"\n")
    return lines

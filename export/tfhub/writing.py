"""A version for TensorFlow Hub: written completely and checked, or not at all; then reported."""

import dataclasses
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from bert_tf import files, formatting
from bert_tf.checkpoints.model_directory import CONFIG_FILE, VOCAB_FILE
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.text.graph import GraphTokenizer
from export.images import operations, saved_model
from export.options import HubExport
from export.tfhub import verify
from export.tfhub.encoder import HubEncoder
from export.tfhub.preprocessing import Preprocessor
from export.tfhub.source import Source
from export.version.write import SAVE_OPTIONS, disk_full_message, next_version


@dataclasses.dataclass(frozen=True)
class Exported:
    """A version that was written.

    Attributes:
      path: the version's directory.
      findings: which images of TensorFlow Serving can run it.
      difference: largest difference of an output from the Python path; None: there is none, as ids
        are equal.
    """

    path: str
    findings: operations.Findings
    difference: float | None


def write(source: Source, options: HubExport) -> Exported:
    """Writes the next version under a temporary name, checks it and renames it.

    Raises:
      InputError: the weights are damaged, or the version appeared meanwhile.
      DiskFullError: nothing is left of this version.
    """
    path = os.path.join(options.export_dir, str(next_version(options.export_dir)))
    is_kept = files.disk_full_explained(path, lambda: disk_full_message(path))
    with is_kept, files.replacing_directory(path) as temporary:
        difference = None
        if options.export_type == "preprocessing":
            _save_preprocessing(source, options, temporary)
            verify.check_preprocessing(temporary, source, options.default_seq_length)
        else:
            model = source.build()
            _save_encoder(source, model, temporary)
            difference = verify.largest_difference(temporary, source, model)
        findings = operations.check(saved_model.read(temporary))
        if os.path.exists(path):
            raise InputError(f"{path} appeared during the export. Export again.")
    return Exported(path, findings, difference)


def _save_preprocessing(source: Source, options: HubExport, path: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        module = Preprocessor(
            GraphTokenizer(source.vocabulary, source.do_lower_case),
            _own_vocab_file(source, scratch),
            options.default_seq_length,
            options.tokenize_with_offsets,
        )
        tf.saved_model.save(module, path, signatures=module.signatures(), options=SAVE_OPTIONS)


def _save_encoder(source: Source, model: Any, path: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        config_file = os.path.join(scratch, CONFIG_FILE)
        files.write_text(config_file, source.config.to_json())
        vocab_file = _own_vocab_file(source, scratch)
        module = HubEncoder(model, vocab_file, config_file, source.do_lower_case)
        tf.saved_model.save(module, path, signatures=module.signatures(), options=SAVE_OPTIONS)


def _own_vocab_file(source: Source, scratch: str) -> str:
    """A vocab.txt, whatever file the model has; the SavedModel copies it."""
    vocab_file = os.path.join(scratch, VOCAB_FILE)
    vocab.copy(source.vocab_file, vocab_file)
    return vocab_file


def report(exported: Exported, options: HubExport, seconds: float) -> None:
    """Prints what was exported in how many seconds, what it needs, and how to use it."""
    size = formatting.size(files.num_bytes(exported.path))
    print(f"Exported {exported.path}: {size} in {formatting.duration(seconds)}.")
    print("\n".join(_lines(exported, options)), flush=True)


def _lines(exported: Exported, options: HubExport) -> Iterator[str]:
    inputs = "input_word_ids, input_mask, input_type_ids"
    path = repr(exported.path)
    if exported.difference is None:
        yield f"  texts string [B] -> {inputs} int32 [B {options.default_seq_length}]"
        yield "  ids of single texts and pairs equal those of the Python path"
        yield f"  {exported.findings.summary()}"
        yield (
            "In Python: import tensorflow_text, tensorflow_hub as hub; "
            f"preprocessor = hub.load({path}); preprocessor(['a text'])"
        )
        return
    has_masked_lm = options.export_type == "model_with_mlm"
    yield (
        f"  {inputs} int32 [B T] -> pooled_output float32 [B H], sequence_output float32 [B T H], "
        "encoder_outputs, one per layer"
    )
    if has_masked_lm:
        yield "  mlm: and masked_lm_positions int32 [B P] -> and mlm_logits float32 [B P V]"
    difference = formatting.number(exported.difference, 1)
    yield f"  largest difference of an output from the Python path: {difference}"
    yield (
        f"In Python: import tensorflow_hub as hub; encoder = hub.load({path}); "
        "encoder(preprocessor(['a text']))['pooled_output']"
    )
    yield f"In Keras: import bert_tf; layer = bert_tf.HubLayer({path}, trainable=True)"

"""Files for other runtimes, run by these on the ids of texts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import checks
from export.served import measure
from export.served.measure import Ids

Outputs = dict[str, np.ndarray]

_INPUTS = tuple(feature.name for feature in features.ENCODER_INPUTS)


def rows(directory: ModelDirectory, path: str | None) -> list[tuple[str, ...]]:
    """One or two texts each, of a file or built in; see `measure.read_rows`."""
    num_texts = directory.metadata.num_texts
    if path is not None:
        return measure.read_rows(path, num_texts)
    columns = [checks.TEXTS[3 * n :] + checks.TEXTS[: 3 * n] for n in range(num_texts)]
    return list(zip(*columns, strict=True))


def batches(directory: ModelDirectory, given: Sequence[tuple[str, ...]]) -> list[Ids]:
    """The encoder's inputs for rows of texts, int32 [B T] each."""
    metadata, vocabulary = directory.metadata, directory.vocabulary
    tokenizer = WordPieceTokenizer(vocabulary, metadata.do_lower_case)
    found: list[Ids] = []
    for batch in measure.in_batches(given):
        packed = []
        for row in batch:
            ids_a, *rest = map(tokenizer.encode, row)
            ids_b = rest[0] if rest else None
            packed.append(packing.pack(ids_a, ids_b, vocabulary, metadata.max_seq_length))
        word_ids, type_ids = zip(*packed, strict=True)
        found.append(encoder_inputs(word_ids, type_ids))
    return found


def onnx_runner(path: str) -> Callable[[Ids], Outputs]:
    """What runs an ONNX file; from the encoder's inputs to its outputs."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]

    def run(batch: Ids) -> Outputs:
        feeds = {name: np.asarray(batch[name], np.int32) for name in _INPUTS}
        return dict(zip(names, session.run(names, feeds), strict=True))

    return run


def tflite_runner(path: str) -> Callable[[Ids], Outputs]:
    """What runs a TensorFlow Lite file; from the encoder's inputs to its outputs."""
    from ai_edge_litert.interpreter import Interpreter

    runner: Any = Interpreter(path).get_signature_runner()
    return lambda batch: runner(**{name: np.asarray(batch[name], np.int32) for name in _INPUTS})


RUNNERS: dict[str, Callable[[str], Callable[[Ids], Outputs]]] = {
    "onnx": onnx_runner,
    "tflite": tflite_runner,
}

"""A model that answers texts in turns with others; benchmarks/export/speed.py starts it.

    PYTHON speed_child.py {"form": ..., "path": ..., "texts": FILE, "vocab_file": ..., ...}

Runs in the interpreter of the library that it measures. A line of standard input names what to
answer: "alone", each text by itself, or "batch", 32 at a time. The answer is the CPU seconds of the
process for a text, and the first time the logits of all texts.
"""

import json
import sys
import time

BATCH_SIZE = 32
MICRO_BATCH_ROWS = 8


def saved_model(task):
    """An export of ours, from texts."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    loaded = tf.saved_model.load(task["path"])
    signature = loaded.signatures["serving_default"]
    return lambda texts: signature(tf.constant(texts))["logits"].numpy()


def tokenizer_of(task):
    """From texts to ids and mask, numpy int64 [B T], padded to the longest."""
    import numpy as np
    import tokenizers

    tokenizer = tokenizers.BertWordPieceTokenizer(task["vocab_file"], lowercase=True)
    tokenizer.enable_truncation(128)

    def tokenize(texts):
        rows = [each.ids for each in tokenizer.encode_batch(texts)]
        ids = np.zeros([len(rows), max(map(len, rows))], np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)], mask[number, : len(row)] = row, 1
        return ids, mask

    return tokenize


def transformers_eager(task):
    """transformers, PyTorch without compilation."""
    import torch
    import transformers

    torch.set_num_threads(1)
    load = transformers.AutoModelForSequenceClassification.from_pretrained
    model, tokenize = load(task["path"]).eval(), tokenizer_of(task)

    def answer(texts):
        ids, mask = map(torch.from_numpy, tokenize(texts))
        with torch.inference_mode():
            return model(input_ids=ids, attention_mask=mask).logits.numpy()

    return answer


def onnx_runtime(task):
    """A file by ONNX Runtime; with "micro_batches", of rows of similar length."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(task["path"], options, ["CPUExecutionProvider"])
    types = {each.name: np.int32 if "int32" in each.type else np.int64
             for each in session.get_inputs()}  # fmt: skip
    tokenize = tokenizer_of(task)

    def run(ids, mask):
        feeds = dict.fromkeys(types, np.zeros_like(ids))
        feeds.update({name: ids for name in types if name in ("input_ids", "input_word_ids")})
        feeds.update({name: mask for name in types if "mask" in name})
        return session.run(None, {name: x.astype(types[name]) for name, x in feeds.items()})[0]

    def in_micro_batches(texts):
        ids, mask = tokenize(texts)
        lengths = mask.sum(axis=1)
        order, logits = np.argsort(lengths, kind="stable"), [None] * len(texts)
        for start in range(0, len(texts), MICRO_BATCH_ROWS):
            rows = order[start : start + MICRO_BATCH_ROWS]
            longest = lengths[rows].max()
            for row, each in zip(rows, run(ids[rows, :longest], mask[rows, :longest]), strict=True):
                logits[row] = each
        return np.stack(logits)

    return in_micro_batches if task.get("micro_batches") else lambda texts: run(*tokenize(texts))


def tflite(task):
    """A TensorFlow Lite file."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    interpreter, tokenize = Interpreter(task["path"], num_threads=1), tokenizer_of(task)
    runner = interpreter.get_signature_runner()

    def answer(texts):
        ids, mask = (x.astype(np.int32) for x in tokenize(texts))
        types = np.zeros_like(ids)
        return runner(input_word_ids=ids, input_mask=mask, input_type_ids=types)["logits"]

    return answer


def keras_hub(task):
    """keras-hub's classifier of the same size, its preprocessor called outside of the graph."""
    import keras_hub
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tokenizer = keras_hub.models.BertTokenizer(task["vocab_file"], lowercase=True)
    preprocess = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=64)
    backbone = keras_hub.models.BertBackbone(**task["sizes"])
    model = keras_hub.models.BertTextClassifier(backbone, task["num_classes"], preprocess)
    run = tf.function(lambda batch: model(batch, training=False))
    return lambda texts: run(preprocess(texts)).numpy()


FORMS = {
    "saved_model": saved_model,
    "transformers": transformers_eager,
    "onnx_runtime": onnx_runtime,
    "tflite": tflite,
    "keras_hub": keras_hub,
}


def main():
    task = json.loads(sys.argv[1])
    with open(task["texts"], encoding="utf-8") as file:
        texts = file.read().splitlines()
    answer = FORMS[task["form"]](task)
    work = {
        "alone": [[text] for text in texts[: task["num_alone"]]],
        "batch": [texts[i : i + BATCH_SIZE] for i in range(0, len(texts), BATCH_SIZE)],
    }
    # Each new shape costs something once. Single texts come first, as in the warm-up of a server:
    # oneDNN packs constant weights for the first shape that it sees.
    for batch in work["alone"]:
        answer(batch)
    logits = [row.tolist() for batch in work["batch"] for row in answer(batch)]
    say(logits=logits)
    for line in sys.stdin:
        batches = work[line.strip()]
        start = time.process_time()
        for batch in batches:
            answer(batch)
        say(cpu_seconds=(time.process_time() - start) / sum(map(len, batches)))


def say(**values):
    print("\nTURN " + json.dumps(values), flush=True)


if __name__ == "__main__":
    main()

"""Answers of an exported model to questions about passages; a child of `squad_export`.

    python benchmarks/tasks/squad_export_answers.py SAVED_MODEL QUESTIONS ANSWERS BATCH_SIZE

Needs TensorFlow with TensorFlow Text, and nothing of bert_tf. QUESTIONS and ANSWERS are JSON Lines:
"question" and "context" in, the outputs of the signature out.
"""

import json
import pathlib
import sys

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the operations of the tokenizer)

TEXTS = ("answer", "n_best_answers")


def main():
    saved_model, questions_file, answers_file, batch_size = sys.argv[1:]
    signature = tf.saved_model.load(saved_model).signatures["serving_default"]
    lines = pathlib.Path(questions_file).read_text(encoding="utf-8").split("\n")
    questions = [json.loads(line) for line in lines if line]
    with open(answers_file, "w", encoding="utf-8") as file:
        for first in range(0, len(questions), int(batch_size)):
            batch = questions[first : first + int(batch_size)]
            for answer in answers(signature, batch):
                file.write(json.dumps(answer) + "\n")


def answers(signature, batch):
    """A dict for each question."""
    inputs = {name: tf.constant([each[name] for each in batch]) for name in ("question", "context")}
    columns = {name: output.numpy() for name, output in signature(**inputs).items()}
    for name in TEXTS:
        columns[name] = np.vectorize(bytes.decode, otypes=[object])(columns[name])
    columns = {name: column.tolist() for name, column in columns.items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


if __name__ == "__main__":
    main()

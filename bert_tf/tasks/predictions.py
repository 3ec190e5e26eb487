"""Prediction files of tasks."""

import os
from collections.abc import Iterable, Sequence

import numpy as np

from bert_tf import files
from bert_tf.examples.labelled import Example, TokenExample


def write(
    directory: str,
    suffix: str,
    examples: Sequence[Example],
    answers: Iterable[object],
    scores: np.ndarray,
) -> list[str]:
    """Writes test_results.tsv, as released, and predictions.tsv, with ids and answers.

    Args:
      suffix: of the files' names.
      answers: of each example.
      scores: [N C], probabilities or values.

    Returns:
      The paths of the two files.
    """
    released = os.path.join(directory, f"test_results{suffix}.tsv")
    lines = ["\t".join(str(value) for value in row) for row in scores]
    files.write_text(released, "".join(line + "\n" for line in lines))
    named = os.path.join(directory, f"predictions{suffix}.tsv")
    rows = [f"{each.guid}\t{answer!s}\n" for each, answer in zip(examples, answers, strict=True)]
    files.write_text(named, "index\tprediction\n" + "".join(rows))
    return [released, named]


def write_tags(
    directory: str, suffix: str, examples: Sequence[TokenExample], answers: Sequence[Sequence[str]]
) -> list[str]:
    """Writes predictions.conll: a line `word tag predicted` for each word, as conlleval reads it.

    Args:
      suffix: of the file's name.
      answers: the tags of each sentence.

    Returns:
      The path of the file.
    """
    path = os.path.join(directory, f"predictions{suffix}.conll")
    blocks = []
    for example, predicted in zip(examples, answers, strict=True):
        columns = [example.words, *([example.tags] if example.tags else []), predicted]
        blocks.append("".join(" ".join(line) + "\n" for line in zip(*columns, strict=True)))
    files.write_text(path, "\n".join(blocks))
    return [path]

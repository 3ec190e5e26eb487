r"""Prediction files of tasks.

    test_results.tsv     probabilities, or the value, of each row, as released: no header, no ids
    predictions.tsv      index, prediction, texts, and the probability of each label; with a header
    predictions.conll    of tagged sentences: word, tag if it is known, predicted tag
    entities.jsonl       of tagged sentences: entities with character offsets, a sentence per line

predictions.tsv has no quoting. In a cell, a tab, a line end and a backslash are written as \t, \n
or \r, and \\.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.examples import iob
from bert_tf.examples.labelled import ChoiceExample, Example, TextExample, TokenExample

Chances: TypeAlias = Sequence[float] | npt.NDArray  # a probability for each word

_ID, _PREDICTION = "index", "prediction"
_ESCAPED = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r", "\\": r"\\"})
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def write(
    directory: str,
    suffix: str,
    examples: Sequence[Example],
    answers: Iterable[object],
    scores: npt.NDArray,
    score_names: Sequence[str] = (),
) -> list[str]:
    """Writes test_results.tsv and predictions.tsv.

    Args:
      suffix: of the files' names.
      answers: of each example.
      scores: [N C], probabilities or values.
      score_names: what predictions.tsv calls their columns, behind "probability_"; empty: the
        answers say all.

    Returns:
      The paths of the two files.
    """
    released = os.path.join(directory, f"test_results{suffix}.tsv")
    lines = ["\t".join(str(value) for value in row) for row in scores]
    files.write_text(released, "".join(line + "\n" for line in lines))
    columns: dict[str, Iterable[object]] = {
        _ID: (example.guid for example in examples),
        _PREDICTION: answers,
        **_texts(examples),
    }
    for index, name in enumerate(score_names):
        # The logits are float32; more digits than these would mean nothing.
        columns[f"probability_{name}"] = scores[:, index].astype(np.float32)
    named = os.path.join(directory, f"predictions{suffix}.tsv")
    files.write_text(named, _table(columns))
    return [released, named]


def _texts(examples: Sequence[Example]) -> dict[str, Iterable[str]]:
    """Columns of the texts; empty cells for what an example lacks."""
    texts = [_texts_of(example) for example in examples]
    names = dict.fromkeys(name for each in texts for name in each)
    return {name: [each.get(name, "") for each in texts] for name in names}


def _texts_of(example: Example) -> dict[str, str]:
    if isinstance(example, TextExample):
        found = {"text_a": example.text_a}
        return found if example.text_b is None else found | {"text_b": example.text_b}
    if isinstance(example, ChoiceExample):
        choices = {f"choice_{number}": text for number, text in enumerate(example.choices)}
        return {"context": example.context} | choices
    assert isinstance(example, TokenExample), "answers to questions have files of their own"
    return {"text": " ".join(example.words)}


def _table(columns: Mapping[str, Iterable[object]]) -> str:
    rows = zip(*columns.values(), strict=True)
    return "".join(
        "\t".join(str(cell).translate(_ESCAPED) for cell in row) + "\n" for row in (columns, *rows)
    )


def read(path: str) -> list[tuple[str, str]]:
    """Ids and predictions of a predictions.tsv.

    Raises:
      InputError: it is missing, or not such a file.
    """
    files.require_file(path, "predictions")
    with open(path, encoding="utf-8", newline="\n") as file:
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
    if header[:2] != [_ID, _PREDICTION]:
        raise InputError(
            f"{path} begins with {header[:2]}; wanted the columns {_ID} and {_PREDICTION}, as "
            "run_classifier.py --do_predict writes them."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {number}: {len(row)} columns found, {len(header)} wanted."
            )
    return [(_unescaped(row[0]), _unescaped(row[1])) for row in rows]


def _unescaped(cell: str) -> str:
    return re.sub(r"\\([tnr\\])", lambda found: _UNESCAPED[found[1]], cell)


def write_tags(
    directory: str,
    suffix: str,
    examples: Sequence[TokenExample],
    answers: Sequence[Sequence[str]],
    chances: Sequence[Chances] | None = None,
    are_entities: bool = True,
) -> list[str]:
    """Writes predictions.conll, which conlleval reads, and entities.jsonl.

    Args:
      suffix: of the files' names.
      answers: the tags of each sentence.
      chances: their probabilities; None: entities have none.
      are_entities: whether the tags are of entities; if they are not, there is no entities.jsonl.

    Returns:
      The paths of the files.
    """
    blocks = []
    for example, predicted in zip(examples, answers, strict=True):
        # White space separates the columns.
        words = [re.sub(r"\s", "_", word) or "_" for word in example.words]
        columns = [words, *([example.tags] if example.tags else []), predicted]
        blocks.append("".join(" ".join(line) + "\n" for line in zip(*columns, strict=True)))
    columns_path = os.path.join(directory, f"predictions{suffix}.conll")
    files.write_text(columns_path, "\n".join(blocks))
    if not are_entities:
        return [columns_path]
    lines = [
        json.dumps(
            entities_of(example, answers[row], None if chances is None else chances[row]),
            ensure_ascii=False,
        )
        for row, example in enumerate(examples)
    ]
    entities_path = os.path.join(directory, f"entities{suffix}.jsonl")
    files.write_text(entities_path, "".join(line + "\n" for line in lines))
    return [columns_path, entities_path]


def entities_of(
    example: TokenExample, tags: Sequence[str], chances: Chances | None = None
) -> dict[str, object]:
    """The entities of a tagged sentence, for JSON.

    Args:
      tags: of its words.
      chances: the probabilities of the tags; None: entities have none.

    Returns:
      `id`; `text`, the words with one space between them; and `entities`, each with `type`, `start`
      and `end` (characters of `text`, the end not included), `text` and `probability`, the mean
      over its words.
    """
    starts = np.cumsum([0, *(len(word) + 1 for word in example.words)]).tolist()
    text = " ".join(example.words)
    found = []
    for kind, first, end in iob.entities(tags):
        span = (starts[first], starts[end] - 1)
        entity = {"type": kind, "start": span[0], "end": span[1], "text": text[slice(*span)]}
        if chances is not None:
            entity["probability"] = float(np.mean(chances[first:end]))
        found.append(entity)
    return {"id": example.guid, "text": text, "entities": found}

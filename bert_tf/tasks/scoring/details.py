"""What a report shows of the answers to each kind of task: scores of each label, worst errors."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.examples import iob
from bert_tf.examples.labelled import ChoiceExample, TextExample, TokenExample
from bert_tf.tasks.evaluation import Cell, Column, Part, Table
from bert_tf.tasks.scoring import calibration, entities, labels
from bert_tf.tasks.scoring.entities import Tags
from bert_tf.tasks.scoring.excerpts import short

NUM_SHOWN = 20  # errors in a table
_SCORES = (Column("Precision", True), Column("Recall", True), Column("F1", True))
_SCORES_NOTE = (
    "Precision is the share of the answers that are right, recall the share of what is there that "
    "was answered, F1 their harmonic mean."
)


def of_labels(
    examples: Sequence[TextExample],
    names: Sequence[str],
    probabilities: npt.NDArray,
    references: npt.NDArray,
) -> list[Table]:
    """Scores of each label, and the wrong answers that the model is surest of.

    Args:
      names: of the C labels.
      probabilities: [N C].
      references: [N] class indices.
    """
    classes = np.arange(len(names))
    answers = probabilities.argmax(axis=1)
    scores = _by_label(names, answers[:, None] == classes, references[:, None] == classes)
    worst = calibration.worst_labels(probabilities, references, NUM_SHOWN)
    rows: list[list[Cell]] = [
        [
            *_texts(examples[each.row]),
            names[each.reference],
            names[each.answer],
            each.confidence,
            each.right_probability,
        ]
        for each in worst
    ]
    columns = (
        *_text_columns(examples),
        Column("Label"),
        Column("Answer"),
        Column("Confidence", True),
        Column("Probability of the label", True),
    )
    note = "The wrong answers with the highest probability, the surest first."
    return [scores, *_unless_empty(Table("Worst errors", note, columns, rows))]


def of_label_sets(
    examples: Sequence[TextExample],
    names: Sequence[str],
    probabilities: npt.NDArray,
    references: npt.NDArray,
) -> list[Table]:
    """Scores of each label, and the wrong decisions on a label that the model is surest of.

    Args:
      names: of the C labels.
      probabilities: [N C], that a label holds.
      references: [N C] bool.
    """
    scores = _by_label(names, probabilities >= 0.5, references.astype(bool))
    rows: list[list[Cell]] = [
        [
            *_texts(examples[each.row]),
            names[each.label],
            "missing" if each.holds else "given",
            each.probability,
        ]
        for each in calibration.worst_decisions(probabilities, references, NUM_SHOWN)
    ]
    columns = (
        *_text_columns(examples),
        Column("Label"),
        Column("Error"),
        Column("Probability of the label", True),
    )
    note = (
        "Labels that were given and do not hold, or hold and are missing; those with the most "
        "certain probability come first."
    )
    return [scores, *_unless_empty(Table("Worst errors", note, columns, rows))]


def of_values(
    examples: Sequence[TextExample], answers: npt.NDArray, references: npt.NDArray
) -> list[Table]:
    """The numbers that are farthest from the right ones; [N] each."""
    rows: list[list[Cell]] = [
        [
            *_texts(examples[each.row]),
            each.reference,
            each.answer,
            each.answer - each.reference,
        ]
        for each in calibration.worst_values(answers, references, NUM_SHOWN)
    ]
    columns = (
        *_text_columns(examples),
        *map(Column, ("Value", "Answer", "Difference")),
    )
    note = "The answers that are farthest from the value, the farthest first."
    return _unless_empty(Table("Worst errors", note, columns, rows))


def of_entities(examples: Sequence[TokenExample], answers: Tags, references: Tags) -> list[Table]:
    """Scores of each type of entity, and the sentences with the most wrong entities.

    Args:
      answers, references: tags of the words of each sentence.
    """
    found = entities.by_type(answers, references)
    rows: list[list[Cell]] = [
        [
            name or "all",
            scores.actual,
            scores.answered,
            scores.precision,
            scores.recall,
            scores.f1,
        ]
        for name, scores in found.items()
    ]
    columns = (Column("Entity"), Column("There are"), Column("Answered"), *_SCORES)
    note = f"An entity is right if its words and its type are. {_SCORES_NOTE}"
    table = Table("Scores by type of entity", note, columns, rows)
    return [table, *_unless_empty(_sentences(examples, answers, references))]


def _sentences(examples: Sequence[TokenExample], answers: Tags, references: Tags) -> Table:
    """The sentences with the most entities that are wrong or missed."""
    errors = []
    for index, (answer, reference) in enumerate(zip(answers, references, strict=True)):
        found, wanted = set(iob.entities(answer)), set(iob.entities(reference))
        if number := len(found ^ wanted):
            errors.append((-number, index, found, wanted))
    rows: list[list[Cell]] = [
        [
            _marked(examples[index].words, wanted, found, "missed"),
            _marked(examples[index].words, found, wanted, "wrong"),
        ]
        for _, index, found, wanted in sorted(errors, key=lambda error: error[:2])[:NUM_SHOWN]
    ]
    note = (
        f"{len(errors):,} of {len(examples):,} sentences have an entity that was missed or "
        "answered wrongly; those with most of them come first."
    )
    columns = (Column("Entities there are"), Column("Entities answered"))
    return Table("Sentences with errors", note, columns, rows)


def _marked(
    words: Sequence[str], shown: set[iob.Entity], other: set[iob.Entity], mark: str
) -> tuple[Part, ...]:
    """A sentence with marked entities: "right" those of both sides, and `mark` the others."""
    parts, position = [], 0
    for entity in sorted(shown, key=lambda entity: entity.first):
        if before := words[position : entity.first]:
            parts.append(Part(" ".join(before)))
        text = f"{' '.join(words[entity.first : entity.end])} [{entity.type}]"
        parts.append(Part(text, "right" if entity in other else mark))
        position = entity.end
    if rest := words[position:]:
        parts.append(Part(" ".join(rest)))
    return tuple(parts)


def of_word_tags(
    examples: Sequence[TokenExample], names: Sequence[str], answers: Tags, references: Tags
) -> list[Table]:
    """Scores of each tag of words, not entities, and the sentences with the most wrong words.

    Args:
      names: of the C tags.
      answers, references: see `of_entities`.
    """
    tags = np.array(names)
    flat = [np.array([tag for each in side for tag in each]) for side in (answers, references)]
    scores = _by_label(names, *(each[:, None] == tags for each in flat))
    errors = []
    for index, (answer, reference) in enumerate(zip(answers, references, strict=True)):
        if number := sum(a != b for a, b in zip(answer, reference, strict=True)):
            errors.append((-number, index))
    rows: list[list[Cell]] = [
        [tuple(_wrong_words(examples[index].words, answers[index], references[index]))]
        for _, index in sorted(errors)[:NUM_SHOWN]
    ]
    note = (
        f"{len(errors):,} of {len(examples):,} sentences have a word with a wrong tag; those with "
        "most of them come first."
    )
    columns = (Column("Words with their answer where it is wrong, and the right tag"),)
    return [scores, *_unless_empty(Table("Sentences with errors", note, columns, rows))]


def _wrong_words(
    words: Sequence[str], answers: Sequence[str], references: Sequence[str]
) -> Iterator[Part]:
    """A sentence whose words with a wrong tag are marked."""
    right: list[str] = []
    for word, answer, reference in zip(words, answers, references, strict=True):
        if answer == reference:
            right.append(word)
            continue
        if right:
            yield Part(" ".join(right))
        right = []
        yield Part(f"{word} [{answer}, not {reference}]", "wrong")
    if right:
        yield Part(" ".join(right))


def of_choices(
    examples: Sequence[ChoiceExample], probabilities: npt.NDArray, references: npt.NDArray
) -> list[Table]:
    """The wrongly answered questions that the model is surest of.

    Args:
      probabilities: [N W], 0 for choices that an example lacks.
      references: [N], numbers of the right choices.
    """
    worst = calibration.worst_labels(probabilities, references, NUM_SHOWN)
    rows: list[list[Cell]] = [
        [
            short(examples[each.row].context),
            tuple(_choices(examples[each.row], each.answer, each.reference)),
            each.confidence,
            each.right_probability,
        ]
        for each in worst
    ]
    columns = (
        Column("Text"),
        Column("Choices"),
        Column("Confidence", True),
        Column("Probability of the right choice", True),
    )
    note = "The questions answered wrongly with the highest probability, the surest first."
    return _unless_empty(Table("Worst errors", note, columns, rows))


def _choices(example: ChoiceExample, answer: int, reference: int) -> Iterator[Part]:
    marks = {answer: "wrong", reference: "missed"}
    for index, choice in enumerate(example.choices):
        yield Part(f"{index + 1}. {short(choice)}", marks.get(index, ""))


def _by_label(names: Sequence[str], answers: npt.NDArray, references: npt.NDArray) -> Table:
    """Scores of each label; answers and references are bool [N C]."""
    found = labels.counts(answers, references)
    ratios = [each(found).tolist() for each in (labels.precisions, labels.recalls, labels.f1s)]
    numbers = (found.actual.tolist(), found.answered.tolist())
    rows: list[list[Cell]] = [list(row) for row in zip(names, *numbers, *ratios, strict=True)]
    columns = (Column("Label"), Column("There are"), Column("Answered"), *_SCORES)
    return Table("Scores by label", _SCORES_NOTE, columns, rows)


def _text_columns(examples: Sequence[TextExample]) -> list[Column]:
    names = ["Text"] if examples[0].text_b is None else ["First text", "Second text"]
    return [Column("Id"), *map(Column, names)]


def _texts(example: TextExample) -> list[Cell]:
    texts = [example.text_a] if example.text_b is None else [example.text_a, example.text_b]
    return [example.guid, *map(short, texts)]


def _unless_empty(table: Table) -> list[Table]:
    return [table] if table.rows else []

"""Shows what pre-training records hold: examples as text, and statistics next to the manifest's.

python -m bert_tf.records.inspect --vocab_file=vocab.txt --picture=records.svg train.tfrecord*
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from bert_tf import features, files
from bert_tf.examples.choices import EXAMPLE_TYPES
from bert_tf.features import Feature
from bert_tf.options import InspectRecords
from bert_tf.records import check, manifest
from bert_tf.records.inspect import charts, statistics
from bert_tf.records.inspect.statistics import Statistics
from bert_tf.records.manifest import Build
from bert_tf.text import vocab
from bert_tf.text.vocab import Vocabulary

NOTATION = (
    "To predict: [MASK:word] is masked, [other<-word] is replaced by another token, {word} is kept."
)
_HISTOGRAM_ROWS = 8
_HISTOGRAM_WIDTH = 40
# Rows of the table: label, name of the count, name of the share.
_ROWS = (
    ("records", "num_examples", None),
    ("tokens", "num_tokens", None),
    ("positions, padding included", "num_positions", None),
    ("  of them padding", None, "padding"),
    ("tokens to predict", "num_predictions", None),
    ("  of the tokens of the text", None, "predictions"),
    ("  replaced by [MASK]", None, "masked"),
    ("  replaced by another token", None, "random"),
    ("  kept", None, "kept"),
    ("records with two texts", "num_pairs", None),
    ("  random or swapped ones", None, "label_1"),
)


def main(options: InspectRecords, arguments: list[str]) -> None:
    """Prints examples and statistics of the record files named in `arguments`.

    Args:
      options: of the command.
      arguments: files or globs.

    Raises:
      InputError: a file is damaged or was made with another vocabulary.
    """
    vocabulary = vocab.from_file(options.vocab_file)
    paths = files.expand(",".join(arguments), "The list of record files")
    for path in paths:
        check.num_records(path)
    builds = manifest.find_all(paths)
    for path, build in zip(paths, builds, strict=True):
        if build:
            manifest.check_vocabulary(path, build, vocabulary)
    names = statistics.stored_names(paths)
    check.check_ids(paths, len(vocabulary), limit=max(100, options.num_examples))
    print_examples(paths[0], names, vocabulary, builds[0], options.num_examples)
    counted = statistics.count(paths, vocabulary, max(b.max_seq_length if b else 0 for b in builds))
    described = whole_build(paths, builds)
    print(table(counted, described))
    print(histograms(counted))
    for note in notes(paths, builds, described):
        print(f"Note: {note}")
    for warning in differences(counted, paths, builds, described):
        print(f"WARNING: {warning}")
    if options.picture:
        title = f"{os.path.basename(paths[0])}, {len(paths)} file(s)"
        wanted = asked_for(builds[0]) if builds[0] else None
        files.write_text(options.picture, charts.svg(counted, title, wanted))
        print(f"Wrote {options.picture}.")


def print_examples(
    path: str,
    names: Mapping[Feature, str],
    vocabulary: Vocabulary,
    build: Build | None,
    count: int,
) -> None:
    """Prints the first examples of a file.

    Args:
      path: of the file.
      names: of the features in the file.
      vocabulary: of the records.
      build: of the file, if a manifest names it.
      count: how many.
    """
    if not count:
        return
    has_masks = features.MASKED_LM_IDS in names
    print(NOTATION if has_masks else "The records hold no masks.")
    example_type = EXAMPLE_TYPES[build.example_type if build else "nsp"]
    meanings = example_type.labels or EXAMPLE_TYPES["nsp"].labels or ("", "")
    for number, example in enumerate(check.first_examples(path, count)):
        stored = example.features.feature
        values = {feature: stored[name].int64_list.value for feature, name in names.items()}
        if has_masks:
            weights = names[features.MASKED_LM_WEIGHTS]
            values[features.MASKED_LM_WEIGHTS] = stored[weights].float_list.value
        print(f"\nRecord {number} of {path}: {sum(values[features.MASK])} tokens")
        for name, text in texts(values, vocabulary):
            print(f"  {name}: {text}")
        label = stored[features.NEXT_SENTENCE_LABELS.record_name].int64_list.value
        if label:
            print(f"  label {label[0]}: {meanings[label[0] == 1]}")
    print()


def texts(values: Mapping[Feature, Sequence[Any]], vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """The texts of an example, with predictions marked as `NOTATION` says.

    Args:
      values: of one record.
      vocabulary: of the record.

    Returns:
      (name of the text, text); wordpieces are joined to words, [CLS] and the [SEP] at the end left
      out.
    """
    predictions = {
        position: label
        for position, label, weight in zip(
            *(values.get(feature, ()) for feature in features.MASKED_LM),
            strict=True,
        )
        if weight > 0
    }
    groups = _groups(values, vocabulary)
    many = len({number for number, _ in groups}) > 1
    texts = []
    for (number, text_type), positions in groups.items():
        has_pair = (number, 1 - text_type) in groups
        name = f"text {'AB'[text_type]}" if has_pair else f"text {number}" if many else "text"
        words = _words(positions, values[features.WORD_IDS], predictions, vocabulary)
        texts.append((name, words))
    return texts


def _groups(
    values: Mapping[Feature, Sequence[Any]], vocabulary: Vocabulary
) -> dict[tuple[int, int], list[int]]:
    """From (number of the sequence, 0 or 1 for its texts) to the positions of the tokens."""
    word_ids, number = values[features.WORD_IDS], 0
    groups: dict[tuple[int, int], list[int]] = {}
    for position in range(sum(values[features.MASK])):
        if word_ids[position] == vocabulary.cls_id:
            number += 1
        else:
            group = number, int(values[features.TYPE_IDS][position] > 0)
            groups.setdefault(group, []).append(position)
    for positions in groups.values():
        if word_ids[positions[-1]] == vocabulary.sep_id:
            positions.pop()
    return groups


def _words(
    positions: list[int],
    word_ids: Sequence[int],
    predictions: Mapping[int, int],
    vocabulary: Vocabulary,
) -> str:
    text = ""
    for position in positions:
        token = vocabulary.tokens[word_ids[position]]
        label = vocabulary.tokens[predictions[position]] if position in predictions else token
        part = label.removeprefix("##") if len(label) > 2 else label
        shown = part
        if position in predictions and token == label:
            shown = f"{{{part}}}"
        elif position in predictions and word_ids[position] == vocabulary.mask_id:
            shown = f"[MASK:{part}]"
        elif position in predictions:
            shown = f"[{token}<-{part}]"
        text += shown if part != label or not text else f" {shown}"
    return text


def whole_build(paths: Sequence[str], builds: Sequence[Build | None]) -> dict[str, int] | None:
    """The counts that manifests give for exactly these files, added up.

    None if a file has no manifest, or only some of the files of a build are there.
    """
    by_id = {id(build): build for build in builds if build}
    if None in builds:
        return None
    if sum(build.num_files for build in by_id.values()) != len(paths):
        return None
    total: dict[str, int] = {}
    for build in by_id.values():
        for name, number in build.examples.items():
            total[name] = total.get(name, 0) + number
    return total


def table(counted: Statistics, described: Mapping[str, int] | None) -> str:
    """The statistics as a table, next to the counts of the manifest."""
    columns: list[tuple[Any, Any]] = [(counted.counts, counted.shares)]
    header = f"{'':32}{'in the records':>16}"
    if described:
        columns.append((described, manifest.shares(described)))
        header += f"{'in the manifest':>17}"
    lines = [header]
    for label, count, share in _ROWS:
        cells = [
            str(counts[count]) if count else _percent(shares[share]) for counts, shares in columns
        ]
        lines.append(f"{label:32}" + "".join(f"{cell:>16} " for cell in cells).rstrip())
    if counted.num_sequences:
        mean = counted.num_sequences / counted.counts["num_examples"]
        lines.append(f"{'texts packed into a record':32}{mean:>16.1f}")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def histograms(counted: Statistics) -> str:
    """How many tokens and predictions the records have, and where the predictions are, as text."""
    lengths = _histogram("Records by number of tokens", counted.lengths)
    if not counted.predicted.any():
        return lengths
    parts = [lengths, _histogram("Records by number of tokens to predict", counted.predictions)]
    starts, predicted = charts.bins(counted.predicted, _HISTOGRAM_ROWS)
    present = charts.bins(counted.present, _HISTOGRAM_ROWS)[1]
    lines = [
        f"{_interval(starts, index, len(counted.predicted)):>14}{_percent(number / max(1, of)):>12}"
        for index, (number, of) in enumerate(zip(predicted, present, strict=True))
    ]
    return "\n".join([*parts, "Share of the tokens to predict, by position", *lines])


def _histogram(title: str, counts: npt.NDArray) -> str:
    starts, sums = charts.bins(counts, _HISTOGRAM_ROWS)
    lines = [title]
    for index, number in enumerate(sums.tolist()):
        bar = "#" * round(_HISTOGRAM_WIDTH * number / max(1, sums.max()))
        lines.append(f"{_interval(starts, index, len(counts)):>14}{number:>12} {bar}".rstrip())
    return "\n".join(lines)


def _interval(starts: list[int], index: int, end: int) -> str:
    last = [*starts[1:], end][index] - 1
    return str(starts[index]) if last == starts[index] else f"{starts[index]} to {last}"


def notes(
    paths: Sequence[str],
    builds: Sequence[Build | None],
    described: Mapping[str, int] | None,
) -> Iterator[str]:
    """Yields why figures are not compared, as sentences."""
    for path, build in zip(paths, builds, strict=True):
        if build is None:
            yield f"no {manifest.NAME} describes {path}: another tool made it, or it was renamed."
    if described is None and any(builds):
        yield (
            "the manifest's figures are those of whole builds; these files are not, so only the "
            "files themselves are compared."
        )


def differences(
    counted: Statistics,
    paths: Sequence[str],
    builds: Sequence[Build | None],
    described: Mapping[str, int] | None,
) -> Iterator[str]:
    """Yields where manifests differ from the files, as sentences."""
    for path, build in zip(paths, builds, strict=True):
        if build is None:
            continue
        entry = build.file(os.path.basename(path)) or {}  # `find_all` found it there
        if entry["records"] != counted.num_records[path]:
            yield (
                f"{path} has {counted.num_records[path]} records; its {manifest.NAME} says "
                f"{entry['records']}."
            )
        if entry["sha256"] != _sha256(path):
            yield f"{path} is not the file that its {manifest.NAME} describes: sha256 differs."
    for name in statistics.COUNTED if described else ():
        if described and counted.counts[name] != described[name]:
            yield (
                f"{name} is {counted.counts[name]} in the records and {described[name]} in the "
                "manifest."
            )


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def asked_for(build: Build) -> dict[str, float]:
    """The shares that a build was asked for, see `charts.svg`."""
    masked, random = build.options["mask_prob"], build.options["random_prob"]
    kept = max(0.0, 1 - masked - random)
    rate = build.options["masked_lm_prob"]
    return {"predictions": rate, "masked": masked, "random": random, "kept": kept}

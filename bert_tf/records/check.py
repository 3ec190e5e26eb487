"""Checks of TFRecord files before work starts: complete, with the features and lengths wanted.

Plain Python over the bytes of a file: a length, its checksum, a `tf.train.Example`, its checksum.
"""

import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf import message

from bert_tf import features as rows
from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.features import Feature
from bert_tf.records import manifest

if TYPE_CHECKING:
    import tensorflow as tf

_LENGTH = struct.Struct("<Q")
_HEADER_BYTES = 12  # uint64 length, uint32 checksum of the length
_FOOTER_BYTES = 4  # uint32 checksum of the record
_KINDS = {"int32": "int64_list", "float32": "float_list"}
# Flags of the scripts that say how long an axis is.
_FLAGS = {"T": "--max_seq_length", "P": "--max_predictions_per_seq"}


def num_records(path: str) -> int:
    """Counts the records of a file by their headers; the records themselves are not read.

    Raises:
      InputError: the file is missing, empty, cut off or not a TFRecord file.
    """
    return sum(1 for _ in _spans(path))


def records(path: str) -> Iterator[tuple[int, bytes]]:
    """Yields, of each record of a file, the position of its bytes, and the bytes.

    Raises:
      InputError: as `num_records`.
    """
    for data, start, end in _spans(path):
        yield start, data[start:end]


def _spans(path: str) -> Iterator[tuple[mmap.mmap, int, int]]:
    """Yields (bytes of the file, start, end) of each record."""
    files.require_file(path, "TFRecord file")
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            size, position = len(data), 0
            if data[:2] == b"\x1f\x8b":
                raise InputError(f"{path} is compressed with gzip; decompress it with `gunzip`.")
            while position < size:
                start = position + _HEADER_BYTES
                if start > size:
                    raise _cut_off(path, position, size)
                end = start + _LENGTH.unpack_from(data, position)[0]
                if end + _FOOTER_BYTES > size:
                    raise _cut_off(path, position, size)
                yield data, start, end
                position = end + _FOOTER_BYTES


def _cut_off(path: str, position: int, size: int) -> InputError:
    return InputError(
        f"{path} is not a complete TFRecord file: the record at byte {position} goes "
        f"beyond the end of the file ({size} bytes). It was cut off or is something else; make or "
        "copy it again."
    )


def first_examples(path: str, limit: int) -> "list[tf.train.Example]":
    """The first `limit` records of a file as `tf.train.Example`.

    Raises:
      InputError: as `num_records`, or a record is not a `tf.train.Example`.
    """
    examples = []
    for data, start, end in _spans(path):
        try:
            examples.append(_parsed(data[start:end]))
        except message.DecodeError as error:
            raise InputError(
                f"{path}: record {len(examples)} is not a tf.train.Example ({error}). The file is "
                "damaged or holds something else; make or copy it again."
            ) from None
        if len(examples) == limit:
            break
    return examples


def _parsed(record: bytes) -> "tf.train.Example":
    import tensorflow as tf  # takes seconds to load, and records are counted without it

    return tf.train.Example.FromString(record)


def record_names(
    paths: Sequence[str], features: Iterable[Feature], sizes: Mapping[str, int] | None
) -> dict[Feature, str]:
    """Checks the first record of every file; returns the names that the files use for features.

    Lists must have the length wanted. Where a manifest says that a file is not padded, they may be
    shorter.

    Args:
      paths: of the files.
      features: that the files must have.
      sizes: from axis letter to the length wanted, e.g. `{"T": 128, "P": 20}`; None: any.

    Raises:
      InputError: a file is not complete, lacks a feature, has it in another type or length, or
        uses other names than the file before it.
    """
    features, unpadded = tuple(features), manifest.unpadded(paths)
    first: tuple[str, dict[Feature, str]] | None = None
    for path in paths:
        values = first_examples(path, 1)[0].features.feature
        names = {feature: _name(path, values, feature) for feature in features}
        for feature, name in names.items():
            if path in unpadded and feature.axes != "B" and not values[name].WhichOneof("kind"):
                continue  # an empty list
            _check_kind(path, values[name], feature, name)
            if sizes:
                _check_length(path, values[name], feature, name, sizes, path in unpadded)
        first = first or (path, names)
        if names != first[1]:
            raise InputError(
                f"{path} names its features {sorted(names.values())} and {first[0]} "
                f"{sorted(first[1].values())}. Files read together must use the same names."
            )
    return first[1] if first else {}


def present(paths: Iterable[str], features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Those of some features that the records have, judged by the first one of each file.

    Raises:
      InputError: as `first_examples`, or files do not all have the same ones.
    """
    features = tuple(features)
    first: tuple[str, tuple[Feature, ...]] | None = None
    for path in paths:
        values = first_examples(path, 1)[0].features.feature
        here = tuple(f for f in features if any(n in values for n in f.accepted_record_names))
        first = first or (path, here)
        if here != first[1]:
            (more, names), (less, fewer) = sorted([(path, here), first], key=lambda x: -len(x[1]))
            lacking = sorted({f.record_name for f in names} - {f.record_name for f in fewer})
            raise InputError(
                f"{less} has no {', '.join(lacking)}; {more} has. They were made with another "
                "--example_type or --mask: name files of one kind."
            )
    return first[1] if first else ()


def _name(path: str, values: "Mapping[str, tf.train.Feature]", feature: Feature) -> str:
    for name in feature.accepted_record_names:
        if name in values:
            return name
    raise InputError(
        f"{path} has no feature {' or '.join(feature.accepted_record_names)}; it has "
        f"{', '.join(sorted(values)) or 'none'}. Is it a file for another task?"
    )


def num_values(path: str, feature: Feature) -> int:
    """How many values of a feature the first record of a file has.

    Raises:
      InputError: as `first_examples`, or the file lacks the feature.
    """
    values = first_examples(path, 1)[0].features.feature
    value = values[_name(path, values, feature)]
    kind = value.WhichOneof("kind")
    return len(getattr(value, kind).value) if kind else 0


def _check_kind(path: str, value: "tf.train.Feature", feature: Feature, name: str) -> None:
    kind, wanted_kind = value.WhichOneof("kind"), _KINDS[feature.dtype]
    if kind != wanted_kind:
        raise InputError(f"{path}: feature {name} is a {kind}; a {wanted_kind} was wanted.")


def _check_length(
    path: str,
    value: "tf.train.Feature",
    feature: Feature,
    name: str,
    sizes: Mapping[str, int],
    may_be_shorter: bool,
) -> None:
    length = len(getattr(value, value.WhichOneof("kind")).value)
    axis = feature.axes.removeprefix("B").strip()
    wanted = sizes[axis] if axis else 1
    if length == wanted or (axis and may_be_shorter and length < wanted):
        return
    message = f"{path}: feature {name} has {length} value(s); {wanted} were wanted"
    if axis in _FLAGS:
        flag = _FLAGS[axis]
        raise InputError(
            f"{message} ({flag}={wanted}). Give {flag}={length}, or make the records with "
            f"{flag}={wanted}."
        )
    raise InputError(f"{message}.")


def check_ids(paths: Iterable[str], vocab_size: int, limit: int = 100) -> None:
    """Refuses records that were made with a larger vocabulary than the model's.

    An id beyond the word table would read whatever lies there, or train to NaN.

    Args:
      paths: of the files.
      vocab_size: V of the model.
      limit: records of each file to look at.

    Raises:
      InputError: an id is negative or not below `vocab_size`.
    """
    for path in paths:
        for number, example in enumerate(first_examples(path, limit)):
            values = example.features.feature
            for feature in (rows.WORD_IDS, rows.MASKED_LM_IDS):
                for name in feature.accepted_record_names:
                    ids = values[name].int64_list.value if name in values else ()
                    if ids and not 0 <= min(ids) <= max(ids) < vocab_size:
                        raise InputError(
                            f"{path}: {name} of record {number} holds ids from {min(ids)} to "
                            f"{max(ids)}; the model's vocab_size is {vocab_size}. The records "
                            "were made with another vocabulary: make them again with the model's "
                            "vocab.txt, or give its --bert_config_file."
                        )


def check_lengths(paths: Sequence[str]) -> None:
    """Refuses padded files whose lists change their length or are missing; reads every record.

    Raises:
      InputError: a record is not like the first one of its file.
    """
    unpadded = manifest.unpadded(paths)
    for path in paths:
        wanted = None
        for number, (data, start, end) in enumerate(_spans(path)):
            lengths = _lengths(_parsed(data[start:end]))
            wanted = wanted or lengths
            if lengths == wanted or path in unpadded:
                continue
            names = lengths.keys() | wanted.keys()
            name = min(n for n in names if lengths.get(n) != wanted.get(n))
            raise InputError(
                f"{path}: record {number} has {lengths.get(name, 0)} value(s) of {name}, record 0 "
                f"has {wanted.get(name, 0)}. All records of a file must be padded alike; make it "
                "again."
            )


def _lengths(example: "tf.train.Example") -> dict[str, int]:
    """The number of values of each feature."""
    return {
        name: len(getattr(value, kind).value)
        for name, value in example.features.feature.items()
        if (kind := value.WhichOneof("kind"))
    }

"""TFRecord files looked at before work starts: whole, with the features and lengths wanted.

Plain Python over the bytes of a file: a length, its checksum, a `tf.train.Example`, its checksum.
"""

import mmap
import struct

import tensorflow as tf
from google.protobuf import message

from bert_tf import features as rows
from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.records import manifest

_LENGTH = struct.Struct("<Q")
_HEADER_BYTES = 12  # uint64 length, uint32 checksum of the length
_FOOTER_BYTES = 4  # uint32 checksum of the record
_KINDS = {"int32": "int64_list", "float32": "float_list"}
# Flags of the scripts that say how long an axis is.
_FLAGS = {"T": "--max_seq_length", "P": "--max_predictions_per_seq"}


def num_records(path):
    """Counts the records of a file by their headers; the records themselves are not read.

    Raises:
      InputError: the file is missing, empty, cut off or no TFRecord file.
    """
    return sum(1 for _ in _spans(path))


def _spans(path):
    """Yields (bytes of the file, start, end) of each record."""
    files.require_file(path, "TFRecord file")
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            size, place = len(data), 0
            if data[:2] == b"\x1f\x8b":
                raise InputError(f"{path} is compressed with gzip; decompress it with `gunzip`.")
            while place < size:
                start = place + _HEADER_BYTES
                if start > size:
                    raise _cut_off(path, place, size)
                end = start + _LENGTH.unpack_from(data, place)[0]
                place_after = end + _FOOTER_BYTES
                if place_after > size:
                    raise _cut_off(path, place, size)
                yield data, start, end
                place = place_after


def _cut_off(path, place, size):
    return InputError(
        f"{path} is not a whole TFRecord file: the record at byte {place} goes beyond the end of "
        f"the file ({size} bytes). It was cut off or is something else; make or copy it again."
    )


def first_examples(path, limit):
    """The first `limit` records of a file as `tf.train.Example`.

    Raises:
      InputError: as `num_records`, or a record is no `tf.train.Example`.
    """
    examples = []
    for data, start, end in _spans(path):
        try:
            examples.append(tf.train.Example.FromString(data[start:end]))
        except message.DecodeError as error:
            raise InputError(
                f"{path}: record {len(examples)} is no tf.train.Example ({error}). The file is "
                "damaged or holds something else; make or copy it again."
            ) from None
        if len(examples) == limit:
            break
    return examples


def record_names(paths, features, sizes):
    """Checks the first record of every file and finds out which names the files use.

    Lists must have the length wanted, or at the most that one where a manifest says that the file
    is not padded.

    Args:
      paths: list of str.
      features: iterable of `features.Feature`.
      sizes: dict from axis letter to the length wanted, e.g. `{"T": 128, "P": 20}`; None: any.

    Returns:
      dict from `features.Feature` to its name in the records.

    Raises:
      InputError: a file is not whole, lacks a feature, has it in another type or length, or
        uses other names than the file before it.
    """
    first, unpadded = None, manifest.unpadded(paths)
    for path in paths:
        found = first_examples(path, 1)[0].features.feature
        names = {feature: _name(path, found, feature) for feature in features}
        for feature, name in names.items():
            if path in unpadded and feature.axes != "B" and not found[name].WhichOneof("kind"):
                continue  # an empty list
            _check_kind(path, found[name], feature, name)
            if sizes:
                _check_length(path, found[name], feature, name, sizes, path in unpadded)
        first = first or (path, names)
        if names != first[1]:
            raise InputError(
                f"{path} names its features {sorted(names.values())} and {first[0]} "
                f"{sorted(first[1].values())}. Files read together must use the same names."
            )
    return first[1]


def present(paths, features):
    """Those of some features that the records have, judged by the first one of each file.

    Args:
      paths: list of str.
      features: iterable of `features.Feature`.

    Returns:
      tuple of `features.Feature`.

    Raises:
      InputError: as `first_examples`, or files do not all have the same ones.
    """
    features, first = tuple(features), None
    for path in paths:
        found = first_examples(path, 1)[0].features.feature
        here = tuple(f for f in features if any(n in found for n in f.accepted_record_names))
        first = first or (path, here)
        if here != first[1]:
            (more, names), (less, fewer) = sorted([(path, here), first], key=lambda x: -len(x[1]))
            lacking = sorted({f.record_name for f in names} - {f.record_name for f in fewer})
            raise InputError(
                f"{less} has no {', '.join(lacking)}; {more} has. They were made with another "
                "--example_type or --mask: name files of one kind."
            )
    return first[1]


def _name(path, found, feature):
    for name in feature.accepted_record_names:
        if name in found:
            return name
    raise InputError(
        f"{path} has no feature {' or '.join(feature.accepted_record_names)}; it has "
        f"{', '.join(sorted(found)) or 'none'}. Is it a file for another task?"
    )


def num_values(path, feature):
    """How many values of a feature the first record of a file has.

    Raises:
      InputError: as `first_examples`, or the file lacks the feature.
    """
    found = first_examples(path, 1)[0].features.feature
    value = found[_name(path, found, feature)]
    kind = value.WhichOneof("kind")
    return len(getattr(value, kind).value) if kind else 0


def _check_kind(path, value, feature, name):
    kind, wanted_kind = value.WhichOneof("kind"), _KINDS[feature.dtype]
    if kind != wanted_kind:
        raise InputError(f"{path}: feature {name} is a {kind}; a {wanted_kind} was wanted.")


def _check_length(path, value, feature, name, sizes, may_be_shorter):
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


def check_ids(paths, vocab_size, limit=100):
    """Refuses records that were made with a larger vocabulary than the model's.

    An id beyond the word table would read whatever lies there, or train to NaN.

    Args:
      paths: list of str.
      vocab_size: int, V of the model.
      limit: int, records of each file to look at.

    Raises:
      InputError: an id is negative or not below `vocab_size`.
    """
    for path in paths:
        for number, example in enumerate(first_examples(path, limit)):
            found = example.features.feature
            for feature in (rows.WORD_IDS, rows.MASKED_LM_IDS):
                for name in feature.accepted_record_names:
                    ids = found[name].int64_list.value if name in found else ()
                    if ids and not 0 <= min(ids) <= max(ids) < vocab_size:
                        raise InputError(
                            f"{path}: {name} of record {number} holds ids from {min(ids)} to "
                            f"{max(ids)}; the model's vocab_size is {vocab_size}. The records "
                            "were made with another vocabulary: make them again with the model's "
                            "vocab.txt, or give its --bert_config_file."
                        )


def check_lengths(paths):
    """Refuses padded files whose lists change their length or are missing; reads every record.

    Raises:
      InputError: a record is not like the first one of its file.
    """
    unpadded = manifest.unpadded(paths)
    for path in paths:
        wanted = None
        for number, (data, start, end) in enumerate(_spans(path)):
            found = _lengths(tf.train.Example.FromString(data[start:end]))
            wanted = wanted or found
            if found == wanted or path in unpadded:
                continue
            name = min(n for n in found.keys() | wanted.keys() if found.get(n) != wanted.get(n))
            raise InputError(
                f"{path}: record {number} has {found.get(name, 0)} value(s) of {name}, record 0 "
                f"has {wanted.get(name, 0)}. All records of a file must be padded alike; make it "
                "again."
            )


def _lengths(example):
    """Dict from the name of each feature to the number of its values."""
    return {
        name: len(getattr(value, kind).value)
        for name, value in example.features.feature.items()
        if (kind := value.WhichOneof("kind"))
    }

"""Text to pre-training TFRecords, however long the text: what runs, in what order, and its end.

The work is cut into units of text, which worker processes take one by one; `scratch.Stages` says
what they do with one, and keeps the results in a scratch directory. Memory holds what the workers
are working on, whatever the size of the corpus; a build that was killed goes on with the units that
are missing. Inputs are numbered in the order of their hashes, units in the order of their inputs,
and every random draw is seeded by what it is for. So the bytes of the shards depend on the text,
the options and the seed alone.
"""

import errno
import functools
import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bert_tf import files, flagging
from bert_tf.corpus import inputs
from bert_tf.corpus.sentences import Splitter
from bert_tf.corpus.units import UNIT_BYTES, Unit, read_units
from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.progress import Progress
from bert_tf.records import manifest
from bert_tf.records.build import scratch, summary, write
from bert_tf.records.build.recipe import Key, Recipe, check_examples
from bert_tf.records.build.scratch import Scratch, Stages
from bert_tf.records.build.summary import ExampleCounts, TextCounts
from bert_tf.records.build.workers import Workers
from bert_tf.text import vocab
from bert_tf.text.vocab import Vocabulary

# Random second texts come from the same pool; this many tokens are about 20 MB of English.
POOL_TOKENS = 2**22
_BYTES_FOR_A_WORKER = 2**23
_NUM_TO_PRINT = 2
Input = dict[str, Any]  # "path", "format", "bytes" and "sha256" of an input file
# From (pool, run) to the units of the pool and those of the run.
_Runs = dict[tuple[int, int], tuple[tuple[Key, ...], tuple[Key, ...]]]
# Options that change nothing in the examples.
_NOT_IDENTITY = ("input_file", "output_file", "vocab_file", "num_workers", "scratch_dir")


def run(options: PretrainingData) -> tuple[TextCounts, ExampleCounts]:
    """Makes the records that `options` asks for and prints what they are like.

    Raises:
      InputError: a file is missing or not what it should be, the vocabulary has another
        casing, the text has too few documents, or the disk is full.
    """
    paths = inputs.find(options.input_file)
    outputs = output_paths(options.output_file, paths)
    vocabulary = vocab.from_file(options.vocab_file)
    vocab.check_casing(vocabulary, options.do_lower_case)
    formats = {path: inputs.resolve_format(path, options.input_format) for path in paths}
    if set(formats.values()) != {"sentences"}:
        Splitter(options.language)  # refuses a language without rules
    flagging.announce(options)
    corpus = _hashed(formats)
    identity = {name: value for name, value in vars(options).items() if name not in _NOT_IDENTITY}
    identity |= {
        "vocabulary": vocabulary.sha256,
        "inputs": f"{len(corpus)} file(s), {_hash_of_hashes(corpus)}",
        "number of output files": len(outputs),
    }
    directory = _scratch_directory(options, outputs)
    kept = functools.partial(_what_is_kept, directory)
    with (
        files.disk_full_explained(directory, kept),
        scratch.opened(directory, identity) as parts,
    ):
        build = _Build(options, parts, corpus, vocabulary, outputs)
        counts = build.run()
        for source, path in zip(build.shard_paths, outputs, strict=True):
            _move(source, path)
        manifest.add(outputs, build.shards, options, vocabulary, corpus, *counts)
    print(summary.text(*counts, options), flush=True)
    return counts


def output_paths(output_file: str, input_paths: Iterable[str]) -> list[str]:
    """The paths of --output_file, checked; `name@3` means three files.

    Raises:
      InputError: none is named, one is named twice, is a directory or an input.
    """
    paths = []
    for part in filter(None, (part.strip() for part in output_file.split(","))):
        sharded = re.fullmatch(r"(.+)@([1-9]\d{0,4})", part)
        if sharded:
            name, count = sharded[1], int(sharded[2])
            paths += [f"{name}-{number:05d}-of-{count:05d}" for number in range(count)]
        else:
            paths.append(part)
    if not paths:
        raise InputError("--output_file is empty; it takes a comma-separated list of files.")
    for path in paths:
        if os.path.isdir(path):
            raise InputError(f"--output_file={path} is a directory; a file was wanted.")
    resolved = [os.path.realpath(path) for path in paths]
    if len(set(resolved)) < len(resolved):
        raise InputError(f"--output_file={output_file} names a file twice.")
    if overwritten := set(resolved) & {os.path.realpath(path) for path in input_paths}:
        raise InputError(f"--output_file names the input {sorted(overwritten)[0]}.")
    return paths


def _scratch_directory(options: PretrainingData, outputs: list[str]) -> str:
    first = os.path.abspath(outputs[0])
    parent = options.scratch_dir or os.path.dirname(first)
    return os.path.join(parent, f".{os.path.basename(first)}.unfinished")


def _hashed(formats: dict[str, str]) -> list[Input]:
    """Describes each input, in the order of their hashes, in which the build takes them.

    Args:
      formats: from path to format.
    """
    total = sum(map(os.path.getsize, formats))
    with Progress("hash", total, "bytes") as progress:
        corpus: list[Input] = []
        for path, text_format in formats.items():
            digest = hashlib.sha256()
            with open(path, "rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
                    progress.advance(len(block))
            corpus.append(
                {
                    "path": path,
                    "format": text_format,
                    "bytes": os.path.getsize(path),
                    "sha256": digest.hexdigest(),
                }
            )
    return sorted(corpus, key=lambda each: each["sha256"])


def _hash_of_hashes(corpus: list[Input]) -> str:
    return hashlib.sha256("".join(each["sha256"] for each in corpus).encode()).hexdigest()


class _Build:
    """The stages of one build, each left out as far as its parts are there.

    Attributes:
      shard_paths: where the shards are, unless they were moved before.
      shards: what `manifest` says of each shard, after `run`.
    """

    def __init__(
        self,
        options: PretrainingData,
        parts: Scratch,
        corpus: list[Input],
        vocabulary: Vocabulary,
        outputs: list[str],
    ) -> None:
        self._options, self._parts, self._corpus = options, parts, corpus
        self._vocabulary = vocabulary
        self._recipe = Recipe(options, vocabulary)
        self._outputs, self._num_shards = outputs, len(outputs)
        self.shard_paths = [parts.shard(number) for number in range(len(outputs))]
        self.shards: list[dict[str, Any]] = []

    def run(self) -> tuple[TextCounts, ExampleCounts]:
        """Runs the stages."""
        num_workers = _num_workers(self._options, self._corpus)
        with Workers(num_workers, Stages, self._options, self._parts) as workers:
            units = self._tokenize(workers)
            read = sum((TextCounts(**unit["counts"]) for unit in units), start=TextCounts())
            units = [unit for unit in units if unit["num_documents"]]
            num_tokens = sum(unit["num_tokens"] for unit in units)
            num_buckets = self._recipe.num_buckets(num_tokens, self._num_shards)
            runs = self._runs(units)
            made = self._draw(workers, runs, units, num_buckets)
            check_examples(made.num_examples, self._num_shards)
            self._print_examples(next(iter(runs)), num_buckets)
            # Every unit is dealt out evenly, so a bucket has one row of it more than its share.
            max_rows = made.num_examples // num_buckets + len(units)
            self._write(workers, list(runs), num_buckets, max_rows, made.num_examples)
        return read, made

    def _tokenize(self, workers: Workers) -> list[dict[str, Any]]:
        """Stage 1; returns the headers of all units in their order."""
        known = self._parts.note("units")
        if os.path.exists(known):
            with open(known, encoding="utf-8") as file:
                return json.load(file)
        headers: dict[Key, Any] = {}
        num_bytes: dict[Key, int] = {}
        total = sum(each["bytes"] for each in self._corpus)

        def missing(progress: Progress) -> Iterator[tuple[Key, Unit]]:
            for number, each in enumerate(self._corpus):
                before = 0
                for unit in read_units(each["path"], each["format"], UNIT_BYTES):
                    key = (number, unit.number)
                    # Of the file on disk, which may be compressed.
                    num_bytes[key], before = unit.position - before, unit.position
                    headers[key] = scratch.header(self._parts.tokens(key))
                    if headers[key] is None:
                        yield key, unit
                    else:
                        progress.skip(num_bytes[key])

        started = "starting the worker processes"
        first = started if workers.are_processes else "preparing the tokenizer"
        with Progress("tokenize", total, "bytes", first=first) as progress:
            for header in workers.run("tokenize", missing(progress)):
                key = tuple(header["key"])
                headers[key] = header
                progress.advance(num_bytes[key])
        in_order = [headers[key] for key in sorted(headers)]
        files.write_text(known, json.dumps(in_order))
        return in_order

    def _runs(self, units: list[dict[str, Any]]) -> _Runs:
        sizes = [(tuple(u["key"]), u["num_tokens"], u["num_documents"]) for u in units]
        num_tokens = {key: size for key, size, _ in sizes}
        return {
            (number, place): (pool, run)
            for number, pool in enumerate(self._recipe.pools(sizes, POOL_TOKENS))
            for place, run in enumerate(self._recipe.runs(pool, num_tokens))
        }

    def _draw(
        self, workers: Workers, runs: _Runs, units: list[dict[str, Any]], num_buckets: int
    ) -> ExampleCounts:
        """Stage 2."""
        num_bytes = {tuple(unit["key"]): unit["counts"]["num_bytes"] for unit in units}
        headers: dict[Any, Any] = {run: scratch.header(self._parts.rows(run)) for run in runs}
        missing = [run for run, header in headers.items() if not header]
        done = [run for run, header in headers.items() if header]
        tasks = ((runs[run][0], run, runs[run][1], num_buckets) for run in missing)
        with Progress("draw", sum(num_bytes.values()), "bytes") as progress:
            progress.skip(sum(num_bytes[key] for run in done for key in runs[run][1]))
            for header in workers.run("draw", tasks):
                run = tuple(header["run"])
                headers[run] = header
                progress.advance(sum(num_bytes[key] for key in runs[run][1]))
        counts = (ExampleCounts(**header["counts"]) for header in headers.values())
        return sum(counts, start=ExampleCounts())

    def _print_examples(self, run: tuple[int, int], num_buckets: int) -> None:
        rows = np.empty(_NUM_TO_PRINT, self._recipe.row_dtype)
        for row in rows[: scratch.read_rows(self._parts.rows(run), rows, 0, num_buckets)]:
            print(summary.example_text(row, self._vocabulary), flush=True)

    def _write(
        self,
        workers: Workers,
        runs: list[tuple[int, int]],
        num_buckets: int,
        max_rows: int,
        num_examples: int,
    ) -> None:
        """Stage 3, and the join of the buckets of each shard; fills in `shards`."""
        per_shard = num_buckets // self._num_shards
        headers: list[Any] = [scratch.header(path) for path in self.shard_paths]
        missing = [n for n, header in enumerate(headers) if not self._is_there(n, header)]
        buckets = (n * per_shard + place for n in missing for place in range(per_shard))

        def joined(
            parts: Iterable[tuple[str, int]], progress: Progress
        ) -> Iterator[tuple[str, int]]:
            for part, num_records in parts:
                yield part, num_records
                progress.advance(num_records)

        tasks = ((bucket, runs, num_buckets, max_rows) for bucket in buckets)
        encoded = workers.run("encode", tasks)
        with Progress("write", num_examples, "examples") as progress:
            progress.skip(sum(h["records"] for n, h in enumerate(headers) if n not in missing))
            for number in missing:
                parts = joined(itertools.islice(encoded, per_shard), progress)
                headers[number] = write.join(self.shard_paths[number], parts)
                files.write_text(f"{self.shard_paths[number]}.json", json.dumps(headers[number]))
        self.shards = headers

    def _is_there(self, number: int, header: dict[str, Any] | None) -> bool:
        """Whether a shard that was finished before is here, or was moved to its place."""
        if not header or os.path.exists(self.shard_paths[number]):
            return bool(header)
        moved = self._outputs[number]
        return os.path.isfile(moved) and os.path.getsize(moved) == header["bytes"]


def _move(source: str, path: str) -> None:
    """Moves a finished file to its place, whole or not at all, also to another disk."""
    if not os.path.exists(source):  # moved by a run that was killed right after
        return
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    try:
        os.replace(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with files.replacing(path) as temporary:
            shutil.copyfile(source, temporary)
        os.remove(source)


def _num_workers(options: PretrainingData, corpus: list[Input]) -> int:
    """As asked for, or one per core; fewer where starting them takes longer than the work."""
    num_bytes = sum(each["bytes"] for each in corpus)
    cores = len(os.sched_getaffinity(0))
    return options.num_workers or max(1, min(cores, num_bytes // _BYTES_FOR_A_WORKER))


def _what_is_kept(directory: str) -> str:
    """What a full disk leaves, and how to go on."""
    return (
        f"What is done is in {directory}; free some space, or give a --scratch_dir on another disk "
        "before the first run, and run the same command again: it goes on where it stopped."
    )

"""The build of pre-training records as a Beam pipeline; `recipe` says what is done at each step.

    files -> units of text -> ids -> pools of units -> examples -> buckets -> shards

The same units, pools, random numbers and buckets as in `build`, so the shards are the same, byte
for byte. Where a step needs to know the whole corpus (which pool a unit belongs to, how many
buckets there are), that comes as a side input, the plan.
"""

import argparse
import dataclasses
import json
import operator
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions
from apache_beam.pvalue import AsList, AsSingleton, TaggedOutput
from apache_beam.runners.runner import PipelineState

from bert_tf import flagging
from bert_tf.corpus import inputs
from bert_tf.corpus.units import Unit, read_units
from bert_tf.errors import InputError
from bert_tf.examples.pool import Documents
from bert_tf.options import PretrainingData
from bert_tf.records.beam import files as beam_files
from bert_tf.records.build import builder, summary, write
from bert_tf.records.build.recipe import Key, Recipe, check_examples
from bert_tf.records.build.summary import ExampleCounts, TextCounts
from bert_tf.text import vocab

_COUNTS = "counts"
_Name = tuple[str, int]  # of a unit: path of its input, its number there
_Element = tuple[_Name, Documents, TextCounts]  # a unit that is tokenized
_Bucket = tuple[int, str, int]  # number, path of a file with its records, how many
_Shard = tuple[int, str, dict[str, Any]]  # number, path, description of the file
# The last InputError in the text of a traceback; Beam says behind it where it was.
_INPUT_ERROR = re.compile(r".*bert_tf\.errors\.InputError: ([^\n]*)", re.DOTALL)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What every worker needs; none reads the vocabulary's file.

    Attributes:
      options: of the build.
      tokens: of the vocabulary.
      directory: for unfinished files, where all workers and this process reach it.
      num_shards: output files.
      unit_bytes: of text in a unit.
      pool_tokens: of a full pool.
    """

    options: PretrainingData
    tokens: tuple[str, ...]
    directory: str
    num_shards: int
    unit_bytes: int = builder.UNIT_BYTES
    pool_tokens: int = builder.POOL_TOKENS

    def recipe(self) -> Recipe:
        """A `Recipe` for one thread."""
        return Recipe(self.options, vocab.Vocabulary(self.tokens))

    def new_path(self, name: str) -> str:
        """A path in the directory; another one at every attempt, so that attempts do not clash."""
        return FileSystems.join(self.directory, f"{name}-{uuid.uuid4().hex}")


def run(
    options: PretrainingData, arguments: Sequence[str], **sizes: int
) -> tuple[TextCounts, ExampleCounts]:
    """Makes the records that `options` asks for and prints what they are like.

    Args:
      options: `num_workers` goes to the runner, unfinished files to a new directory in
        `scratch_dir`, by default that of the first output.
      arguments: Beam's flags.
      **sizes: `unit_bytes` and `pool_tokens`, if not those of `build`.

    Raises:
      InputError: as `build.run`; or a flag is unknown to Beam.
    """
    beam_options = pipeline_options(arguments, options.num_workers)
    FileSystems.set_options(beam_options)
    paths = beam_files.find(options.input_file)
    outputs = builder.output_paths(options.output_file, paths)
    with beam_files.local_copy(options.vocab_file) as local:
        vocabulary = vocab.from_file(local)
    vocab.check_casing(vocabulary, options.do_lower_case)
    flagging.announce(options)
    with beam_files.scratch(_scratch_directory(options, outputs)) as directory:
        job = Job(
            options=options,
            tokens=vocabulary.tokens,
            directory=directory,
            num_shards=len(outputs),
            **sizes,
        )
        _run_pipeline(beam_options, job, paths)
        with beam_files.read(_result_path(directory)) as file:
            result = json.loads(file.read())
        for (source, _), path in zip(result["shards"], outputs, strict=True):
            beam_files.move(source, path)
    counts = TextCounts(**result["text"]), ExampleCounts(**result["examples"])
    shards = [header for _, header in result["shards"]]
    beam_files.add_to_manifest(outputs, shards, options, vocabulary, result["corpus"], *counts)
    print(summary.text(*counts, options), flush=True)
    return counts


def pipeline_options(arguments: Sequence[str], num_workers: int | None = None) -> PipelineOptions:
    """Beam's options from its flags; those in front of "--" must be ones that it declares.

    Raises:
      InputError: one is unknown.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    known, anything = list(arguments[:end]), list(arguments[end + 1 :])
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_value_provider_argument = parser.add_argument  # type: ignore[attr-defined]
    for group in PipelineOptions.__subclasses__():
        group._add_argparse_args(parser)
    if unknown := parser.parse_known_args(known)[1]:
        raise InputError(
            f"Neither create_pretraining_data.py nor Beam has the flag {unknown[0]}. "
            'Give flags that only the runner knows after "--".'
        )
    if num_workers is not None:
        known = [*known, f"--num_workers={num_workers}"]
    beam_options = PipelineOptions(known + anything)
    # Nothing that is pickled lies in the main module.
    beam_options.view_as(SetupOptions).save_main_session = False
    return beam_options


def _scratch_directory(options: PretrainingData, outputs: list[str]) -> str:
    if len({beam_files.scheme(path) for path in [*outputs, options.scratch_dir or outputs[0]]}) > 1:
        raise InputError(
            f"--output_file={options.output_file} and --scratch_dir={options.scratch_dir} must be "
            "on the same file system, because finished files are moved from one to the other."
        )
    parent, name = FileSystems.split(outputs[0])
    parent = options.scratch_dir or parent
    return FileSystems.join(parent, f".{name}.unfinished-{uuid.uuid4().hex[:8]}")


def _run_pipeline(beam_options: PipelineOptions, job: Job, paths: list[str]) -> None:
    """Runs the pipeline to its end; what a user can put right is an InputError again."""
    pipeline = beam.Pipeline(options=beam_options)
    _assemble(pipeline, job, paths)
    try:
        state = pipeline.run().wait_until_finish()
    except Exception as error:
        if message := _INPUT_ERROR.match(_text(error)):
            raise InputError(re.sub(r" \[while running '.*", "", message[1])) from None
        raise
    if state not in (None, PipelineState.DONE):
        raise RuntimeError(f"The pipeline ended as {state}; the runner's log says why.")


def _text(error: BaseException) -> str:
    """The text of an exception and of those behind it, as tracebacks show them."""
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    cause = error.__cause__ or error.__context__
    return (_text(cause) if cause else "") + f"\n{name}: {error}"


def _assemble(pipeline: beam.Pipeline, job: Job, paths: list[str]) -> None:
    files = pipeline | "Files" >> beam.Create(paths) | "Spread files" >> beam.Reshuffle()
    corpus = files | "Hash" >> beam.Map(_hashed, job.options.input_format)
    tokenized = (
        files
        | "Cut" >> beam.FlatMap(_units, job)
        | "Spread units" >> beam.Reshuffle()
        | "Tokenize" >> beam.ParDo(_Tokenize(job))
        # Two steps use them; runners keep what was reshuffled and need not tokenize twice.
        | "Keep ids" >> beam.Reshuffle()
    )
    once = pipeline | "Once" >> beam.Create([None])
    the_plan = once | "Plan" >> beam.Map(
        _plan, job, AsList(corpus), AsList(tokenized | "Sizes" >> beam.Map(_size))
    )
    num_buckets = the_plan | "Count buckets" >> beam.Map(operator.itemgetter("num_buckets"))
    draw = beam.ParDo(_Draw(job), AsSingleton(num_buckets)).with_output_types(tuple[int, Any])
    drawn = (
        tokenized
        | "Assign" >> beam.FlatMap(_assigned, AsSingleton(the_plan))
        | "Pools" >> beam.GroupByKey()
        | "Draw" >> draw.with_outputs(_COUNTS, main="rows")
    )
    buckets = (
        drawn["rows"]
        | "Buckets" >> beam.GroupByKey()
        | "Write buckets" >> beam.ParDo(_WriteBucket(job))
    )
    shards = (
        pipeline
        | "Shards" >> beam.Create(range(job.num_shards))
        | "Spread shards" >> beam.Reshuffle()
        | "Join" >> beam.Map(_joined, job, AsList(buckets), AsSingleton(num_buckets))
    )
    _ = once | "Finish" >> beam.Map(
        _finish, job, AsSingleton(the_plan), AsList(drawn[_COUNTS]), AsList(shards)
    )


def _hashed(path: str, input_format: str) -> builder.Input:
    """Describes an input as `build` does."""
    with beam_files.local_copy(path) as local:
        num_bytes, sha256 = beam_files.digest(local)
        text_format = inputs.resolve_format(local, input_format)
    return {"path": path, "format": text_format, "bytes": num_bytes, "sha256": sha256}


def _units(path: str, job: Job) -> Iterator[tuple[_Name, Unit]]:
    with beam_files.local_copy(path) as local:
        text_format = inputs.resolve_format(local, job.options.input_format)
        for unit in read_units(local, text_format, job.unit_bytes):
            yield (path, unit.number), unit._replace(path=path)


class _Tokenize(beam.DoFn):
    """(name, unit) to (name, `pool.Documents`, `TextCounts`)."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def setup(self) -> None:
        self._recipe = self._job.recipe()

    def process(self, element: tuple[_Name, Unit]) -> Iterator[_Element]:
        name, unit = element
        yield name, *self._recipe.tokenize(unit)


def _size(element: _Element) -> tuple[_Name, int, int, TextCounts]:
    """All that the plan needs to know of a unit: name, tokens, documents, counts."""
    name, unit, counts = element
    return name, len(unit.ids), len(unit.document_ends), counts


def _plan(
    _: None,
    job: Job,
    corpus: list[builder.Input],
    sizes: list[tuple[_Name, int, int, TextCounts]],
) -> dict[str, Any]:
    """Divides the corpus.

    Returns:
      "corpus", the inputs in the order of their hashes; "text", the `TextCounts`;
      "num_buckets"; "places", from the name of a unit to (number of its pool, its number
      there, its key).
    """
    corpus = sorted(sorted(corpus, key=lambda each: each["path"]), key=lambda each: each["sha256"])
    numbers = {each["path"]: number for number, each in enumerate(corpus)}
    names = {(numbers[name[0]], name[1]): name for name, _, _, _ in sizes}
    units = sorted(
        ((numbers[path], number), num_tokens, num_documents)
        for (path, number), num_tokens, num_documents, _ in sizes
        if num_documents
    )
    recipe = job.recipe()
    pools = recipe.pools(units, job.pool_tokens)
    num_tokens = sum(num_tokens for _, num_tokens, _ in units)
    return {
        "corpus": corpus,
        "text": sum((counts for *_, counts in sizes), start=TextCounts()),
        "num_buckets": recipe.num_buckets(num_tokens, job.num_shards),
        "places": {
            names[key]: (number, place, key)
            for number, pool in enumerate(pools)
            for place, key in enumerate(pool)
        },
    }


def _assigned(element: _Element, the_plan: dict[str, Any]) -> list[tuple[int, Any]]:
    """(number of the pool, (place in it, key, documents)); nothing for a unit without documents."""
    name, unit, _ = element
    if name not in the_plan["places"]:
        return []
    pool, place, key = the_plan["places"][name]
    return [(pool, (place, key, unit))]


class _Draw(beam.DoFn):
    """A pool to (bucket, (place of the unit, its rows as bytes)), and `ExampleCounts` aside."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def setup(self) -> None:
        self._recipe = self._job.recipe()

    def process(
        self, element: tuple[int, Iterable[tuple[int, Key, Documents]]], num_buckets: int
    ) -> Iterator[Any]:
        number, members = element
        members = sorted(members, key=operator.itemgetter(0))
        pool = self._recipe.pool([unit for _, _, unit in members])
        for place, key, _ in members:
            rows, ends, counts = self._recipe.draw(pool, place, key, num_buckets)
            yield TaggedOutput(_COUNTS, counts)
            for bucket, some in enumerate(np.split(rows, ends[:-1])):
                if len(some):
                    yield bucket, ((number, place), some.tobytes())


class _WriteBucket(beam.DoFn):
    """All rows of a bucket to a `_Bucket`."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def setup(self) -> None:
        self._recipe = self._job.recipe()

    def process(
        self, element: tuple[int, Iterable[tuple[tuple[int, int], bytes]]]
    ) -> Iterator[_Bucket]:
        bucket, parts = element
        parts = sorted(parts, key=operator.itemgetter(0))
        rows = np.frombuffer(b"".join(data for _, data in parts), self._recipe.row_dtype)
        path = self._job.new_path(f"bucket-{bucket:06d}")
        with beam_files.create(path) as file:
            for records, ends in self._recipe.encode(rows, bucket):
                file.write(write.frame(records, ends))
        yield bucket, path, len(rows)


def _joined(number: int, job: Job, buckets: Iterable[_Bucket], num_buckets: int) -> _Shard:
    """Joins the buckets of a shard."""
    per_shard = num_buckets // job.num_shards
    mine = sorted(bucket for bucket in buckets if bucket[0] // per_shard == number)
    path = job.new_path(f"shard-{number:05d}")
    num_bytes, sha256 = beam_files.concatenate([name for _, name, _ in mine], path)
    num_records = sum(count for _, _, count in mine)
    return number, path, {"records": num_records, "bytes": num_bytes, "sha256": sha256}


def _finish(
    _: None,
    job: Job,
    the_plan: dict[str, Any],
    counts: Iterable[ExampleCounts],
    shards: Iterable[_Shard],
) -> None:
    """Writes what was made into the directory, for the process that started the pipeline."""
    made = sum(counts, start=ExampleCounts())
    check_examples(made.num_examples, job.num_shards)
    result = {
        "corpus": the_plan["corpus"],
        "text": dataclasses.asdict(the_plan["text"]),
        "examples": dataclasses.asdict(made),
        "shards": [(path, header) for _, path, header in sorted(shards, key=lambda s: s[0])],
    }
    with beam_files.create(_result_path(job.directory)) as file:
        file.write(json.dumps(result).encode())


def _result_path(directory: str) -> str:
    return FileSystems.join(directory, "result.json")

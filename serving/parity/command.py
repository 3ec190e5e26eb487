"""Records answers of a server, or compares its answers with recorded ones."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bert_tf import invocation, progress
from bert_tf.errors import InputError
from serving.client import grpc_requests, inputs, messages, rows, tensor_messages
from serving.models.spec import ModelSpec
from serving.parity import records, responses, targets
from serving.parity.comparison import Comparison
from serving.parity.options import Parity
from serving.parity.targets import Target
from serving.status import Code, ServingError

_DIFFERENT = 1  # exit status
_NO_ANSWER = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)  # says nothing about answers


def main(options: Parity) -> None:
    """Records or compares.

    Raises:
      InputError: there is nothing to ask or to compare with, or no server.
      SystemExit: with status 1 if answers differ.
    """
    options.require_files()
    logs = list(records.read(options.requests)) if options.requests else []
    known = [log for log in logs if records.parts(log)[0] in records.KINDS]
    name = options.model_name or (_model_name(known[0]) if known else "")
    with targets.opened(options, name) as target:
        try:
            if options.input_file:
                known = _made(options, target)
            if not known:
                raise InputError(
                    f"{options.requests or options.input_file} holds no requests that can be sent; "
                    f"wanted: {', '.join(records.KINDS)}."
                )
            if len(known) < len(logs):
                print(f"Other kinds of requests are left out: {len(logs) - len(known)}.")
            if options.record:
                _record(options, target, known)
            else:
                _compare(options, target, known)
        except ServingError as error:
            raise options.explained(error) from error


def _model_name(log: Any) -> str:
    return records.parts(log)[1].request.model_spec.name


def _made(options: Parity, target: Target) -> list[Any]:
    """Requests of the rows of a file."""
    assert options.input_file
    with open(options.input_file, "rb") as file:
        lines = file.read().splitlines()
    signature = options.signature or ""
    names = rows.in_order(target.input_names(signature))
    spec = ModelSpec(options.model_name, signature_name=signature)
    logs = []
    for columns in rows.from_lines(lines, names, options.batch_size):
        log = messages.new("PredictionLog")
        grpc_requests.fill_spec(log.predict_log.request.model_spec, spec)
        for name, array in inputs.arrays(columns).items():
            tensor_messages.write(array, log.predict_log.request.inputs[name])
        logs.append(log)
    return logs


def _record(options: Parity, target: Target, logs: Sequence[Any]) -> None:
    assert options.record
    answered: list[Any] = []
    for index, log in enumerate(progress.counted(logs, "Recording", "requests")):
        try:
            records.parts(log)[1].response.CopyFrom(target.answer(log))
        except ServingError as error:
            if error.code in _NO_ANSWER or (not answered and index == len(logs) - 1):
                raise
            print(f"Record {index} is left out: {error}", file=sys.stderr)
        else:
            answered.append(log)
    records.write(options.record, answered)
    print(f"Recorded: {len(answered)} requests with their answers, in {options.record}.")
    compare = invocation.of("parity", "-m serving.parity")
    print(f"Compare another server:  {compare} --requests={options.record} --url=HOST:PORT")


def _compare(options: Parity, target: Target, logs: Sequence[Any]) -> None:
    recorded = [_recorded(log) for log in logs]
    if not any(recorded):
        raise InputError(
            f"{options.requests} holds requests without answers, so there is nothing to compare "
            "with. Record those of a server that is right: give --record, and its --url."
        )
    comparison = Comparison(options.tolerance, options.num_shown)
    for index, log in enumerate(progress.counted(logs, "Comparing", "requests")):
        if not recorded[index]:
            continue
        try:
            found = responses.arrays(records.parts(log)[0], target.answer(log))
        except ServingError as error:
            if error.code in _NO_ANSWER:
                raise
            comparison.fail(index, str(error))
        else:
            comparison.add(index, recorded[index], found)
    print("\n".join(_lines(options, comparison)), flush=True)
    if not comparison.is_same(options.min_identical):
        sys.exit(_DIFFERENT)


def _recorded(log: Any) -> responses.Outputs:
    """The recorded outputs; none if only the request was."""
    kind, part = records.parts(log)
    return responses.arrays(kind, part.response) if part.HasField("response") else {}


def _lines(options: Parity, comparison: Comparison) -> Iterator[str]:
    """The table, the first rows that differ, and the verdict."""
    yield f"{comparison.requests} requests, {options.asked} against {options.requests}"
    width = max(map(len, comparison.outputs), default=0)
    for name, output in comparison.outputs.items():
        same = f"{output.identical:,} of {output.rows:,} rows identical"
        largest = "" if output.is_text else f", largest difference {output.largest:.3g}"
        yield f"  {name:{width}}  {same}{largest}"
    for name, output in comparison.outputs.items():
        for row in output.first:
            where = f"record {row.record}, row {row.row}"
            yield f"  {name}, {where}: {row.recorded} was recorded, {row.found} answered"
    for problem in comparison.problems[: options.num_shown]:
        yield f"  {problem}"
    if more := len(comparison.problems) - options.num_shown:
        yield from [f"  and {more} more"] if more > 0 else []
    verdict = "The same" if comparison.is_same(options.min_identical) else "Different"
    yield f"{verdict}, with a tolerance of {options.tolerance:g}."

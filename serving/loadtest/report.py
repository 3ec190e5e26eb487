"""What a load test prints at its end, and the file of its figures."""

import dataclasses
import json
import shlex
from collections.abc import Iterator

from bert_tf import formatting, invocation
from serving.client import address
from serving.loadtest.options import LoadTest
from serving.loadtest.summary import Summary

_REFUSED = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
_SHARE_OF_CAPACITY = 0.7  # at more, waiting times grow quickly


def lines(options: LoadTest, version: int, summary: Summary) -> Iterator[str]:
    """The table, and what to do next."""
    api = "gRPC" if address.is_grpc(options.url) else "REST"
    yield f"{options.model_name}, version {version}, at {options.url} ({api})"
    yield f"{_load(options)}, {formatting.duration(options.duration_seconds)}"
    yield ""
    yield from _row("requests", f"{summary.requests:,}", summary.requests_per_second, "requests")
    yield from _row("rows", f"{summary.rows:,}", summary.rows_per_second, "rows")
    if summary.latency_ms:
        figures = (f"{name} {_ms(value)}" for name, value in summary.latency_ms.items())
        yield f"{'latency':10}{', '.join(figures)}"
    for code, count in summary.errors.items():
        yield f"{'errors':10}{count:,} {code}: {summary.messages[code]}"
    if not summary.errors:
        yield f"{'errors':10}0"
    shares = ", ".join(formatting.percent(share, 2) for share in summary.cpu_shares)
    yield f"{'client':10}{shares} of a core"
    yield ""
    yield from _advice(options, summary)


def _row(name: str, count: str, per_second: float, unit: str) -> Iterator[str]:
    yield f"{name:10}{count}, {formatting.rate(per_second, unit)}"


def _load(options: LoadTest) -> str:
    rows = "1 row" if options.batch_size == 1 else f"{options.batch_size} rows"
    if options.rate:
        return f"{options.rate:g} requests of {rows} per second at random times"
    return f"{options.in_progress} requests of {rows} in progress"


def _ms(milliseconds: float) -> str:
    return formatting.duration(milliseconds / 1000)


def _advice(options: LoadTest, summary: Summary) -> Iterator[str]:
    """What to type next."""
    if summary.is_client_full:
        yield (
            "The client is the bottleneck: it takes nearly all of a core, so the server may be "
            "faster than this. Measure again with more processes:"
        )
        yield _command(options, processes=options.processes + 1)
    elif any(code in summary.errors for code in _REFUSED):
        yield (
            "The server refuses or drops requests: its queue is full, or it is not there. Send "
            "less, or raise its limits (max_enqueued_batches):"
        )
        yield _command(options, **_less(options))
    elif options.rate and summary.is_growing:
        yield (
            "The server cannot keep up with this rate: requests wait longer and longer. What it "
            "can do at most:"
        )
        yield _command(options, rate=None)
    elif not options.rate and summary.requests:
        yield "Latency of users who do not wait for each other, at 70 % of this throughput:"
        rate = float(f"{_SHARE_OF_CAPACITY * summary.requests_per_second:.2g}")
        yield _command(options, rate=rate, concurrency=None)
    elif options.rate:
        yield "The server keeps up with this rate. At a higher one:"
        yield _command(options, rate=float(f"{1.5 * options.rate:.2g}"))


def _less(options: LoadTest) -> dict[str, object]:
    if options.rate:
        return {"rate": options.rate / 2}
    return {"concurrency": max(options.processes, options.in_progress // 2)}


def _command(options: LoadTest, **changes: object) -> str:
    changed = dataclasses.replace(options, **changes)  # type: ignore[arg-type]
    given = {
        field.name: getattr(changed, field.name)
        for field in dataclasses.fields(changed)
        if getattr(changed, field.name) != field.default
    }
    words = (f"--{name}={_text(value)}" for name, value in given.items())
    return f"  {invocation.of('loadtest', '-m serving.loadtest')} " + " ".join(
        map(shlex.quote, words)
    )


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def to_json(options: LoadTest, version: int, summary: Summary) -> str:
    """The figures with all digits, and what was asked for."""
    figures = dataclasses.asdict(summary) | {
        "requests_per_second": summary.requests_per_second,
        "rows_per_second": summary.rows_per_second,
        "is_client_full": summary.is_client_full,
    }
    asked = dataclasses.asdict(options) | {"model_version": version}
    return json.dumps({"options": asked, "results": figures}, indent=2) + "\n"

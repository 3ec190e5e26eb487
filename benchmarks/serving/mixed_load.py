"""Mixed requests, a third of them wrong, while versions arrive, fail to load and leave.

python -m benchmarks.serving.mixed_load --num_requests=100000

Clients of the REST and the gRPC API send requests of several sizes, each with texts of its own, so
that an answer that belongs to another request is found. At a quarter of them version 2 arrives, and
version 1 leaves; at half of them version 3, which cannot be loaded; at three quarters the directory
of version 1 is removed. Wanted: every right request is answered, with its own answer, by version 1
or 2; every wrong one gets an error; memory does not grow.
"""

import asyncio
import collections
import dataclasses
import heapq
import json
import os
import pathlib
import shutil
import tempfile
import time

import grpc
import uvloop

from benchmarks.serving import clients, mixed_requests, servers, tiny_export
from bert_tf import files, flagging
from bert_tf.flagging import option

ROOT = pathlib.Path(__file__).parents[2]
_NUM_SLOWEST = 10
RESULTS = ROOT / "benchmarks" / "results" / "serving_mixed_load.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    num_requests: int = option(100_000, "Requests over all.")
    num_clients: int = option(16, "Of each API, each with a connection of its own.")
    enable_batching: bool = option(True, "Whether the server merges requests.")
    results_file: str | None = option(None, "Default: that of the results.", is_path=True)


class Tally:
    """What became of the requests."""

    def __init__(self):
        self.answers = collections.Counter()  # of (kind, what happened)
        self.versions = collections.Counter()
        self.problems = []
        self.num_done = 0
        self.slowest = []  # (milliseconds, at which request) of right ones

    def note(self, kind, outcome, seconds, problem=None):
        self.num_done += 1
        self.answers[kind, outcome] += 1
        if kind.endswith("good"):
            heapq.heappush(self.slowest, (round(1e3 * seconds, 1), self.num_done))
            self.slowest = heapq.nlargest(_NUM_SLOWEST, self.slowest)[::-1]
        if problem:
            self.problems.append(f"{kind}: {problem}"[:300])

    def summary(self):
        by_kind = collections.defaultdict(dict)
        for (kind, outcome), count in sorted(self.answers.items()):
            by_kind[kind][outcome] = count
        return {
            "requests": self.num_done,
            "answers": by_kind,
            "answers_by_version": dict(sorted(self.versions.items())),
            "longest_good_request_ms": self.slowest[-1][0],
            "slowest_good_requests": [
                {"ms": ms, "at_request": number} for ms, number in reversed(self.slowest)
            ],
            "problems": len(self.problems),
            "first_problems": self.problems[:20],
        }

    def check(self, kind, texts, rows):
        """Notes the rows of a right request; returns what is wrong with them, or None."""
        for row in rows:
            self.versions[int(row["version"])] += 1
        got = [{name: row[name] for name in ("upper", "length")} for row in rows]
        if got != [tiny_export.expected(text) for text in texts]:
            return f"a wrong answer to {texts}: {rows}"
        return None if len({row["version"] for row in rows}) == 1 else f"two versions: {rows}"


async def rest_client(port, work, tally):
    """Sends the requests of `work`, one after the other."""
    connection = clients.RestConnection(port)
    for request in work:
        data = request.rest()
        kind = f"REST {request.kind}"
        start, problem = time.monotonic(), None
        try:
            status, body = await connection.send_raw(data)
            outcome = str(status)
            if request.is_good and status == 200:
                problem = tally.check(kind, request.texts, json.loads(body)["predictions"])
            elif request.is_good or not 400 <= status < 500:
                problem = f"{status} {body[:200]!r}"
        except (OSError, EOFError) as error:
            outcome, problem = type(error).__name__, f"no answer: {error!r}"
        tally.note(kind, outcome, time.monotonic() - start, problem)
        if request.vanishes:
            await mixed_requests.send_half(port, data)
    connection.close()


async def grpc_client(port, work, tally):
    """The same over gRPC."""
    async with grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)]
    ) as channel:
        for request in work:
            data = request.grpc()
            kind = f"gRPC {request.kind}"
            start, problem = time.monotonic(), None
            try:
                response = await mixed_requests.call(channel, data)
                outcome = "OK"
                if request.is_good:
                    rows = mixed_requests.rows(response)
                    problem = tally.check(kind, request.texts, rows)
                else:
                    problem = f"answered: {response}"
            except grpc.aio.AioRpcError as error:
                outcome = error.code().name
                if request.is_good or outcome in ("INTERNAL", "UNKNOWN"):
                    problem = f"{outcome} {error.details()}"
            tally.note(kind, outcome, time.monotonic() - start, problem)
            if request.vanishes:
                await mixed_requests.cancelled(channel, request.texts)


async def change_versions(base, tally, num_requests, memory):
    """Does what the module says at each quarter; notes the memory at the middle."""
    steps = [
        (0.05, lambda: memory("start")),
        (0.25, lambda: os.replace(f"{base}/later-2", f"{base}/2")),
        (0.50, lambda: os.replace(f"{base}/later-3", f"{base}/3")),
        (0.52, lambda: memory("middle")),
        (0.75, lambda: shutil.rmtree(f"{base}/1")),
    ]
    for share, step in steps:
        while tally.num_done < share * num_requests:
            await asyncio.sleep(0.05)
        await asyncio.to_thread(step)


async def run(options, server, base):
    tally, memory_mb = Tally(), {}

    def memory(when):
        memory_mb[when] = round(server.memory_mb())

    def each(client, port, seed):
        work = mixed_requests.stream(options.num_requests // 2, seed)
        return [client(port, work, tally) for _ in range(options.num_clients)]

    start, cpu = time.monotonic(), server.cpu_seconds()
    await asyncio.gather(
        *each(rest_client, server.rest_port, 1),
        *each(grpc_client, server.grpc_port, 2),
        change_versions(base, tally, options.num_requests, memory),
    )
    memory("end")
    return tally.summary() | {
        "memory_mb": memory_mb,
        "requests_per_s": round(tally.num_done / (time.monotonic() - start)),
        "server_cpu_ms_per_request": round(1e3 * (server.cpu_seconds() - cpu) / tally.num_done, 2),
    }


def main(options):
    with tempfile.TemporaryDirectory() as base:
        tiny_export.write(f"{base}/1", 1)
        # Written now, as that would hold up the clients.
        tiny_export.write(f"{base}/later-2", 2)
        tiny_export.write_broken(f"{base}/later-3")
        flags = ["--model_name=m", f"--model_base_path={base}"]
        if options.enable_batching:
            flags += ["--enable_batching", "--enable_per_model_batching_parameters"]
        server = servers.RunningServer(flags)
        try:
            results = uvloop.run(run(options, server, base))
        finally:
            status = server.stop()
    results = {"options": dataclasses.asdict(options), **results, "exit_status": status}
    del results["options"]["results_file"]
    text = json.dumps(results, indent=1) + "\n"
    print(text)
    files.write_text(options.results_file or RESULTS, text)


if __name__ == "__main__":
    flagging.run(main, Options)

"""Latency and throughput of the server, against calling the SavedModel in the same process.

python -m benchmarks.serving.throughput --model_base_path=out/models/topics --texts_file=texts.txt

Each client of 1, 8 and 32 sends requests of 1 or 32 texts, over REST and gRPC, to a server with and
one without batching. All are measured in turns. CPU time is that of the server's process alone; it
is good on a machine that is shared, times by the clock are not. The overhead is what a request
costs more than a run of the same session in process, with a model that costs next to nothing.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import statistics
import tempfile
import time

import numpy as np
import uvloop

from benchmarks.serving import clients, servers, tiny_export
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "serving_throughput.json"
PREDICTORS = {"REST": clients.RestPredictor, "gRPC": clients.GrpcPredictor}
CONCURRENCIES = (1, 8, 32)
SIZES = (1, 32)
MODES = {
    "alone": [],
    "batching": ["--enable_batching", "--enable_per_model_batching_parameters"],
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    model_base_path: str = option(
        REQUIRED, "Directory of the versions of an export that takes texts.", is_path=True
    )
    texts_file: str = option(REQUIRED, "A text in each line.", is_path=True)
    num_rows: int = option(256, "Texts for each measurement and turn.")
    rounds: int = option(5, "Turns.")
    num_tiny: int = option(500, "Requests of the model that costs nothing, for each turn.")
    results_file: str | None = option(None, "Default: that of the results.", is_path=True)


def batches(texts, size):
    return [texts[i : i + size] for i in range(0, len(texts), size)]


def in_process(servable, requests):
    """Seconds of each request by the clock, and CPU seconds of all."""
    seconds, cpu = [], time.process_time()
    for texts in requests:
        start = time.perf_counter()
        servable.run("", {"text": np.array([text.encode() for text in texts], object)})
        seconds.append(time.perf_counter() - start)
    return seconds, time.process_time() - cpu


def over_network(server, transport, concurrency, requests):
    """The same, with clients; CPU time is the server's."""

    async def run():
        port = server.rest_port if transport == "REST" else server.grpc_port
        made = [PREDICTORS[transport](port, "m") for _ in range(concurrency)]
        for client in made:  # connections are opened before anything is measured
            await client(requests[0][:1])
        cpu = server.cpu_seconds()
        seconds = await clients.closed_loop(made, requests)
        cpu = server.cpu_seconds() - cpu
        for client in made:
            await client.close()
        return seconds, cpu

    return uvloop.run(run())


class Measurements:
    """Seconds and CPU seconds under a key, over all turns."""

    def __init__(self):
        self._seconds, self._turns = {}, {}

    def add(self, key, num_rows, seconds, cpu_seconds):
        self._seconds.setdefault(key, []).extend(seconds)
        self._turns.setdefault(key, []).append((num_rows, sum(seconds), cpu_seconds))

    def rows(self):
        """A dict for each key; rates are medians over the turns."""
        for key, turns in self._turns.items():
            seconds = self._seconds[key]
            yield dict(zip(("how", "transport", "clients", "texts"), key, strict=True)) | {
                "p50_ms": round(1e3 * float(np.percentile(seconds, 50)), 2),
                "p99_ms": round(1e3 * float(np.percentile(seconds, 99)), 2),
                "rows_per_cpu_s": round(statistics.median(n / cpu for n, _, cpu in turns), 1),
            }


def measure(options, servable, running):
    """Requests of all sizes from all numbers of clients."""
    lines = pathlib.Path(options.texts_file).read_text().splitlines()
    texts = list(np.random.default_rng(1).choice(lines, options.num_rows))
    texts = [str(text) for text in texts]
    work = {size: batches(texts, size) for size in SIZES}
    for size in SIZES:  # each new shape costs the CPU library something once
        in_process(servable, work[size])
        for server in running.values():
            over_network(server, "REST", max(CONCURRENCIES), work[size])
    found = Measurements()
    for _ in range(options.rounds):
        for size in SIZES:
            found.add(("in process", "", 1, size), len(texts), *in_process(servable, work[size]))
            for mode, server in running.items():
                for transport in PREDICTORS:
                    for concurrency in CONCURRENCIES:
                        got = over_network(server, transport, concurrency, work[size])
                        found.add((mode, transport, concurrency, size), len(texts), *got)
    return list(found.rows())


def measure_overhead(options, servable, running):
    """Requests of one text of a model that costs nothing, from one client."""
    requests = [["a short text"]] * options.num_tiny
    found = Measurements()
    for turn in range(options.rounds + 1):
        turns = {("in process", "", 1, 1): in_process(servable, requests)}
        for mode, server in running.items():
            for transport in PREDICTORS:
                got = over_network(server, transport, 1, requests)
                turns[mode, transport, 1, 1] = got
        for key, got in turns.items():
            if turn:  # the first one warms up
                found.add(key, len(requests), *got)
    return list(found.rows())


@contextlib.contextmanager
def servers_of(path):
    """A server for each mode."""
    running = {}
    try:
        for mode, flags in MODES.items():
            flags = ["--model_name=m", f"--model_base_path={path}", *flags]
            running[mode] = servers.RunningServer(flags)
        yield running
    finally:
        for server in running.values():
            server.stop()


def ratios(rows, overhead):
    """What is wanted of the server: throughput of single texts, and what a request costs more."""
    rates = {tuple(row.values())[:4]: row["rows_per_cpu_s"] for row in rows}
    median_ms = {tuple(row.values())[:2]: row["p50_ms"] for row in overhead}
    alone = median_ms["in process", ""]
    return {
        "single_texts_of_32_clients_to_batches_of_32": {
            transport: round(
                rates["batching", transport, 32, 1] / rates["batching", transport, 1, 32], 3
            )
            for transport in PREDICTORS
        },
        "single_texts_of_32_clients_to_batches_in_process": {
            transport: round(
                rates["batching", transport, 32, 1] / rates["in process", "", 1, 32], 3
            )
            for transport in PREDICTORS
        },
        "overhead_ms_at_one_client": {
            f"{transport}, {mode}": round(median_ms[mode, transport] - alone, 2)
            for mode in MODES
            for transport in PREDICTORS
        },
    }


def show(rows):
    for row in rows:
        print("  ".join(f"{value!s:>10}" for value in row.values()))


def main(options):
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    from serving.models import servable

    results = {"options": {"num_rows": options.num_rows, "rounds": options.rounds}}
    print(
        "  ".join(
            f"{name:>10}"
            for name in ("how", "transport", "clients", "texts", "p50_ms", "p99_ms", "rows/CPU s")
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        tiny_export.write(f"{folder}/tiny/1", 1)
        for name, path, function in (
            ("model", options.model_base_path, measure),
            ("overhead", f"{folder}/tiny", measure_overhead),
        ):
            version = max(int(each.name) for each in pathlib.Path(path).iterdir())
            loaded = servable.Servable(name, version, f"{path}/{version}")
            with servers_of(path) as running:
                results[name] = function(options, loaded, running)
            show(results[name])
    results["ratios"] = ratios(results["model"], results["overhead"])
    print(json.dumps(results["ratios"], indent=1))
    files.write_text(options.results_file or RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

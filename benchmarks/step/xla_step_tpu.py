"""Compiles a serialised HLO module for one chip of a TPU v5e, with libtpu and without a TPU.

    PYTHON_WITH_JAX_AND_LIBTPU benchmarks/step/xla_step_tpu.py step.pb

Prints a JSON object. Run by `benchmarks.step.xla_step`.
"""

import json
import os
import pathlib
import re
import sys
import time

os.environ["TPU_SKIP_MDS_QUERY"] = "1"  # there is no machine of Google's to ask
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"  # it holds no device that others could want

import numpy as np  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jax._src.lib.mlir import ir  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jaxlib import xla_client  # noqa: E402


def module_of(hlo):
    """StableHLO, which has no copies: a reshape to the same shape says the same."""
    with mlir.make_ir_context():
        text = str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo)))
        copy = r"mhlo\.copy (%\w+) : (tensor<[^>]*>)"
        return ir.Module.parse(re.sub(copy, r"stablehlo.reshape \1 : (\2) -> \2", text))


def main(path):
    device = topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([[device.id]]))
    module = module_of(pathlib.Path(path).read_bytes())
    start = time.process_time()
    program = device.client.compile(module, _jax.DeviceList((device,)), options)
    seconds = time.process_time() - start
    memory = program.get_compiled_memory_stats()
    text = program.hlo_modules()[0].to_string()
    kept = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    print(
        json.dumps(
            {
                "device": device.device_kind,
                "memory_bytes": kept + memory.temp_size_in_bytes,
                "temporary_bytes": memory.temp_size_in_bytes,
                "in_place_bytes": memory.alias_size_in_bytes,
                "flops": program.cost_analysis()["flops"],
                "dynamic": text.count("<="),
                "custom_calls": sorted(set(re.findall(r'custom_call_target="([^"]*)"', text))),
                "compile_cpu_seconds": round(seconds, 1),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])

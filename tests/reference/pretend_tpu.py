"""`tf.distribute.TPUStrategy` over TPU cores that are not there, to build graphs for them.

Its variables lie on the CPU, so they can be saved and restored; nothing can be run on the cores.
"""

import functools
import types

import tensorflow as tf
from tensorflow.python.framework import kernels

from tests.reference import toy_pretraining

# What TensorFlow compiles for TPUs beside what it compiles for CPUs and GPUs.
_ONLY_ON_TPUS = {"CrossReplicaSum", "TPUReplicateMetadata"}
# The element types that TPUs have (tensorflow/core/tpu/tpu_defs.h), those of 8 bits and less and
# complex ones left out; and variables.
_TYPES = {tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.bool, tf.int16, tf.uint16, tf.int32}
_TYPES |= {tf.uint32, tf.int64, tf.uint64, tf.resource}


class Resolver(tf.distribute.cluster_resolver.TPUClusterResolver):
    """Says that a TPU was found.

    Args:
      num_cores: int.
    """

    def __init__(self, num_cores):
        super().__init__("local")
        names = [f"/job:localhost/replica:0/task:0/device:TPU:{i}" for i in range(num_cores)]
        self._devices = [tf.config.LogicalDevice(name, "TPU") for name in names]

    def get_tpu_system_metadata(self):
        return types.SimpleNamespace(
            devices=self._devices,
            num_hosts=1,
            num_cores=len(self._devices),
            num_of_cores_per_host=len(self._devices),
        )


def strategy(num_cores=2):
    return tf.distribute.TPUStrategy(Resolver(num_cores))


def update_graph(num_cores=2, lengths=None, is_packed=False, num_micro_batches=1, **kwargs):
    """`Graph` of an update; see `toy_pretraining.update`."""
    of_share = {"is_packed": is_packed, "num_micro_batches": num_micro_batches}
    cores = strategy(num_cores)
    _, update = toy_pretraining.update(cores, **kwargs)
    lengths = lengths or (toy_pretraining.NUM_TOKENS,)
    step = update.with_static_shapes(toy_pretraining.static_shapes(lengths, num_cores, **of_share))
    batches = iter(toy_pretraining.dataset(cores, **of_share))

    @tf.function(autograph=False)
    def call(number):
        return step(next(batches), number)

    return Graph(call.get_concrete_function(tf.TensorSpec([], tf.int64)))


class Graph:
    """What stands in a graph, that of the functions that it calls included.

    Attributes:
      on_host: list of `NodeDef`.
      on_tpu: list of `NodeDef`, what a TPU is given to compile.
    """

    def __init__(self, concrete_function):
        definition = concrete_function.graph.as_graph_def()
        self._functions = {f.signature.name: f.node_def for f in definition.library.function}
        self.on_host, self.on_tpu = [], []
        self._sort(definition.node, is_on_tpu=False)

    def _sort(self, nodes, is_on_tpu):
        for node in nodes:
            here = is_on_tpu or "_tpu_replicate" in node.attr
            (self.on_tpu if here else self.on_host).append(node)
            for attribute in node.attr.values():
                for function in (attribute.func, *attribute.list.func):
                    self._sort(self._functions.get(function.name, ()), here)

    def not_for_tpus(self):
        """Set of texts: what on the TPU has no kernel that XLA could compile for one."""
        tf.function(lambda x: x + 1, jit_compile=True, autograph=False)(
            tf.constant(1)
        )  # registers the kernels
        found = set()
        for node in self.on_tpu:
            others = {tf.as_dtype(x.type) for x in node.attr.values() if x.type} - _TYPES
            if "_xla_outside_compilation" in node.attr:
                found.add(f"{node.op} on the host")
            elif others:
                found.add(f"{node.op} of {sorted(each.name for each in others)}")
            elif node.op not in _ONLY_ON_TPUS and not _is_compiled(node):
                found.add(node.op)
        return found


def _is_compiled(node):
    """Whether a kernel takes the types that the node has."""
    return any(
        all(
            node.attr[name].type in allowed
            for name, allowed in constraints.items()
            if node.attr[name].type
        )
        for constraints in _compiled_types(node.op)
    )


@functools.cache
def _compiled_types(op):
    """Of every kernel that XLA has for an operation: dict from attribute to types."""
    return [
        {each.name: set(each.allowed_values.list.type) for each in kernel.constraint}
        for kernel in kernels.get_registered_kernels_for_op(op).kernel
        if kernel.device_type == "XLA_CPU_JIT"
    ]

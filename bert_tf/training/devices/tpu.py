"""Finds, connects to and initializes the TPU that the flags name; errors say what was tried."""

import contextlib
import os
import socket
from collections.abc import Iterator

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.options import Devices

_LOCAL = "local"
_SECONDS = 10.0  # maximum wait for an answer
_RELEASED_CORES = 8  # default of --num_tpu_cores, which therefore fits any number of cores

_WAYS_OUT = {
    "local": (
        "local is the TPU of this machine, which must be a TPU VM with a build of TensorFlow for "
        "TPUs (tensorflow-tpu). Elsewhere name a TPU with --tpu_name=NAME or grpc://host:port"
    ),
    "address": "The TPU must be running, and its port open to this machine",
    "name": (
        "Looking up a name takes Google's API: the package cloud-tpu-client, credentials, and "
        "outside of Google's cloud also --tpu_zone and --gcp_project. "
        "--tpu_name=grpc://host:port needs none of them"
    ),
}


def make(options: Devices) -> tf.distribute.TPUStrategy:
    """A strategy over all cores of the TPU that the flags name.

    This one process controls all hosts of a slice.

    Raises:
      InputError: there is no such TPU, it does not answer, or does not have --num_tpu_cores.
    """
    flag, name = _named(options)
    kind = _LOCAL if name == _LOCAL else "address" if name.startswith("grpc://") else "name"
    try:
        with _answers_within(_SECONDS):
            resolver = _resolved(name, options)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except Exception as error:  # from sockets, TensorFlow or the client that looks names up
        raise InputError(
            f"{flag}{name}: no usable TPU there ({_reason(error)}). {_WAYS_OUT[kind]}. "
            "--use_tpu=false trains on the CPU or on GPUs."
        ) from error
    strategy = tf.distribute.TPUStrategy(resolver)
    _check_cores(options, strategy.num_replicas_in_sync)
    return strategy


def _reason(error: Exception) -> str:
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if "No OpKernel was registered" in text:
        return "this build of TensorFlow does not support TPUs"
    return text


def _named(options: Devices) -> tuple[str, str]:
    """What names the TPU, and the name."""
    if options.tpu_name:
        return "--tpu_name=", options.tpu_name
    if options.master:
        return "--master=", options.master
    if name := os.environ.get("TPU_NAME"):
        return "Environment variable TPU_NAME=", name
    return "--use_tpu without --tpu_name: ", _LOCAL


def _resolved(name: str, options: Devices) -> tf.distribute.cluster_resolver.TPUClusterResolver:
    """A resolver whose hosts, unless it is this one, accept connections."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
        name, zone=options.tpu_zone, project=options.gcp_project
    )
    for address in resolver.cluster_spec().as_dict().get("worker", ()):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port))).close()
        except OSError as error:
            raise OSError(f"{address}: {error}") from None
    return resolver


@contextlib.contextmanager
def _answers_within(seconds: float) -> Iterator[None]:
    """Limits every connection that is opened inside and sets no limit of its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _check_cores(options: Devices, num_cores: int) -> None:
    if options.num_tpu_cores not in (num_cores, _RELEASED_CORES):
        raise InputError(
            f"--num_tpu_cores={options.num_tpu_cores}, but the TPU has {num_cores}, and a run uses "
            "all of them. Leave the flag out."
        )

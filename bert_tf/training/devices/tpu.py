"""The TPU that the flags name: found, connected to and made ready; or what was tried instead."""

import contextlib
import os
import socket

import tensorflow as tf

from bert_tf.errors import InputError

_LOCAL = "local"
_SECONDS = 10.0  # to wait for an answer at the most
_RELEASED_CORES = 8  # of --num_tpu_cores; whoever leaves the flag out says nothing about cores

_WAYS_OUT = {
    "local": (
        "local is the TPU of the machine that this runs on: a TPU VM, with a build of TensorFlow "
        "for TPUs (tensorflow-tpu). Elsewhere name one, --tpu_name=NAME or grpc://host:port"
    ),
    "address": "The TPU must be up, and its port open to this machine",
    "name": (
        "A name is looked up with Google's API: that takes the package cloud-tpu-client, "
        "credentials, and outside of Google's cloud --tpu_zone and --gcp_project too. "
        "--tpu_name=grpc://host:port takes none of them"
    ),
}


def make(options):
    """A strategy over all cores of the TPU that the flags name.

    One process, this one, steers all hosts of a slice.

    Args:
      options: `options.Devices` with `use_tpu`.

    Returns:
      `tf.distribute.TPUStrategy`.

    Raises:
      InputError: there is no such TPU, it does not answer, or has not --num_tpu_cores.
    """
    flag, name = _named(options)
    kind = _LOCAL if name == _LOCAL else "address" if name.startswith("grpc://") else "name"
    try:
        with _answers_within(_SECONDS):
            resolver = _resolved(name, options)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except Exception as error:  # of sockets, of TensorFlow, of whichever client looks names up
        raise InputError(
            f"{flag}{name}: no TPU can be used there ({_reason(error)}). {_WAYS_OUT[kind]}. "
            "--use_tpu=false trains on the CPU or on GPUs."
        ) from error
    strategy = tf.distribute.TPUStrategy(resolver)
    _check_cores(options, strategy.num_replicas_in_sync)
    return strategy


def _reason(error):
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if "No OpKernel was registered" in text:
        return "this build of TensorFlow knows no TPUs"
    return text


def _named(options):
    """(what it was named by, name)."""
    if options.tpu_name:
        return "--tpu_name=", options.tpu_name
    if options.master:
        return "--master=", options.master
    if name := os.environ.get("TPU_NAME"):
        return "Environment variable TPU_NAME=", name
    return "--use_tpu without --tpu_name: ", _LOCAL


def _resolved(name, options):
    """A resolver whose hosts, if they are others than this one, take connections."""
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
def _answers_within(seconds):
    """Of connections that are made inside, those too that have no limit of their own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _check_cores(options, found):
    if options.num_tpu_cores not in (found, _RELEASED_CORES):
        raise InputError(
            f"--num_tpu_cores={options.num_tpu_cores}, and the TPU has {found}. Leave the flag out "
            "to use all of them, which is what can be done."
        )

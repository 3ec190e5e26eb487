"""One version of a model: a SavedModel in a session, run by signature name."""

import contextlib
import ctypes
import dataclasses
import gc
import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import rewriter_config_pb2

from serving.models import text_operations
from serving.models.versions import SAVED_MODEL_FILE
from serving.status import Code, ServingError, invalid

DEFAULT_SIGNATURE = "serving_default"
Tensors = Mapping[str, np.ndarray]

_ONCE = rewriter_config_pb2.RewriterConfig.ONE

# What TensorFlow raises for a SavedModel that it cannot load.
_LOAD_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, OSError)

# TensorFlow Serving's names of the types where they differ from TensorFlow's.
_DTYPE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """A tensor of a signature.

    Attributes:
      tensor: its name in the graph.
      dtype: its type as error messages call it, such as "float" or "int32".
      shape: with -1 for any size; None: any rank.
    """

    tensor: str
    dtype: str
    shape: tuple[int, ...] | None

    @classmethod
    def from_info(cls, info: Any) -> "TensorSpec":
        """From a TensorInfo."""
        unknown = info.tensor_shape.unknown_rank
        shape = None if unknown else tuple(dim.size for dim in info.tensor_shape.dim)
        return cls(info.name, _dtype_name(info.dtype), shape)

    def admits(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape may be fed."""
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(want in (-1, got) for want, got in zip(self.shape, shape, strict=True))
        )


@dataclasses.dataclass(frozen=True)
class Signature:
    """Inputs and outputs of a signature by name, in order of names.

    Attributes:
      defaults: what is fed for inputs that a request leaves out.
    """

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]
    defaults: Tensors = dataclasses.field(default_factory=dict)

    @classmethod
    def from_def(cls, signature: Any) -> "Signature":
        """From a SignatureDef."""
        inputs, outputs = (
            {name: TensorSpec.from_info(infos[name]) for name in sorted(infos)}
            for infos in (signature.inputs, signature.outputs)
        )
        defaults = {name: tf.make_ndarray(each) for name, each in signature.defaults.items()}
        return cls(inputs, outputs, defaults)


@dataclasses.dataclass(frozen=True)
class SessionSettings:
    """How SavedModels are loaded.

    Attributes:
      tags: of the graph in the SavedModel.
      intra_op: threads within an operation; 0: automatic.
      inter_op: operations at once; 0: automatic.
    """

    tags: tuple[str, ...] = ("serve",)
    intra_op: int = 0
    inter_op: int = 0


class Servable:
    """A loaded SavedModel. `run` may be called from several threads at once.

    It is a version-1 session, not functions of `tf.saved_model.load`: a session scales better over
    threads, is fed by tensor name and runs only what is fetched.

    Attributes:
      name: the model's name.
      path: the version's directory.
      signature_defs: all signatures as the SavedModel has them, SignatureDef messages by name.
      signatures: those with inputs, by name.

    Raises:
      ServingError: TensorFlow cannot load the SavedModel.
    """

    def __init__(
        self, name: str, version: int, path: str, settings: SessionSettings = SessionSettings()
    ) -> None:
        self.name = name
        self.version = version
        self.path = path
        if not os.path.isfile(os.path.join(path, SAVED_MODEL_FILE)):
            raise ServingError(
                Code.NOT_FOUND,
                f"Could not find SavedModel .pb at supplied export directory path: {path}. Check "
                "that the directory exists and that you have the right permissions for accessing "
                "it.",
            )
        text_operations.register()
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=settings.intra_op,
            inter_op_parallelism_threads=settings.inter_op,
        )
        # TensorFlow optimizes a graph twice, for each signature that is first run. The second time
        # takes as long as the first and finds nothing in exports of BERT.
        config.graph_options.rewrite_options.meta_optimizer_iterations = _ONCE
        tf.get_logger().setLevel("ERROR")  # version-1 loading warns that it is version 1
        graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=graph, config=config)
        try:
            with graph.as_default():
                meta_graph = tf.compat.v1.saved_model.loader.load(
                    self._session, list(settings.tags), path
                )
        except BaseException as error:
            self.close()
            if isinstance(error, _LOAD_ERRORS):
                raise _load_error(error) from error
            raise
        self.signature_defs = meta_graph.signature_def
        self.signatures: dict[str, Signature] = {
            key: Signature.from_def(value)
            for key, value in meta_graph.signature_def.items()
            if value.inputs
        }

    def signature(self, name: str) -> Signature:
        """The signature of that name, or the default one for `""`.

        Raises:
          ServingError: INVALID_ARGUMENT; there is no such signature.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signature_defs:
            raise invalid(f'Serving signature name: "{name}" not found in signature def')
        if name not in self.signatures:
            raise invalid(f"Failed to get input map for signature: {name}")
        return self.signatures[name]

    def run(
        self,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Runs a signature.

        Args:
          signature_name: `""` for the default one.
          feeds: tensors by input name; strings are bytes in arrays of objects. Inputs with a
            default may be left out.
          outputs: names of those wanted, all of them outputs of the signature; none: all.
          timeout_seconds: None: no limit.

        Returns:
          Tensors by output name.

        Raises:
          ServingError: with TensorFlow's code and message.
        """
        signature = self.signature(signature_name)
        feeds = {**signature.defaults, **feeds}
        _check_feeds(feeds, signature.inputs)
        fetches = {name: signature.outputs[name].tensor for name in outputs or signature.outputs}
        by_tensor = {spec.tensor: feeds[name] for name, spec in signature.inputs.items()}
        options = None
        if timeout_seconds is not None:
            milliseconds = max(1, round(timeout_seconds * 1000))
            options = tf.compat.v1.RunOptions(timeout_in_ms=milliseconds)
        try:
            return self._session.run(fetches, by_tensor, options=options)
        except tf.errors.OpError as error:
            raise ServingError(Code(error.error_code), _message(error)) from error
        except UnicodeDecodeError as error:
            # A message that quotes a client's bytes cannot be decoded, and its code is lost.
            raise invalid(error.object.decode("utf-8", "replace")) from None

    def close(self) -> None:
        """Gives the memory back. Nothing may run, and nothing may be run any more."""
        self._session.close()
        del self._session
        gc.collect()  # graph and operations point at each other
        with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)

    def metadata(self) -> dict[str, Any]:
        """The metadata answer, which is the value of its JSON."""
        signatures = {
            name: json_format.MessageToDict(
                signature,
                always_print_fields_with_no_presence=True,
                preserving_proto_field_name=True,
            )
            for name, signature in sorted(self.signature_defs.items())
        }
        return {
            "model_spec": {
                "name": self.name,
                "signature_name": "",
                "version": str(self.version),
            },
            "metadata": {"signature_def": {"signature_def": signatures}},
        }


def _dtype_name(dtype: Any) -> str:
    """What error messages call a type."""
    name = tf.as_dtype(dtype).name
    return _DTYPE_NAMES.get(name, name)


def _check_feeds(feeds: Tensors, inputs: Mapping[str, TensorSpec]) -> None:
    """Checks names, types and shapes; the session's own message is not an answer for a client."""
    if feeds.keys() != inputs.keys():
        sent, wanted = (",".join(sorted(names)) for names in (feeds, inputs))
        extra = ",".join(sorted(feeds.keys() - inputs.keys()))
        missing = ",".join(sorted(inputs.keys() - feeds.keys()))
        raise invalid(
            f"input size does not match signature: {len(feeds)}!={len(inputs)} len({{{sent}}}) != "
            f"len({{{wanted}}}). Sent extra: {{{extra}}}. Missing but required: {{{missing}}}."
        )
    for position, (name, spec) in enumerate(inputs.items()):
        if feeds[name].dtype != tf.as_dtype(spec.dtype).as_numpy_dtype:
            raise invalid(
                f"Expects arg[{position}] to be {spec.dtype} but "
                f"{_dtype_name(feeds[name].dtype)} is provided"
            )
        if not spec.admits(feeds[name].shape):
            raise invalid(
                f"Input {name} has shape {list(feeds[name].shape)}, "
                f"expected {list(spec.shape or ())} (-1: any size)"
            )


def _load_error(error: Exception) -> ServingError:
    code = Code(error.error_code) if isinstance(error, tf.errors.OpError) else Code.INVALID_ARGUMENT
    return ServingError(code, _message(error))


def _message(error: Exception) -> str:
    """The error's text as the runtime gave it, without what Python adds."""
    if isinstance(error, tf.errors.OpError):
        return error.message.removeprefix("Graph execution error:\n\n")
    return str(error)

"""The few parts of TensorFlow that a server needs, in half the time that all of it takes to load.

`import tensorflow` runs some 3000 modules, most of them for building and training models; loading a
SavedModel in a session and running it needs 700. `install` puts a package in the place of
`tensorflow` that loads the names of `_HOMES` from the modules that define them, and everything, as
ever, once another name is asked for. Code says `import tensorflow as tf` in both cases.
"""

import importlib
import importlib.util
import os
import sys
import sysconfig
import threading
import types
from importlib.machinery import ModuleSpec
from typing import Any

from bert_tf import quiet

_NAME = "tensorflow"
_installing = threading.Lock()

# From a public name to the module and the name that it has there.
_FRAMEWORK = "tensorflow.python.framework"
_CONFIG = "tensorflow.core.protobuf.config_pb2"
_RECORDS = "tensorflow.python.lib.io.tf_record"
_HOMES: dict[str, tuple[str, str]] = {
    "Graph": (f"{_FRAMEWORK}.ops", "Graph"),
    "as_dtype": (f"{_FRAMEWORK}.dtypes", "as_dtype"),
    "bfloat16": (f"{_FRAMEWORK}.dtypes", "bfloat16"),
    "compat.v1.ConfigProto": (_CONFIG, "ConfigProto"),
    "compat.v1.RunOptions": (_CONFIG, "RunOptions"),
    "compat.v1.Session": ("tensorflow.python.client.session", "Session"),
    "compat.v1.io.tf_record_iterator": (_RECORDS, "tf_record_iterator"),
    "compat.v1.saved_model.loader.load": ("tensorflow.python.saved_model.loader_impl", "load"),
    "errors.DataLossError": (f"{_FRAMEWORK}.errors_impl", "DataLossError"),
    "errors.OpError": (f"{_FRAMEWORK}.errors_impl", "OpError"),
    "get_logger": ("tensorflow.python.platform.tf_logging", "get_logger"),
    "io.TFRecordWriter": (_RECORDS, "TFRecordWriter"),
    "load_library": (f"{_FRAMEWORK}.load_library", "load_library"),
    "make_ndarray": (f"{_FRAMEWORK}.tensor_util", "MakeNdarray"),
    "make_tensor_proto": (f"{_FRAMEWORK}.tensor_util", "make_tensor_proto"),
    "train.Example": ("tensorflow.core.example.example_pb2", "Example"),
    "train.Feature": ("tensorflow.core.example.feature_pb2", "Feature"),
}


def install() -> None:
    """Makes later imports of `tensorflow` lean ones, if none came before.

    Where plugins of TensorFlow are installed, nothing changes: only the whole loads them. May be
    called from several threads at once.
    """
    with _installing:
        spec = None if _NAME in sys.modules or _has_plugins() else importlib.util.find_spec(_NAME)
        if spec and spec.submodule_search_locations:
            _put_in_place(spec)


def _put_in_place(spec: ModuleSpec) -> None:
    package = _Package(_NAME)
    package.__spec__, package.__loader__, package.__file__ = spec, spec.loader, spec.origin
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[_NAME] = package
    os.environ["TF2_BEHAVIOR"] = "1"  # as TensorFlow sets it
    with quiet.without_logs():
        importlib.import_module("tensorflow.python.pywrap_tensorflow")
    importlib.import_module("tensorflow.python.tf2").enable()


def _has_plugins() -> bool:
    folders = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    return any(os.path.isdir(os.path.join(folder, "tensorflow-plugins")) for folder in folders)


def _is_known(path: str) -> bool:
    return any(known == path or known.startswith(f"{path}.") for known in _HOMES)


class _Namespace:
    """`tf.errors` and such, as far as `_HOMES` knows it."""

    def __init__(self, package: "_Package", name: str) -> None:
        self._package, self._name = package, name

    def __getattr__(self, name: str) -> Any:
        value = self._package.find(f"{self._name}.{name}")
        setattr(self, name, value)
        return value


class _Package(types.ModuleType):
    """Stands for `tensorflow` until a name is asked for that `_HOMES` lacks; then it becomes it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._loading = threading.RLock()
        self._is_whole = False

    def __getattr__(self, name: str) -> Any:
        is_special = name.startswith("__") and name.endswith("__")
        if is_special or (self._is_whole and not _is_known(name)):
            raise AttributeError(f"module {_NAME!r} has no attribute {name!r}")
        value = self.find(name)
        setattr(self, name, value)
        return value

    def find(self, path: str) -> Any:
        """What a path such as "errors.OpError" stands for."""
        if path in _HOMES:
            module, name = _HOMES[path]
            return getattr(importlib.import_module(module), name)
        if _is_known(path):
            return _Namespace(self, path)
        self._load_whole()
        value: Any = self
        for part in path.split("."):
            value = getattr(value, part)
        return value

    def _load_whole(self) -> None:
        with self._loading:  # another thread waits until it is done
            if self._is_whole:
                return
            self._is_whole = True
            assert self.__spec__ and self.__spec__.loader
            self.__spec__.loader.exec_module(self)

"""The weights of a model in a graph for serving: constants or variables, of several dtypes."""

import dataclasses
from collections.abc import Mapping

import keras
import ml_dtypes
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from export.options import DTYPES
from export.served.constants import Constants

# A graph is one protocol buffer, which cannot be larger than 2 GiB. Some of it is for the rest.
MAX_CONSTANT_BYTES = 1_900_000_000

# Bytes of a number of matrices and tables. Vectors and the last product of a head are float32.
_SIZES = dict(zip(DTYPES, (4, 2, 2, 1), strict=True))
_NUMPY_TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
_REDUCED = ("encoder/", "masked_lm/")  # paths of what is stored in another dtype
_TABLES = "encoder/embeddings/"

Array = npt.NDArray


@dataclasses.dataclass(frozen=True)
class Stored:
    """An array as it is stored.

    Attributes:
      values: of the dtype that is stored.
      scales: float32 that int8 values are multiplied by, one for each column of a kernel or row of
        a table; None for other values.
    """

    values: Array
    scales: Array | None = None

    @property
    def num_bytes(self) -> int:
        return self.values.nbytes + (0 if self.scales is None else self.scales.nbytes)


def stored(path: str, array: Array, dtype: str) -> Stored:
    """An array in the dtype that its kind is stored in.

    Args:
      path: path of the variable.
      array: float32.
      dtype: one of `DTYPES`.
    """
    if dtype == "float32" or array.ndim < 2 or not path.startswith(_REDUCED):
        return Stored(array)
    if dtype != "int8":
        return Stored(array.astype(_NUMPY_TYPES[dtype]))
    axis = 1 if path.startswith(_TABLES) else 0
    largest = np.abs(array).max(axis=axis, keepdims=True)
    scales = np.where(largest > 0, largest, 1) / np.float32(127)
    return Stored(np.rint(array / scales).astype(np.int8), scales.astype(np.float32))


def fit_a_graph(num_values: int, dtype: str) -> bool:
    """Whether so many numbers of a dtype can be constants of one graph."""
    return num_values * _SIZES[dtype] <= MAX_CONSTANT_BYTES


class Weights:
    """The arrays of a model for a graph.

    Args:
      arrays: float32, by the paths of the variables.
      dtype: how matrices and tables are stored, one of `DTYPES`. With bfloat16, products are
        computed in it as well; the others are made float32 in the graph.
      is_frozen: whether they are constants of the graph.
      constants: what gets those of a frozen graph when it is written; None: they are traced.
      is_inlined: whether what computes with them is part of the function that calls it, not a
        function that several signatures share.

    Attributes:
      variables: what the graph reads, empty if it has constants.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array],
        dtype: str,
        is_frozen: bool,
        is_inlined: bool = False,
        constants: Constants | None = None,
    ) -> None:
        self.dtype, self.is_inlined = dtype, is_inlined
        self._constant = tf.constant if constants is None else constants.zeros_for
        self._stored = {path: stored(path, array, dtype) for path, array in arrays.items()}
        self._variables: dict[str, tuple[keras.Variable, ...]] = {}
        if not is_frozen:
            self._variables = {path: _variables(each) for path, each in self._stored.items()}

    @property
    def variables(self) -> list[keras.Variable]:
        return [variable for each in self._variables.values() for variable in each]

    @property
    def num_bytes(self) -> int:
        """Bytes of the arrays as they are stored."""
        return sum(each.num_bytes for each in self._stored.values())

    def tensors(self, path: str, columns: slice = slice(None)) -> tuple[tf.Tensor, ...]:
        """The values of an array and, of int8, their scales, in the graph that is traced."""
        if self._variables:
            tensors = (tf.convert_to_tensor(each.value) for each in self._variables[path])
            return tuple(x if columns == slice(None) else x[..., columns] for x in tensors)
        each = self._stored[path]
        arrays = (x for x in (each.values, each.scales) if x is not None)
        return tuple(self._constant(x[..., columns]) for x in arrays)


def _variables(each: Stored) -> tuple[keras.Variable, ...]:
    return tuple(
        keras.Variable(array, dtype=array.dtype.name, trainable=False)
        for array in (each.values, each.scales)
        if array is not None
    )


class Tensors:
    """The weights as the operations of one graph; made inside the function that is traced.

    A constant that is read twice is one in the graph.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._found: dict[str, tuple[tf.Tensor, ...]] = {}
        self._is_bfloat16 = weights.dtype == "bfloat16"

    def vector(self, path: str) -> tf.Tensor:
        """An array that is always float32."""
        return self._tensors(path)[0]

    def rows(self, path: str, ids: tf.Tensor) -> tf.Tensor:
        """Rows of a table: float32 [... H] for ids int32 [...]."""
        return _float32(*(tf.gather(each, ids) for each in self._tensors(path)))

    def affine(self, x: tf.Tensor, path: str, columns: slice = slice(None)) -> tf.Tensor:
        """`x` [N I] times `path`/kernel plus `path`/bias, [N O], of the dtype of products.

        Args:
          columns: of kernel and bias.
        """
        kernel, *scales = self._weights.tensors(f"{path}/kernel", columns)
        (bias,) = self._weights.tensors(f"{path}/bias", columns)
        if self._is_bfloat16 and kernel.dtype == tf.bfloat16:
            x, bias = (tf.cast(each, tf.bfloat16) for each in (x, bias))
        else:
            x, kernel = _float32(x), _float32(kernel)
        product = tf.matmul(x, kernel)
        if scales:  # of columns, so that fewer numbers are multiplied than in the kernel
            product = product * scales[0]
        return tf.nn.bias_add(product, bias)

    def transposed_product(self, x: tf.Tensor, path: str) -> tf.Tensor:
        """`x` float32 [N H] times the transposed table [V H]: float32 [N V]."""
        table, *scales = self._tensors(path)
        if not self._is_bfloat16:
            table = _float32(table)
        product = _float32(tf.matmul(tf.cast(x, table.dtype), table, transpose_b=True))
        return product * tf.transpose(scales[0]) if scales else product

    def _tensors(self, path: str) -> tuple[tf.Tensor, ...]:
        if path not in self._found:
            self._found[path] = self._weights.tensors(path)
        return self._found[path]


def _float32(values: tf.Tensor, scales: tf.Tensor | None = None) -> tf.Tensor:
    values = tf.cast(values, tf.float32)
    return values if scales is None else values * scales

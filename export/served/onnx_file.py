"""A model as an ONNX file: ids in, logits out, for runtimes other than TensorFlow.

The graph is written node by node from the weights. Its operations are those of the standard
(opset 17), and each stands as ONNX Runtime knows how to fuse it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import bert_tf
from bert_tf import features
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import layer, models
from bert_tf.modeling.encoder import Encoder
from export.served.weights import Array, Stored, fit_a_graph, stored

OPSET = 17  # the first with LayerNormalization
_IR_VERSION = 8  # of the same release, so that runtimes of that time read the file
_INPUTS = tuple(feature.name for feature in features.ENCODER_INPUTS)
_WORD_IDS, _MASK, _TYPE_IDS = _INPUTS
LOGITS = "logits"


def convert(model: Any, dtype: str) -> bytes:
    """The file of a model.

    Args:
      model: an `Encoder`, or a model of `bert_tf.modeling.models` with a classifier or spans. Of
        several choices, or of the windows of a text, each is a row.
      dtype: how matrices and tables are stored, see `classifier`.

    Raises:
      InputError: another model, or one that is too large for a file.
    """
    make = _MAKERS.get(type(model))
    if make is None or model.config.is_causal:
        raise InputError(
            f"--to=onnx: {type(model).__name__} cannot be written. Encoders can, and models that "
            "classify, tag, choose or answer questions, ensembles and left-to-right ones aside."
        )
    num_values = sum(math.prod(variable.shape) for variable in model.variables)
    if not fit_a_graph(num_values, dtype):
        raise InputError(f"--to=onnx --dtype={dtype}: weights above 1.9 GB do not fit one file.")
    arrays = {variable.path: np.asarray(variable) for variable in model.variables}
    return make(model.config, arrays, dtype).SerializeToString()


def classifier(config: BertConfig, arrays: dict[str, Array], dtype: str) -> onnx.ModelProto:
    """A head on the pooler: `logits` float32 [B C].

    Args:
      config: of the encoder.
      arrays: float32, by the paths of the variables.
      dtype: how matrices and tables are stored, see `options.DTYPES`. With int8, products are
        computed in it, each row of numbers quantized by its own range; with float16 in float32.
    """
    graph = _Graph(config, arrays, dtype)
    first = graph.layers(first_token_only=True)  # [B 1 H]
    pooled = graph.op("Tanh", graph.affine(first, "encoder/pooler"))
    graph.op("Squeeze", graph.affine(pooled, "classifier"), graph.ints(1), output=LOGITS)
    return graph.model({LOGITS: ["B", arrays["classifier/bias"].size]})


def token_classifier(config: BertConfig, arrays: dict[str, Array], dtype: str) -> onnx.ModelProto:
    """A head on each token: `logits` float32 [B T C]; see `classifier`."""
    graph = _Graph(config, arrays, dtype)
    graph.op("Identity", graph.affine(graph.layers(), "classifier"), output=LOGITS)
    return graph.model({LOGITS: ["B", "T", arrays["classifier/bias"].size]})


def spans(config: BertConfig, arrays: dict[str, Array], dtype: str) -> onnx.ModelProto:
    """Start and end logits, very negative at padding: `logits` float32 [B 2 T]."""
    graph = _Graph(config, arrays, dtype)
    logits = graph.op("Transpose", graph.affine(graph.layers(), "span"), perm=[0, 2, 1])
    is_real = graph.op("Cast", graph.op("Unsqueeze", _MASK, graph.ints(1)), to=TensorProto.BOOL)
    graph.op("Where", is_real, logits, graph.number(layer.MASKED), output=LOGITS)
    return graph.model({LOGITS: ["B", 2, "T"]})


def encoder(config: BertConfig, arrays: dict[str, Array], dtype: str) -> onnx.ModelProto:
    """An encoder: `sequence_output` float32 [B T H] and `pooled_output` [B H]."""
    graph = _Graph(config, arrays, dtype)
    sequence = graph.op("Identity", graph.layers(), output="sequence_output")
    first = graph.op("Gather", sequence, graph.scalar(0), axis=1)
    graph.op("Tanh", graph.affine(first, "encoder/pooler"), output="pooled_output")
    size = config.hidden_size
    return graph.model({"sequence_output": ["B", "T", size], "pooled_output": ["B", size]})


_MAKERS: dict[type, Callable[[BertConfig, dict[str, Array], str], onnx.ModelProto]] = {
    Encoder: encoder,
    models.ClassifierModel: classifier,
    models.MultipleChoiceModel: classifier,
    models.SpanModel: spans,
    models.TokenClassifierModel: token_classifier,
}


class _Graph:
    """Nodes and constants of a graph; a value is known by its name."""

    def __init__(self, config: BertConfig, arrays: dict[str, Array], dtype: str) -> None:
        self._config, self._arrays, self._dtype = config, arrays, dtype
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Adds a node; returns the name of its output."""
        return self.ops(kind, inputs, [output or self._new_name(kind)], **attributes)[0]

    def ops(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> Sequence[str]:
        """Adds a node with several outputs; returns their names."""
        self._nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs

    def ints(self, *values: int) -> str:
        """A constant int64 [N]."""
        return self._constant(f"ints {' '.join(map(str, values))}", np.array(values, np.int64))

    def scalar(self, value: int) -> str:
        """A constant int64 scalar."""
        return self._constant(f"int {value}", np.array(value, np.int64))

    def number(self, value: float) -> str:
        """A constant float32 scalar."""
        return self._constant(f"number {value!r}", np.array(value, np.float32))

    def affine(self, x: str, path: str) -> str:
        """`x` float32 [... I] times `path`/kernel plus `path`/bias: [... O]."""
        kernel = self._stored(f"{path}/kernel")
        if kernel.scales is None:
            product = self.op("MatMul", x, self._float32(f"{path}/kernel", kernel))
        else:
            quantized, scale, zero = self.ops(
                "DynamicQuantizeLinear", [x], [self._new_name(name) for name in ("q", "s", "z")]
            )
            values = self._constant(f"{path}/kernel", kernel.values)
            product = self.op("MatMulInteger", quantized, values, zero)
            scales = self._constant(f"{path}/scales", kernel.scales[0])
            product = self.op("Cast", product, to=TensorProto.FLOAT)
            product = self.op("Mul", product, self.op("Mul", scale, scales))
        return self.op("Add", product, self._constant(f"{path}/bias", self._arrays[f"{path}/bias"]))

    def layers(self, first_token_only: bool = False) -> str:
        """What the last layer gives: float32 [B T H], or [B 1 H] of the first token alone."""
        hidden, added = self._embeddings(), self._added_to_scores()
        last = self._config.num_hidden_layers - 1
        for index in range(self._config.num_hidden_layers):
            asks_first = first_token_only and index == last
            hidden = self._block(f"encoder/layer_{index}", hidden, added, asks_first)
        return hidden

    def model(self, outputs: dict[str, list]) -> onnx.ModelProto:
        """The checked model.

        Args:
          outputs: from the name of each to its axes.
        """
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [info(name, TensorProto.INT32, ["B", "T"]) for name in _INPUTS],
            [info(name, TensorProto.FLOAT, axes) for name, axes in outputs.items()],
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
            producer_name="bert_tf",
            producer_version=bert_tf.__version__,
        )
        onnx.checker.check_model(model)
        return model

    def _embeddings(self) -> str:
        path = "encoder/embeddings"
        num_tokens = self.op("Gather", self.op("Shape", _MASK), self.ints(1))
        positions = self._float32(f"{path}/position", Stored(self._arrays[f"{path}/position"]))
        positions = self.op("Slice", positions, self.ints(0), num_tokens, self.ints(0))  # [T H]
        summed = self.op("Add", self._rows(f"{path}/word", _WORD_IDS), positions)
        summed = self.op("Add", summed, self._rows(f"{path}/type", _TYPE_IDS))
        return self._normalize(summed, f"{path}/layer_norm")

    def _added_to_scores(self) -> str:
        """float32 [B 1 1 S]: 0 at tokens, very negative at padding."""
        mask = self.op("Cast", self.op("Unsqueeze", _MASK, self.ints(1, 2)), to=TensorProto.FLOAT)
        padding = self.op("Sub", self.number(1.0), mask)
        return self.op("Mul", padding, self.number(layer.MASKED))

    def _block(self, path: str, hidden: str, added: str, asks_first: bool) -> str:
        asking = self.op("Gather", hidden, self.ints(0), axis=1) if asks_first else hidden
        context = self._attend(f"{path}/attention", asking, hidden, added)
        attended = self.affine(context, f"{path}/attention/output")
        hidden = self._normalize(self.op("Add", attended, asking), f"{path}/attention_layer_norm")
        inner = self._activate(self.affine(hidden, f"{path}/feed_forward/intermediate"))
        output = self.affine(inner, f"{path}/feed_forward/output")
        return self._normalize(self.op("Add", output, hidden), f"{path}/output_layer_norm")

    def _attend(self, path: str, asking: str, hidden: str, added: str) -> str:
        """The averaged values, float32 [B T H]; those of `asking` attend to those of `hidden`."""
        self._split_qkv(path)
        query = self._heads(self.affine(asking, f"{path}/query"), [0, 2, 1, 3])  # [B A T D]
        key = self._heads(self.affine(hidden, f"{path}/key"), [0, 2, 3, 1])  # [B A D S]
        value = self._heads(self.affine(hidden, f"{path}/value"), [0, 2, 1, 3])
        scores = self.op("MatMul", query, key)
        scores = self.op("Div", scores, self.number(math.sqrt(self._config.size_per_head)))
        probabilities = self.op("Softmax", self.op("Add", scores, added), axis=-1)
        context = self.op("MatMul", probabilities, value)
        context = self.op("Transpose", context, perm=[0, 2, 1, 3])
        return self.op("Reshape", context, self.ints(0, 0, self._config.hidden_size))

    def _split_qkv(self, path: str) -> None:
        """Three products in place of one, as runtimes know attention."""
        for name in ("kernel", "bias"):
            parts = np.split(self._arrays[f"{path}/qkv/{name}"], 3, axis=-1)
            for part, array in zip(("query", "key", "value"), parts, strict=True):
                self._arrays = {**self._arrays, f"{path}/{part}/{name}": array}

    def _heads(self, projected: str, perm: list[int]) -> str:
        config = self._config
        sizes = self.ints(0, 0, config.num_attention_heads, config.size_per_head)
        return self.op("Transpose", self.op("Reshape", projected, sizes), perm=perm)

    def _activate(self, x: str) -> str:
        plain = {"relu": "Relu", "tanh": "Tanh", "linear": "Identity"}
        if kind := plain.get(self._config.hidden_act):
            return self.op(kind, x)
        if self._config.hidden_act == "gelu_erf":
            share = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2.0))))
        else:
            cubic = self.op("Mul", self.op("Mul", x, self.op("Mul", x, x)), self.number(0.044715))
            inner = self.op("Add", x, cubic)
            share = self.op("Tanh", self.op("Mul", inner, self.number(math.sqrt(2.0 / math.pi))))
        product = self.op("Mul", x, self.op("Add", share, self.number(1.0)))
        return self.op("Mul", product, self.number(0.5))

    def _normalize(self, x: str, path: str) -> str:
        names = (f"{path}/gamma", f"{path}/beta")
        gamma, beta = (self._constant(name, self._arrays[name]) for name in names)
        epsilon = self._config.layer_norm_eps
        return self.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)

    def _rows(self, path: str, ids: str) -> str:
        """float32 [B T H], rows of a table."""
        table = self._stored(path)
        rows = self.op("Gather", self._constant(path, table.values), ids)
        if table.values.dtype != np.float32:
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
        if table.scales is None:
            return rows
        scales = self._constant(f"{path}/scales", table.scales)
        return self.op("Mul", rows, self.op("Gather", scales, ids))

    def _float32(self, path: str, each: Stored) -> str:
        name = self._constant(path, each.values)
        is_float32 = each.values.dtype == np.float32
        return name if is_float32 else self.op("Cast", name, to=TensorProto.FLOAT)

    def _stored(self, path: str) -> Stored:
        return stored(path, self._arrays[path], self._dtype)

    def _constant(self, name: str, array: Array) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def _new_name(self, kind: str) -> str:
        return f"{kind} {len(self._nodes)}"

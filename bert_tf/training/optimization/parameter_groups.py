"""Which update each weight of a model gets, decided by the layer that owns it and its attribute.

Names are not used: a renamed variable would silently get another update. A weight that the table
does not list is an error.
"""

import dataclasses

import keras
import tensorflow as tf

from bert_tf.modeling.encoder import Embeddings, SelfAttention
from bert_tf.modeling.frozen_tagger import LayerMix
from bert_tf.modeling.heads import ClassificationHead, MaskedLmHead, SpanHead
from bert_tf.modeling.layer import LayerNorm


@dataclasses.dataclass(frozen=True)
class ParameterGroup:
    """How an optimizer treats a variable.

    Attributes:
      decays: True for kernels and embedding tables, False for biases and LayerNorm's scale and
        offset (released optimization.py). In LAMB, what decays has a trust ratio.
      num_blocks: separate weights that lie side by side in the last axis. Query, key and value
        are one kernel here, three in the paper, and have three trust ratios.
      rate_factor: what the learning rate is multiplied by.
      anchor: of the same shape, what it decays towards; None: 0. It is not part of a training
        state: a restart makes it again.
    """

    decays: bool
    num_blocks: int = 1
    rate_factor: float = 1.0
    anchor: tf.Variable | None = dataclasses.field(default=None, compare=False)


_MATRIX, _VECTOR = ParameterGroup(decays=True), ParameterGroup(decays=False)
_QKV = ParameterGroup(decays=True, num_blocks=3)
_GATES = ParameterGroup(decays=True, num_blocks=4)  # of an LSTM: input, forget, cell, output

# By class of the owner, exactly: its attributes that are variables.
_GROUPS = {
    keras.layers.Dense: {"kernel": _MATRIX, "bias": _VECTOR},
    LayerNorm: {"gamma": _VECTOR, "beta": _VECTOR},
    Embeddings: {"word": _MATRIX, "position": _MATRIX, "type": _MATRIX},
    MaskedLmHead: {"output_bias": _VECTOR},
    ClassificationHead: {"kernel": _MATRIX, "bias": _VECTOR},
    SpanHead: {"kernel": _MATRIX, "bias": _VECTOR},
    keras.layers.LSTMCell: {"kernel": _GATES, "recurrent_kernel": _GATES, "bias": _VECTOR},
    LayerMix: {"mix": _VECTOR, "scale": _VECTOR},
}


def of(model: keras.Model, layer_lr_decay: float = 1.0) -> list[ParameterGroup]:
    """The group of each of `model.trainable_variables`.

    Args:
      layer_lr_decay: factor of the learning rate from a layer of the encoder to the one below; see
        `layer_rate_factors`.

    Raises:
      ValueError: a variable belongs to a layer that the table does not list.
    """
    layers = _layers(model)
    groups = {
        id(getattr(layer, attribute)): group
        for layer in layers
        for attribute, group in _GROUPS.get(type(layer), {}).items()
    }
    groups |= {id(layer.qkv.kernel): _QKV for layer in layers if isinstance(layer, SelfAttention)}
    unknown = [v.path for v in model.trainable_variables if id(v) not in groups]
    if unknown:
        raise ValueError(f"No group for {unknown}: add the layers they belong to in {__name__}.")
    factors = layer_rate_factors(model, layer_lr_decay) if layer_lr_decay != 1 else {}
    return [
        dataclasses.replace(groups[id(variable)], rate_factor=factors.get(id(variable), 1.0))
        for variable in model.trainable_variables
    ]


def layer_rate_factors(model: keras.Model, decay: float) -> dict[int, float]:
    """Factors of the learning rate of variables of the encoder, by their `id`; of the others: 1.

    `decay` in the top layer, its square in the one below, and so on to decay**(L + 1) in the
    embeddings. The pooler counts as part of the head, as in Zhang et al. 2021
    (asappresearch/revisit-bert-finetuning). ELECTRA's code, where the idea comes from for BERT,
    gives the top layer decay**2, as if the pooler were a layer.
    """
    encoder = model.encoder
    parts = [*reversed(encoder.blocks), encoder.embeddings]
    return {
        id(variable): decay**depth
        for depth, part in enumerate(parts, start=1)
        for variable in part.variables
    }


def _layers(model: keras.layers.Layer) -> list[keras.layers.Layer]:
    """The model and every layer inside it, once each."""
    layers, waiting = {}, [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in layers:
            layers[id(layer)] = layer
            for value in vars(layer).values():
                values = value if isinstance(value, list | tuple) else [value]
                waiting += [each for each in values if isinstance(each, keras.layers.Layer)]
    return list(layers.values())

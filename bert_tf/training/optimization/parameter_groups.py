"""What each weight of a model is for, told from the layer that owns it and its place there.

Names are not asked: a renamed variable would change its update without a word. A weight that no
row of the table knows is an error.
"""

import dataclasses

import keras

from bert_tf.modeling.attention import SelfAttention
from bert_tf.modeling.embeddings import Embeddings
from bert_tf.modeling.heads import ClassificationHead, MaskedLmHead, SpanHead
from bert_tf.modeling.normalization import LayerNorm


@dataclasses.dataclass(frozen=True)
class Role:
    """How an optimizer treats a variable.

    Attributes:
      decays: bool, True for kernels and embedding tables, False for biases and LayerNorm's
        scale and offset (released optimization.py). In LAMB, what decays has a trust ratio.
      num_blocks: int, weights of their own that lie side by side in the last axis. Query, key
        and value are one kernel here, three in the paper, and have three trust ratios.
    """

    decays: bool
    num_blocks: int = 1


_MATRIX, _VECTOR, _QKV = Role(decays=True), Role(decays=False), Role(decays=True, num_blocks=3)

# By class of the owner, exactly: its attributes that are variables.
_ROLES = {
    keras.layers.Dense: {"kernel": _MATRIX, "bias": _VECTOR},
    LayerNorm: {"gamma": _VECTOR, "beta": _VECTOR},
    Embeddings: {"word": _MATRIX, "position": _MATRIX, "type": _MATRIX},
    MaskedLmHead: {"output_bias": _VECTOR},
    ClassificationHead: {"kernel": _MATRIX, "bias": _VECTOR},
    SpanHead: {"kernel": _MATRIX, "bias": _VECTOR},
}


def of(model):
    """List of the `Role` of each of `model.trainable_variables`.

    Raises:
      ValueError: a variable belongs to a layer that the table here does not know.
    """
    layers = _layers(model)
    roles = {
        id(getattr(layer, attribute)): role
        for layer in layers
        for attribute, role in _ROLES.get(type(layer), {}).items()
    }
    roles |= {id(layer.qkv.kernel): _QKV for layer in layers if isinstance(layer, SelfAttention)}
    unknown = [v.path for v in model.trainable_variables if id(v) not in roles]
    if unknown:
        raise ValueError(f"No role for {unknown}: enter the layers they belong to in {__name__}.")
    return [roles[id(variable)] for variable in model.trainable_variables]


def _layers(model):
    """The model and every layer inside it, once each."""
    found, waiting = {}, [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in found:
            found[id(layer)] = layer
            for value in vars(layer).values():
                values = value if isinstance(value, list | tuple) else [value]
                waiting += [each for each in values if isinstance(each, keras.layers.Layer)]
    return list(found.values())

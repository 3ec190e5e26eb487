"""A model as a TensorFlow Lite file: ids in, logits out."""

from typing import Any

import tensorflow as tf

from bert_tf import features
from export.served import forms

_INPUTS = tuple(feature.name for feature in features.ENCODER_INPUTS)


def convert(model: Any, dtype: str) -> bytes:
    """The file of a model; its signature is `serving_default`, with the outputs of the model.

    Args:
      model: as `forms.of` takes it.
      dtype: "float32"; "float16" stores weights in it; with "int8" products are computed in it too,
        the numbers that weights are multiplied by quantized when they are known.
    """
    form = forms.of(model, "float32", is_frozen=True, is_inlined=True)
    specs = [tf.TensorSpec([None, None], tf.int32, name=name) for name in _INPUTS]

    @tf.function(input_signature=specs, autograph=False)
    def answer(
        input_word_ids: tf.Tensor, input_mask: tf.Tensor, input_type_ids: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        ids = (input_word_ids, input_mask, input_type_ids)
        outputs = form(dict(zip(_INPUTS, ids, strict=True)))
        return {name: each for name, each in outputs.items() if isinstance(each, tf.Tensor)}

    # The weights are constants: there is no variable that the converter could lose.
    concrete = answer.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    if dtype != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if dtype == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()

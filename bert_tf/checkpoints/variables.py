"""The path and the shape of each of our variables, without a framework."""

from typing import Any, Protocol

from bert_tf.config import BertConfig

POOLER = ("encoder/pooler/kernel", "encoder/pooler/bias")
# The head of a model on frozen layers; a model without a weighted sum has no `layer_mix`.
TAGGER = (
    *("tagger/layer_mix/mix", "tagger/layer_mix/scale"),
    *(
        f"tagger/lstm_{index}/{direction}_lstm/lstm_cell/{part}"
        for index in range(2)
        for direction in ("forward", "backward")
        for part in ("kernel", "recurrent_kernel", "bias")
    ),
    *("tagger/output/kernel", "tagger/output/bias"),
)

Shape = tuple[int, ...]


class Model(Protocol):
    """What is read and written of an `Encoder` or a model of `modeling.models`."""

    name: str
    config: BertConfig
    variables: list[Any]


def shapes(config: BertConfig, num_outputs: int = 1) -> dict[str, Shape]:
    """Shape of every variable of an encoder and of every head, by path.

    Args:
      num_outputs: C of the classifier.
    """
    v, h, i = config.vocab_size, config.hidden_size, config.intermediate_size
    layers: dict[str, Shape] = {}
    for index in range(config.num_hidden_layers):
        layer = f"encoder/layer_{index}"
        layers |= _affine(f"{layer}/attention/qkv", h, 3 * h)
        layers |= _affine(f"{layer}/attention/output", h, h)
        layers |= _layer_norm(f"{layer}/attention_layer_norm", h)
        layers |= _affine(f"{layer}/feed_forward/intermediate", h, i)
        layers |= _affine(f"{layer}/feed_forward/output", i, h)
        layers |= _layer_norm(f"{layer}/output_layer_norm", h)
    return {
        "encoder/embeddings/word": (v, h),
        "encoder/embeddings/position": (config.max_position_embeddings, h),
        "encoder/embeddings/type": (config.type_vocab_size, h),
        **_layer_norm("encoder/embeddings/layer_norm", h),
        **layers,
        **_affine("encoder/pooler", h, h),
        **_affine("masked_lm/transform", h, h),
        **_layer_norm("masked_lm/layer_norm", h),
        "masked_lm/output_bias": (v,),
        **_affine("next_sentence", h, 2),
        **_affine("classifier", h, num_outputs),
        **_affine("span", h, 2),
    }


def _affine(path: str, size_in: int, size_out: int) -> dict[str, Shape]:
    return {f"{path}/kernel": (size_in, size_out), f"{path}/bias": (size_out,)}


def _layer_norm(path: str, size: int) -> dict[str, Shape]:
    return {f"{path}/gamma": (size,), f"{path}/beta": (size,)}

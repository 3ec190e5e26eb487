"""What a load test sends if it is given no file: rows made up for the inputs of a signature."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_tf.errors import InputError
from serving.client.results import TensorInfo

_NUM_REQUESTS = 64  # made-up ones; they are sent in turns
_WORDS = (
    "the of and in to was is for on as with by at from his that it an were are which this be had "
    "also first one their its new after but who not they have her she two been other when there "
    "all during into school time may years more most only over city some world where later up"
).split()
_NUMBERS = {"DT_FLOAT": 0.5, "DT_DOUBLE": 0.5, "DT_HALF": 0.5, "DT_BFLOAT16": 0.5, "DT_BOOL": True}


def made_up(
    inputs: Mapping[str, TensorInfo], batch_size: int, num_words: int, seed: int = 0
) -> list[dict[str, Any]]:
    """The inputs of requests for a signature: texts of common words, or numbers.

    Texts have from half to one and a half times `num_words` words.

    Raises:
      InputError: an input has no batch dimension, so that its rows cannot be counted.
    """
    generator = random.Random(seed)
    made = []
    for _ in range(_NUM_REQUESTS):
        made.append(
            {
                name: _values(name, info, (batch_size, num_words), generator)
                for name, info in inputs.items()
            }
        )
    return made


def _values(name: str, info: TensorInfo, sizes: Sequence[int], generator: random.Random) -> Any:
    batch_size, num_words = sizes
    if info.shape is None or not info.shape or info.shape[0] not in (-1, batch_size):
        raise InputError(
            f"Input {name} has shape {info.shape}; rows can be made up for inputs whose first "
            f"dimension is that of the batch, here {batch_size}. Give --input_file or --batch_size."
        )
    if info.dtype == "DT_STRING":
        # Of several texts, as choices are, there are two.
        shape = [batch_size, *(size if size > 0 else 2 for size in info.shape[1:])]
        texts = np.empty(shape, object)
        texts.flat[:] = [_text(num_words, generator) for _ in range(texts.size)]
        return texts
    shape = [batch_size, *(size if size > 0 else num_words for size in info.shape[1:])]
    return np.full(shape, _NUMBERS.get(info.dtype, 1))


def _text(num_words: int, generator: random.Random) -> str:
    count = generator.randint(max(1, num_words // 2), num_words + num_words // 2)
    return " ".join(generator.choices(_WORDS, k=count))

"""A student that starts from some layers of a larger model (DistilBERT, section 3).

DistilBERT takes every second layer of its teacher; embeddings and pooler are taken as they are.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import TypeVar

from bert_tf.checkpoints import Checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options import TaskTraining
from bert_tf.training.inputs import Inputs

AnyOptions = TypeVar("AnyOptions", bound=TaskTraining)

_LAYER = re.compile(r"^encoder/layer_(\d+)/")


def with_student_layers(inputs: Inputs[AnyOptions]) -> Inputs[AnyOptions]:
    """Inputs of a model that has the layers of --student_layers alone; prints which.

    Raises:
      InputError: the flag names layers that the model lacks.
    """
    options, checkpoint, config = inputs.options, inputs.checkpoint, inputs.config
    if not options.student_layers or checkpoint is None:
        return inputs
    if checkpoint.config and checkpoint.config.num_hidden_layers != config.num_hidden_layers:
        return inputs  # --bert_config_file is the student's
    layers = chosen_layers(options.student_layers, config.num_hidden_layers)
    small = dataclasses.replace(config, num_hidden_layers=len(layers))
    options.check_layers(len(layers))
    print(
        f"Student: {len(layers)} layers, from layers {', '.join(map(str, layers))} of "
        f"{config.num_hidden_layers}",
        flush=True,
    )
    return dataclasses.replace(
        inputs, config=small, checkpoint=checkpoint_of_layers(checkpoint, config, layers)
    )


def chosen_layers(flag: str, num_layers: int) -> tuple[int, ...]:
    """The layers that --student_layers names.

    Args:
      flag: a number of layers, or layers from 0, separated by commas.
      num_layers: L of the model that has them.

    Raises:
      InputError: it is neither, or names layers that are not there.
    """
    parts = [part.strip() for part in flag.split(",") if part.strip()]
    if not parts or not all(part.isdigit() for part in parts):
        raise InputError(
            f"--student_layers={flag} must be a number of layers, or layers from 0 separated by "
            "commas, e.g. 0,2,4."
        )
    numbers = [int(part) for part in parts]
    if "," not in flag:
        count = numbers[0]
        if not 0 < count <= num_layers:
            raise InputError(
                f"--student_layers={flag}: the model has {num_layers} layers. Give a number from 1 "
                f"to {num_layers}, or layers from 0 separated by commas."
            )
        return tuple(index * num_layers // count for index in range(count))
    if max(numbers) >= num_layers or sorted(set(numbers)) != numbers:
        raise InputError(
            f"--student_layers={flag} must be ascending layers from 0 to {num_layers - 1}, each "
            "once: the model has no others."
        )
    return tuple(numbers)


def checkpoint_of_layers(
    checkpoint: Checkpoint, config: BertConfig, layers: Sequence[int]
) -> Checkpoint:
    """A checkpoint of a smaller model: some layers of `checkpoint`, numbered from 0.

    Args:
      config: of the whole model.
      layers: its layers, ascending.
    """
    small = dataclasses.replace(config, num_hidden_layers=len(layers))
    theirs = {row.path: row.names for row in checkpoint.format.rows(config)}
    of_layers = {name for path in theirs if _LAYER.match(path) for name in theirs[path]}
    # Older files spell names in another way than the table of their format.
    spelled = {checkpoint.format.canonical_name(name): name for name in checkpoint.shapes}
    sources = {name: name for today, name in spelled.items() if today not in of_layers}
    for row in checkpoint.format.rows(small):
        if match := _LAYER.match(row.path):
            path = f"encoder/layer_{layers[int(match[1])]}/{row.path[match.end() :]}"
            named = zip(row.names, theirs[path], strict=True)
            sources |= {name: spelled[source] for name, source in named if source in spelled}
    return dataclasses.replace(
        checkpoint,
        shapes={name: checkpoint.shapes[source] for name, source in sources.items()},
        read_array=lambda name: checkpoint.read_array(sources[name]),
        config=small,
    )

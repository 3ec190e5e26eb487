"""What the flags of `options.stability` do to a model: new, frozen, slower and anchored weights."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from bert_tf import options
from bert_tf.options.finetuning.stability import Stability
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.parameter_groups import ParameterGroup


@contextlib.contextmanager
def top_layers_kept(given: options.Training, model: keras.Model) -> Iterator[list[str]]:
    """Keeps --reinit_layers of a new model as they are, while a checkpoint is loaded in the block.

    Zhang et al. 2021 (arXiv 2006.05987), section 5. Their weights follow from the seed that was set
    before the model was made, so a restart has the same.

    Yields:
      paths of the variables.
    """
    num_layers = _flags(given).reinit_layers
    variables: list[keras.Variable] = []
    if num_layers is not None:
        encoder = model.encoder
        blocks = encoder.blocks[len(encoder.blocks) - num_layers :]
        variables = [v for layer in (*blocks, encoder.pooler) for v in layer.variables]
    before = [np.asarray(variable.value).copy() for variable in variables]
    yield [variable.path for variable in variables]
    for variable, value in zip(variables, before, strict=True):
        variable.assign(value)


def freeze(given: options.Training, model: keras.Model) -> None:
    """Takes --freeze_layers and the embeddings out of `model.trainable_variables`.

    Lee, Tang and Lin 2019 (arXiv 1911.03090). Their dropout stays.
    """
    num_layers = _flags(given).freeze_layers
    if num_layers is None:
        return
    for part in (model.encoder.embeddings, *model.encoder.blocks[:num_layers]):
        part.trainable = False


def groups(
    given: options.Training, model: keras.Model, loaded: Collection[str]
) -> list[ParameterGroup]:
    """The group of each of `model.trainable_variables`; call it under the strategy's scope.

    Args:
      loaded: paths of the variables that a checkpoint has filled. With --weight_decay_to_start
        these decay towards the values that they have now. Others have no start worth keeping and
        decay towards 0, as in Li et al. 2018 (arXiv 1802.01483), section 3.
    """
    flags = _flags(given)
    found = parameter_groups.of(model, flags.layer_lr_decay)
    if not flags.weight_decay_to_start:
        return found
    return [
        _anchored(group, variable) if group.decays and variable.path in loaded else group
        for group, variable in zip(found, model.trainable_variables, strict=True)
    ]


def _anchored(group: ParameterGroup, variable: keras.Variable) -> ParameterGroup:
    start = np.asarray(variable.value).copy()
    return dataclasses.replace(group, anchor=tf.Variable(start, trainable=False))


def fingerprint(found: Sequence[ParameterGroup]) -> dict[str, str]:
    """What the anchors add to the identity of a run; empty without anchors.

    They are not in its saved state, so a restart must find the same checkpoint.
    """
    anchors = [group.anchor for group in found if group.anchor is not None]
    if not anchors:
        return {}
    digest = hashlib.sha256()
    for anchor in anchors:
        digest.update(anchor.numpy().tobytes())
    return {"anchors_sha256": digest.hexdigest()}


def text(given: options.Training, num_hidden_layers: int) -> str:
    """What is new and what is frozen, for the terminal; "" where nothing is."""
    flags = _flags(given)
    lines = []
    if (new := flags.reinit_layers) is not None:
        above = f" and {_layers(num_hidden_layers - new, num_hidden_layers)}" if new else ""
        lines.append(f"Random as initialised (--reinit_layers): the pooler{above}.")
    if (frozen := flags.freeze_layers) is not None:
        above = f" and {_layers(0, frozen)}" if frozen else ""
        lines.append(f"Not trained (--freeze_layers): the embeddings{above}.")
    return "\n".join(lines)


def _layers(first: int, end: int) -> str:
    """Layers by their numbers from 1."""
    many = f"layers {first + 1} to {end}"
    return f"layer {end}" if first + 1 == end else many


def _flags(given: options.Training) -> Stability:
    """The flags of fine-tuning; their defaults for pre-training, which has none."""
    return given if isinstance(given, Stability) else Stability()

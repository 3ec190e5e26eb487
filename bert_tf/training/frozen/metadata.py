"""What model.json says of a model on frozen layers."""

import dataclasses

from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.frozen_layers import FROZEN_LAYERS
from bert_tf.options import TaskTraining
from bert_tf.options.finetuning.feature_based import FeatureBased


def with_frozen_layers(
    metadata: ModelMetadata, options: TaskTraining, config: BertConfig
) -> ModelMetadata:
    """The metadata with the layers of --feature_based, or those of the model in --output_dir.

    Args:
      metadata: of a model that is trained as a whole.

    Raises:
      InputError: the task has no such model, or the encoder too few layers.
    """
    wanted, units = "", 0
    if isinstance(options, FeatureBased):
        wanted, units = options.feature_based or "", options.lstm_units
    if not (wanted or options.do_train):
        there = model_directory.read_metadata(options.output_dir)
        wanted, units = (there.feature_based, there.lstm_units) if there else ("", 0)
    if not wanted:
        return metadata
    if not KINDS[metadata.kind].frozen_model:
        raise InputError(
            f"--feature_based={wanted} is for tasks that tag words, and {metadata.task} is of kind "
            f"{metadata.kind!r}. Leave it out."
        )
    try:
        FROZEN_LAYERS[wanted].depths(config.num_hidden_layers)
    except ValueError as error:
        raise InputError(f"--feature_based={wanted}: {error}. Give another choice.") from None
    return dataclasses.replace(metadata, feature_based=wanted, lstm_units=units)

"""Name tables, loaders and writers of every checkpoint format; the model directory."""

from bert_tf.checkpoints.coverage import Report
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.loading import load
from bert_tf.checkpoints.opening import open_checkpoint
from bert_tf.checkpoints.reading import read
from bert_tf.checkpoints.saving import save
from bert_tf.checkpoints.vocabulary import check_vocabulary

__all__ = ["Checkpoint", "Report", "check_vocabulary", "load", "open_checkpoint", "read", "save"]

"""The model directory of this package as a checkpoint: its best weights, or its last."""

import dataclasses
import os

from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.formats.tf1 import TensorFlow1, find_prefix, write_tensors
from bert_tf.checkpoints.kinds import given_labels, heads_of
from bert_tf.checkpoints.model_directory import WEIGHTS_PREFIX
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import TAGGER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

_INDEX = f"{WEIGHTS_PREFIX}.index"


class BertTF(TensorFlow1):
    """Model directories, whose weights have the names of the released code.

    The head of a model on frozen layers, which the released code lacks, has our names.
    """

    name = "bert_tf"
    title = "model directory of this package"
    accepted = "the --output_dir of a training run"
    needs_pooler = True

    def find(self, path: str) -> str | None:
        """Prefix of the best weights of a model directory, or of the last, or None.

        `path` may be the directory, `best` or `last` in it, or the prefix or a file of its weights.
        """
        for which in ("best", "last"):
            if os.path.isfile(os.path.join(path, which, _INDEX)):
                return os.path.join(path, which, WEIGHTS_PREFIX)
        directory = path if os.path.isdir(path) else os.path.dirname(path)
        if os.path.basename(os.path.abspath(directory)) not in ("best", "last"):
            return None
        prefix = os.path.join(directory, WEIGHTS_PREFIX)
        is_named = os.path.isdir(path) or find_prefix(path) == prefix
        return prefix if is_named and os.path.isfile(f"{prefix}.index") else None

    def open(self, path: str) -> Checkpoint:
        """Opens the weights with the prefix `path`, see `Format.open`."""
        checkpoint = super().open(path)
        directory = os.path.dirname(os.path.dirname(os.path.abspath(path)))
        metadata = model_directory.read_metadata(directory)
        if metadata is None:
            return checkpoint
        return dataclasses.replace(
            checkpoint,
            kind=metadata.kind,
            labels=given_labels(metadata.labels),
            do_lower_case=metadata.do_lower_case,
            num_texts=metadata.num_texts,
        )

    def rows(self, config: BertConfig) -> list[Row]:
        """See `Format.rows`."""
        return super().rows(config) + [Row((path,), path) for path in TAGGER]

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes a model directory with the state dict as its last weights.

        Raises:
          InputError: there is no vocabulary, or no model here has just these heads.
        """
        if not state_dict.vocab_file:
            raise InputError(
                f"There is no vocab.txt next to {state_dict.source}, and a model directory needs "
                "one. Give --vocab_file."
            )
        metadata = model_directory.ModelMetadata(
            kind=state_dict.kind,
            task="converted",
            do_lower_case=bool(state_dict.do_lower_case),
            max_seq_length=state_dict.config.max_position_embeddings,
            labels=state_dict.output_labels,
            num_texts=_num_texts(state_dict),
        )
        arrays = self.arrays(state_dict)
        model_directory.create(directory, state_dict.config, state_dict.vocab_file, metadata)
        last = os.path.join(directory, "last")
        os.mkdir(last)
        write_tensors(arrays, os.path.join(last, WEIGHTS_PREFIX))

    def notes(self, state_dict: StateDict) -> list[str]:
        """None: this package computes what it computes."""
        return []


def _num_texts(state_dict: StateDict) -> int:
    """Texts per example; 2 for a model with a next sentence head, 1 for one without."""
    if state_dict.kind != "pretrain":
        return state_dict.num_texts or 1
    heads = heads_of(state_dict.arrays)
    if "masked_lm" not in heads:
        raise InputError(
            f"{state_dict.source} holds a next sentence head and none for masked LM. No model here "
            "has only that. Leave it out: --skip='next_sentence/.*'."
        )
    return 2 if "next_sentence" in heads else 1

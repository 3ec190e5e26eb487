"""What is exported for TensorFlow Hub, opened and checked before TensorFlow loads."""

import dataclasses
from typing import Any

from bert_tf import checkpoints
from bert_tf.checkpoints import kinds
from bert_tf.checkpoints.coverage import FileNames
from bert_tf.checkpoints.hub import presets
from bert_tf.checkpoints.variables import POOLER
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text import vocab
from export.options import HubExport

_MASKED_LM = "masked_lm/output_bias"
SHORTEST = 5  # [CLS] a [SEP] b [SEP]


@dataclasses.dataclass(frozen=True)
class Source:
    """A model, and its text side.

    Attributes:
      vocab_file: path of `vocabulary`: a vocab.txt or a tokenizer.json.
      do_lower_case: casing of the text side.
      has_masked_lm: whether the masked LM is exported as well.
    """

    checkpoint: checkpoints.Checkpoint
    config: BertConfig
    vocabulary: vocab.Vocabulary
    vocab_file: str
    do_lower_case: bool
    has_masked_lm: bool

    @property
    def has_pooler(self) -> bool:
        """Whether the model has one; models for tags and answers may have none."""
        rows = self.checkpoint.format.rows(self.config)
        names = FileNames(self.checkpoint, rows, skip=())
        return all(names.holds(row) for row in rows if row.path in POOLER)

    def build(self) -> Any:
        """The model with its weights: an `Encoder`, or with the masked LM a `PretrainingModel`.

        A pooler that the checkpoint lacks keeps its initial weights.

        Raises:
          InputError: the weights are damaged or do not fit.
        """
        from bert_tf.modeling.encoder import Encoder
        from bert_tf.modeling.models import PretrainingModel

        wanted = ("masked_lm",) if self.has_masked_lm else ()
        model = (
            PretrainingModel(self.config, has_next_sentence=False)
            if self.has_masked_lm
            else Encoder(self.config)
        )
        others = [f"{head}/.*" for head in kinds.HEADS if head not in wanted]
        checkpoints.load(model, self.checkpoint, skip=others, fresh=POOLER)
        return model


def open_source(options: HubExport) -> Source:
    """Opens the model that the options name.

    Raises:
      InputError: there is no such model, it lacks what is exported, or the length does not fit it.
    """
    checkpoint = checkpoints.open_checkpoint(presets.resolve(options.model_dir))
    if checkpoint.config is None:
        raise InputError(
            f"There is no bert_config.json next to {checkpoint.path}. Put the one of its model "
            "there."
        )
    vocab_file = options.vocab_file or checkpoint.vocab_file
    if not vocab_file:
        raise InputError(
            f"There is no vocab.txt next to {checkpoint.path}. Give the one of its model: "
            "--vocab_file."
        )
    vocabulary = vocab.from_file(vocab_file)
    if warning := checkpoints.check_vocabulary(checkpoint.config, vocabulary):
        print(f"WARNING: {warning}", flush=True)
    if options.export_type == "preprocessing":
        _check_length(options.default_seq_length, checkpoint.config)
    source = Source(
        checkpoint,
        checkpoint.config,
        vocabulary,
        vocab_file,
        _casing(options, checkpoint, vocabulary),
        options.export_type == "model_with_mlm",
    )
    _check_weights(source, options)
    return source


def _check_length(seq_length: int, config: BertConfig) -> None:
    if not SHORTEST <= seq_length <= config.max_position_embeddings:
        raise InputError(
            f"--default_seq_length={seq_length} must be from {SHORTEST}, which is the shortest "
            f"pair of texts, to {config.max_position_embeddings}, the positions of the model."
        )


def _casing(
    options: HubExport, checkpoint: checkpoints.Checkpoint, vocabulary: vocab.Vocabulary
) -> bool:
    """That of the flag, or of the files, or else that of the vocabulary."""
    stated = checkpoint.do_lower_case if options.do_lower_case is None else options.do_lower_case
    if stated is None:
        return not vocabulary.is_cased
    vocab.check_casing(vocabulary, stated)
    return stated


def _check_weights(source: Source, options: HubExport) -> None:
    """Refuses a masked LM that is not there; warns of a pooler that is not."""
    if source.has_masked_lm:
        rows = source.checkpoint.format.rows(source.config)
        names = FileNames(source.checkpoint, rows, skip=())
        if not any(names.holds(row) for row in rows if row.path == _MASKED_LM):
            raise InputError(
                f"{source.checkpoint.path} has no masked LM head, which --export_type="
                "model_with_mlm exports. Models that were fine-tuned or made for embeddings have "
                "none; --export_type=model exports the encoder."
            )
    if options.export_type != "preprocessing" and not source.has_pooler:
        print(
            f"WARNING: {source.checkpoint.path} has no pooler: pooled_output comes from random "
            "weights. sequence_output is that of the model.",
            flush=True,
        )

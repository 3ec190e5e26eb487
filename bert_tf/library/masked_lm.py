"""Fills the [MASK]s of a text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from bert_tf import features
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import batching, packing
from bert_tf.examples.rows import encoder_inputs, pad_rows
from bert_tf.library import presets, texts
from bert_tf.library.text_model import TextModel
from bert_tf.library.tokenizer import Tokenizer
from bert_tf.modeling import Tensor, heads

_MASK = "[MASK]"
_BATCH_SIZE = 32
_BIAS = "masked_lm/output_bias"


class Candidate(NamedTuple):
    """A token that may stand at a [MASK], and its probability."""

    token: str
    probability: float


@keras.saving.register_keras_serializable(package="bert_tf")
class MaskedLM(TextModel):
    """The masked language model of pre-training (BERT section 3.1, task 1).

    On plain strings it gives what `fill` gives.

    Call arguments:
      inputs: texts, or the encoder's inputs.
      positions: int [B P], which tokens to predict; None: all of them.
    Returns:
      float32 [B P V], logits; [B T V] without `positions`.
    """

    def __init__(
        self,
        config: BertConfig | dict[str, Any],
        tokenizer: Tokenizer | dict[str, Any],
        name: str = "masked_lm_model",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, tokenizer, name=name, **kwargs)
        if self.config.is_causal:
            raise InputError(
                "This is a left-to-right language model (is_causal): it sees only what stands "
                "before a [MASK]. A masked language model was wanted."
            )
        self.masked_lm = heads.MaskedLmHead(self.config, dtype=self.dtype_policy)
        self.built = True

    @classmethod
    def _heads_to_load(cls, source: presets.Source) -> Sequence[str]:
        if _BIAS not in source.paths:
            raise InputError(
                f"{source.checkpoint.path} has no masked LM head, so it cannot fill a [MASK]. "
                "Released BERTs such as bert-base-uncased have one, and so has the --output_dir of "
                "run_pretraining.py; models that were fine-tuned or made for embeddings have not."
            )
        return ("masked_lm",)

    def call(self, inputs: Any, positions: Tensor | None = None, training: bool = False) -> Tensor:
        encoded = self.encoder(self.encoder_inputs(inputs), positions, training=training)
        return self.masked_lm(encoded["sequence_output"], self.encoder.embeddings.word)

    def answer(self, inputs: texts.Texts) -> Any:
        """`fill`, which calling the model on plain strings means."""
        return self.fill(inputs)

    def fill(self, inputs: texts.Texts, top_k: int = 5) -> Any:
        """The most probable tokens at each [MASK].

        Args:
          inputs: a string or a list of strings, each with one [MASK] or more.
          top_k: candidates for each [MASK].

        Returns:
          for each text a list with an entry for each [MASK]: a list of `top_k` `Candidate`s, most
          probable first. For one string only its own list.

        Raises:
          ValueError: a text has no [MASK], or is so long that one is cut off.
        """
        given = texts.read(inputs)
        if given.second is not None:
            raise TypeError("`fill` takes single texts; a pair was given.")
        rows = [self._row(text, index) for index, text in enumerate(given.first)]
        filled: dict[int, list[list[Candidate]]] = {}
        for indices in batching.length_batches(np.array(list(map(len, rows))), _BATCH_SIZE):
            found = self._fill([rows[index] for index in indices], top_k)
            filled.update(zip(indices.tolist(), found, strict=True))
        answers = [filled[index] for index in range(len(rows))]
        return answers[0] if given.is_one else answers

    def _row(self, text: texts.Text, index: int) -> list[int]:
        """The word ids of a text, in which [MASK] is one token."""
        vocabulary = self.tokenizer.vocabulary
        text = text.decode("utf-8", "ignore") if isinstance(text, bytes) else text
        first, *others = text.split(_MASK)
        if not others:
            raise ValueError(
                f"texts[{index}] has no {_MASK}: {text[:60]!r}. It is written in capitals."
            )
        encode = self.tokenizer.in_python.encode
        ids = encode(first)
        for part in others:
            ids += [vocabulary.mask_id, *encode(part)]
        row, _ = packing.pack(ids, None, vocabulary, self.tokenizer.max_seq_length)
        if row.count(vocabulary.mask_id) < len(others):
            raise ValueError(
                f"texts[{index}] has {len(ids) + 2} tokens, and a {_MASK} is behind the "
                f"{self.tokenizer.max_seq_length} that the model takes. Shorten the text."
            )
        return row

    def _fill(self, rows: list[list[int]], top_k: int) -> list[list[list[Candidate]]]:
        """The candidates for the masks of rows that are computed together."""
        vocabulary = self.tokenizer.vocabulary
        batch = encoder_inputs(rows, [[0] * len(row) for row in rows])
        is_mask = batch[features.WORD_IDS.name] == vocabulary.mask_id
        positions = [np.flatnonzero(row).tolist() for row in is_mask]
        padded = pad_rows(positions, max(map(len, positions)))  # [B P]
        # Rows of the embeddings behind the vocabulary are padding.
        logits = self(batch, padded)[:, :, : len(vocabulary)]
        probabilities, ids = ops.top_k(ops.softmax(logits), min(top_k, len(vocabulary)))
        pairs = zip(np.asarray(ids), np.asarray(probabilities), positions, strict=True)
        return [
            [
                [Candidate(vocabulary.tokens[i], float(p)) for i, p in zip(*each, strict=True)]
                for each in list(zip(row_ids, row_probabilities, strict=True))[: len(places)]
            ]
            for row_ids, row_probabilities, places in pairs
        ]


def can_fill(source: presets.Source) -> bool:
    """Whether a preset makes a `MaskedLM`: it has the head, and sees both sides of a [MASK]."""
    return _BIAS in source.paths and not source.config.is_causal

"""What `--objective` of run_pretraining.py means. `training.step.objectives` has the losses."""

import dataclasses

from bert_tf.examples.choices import EXAMPLE_TYPES


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingObjective:
    """What a pre-training learns.

    Attributes:
      help: for the flag --objective.
      tokens: what is learned from tokens: "masked_lm" or "left_to_right".
      pair: what is learned from pairs of texts: "next_sentence", "sentence_order", or None.
      pair_type: the entry of `EXAMPLE_TYPES` whose labels that is; None without pairs.
    """

    help: str
    tokens: str = "masked_lm"
    pair: str | None = None
    pair_type: str | None = None

    @property
    def has_pair(self) -> bool:
        """Whether examples are pairs with a label; the model then has a head for it."""
        return self.pair is not None

    @property
    def is_causal(self) -> bool:
        """Whether a token attends to those before it only: `is_causal` of the config."""
        return self.tokens == "left_to_right"

    @property
    def example_types(self) -> tuple[str, ...]:
        """The --example_type of the records that it can learn from, the best first."""
        if self.pair_type:
            return (self.pair_type,)
        return tuple(sorted(EXAMPLE_TYPES, key=lambda name: EXAMPLE_TYPES[name].has_pair))


_NEXT_SENTENCE = {"pair": "next_sentence", "pair_type": "nsp"}

# BERT section 3.1; without pairs as RoBERTa (arXiv 1907.11692, section 4.2); sentence order as
# ALBERT (arXiv 1909.11942, section 3.1); the left-to-right models of BERT section 5.1.
PRETRAINING_OBJECTIVES = {
    "mlm_nsp": PretrainingObjective(help="masked LM and next sentence", **_NEXT_SENTENCE),
    "mlm": PretrainingObjective(help="masked LM alone"),
    "mlm_sop": PretrainingObjective(
        help="masked LM and sentence order", pair="sentence_order", pair_type="sop"
    ),
    "ltr": PretrainingObjective(help="left-to-right LM", tokens="left_to_right"),
    "ltr_nsp": PretrainingObjective(
        help="left-to-right LM and next sentence", tokens="left_to_right", **_NEXT_SENTENCE
    ),
}
DEFAULT_OBJECTIVE = "mlm_nsp"

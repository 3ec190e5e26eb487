"""What a user chooses about pre-training examples: their type, and how they are masked.

The one table of example types and the one home of the paper's shares. It imports nothing, so the
flags of the scripts are made from it.
"""

import dataclasses

# What is masked together; see `masking.Masker`.
GRANULARITIES = ("token", "word", "ngram", "span")
# Those that records tell by themselves, so that masks can be drawn while they are read.
DYNAMIC_GRANULARITIES = ("token", "word")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExampleType:
    """What an example is.

    Attributes:
      help: for the flag --example_type.
      labels: what the labels 0 and 1 of a pair of texts mean; None: an example has one text.
      label_1: the heading of the share of label 1.
      has_random_texts: whether second texts come from other documents.
      crosses_documents: whether a row goes on with the next document where one ends.
      is_packed: whether a row holds several texts, each with its own [CLS], and is stored without
        padding.
    """

    help: str
    labels: tuple[str, str] | None = None
    label_1: str = ""
    has_random_texts: bool = False
    crosses_documents: bool = False
    is_packed: bool = False

    @property
    def has_pair(self) -> bool:
        """Whether an example has two texts and a label."""
        return self.labels is not None

    @property
    def is_alike_in_every_pass(self) -> bool:
        """Whether passes over the text differ in their masks alone."""
        return not (self.has_pair or self.crosses_documents)

    @property
    def num_special_tokens(self) -> int:
        """[CLS] and a [SEP] for each text: the special tokens of the row with the most text."""
        return 3 if self.has_pair else 2

    @property
    def min_sentences(self) -> int:
        """Sentences that a document must have to be used."""
        return 2 if self.has_pair else 1

    @property
    def min_documents(self) -> int:
        """Documents that a pool must have."""
        return 2 if self.has_random_texts else 1

    def longest_sentence(self, max_seq_length: int) -> int:
        """Tokens above which a sentence is cut; any two sentences in a row fit into a pair."""
        room = max_seq_length - self.num_special_tokens
        return room // 2 if self.has_pair else room


EXAMPLE_TYPES = {
    "nsp": ExampleType(
        help="two texts, the second the next one or a random one",
        labels=("the second text follows the first", "the second text is a random one"),
        label_1="Second text from another document",
        has_random_texts=True,
    ),
    "sop": ExampleType(
        help="two texts in order or swapped",
        labels=("the texts are in order", "the texts are swapped"),
        label_1="Texts swapped",
    ),
    "full_sentences": ExampleType(
        help="text that goes on across documents", crosses_documents=True
    ),
    "doc_sentences": ExampleType(help="text of one document"),
    "packed": ExampleType(help="several texts of doc_sentences in one row", is_packed=True),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskSettings:
    """Which tokens are chosen, how many, and what replaces them.

    Attributes:
      max_predictions_per_seq: P, at least 1.
      masked_lm_prob: in (0, 1]. Paper section 3.1: 15 %.
      mask_prob: the share of the chosen tokens that become [MASK]. Paper section 3.1: 80 %;
        appendix C.2 varies the shares.
      random_prob: the share that become random tokens, 10 %; the rest is kept.
      granularity: one of `GRANULARITIES`.
      max_ngram: at least 1. ALBERT (arXiv 1909.11942) section 4.1: three words.

    Raises:
      ValueError: the granularity is unknown.
    """

    max_predictions_per_seq: int
    masked_lm_prob: float = 0.15
    mask_prob: float = 0.8
    random_prob: float = 0.1
    granularity: str = "token"
    max_ngram: int = 3

    def __post_init__(self) -> None:
        if self.granularity not in GRANULARITIES:
            raise ValueError(
                f"granularity={self.granularity!r} must be one of {', '.join(GRANULARITIES)}."
            )

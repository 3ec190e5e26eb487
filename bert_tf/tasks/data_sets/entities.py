"""Named entities: CoNLL-2003 (Tjong Kim Sang and De Meulder 2003) and MSRA (Levow 2006)."""

from bert_tf.examples.readers import TokenLayout
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.tasks.task import Task


def _tags(*types: str) -> tuple[str, ...]:
    """The tags of IOB2."""
    return ("O", *(f"{letter}-{entity}" for entity in types for letter in "BI"))


TASKS: dict[str, Task] = {
    "conll-2003": Tagging(
        name="conll-2003",
        summary="Which words name persons, organizations, places or others?",
        labels=_tags("PER", "ORG", "LOC", "MISC"),
        # As released the tags are IOB1; copies in IOB2 are read right as well.
        layout=TokenLayout(words=0, tags=3, scheme="iob1", test_has_tags=True),
        files={
            "train": {"": ("eng.train", "train.txt")},
            "dev": {"": ("eng.testa", "valid.txt", "dev.txt")},
            "test": {"": ("eng.testb", "test.txt")},
        },
    ),
    "msra-ner": Tagging(
        name="msra-ner",
        summary="Which characters name persons, places or organizations?",
        labels=_tags("NR", "NS", "NT"),
        layout=TokenLayout(words=0, tags=1, scheme="bmes", test_has_tags=True),
        files={
            "train": {"": "train.ner"},
            "dev": {"": "dev.ner"},
            "test": {"": "test.ner"},
        },
    ),
}

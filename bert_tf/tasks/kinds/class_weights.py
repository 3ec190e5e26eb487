"""Weights of labels in the training loss, so that frequent ones do not drown out the rare ones."""

from collections.abc import Mapping, Sequence

BALANCED = "balanced"


def balanced(counts: Mapping[str, int], labels: Sequence[str]) -> tuple[float, ...]:
    """Weights that give every label the same share of the loss.

    total / (labels that occur * count), as `class_weight="balanced"` of scikit-learn (King and Zeng
    2001).

    Args:
      counts: how often each label occurs; 0 where it has no entry. Such a label has weight 1.
      labels: in the order of the classes.

    Returns:
      The weight of each of `labels`.
    """
    occurring = {label: count for label, count in counts.items() if count}
    share = sum(occurring.values()) / max(1, len(occurring))
    return tuple(share / occurring[label] if label in occurring else 1.0 for label in labels)


def of_positives(
    counts: Mapping[str, int], num_examples: int, labels: Sequence[str]
) -> tuple[float, ...]:
    """Weights of the examples that have a label, each label being a yes or no of its own.

    negatives / positives, as the documentation of PyTorch's BCEWithLogitsLoss recommends. A label
    that no example has, or every one, has weight 1.

    Args:
      counts: examples that have each label.
      labels: in the order of the classes.
    """
    found = []
    for label in labels:
        count = counts.get(label, 0)
        found.append((num_examples - count) / count if 0 < count < num_examples else 1.0)
    return tuple(found)

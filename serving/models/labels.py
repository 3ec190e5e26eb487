"""Labels: names for versions, such as `stable`, that clients may give instead of a number."""

from collections.abc import Collection, Mapping, Sequence

from serving.models.config import ModelConfig
from serving.status import Code, ServingError

Labels = Mapping[str, Mapping[str, int]]  # from model and label to a version


def assigned(
    configs: Sequence[ModelConfig],
    available: Mapping[str, Collection[int]],
    old: Labels,
    *,
    allow_unavailable: bool,
) -> Labels:
    """The labels of a new config.

    Args:
      available: by model, the versions that answer requests now.
      old: the labels before.
      allow_unavailable: whether a label that is new, or stays where it is, may point at a version
        that is not available. A label that moves may not, because clients use it.

    Raises:
      ServingError: FAILED_PRECONDITION; a label points at a version that is not available.
    """
    for config in configs:
        for label, version in config.labels.items():
            moves = old.get(config.name, {}).get(label, version) != version
            if version in available.get(config.name, ()) or (allow_unavailable and not moves):
                continue
            raise ServingError(
                Code.FAILED_PRECONDITION,
                f"Request to assign label to version {version} of model {config.name}, which is "
                "not currently available for inference",
            )
    return {config.name: dict(config.labels) for config in configs if config.labels}

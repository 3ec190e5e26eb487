"""GetModelStatus: which versions of a model there are, and in which states."""

from collections.abc import Sequence

from serving.methods.core import Core
from serving.models.spec import ModelSpec, VersionStatus


def model_status(core: Core, spec: ModelSpec) -> Sequence[VersionStatus]:
    """States of the version that a request names, or of all, newest first.

    A label is ignored, as TensorFlow Serving ignores it: all versions are listed.

    Raises:
      ServingError: NOT_FOUND.
    """
    return core.models.statuses(spec.name, spec.version)

"""GetModelMetadata: what the signatures of a model take and give."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from serving.methods.core import Core
from serving.models.spec import ModelSpec


@dataclasses.dataclass(frozen=True)
class Metadata:
    """The signatures of one version of a model.

    Attributes:
      signature_defs: SignatureDef messages by name, as the SavedModel has them.
    """

    name: str
    version: int
    signature_defs: Mapping[str, Any]


def metadata(core: Core, spec: ModelSpec) -> Metadata:
    """Describes the version that would answer a request.

    Raises:
      ServingError: from the lookup.
    """
    with core.lease(spec) as servable:
        return Metadata(servable.name, servable.version, servable.signature_defs)

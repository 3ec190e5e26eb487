"""How requests name models and versions, and what is said of a version."""

import dataclasses

from serving.status import Code


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """The model that a request names. At most one of `version` and `label` is given.

    Attributes:
      version: None: the largest one that is loaded, or the labelled one.
      signature_name: `""` for the default one.
    """

    name: str
    version: int | None = None
    label: str | None = None
    signature_name: str = ""


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """The state of one version of a model, as GetModelStatus answers it.

    Attributes:
      state: START, LOADING, AVAILABLE, UNLOADING or END.
      code: of what went wrong, or OK.
    """

    version: int
    state: str
    code: Code = Code.OK
    message: str = ""

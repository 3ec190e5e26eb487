"""The models a server answers for: which version a request means, and each version's state."""

import dataclasses

from serving.status import Code, ServingError, invalid

AVAILABLE = "AVAILABLE"


@dataclasses.dataclass
class VersionState:
    """State of a version as the status answer lists it, and what answers for it.

    Attributes:
      state: str, one of START, LOADING, AVAILABLE, UNLOADING and END.
      servable: the loaded `servable.Servable`; None unless `AVAILABLE`.
      error: `ServingError` that ended it, or None.
    """

    state: str
    servable: object = None
    error: ServingError | None = None

    def to_json(self, version):
        """Its entry in the status answer."""
        return {
            "version": str(version),
            "state": self.state,
            "status": {
                "error_code": self.error.code.name if self.error else "OK",
                "error_message": self.error.message if self.error else "",
            },
        }


class Catalogue:
    """Models by name, their versions by number, and labels of versions."""

    def __init__(self):
        self._versions = {}
        self._labels = {}

    def add(self, servable):
        """Makes a loaded version available."""
        states = self._versions.setdefault(servable.name, {})
        states[servable.version] = VersionState(AVAILABLE, servable)

    def find(self, name, version=None, label=None):
        """The servable that answers a request: by version, by label, or the largest version.

        Raises:
          ServingError: NOT_FOUND, or INVALID_ARGUMENT for an unknown label.
        """
        if label is not None:
            if label not in self._labels.get(name, {}):
                raise invalid(f"Unrecognized servable version label: {label}")
            version = self._labels[name][label]
        available = {
            number: state.servable
            for number, state in self._versions.get(name, {}).items()
            if state.state == AVAILABLE
        }
        if version is None and available:
            version = max(available)
        if version not in available:
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")
        return available[version]

    def status(self, name, version=None):
        """The status answer, newest version first.

        Raises:
          ServingError: NOT_FOUND.
        """
        states = self._versions.get(name, {})
        if version is not None:
            if version not in states:
                raise ServingError(
                    Code.NOT_FOUND, f"Could not find version {version} of model {name}"
                )
            states = {version: states[version]}
        elif not states:
            raise ServingError(Code.NOT_FOUND, f"Could not find any versions of model {name}")
        return {
            "model_version_status": [
                states[number].to_json(number) for number in sorted(states, reverse=True)
            ]
        }

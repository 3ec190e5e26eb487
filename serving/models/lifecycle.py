"""A model and its versions: what each goes through, and what is to be done next.

No threads, no files and no clock: `serving/models/manager.py` has those.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING

from serving.models import versions
from serving.models.config import ModelConfig
from serving.models.spec import VersionStatus
from serving.status import Code, ServingError

if TYPE_CHECKING:
    from serving.models.servable import Servable


class State(enum.StrEnum):
    """TensorFlow Serving's states of a version, in the order in which they are gone through."""

    START = "START"
    LOADING = "LOADING"
    AVAILABLE = "AVAILABLE"
    UNLOADING = "UNLOADING"
    END = "END"


@dataclasses.dataclass(frozen=True)
class Retries:
    """How often, and how many seconds later, a load that failed is tried again."""

    number: int
    seconds: float


@dataclasses.dataclass(eq=False)
class Version:
    """A version of a model.

    Attributes:
      leases: requests that it answers now.
      failures: loads that failed, since one went well or the files changed.
      error: why it was last not loaded.
      retry_at: LOADING: when the next load is due; None: at once.
      is_busy: a thread loads or unloads it.
      stamp: of its files before the last load.
    """

    number: int
    path: str
    state: State = State.START
    servable: "Servable | None" = None
    leases: int = 0
    failures: int = 0
    error: ServingError | None = None
    retry_at: float | None = None
    is_busy: bool = False
    stamp: versions.Stamp = frozenset()

    def status(self) -> VersionStatus:
        """What GetModelStatus answers; a version that will be tried again is LOADING, and OK."""
        if self.state == State.END and self.error:
            return VersionStatus(self.number, self.state, self.error.code, self.error.message)
        return VersionStatus(self.number, self.state)


class Model:
    """A model: its config, its versions on disk, and its versions in memory.

    Attributes:
      config: None: it was left out of the config, so that nothing of it is wanted.
      on_disk: paths by version, when they were last looked at.
      versions: all that were ever wanted; those that were unloaded stay listed.
    """

    def __init__(self, config: ModelConfig | None) -> None:
        self.config = config
        self.on_disk: dict[int, str] = {}
        self.versions: dict[int, Version] = {}

    def wanted(self) -> set[int]:
        """The versions that are to be served."""
        if self.config is None:
            return set()
        return self.config.policy.wanted(self.on_disk, self.failures())

    def available(self) -> dict[int, Version]:
        """The versions that answer requests."""
        return {n: each for n, each in self.versions.items() if each.state == State.AVAILABLE}

    def failures(self) -> set[int]:
        """The versions whose last load failed."""
        return {each.number for each in self.versions.values() if each.failures}

    def found(self, on_disk: dict[int, str], stamps: Mapping[int, versions.Stamp]) -> None:
        """Takes what is on disk now. What failed is tried again if its files have changed.

        Args:
          stamps: of the versions of `failures`.
        """
        self.on_disk = on_disk
        for number, stamp in stamps.items():
            version = self.versions[number]
            if version.is_busy or stamp == version.stamp:
                continue
            version.retry_at = None
            if version.state == State.END:
                version.failures = 0

    def settle(self) -> None:
        """Moves versions on as far as that needs no work.

        Availability comes first, as in TensorFlow Serving's AvailabilityPreservingPolicy: a version
        that is not wanted any more leaves when one that is wanted is available, or none is wanted.
        """
        wanted = self.wanted()
        for number in wanted:
            old = self.versions.get(number)
            if old is None or (old.state == State.END and not old.failures):
                self.versions[number] = Version(number, self.on_disk[number])
        for version in self.versions.values():
            is_waiting = version.state in (State.START, State.LOADING) and not version.is_busy
            if is_waiting and version.number not in wanted:
                version.state = State.END
        available = self.available()
        leaving = sorted(available.keys() - wanted)
        if wanted and not wanted & available.keys():
            leaving = leaving[:-1]  # the largest one answers until a wanted one does
        for number in leaving:
            available[number].state = State.UNLOADING

    def due_loads(self, now: float) -> list[Version]:
        """Versions to load now, the largest first."""
        return [
            self.versions[number]
            for number in sorted(self.versions, reverse=True)
            if self._is_due(self.versions[number], now)
        ]

    @staticmethod
    def _is_due(version: Version, now: float) -> bool:
        waits = version.state == State.LOADING and not version.is_busy
        return version.state == State.START or (waits and (version.retry_at or now) <= now)

    def due_unloads(self) -> list[Version]:
        """Versions to unload now: no request needs them any more."""
        return [
            each
            for each in self.versions.values()
            if each.state == State.UNLOADING and not each.leases and not each.is_busy
        ]

    def next_retry(self, now: float) -> float | None:
        """When the next load becomes due, if one waits."""
        waiting = [
            each.retry_at
            for each in self.versions.values()
            if each.state == State.LOADING and not each.is_busy and (each.retry_at or 0) > now
        ]
        return min((each for each in waiting if each is not None), default=None)

    def restart(self) -> None:
        """What failed is tried again, because the model comes back after it was left out."""
        for version in self.versions.values():
            if version.state == State.END:
                version.failures = 0

    def loaded(self, version: Version, servable: "Servable") -> None:
        """A load went well. It may have become unwanted meanwhile."""
        version.is_busy = False
        version.servable = servable
        version.failures, version.error = 0, None
        version.state = State.AVAILABLE
        if version.number not in self.wanted():
            version.error = ServingError(Code.CANCELLED, "Loading of servable cancelled")
            version.state = State.UNLOADING

    def failed(self, version: Version, error: ServingError, retries: Retries, now: float) -> bool:
        """A load failed, of files with `version.stamp`.

        Returns:
          Whether it will be tried again.
        """
        version.is_busy = False
        version.failures += 1
        version.error = error
        if version.failures <= retries.number and version.number in self.wanted():
            version.retry_at = now + retries.seconds
            return True
        version.state = State.END
        return False

    @staticmethod
    def unloaded(version: Version) -> None:
        """It is out of memory; it stays listed."""
        version.is_busy = False
        version.state = State.END

    def is_hopeless(self) -> bool:
        """Whether nothing is available, nor will be unless the disk or the config changes."""
        if self.available():
            return False
        known = [self.versions.get(number) for number in self.wanted()]
        return all(each and each.state == State.END and each.failures for each in known)

    def lease(self, number: int | None) -> Version | None:
        """The version that answers a request, or None.

        Args:
          number: None: the largest one that is available.
        """
        available = self.available()
        version = available.get(max(available, default=-1) if number is None else number)
        if version:
            version.leases += 1
        return version

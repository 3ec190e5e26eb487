"""A request as bytes, the API that makes them, and plans: methods that ask by yielding requests.

A plan is a generator. It yields what it wants sent, gets the answers, and returns its result, so
that each method is written once for clients that block and for those that are asynchronous.
"""

import dataclasses
from collections.abc import Callable, Generator, Iterable
from typing import Any, Generic, Protocol, TypeVar

from serving.client.inputs import Arrays
from serving.client.results import Metadata, Scored, SignatureInfo
from serving.models.spec import ModelSpec, VersionStatus

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclasses.dataclass(frozen=True)
class Exchange(Generic[T_co]):
    """A request, and how its answer is read.

    Attributes:
      target: the path of a REST API below its address, or a method of gRPC.
      read: makes the result of the answer's bytes; raises ServingError if they are none.
      verb: of HTTP.
      is_retried: whether the client may send it again.
    """

    target: str
    body: bytes
    read: Callable[[bytes], T_co]
    verb: str = "POST"
    is_retried: bool = True


@dataclasses.dataclass(frozen=True)
class Burst(Generic[T_co]):
    """Requests that may be sent at once; the answer is the list of their results, in order."""

    exchanges: Iterable[Exchange[T_co]]


@dataclasses.dataclass(frozen=True)
class Pause:
    """Nothing to send for a while."""

    seconds: float


Plan = Generator[Burst[Any] | Pause, Any, T]


class Api(Protocol):
    """The requests of one of TensorFlow Serving's two APIs."""

    needs_signature: bool  # whether `predict` has to know the signature

    def predict(
        self,
        spec: ModelSpec,
        feeds: Arrays,
        outputs: Iterable[str],
        signature: SignatureInfo | None,
    ) -> Exchange[dict[str, Any]]:
        """Asks for outputs: a dict from name, or ONLY if it is not known, to a list of rows."""
        ...

    def classify(self, spec: ModelSpec, features: Arrays) -> Exchange[list[Scored]]:
        """Asks for labels with scores."""
        ...

    def regress(self, spec: ModelSpec, features: Arrays) -> Exchange[list[float]]:
        """Asks for a number per row."""
        ...

    def metadata(self, spec: ModelSpec) -> Exchange[Metadata]:
        """Asks for signatures."""
        ...

    def status(self, spec: ModelSpec) -> Exchange[list[VersionStatus]]:
        """Asks for the state of versions."""
        ...

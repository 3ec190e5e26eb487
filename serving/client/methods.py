"""What every client can ask, as plans (see `serving.client.exchanges`)."""

import dataclasses
from collections.abc import Collection
from typing import Any

from serving.client import inputs as inputs_module
from serving.client import results
from serving.client.exchanges import Api, Burst, Exchange, Pause, Plan
from serving.client.inputs import ONLY, Inputs
from serving.client.results import Answer, Metadata, Scored, SignatureInfo
from serving.models.spec import ModelSpec, VersionStatus
from serving.status import Code, ServingError, invalid

_SECONDS_BETWEEN_LOOKS = 0.25


class Methods:
    """The methods of a client of one model.

    Args:
      api: makes the requests.
      batch_size: maximum rows per request.
    """

    def __init__(self, api: Api, model_name: str, batch_size: int) -> None:
        self._api, self._name, self._batch_size = api, model_name, batch_size
        self._signatures: dict[ModelSpec, SignatureInfo] = {}

    def spec(
        self, signature: str = "", version: int | None = None, label: str | None = None
    ) -> ModelSpec:
        """The model, version and signature to ask."""
        if version is not None and label is not None:
            raise invalid(f"Version {version} and label {label!r} were given; give one of them.")
        return ModelSpec(self._name, version, label, signature)

    def predict(
        self, spec: ModelSpec, inputs: Inputs, outputs: Collection[str]
    ) -> Plan[list[Answer]]:
        """Predict, in batches."""
        feeds = inputs_module.arrays(inputs)
        if not inputs_module.num_rows(feeds):
            return []
        signature = (yield from self._signature(spec)) if self._api.needs_signature else None
        batches = list(inputs_module.batches(feeds, self._batch_size))
        exchanges = (self._api.predict(spec, batch, outputs, signature) for batch in batches)
        try:
            found = yield Burst(exchanges)
        except ServingError:
            self._signatures.pop(spec, None)  # a new version may have another one
            raise
        if ONLY in found[0]:
            signature = yield from self._signature(spec)
            name = next(iter(signature.outputs), "output")
            found = [{name: columns[ONLY]} for columns in found]
        rows: list[Answer] = []
        for batch, columns in zip(batches, found, strict=True):
            rows += results.answers(columns, inputs_module.num_rows(batch), outputs)
        return rows

    def classify(self, spec: ModelSpec, features: Inputs) -> Plan[list[Scored]]:
        """Classify, in batches."""
        feeds = inputs_module.arrays(features)
        batches = inputs_module.batches(feeds, self._batch_size)
        found = yield Burst(self._api.classify(spec, batch) for batch in batches)
        return _joined(found, inputs_module.num_rows(feeds))

    def regress(self, spec: ModelSpec, features: Inputs) -> Plan[list[float]]:
        """Regress, in batches."""
        feeds = inputs_module.arrays(features)
        batches = inputs_module.batches(feeds, self._batch_size)
        found = yield Burst(self._api.regress(spec, batch) for batch in batches)
        return _joined(found, inputs_module.num_rows(feeds))

    def metadata(self, spec: ModelSpec) -> Plan[Metadata]:
        """Signatures of a version."""
        (found,) = yield Burst([self._api.metadata(spec)])
        return found

    def status(self, spec: ModelSpec) -> Plan[list[VersionStatus]]:
        """States of versions, newest first."""
        (found,) = yield Burst([self._api.status(spec)])
        return found

    def wait_until_ready(self, spec: ModelSpec) -> Plan[int]:
        """Waits for metadata, which only a loaded version has; gives its version."""
        reason = "it did not answer"
        try:
            while True:
                found = yield from _asked(self._api.metadata(spec))
                if isinstance(found, Metadata):
                    return found.version
                statuses = yield from _asked(self._api.status(spec))
                has_words = isinstance(statuses, list) and statuses
                reason = ", ".join(map(shown, statuses)) if has_words else found.message
                yield Pause(_SECONDS_BETWEEN_LOOKS)
        except ServingError:
            raise ServingError(
                Code.DEADLINE_EXCEEDED,
                f"{spec.name} was not ready before the client's deadline: {reason}",
            ) from None

    def _signature(self, spec: ModelSpec) -> Plan[SignatureInfo]:
        if spec not in self._signatures:
            metadata = yield from self.metadata(spec)
            self._signatures[spec] = metadata.signature(spec.signature_name)
        return self._signatures[spec]


def _asked(exchange: Exchange[Any]) -> Plan[Any]:
    """What an exchange gives, tried once; its error if it fails in time."""
    try:
        (found,) = yield Burst([dataclasses.replace(exchange, is_retried=False)])
    except ServingError as error:
        if error.code == Code.DEADLINE_EXCEEDED:
            raise
        return error
    return found


def shown(status: VersionStatus) -> str:
    """The state of a version in words."""
    problem = f" ({status.code.name}: {status.message})" if status.code else ""
    return f"version {status.version} is {status.state}{problem}"


def _joined(batches: list[list[Any]], num_rows: int) -> list[Any]:
    rows = [row for batch in batches for row in batch]
    if len(rows) != num_rows:
        raise ServingError(Code.INTERNAL, f"{len(rows)} answers to {num_rows} rows.")
    return rows

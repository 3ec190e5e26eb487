"""Loads and unloads versions of models while requests are answered."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_tf import formatting
from serving.models import labels, lifecycle, versions
from serving.models.config import ModelConfig, of_messages
from serving.models.lifecycle import Model, State, Version
from serving.models.spec import ModelSpec, VersionStatus
from serving.monitoring.request_log import RequestLogs
from serving.options import ModelFlags
from serving.status import Code, ServingError, invalid

if TYPE_CHECKING:
    from serving.models.servable import Servable

Load = Callable[[str, int, str], "Servable"]  # of a model's name, a version and its path
Report = Callable[[str], None]

_FOREVER = float(threading.TIMEOUT_MAX)  # seconds


class ModelManager:
    """The models of a server: `serving.methods.core.Models`, and what changes them.

    One thread looks at the disk and decides; each load and each unload has a thread of its own.
    What requests call (`lease`, `statuses`) only waits for a lock that nobody keeps for long.

    Args:
      load: gives a servable that is ready to answer, or raises ServingError.
      report: takes a line for the operator, from any thread.
      request_logs: told which models are logged, and how; None: nothing is.
    """

    def __init__(
        self,
        options: ModelFlags,
        load: Load,
        report: Report,
        request_logs: RequestLogs | None = None,
    ) -> None:
        self._load, self._report, self.request_logs = load, report, request_logs
        self._poll_seconds = options.file_system_poll_wait_seconds
        self._retries = lifecycle.Retries(
            options.max_num_load_retries, max(0, options.load_retry_interval_micros) / 1e6
        )
        self._allow_unavailable = options.allow_version_labels_for_unavailable_models
        # As many as there are cores until the first models are there, as in TensorFlow Serving.
        self._max_loads = os.cpu_count() or 1
        self._max_loads_later = max(1, options.num_load_threads)
        self._max_unloads = max(1, options.num_unload_threads)
        self._models: dict[str, Model] = {}
        self._labels: labels.Labels = {}
        self._changed = threading.Condition()
        self._configuring = threading.Lock()
        self._complaints: dict[str, str] = {}  # what was last said of a base path
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)

    # What requests need.

    @contextlib.contextmanager
    def lease(self, spec: ModelSpec) -> Iterator["Servable"]:
        """See `serving.methods.core.Models`."""
        version = self._lease(spec)
        assert version.servable
        try:
            yield version.servable
        finally:
            with self._changed:
                version.leases -= 1
                if version.state == State.UNLOADING and not version.leases:
                    self._changed.notify_all()

    def _lease(self, spec: ModelSpec) -> Version:
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        number = spec.version
        with self._changed:
            if spec.label is not None:
                number = self._labels.get(spec.name, {}).get(spec.label)
                if number is None:
                    raise invalid(f"Unrecognized servable version label: {spec.label}")
            model = self._models.get(spec.name)
            version = model.lease(number) if model else None
        if version is None:
            which = f"Latest({spec.name})" if number is None else f"Specific({spec.name}, {number})"
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {which}")
        return version

    def statuses(self, name: str, version: int | None = None) -> Sequence[VersionStatus]:
        """See `serving.methods.core.Models`."""
        with self._changed:
            known = self._models[name].versions if name in self._models else {}
            numbers = known.keys() if version is None else known.keys() & {version}
            found = [known[number].status() for number in sorted(numbers, reverse=True)]
        if not found:
            which = "any versions" if version is None else f"version {version}"
            raise ServingError(Code.NOT_FOUND, f"Could not find {which} of model {name}")
        return found

    # What an operator needs.

    def configs(self) -> Mapping[str, ModelConfig]:
        """The models that are served, by name."""
        with self._changed:
            models = self._models.items()
            return {name: model.config for name, model in models if model.config}

    def available(self) -> Mapping[str, Collection[int]]:
        """The versions that answer requests, by model."""
        with self._changed:
            return {name: sorted(model.available()) for name, model in self._models.items()}

    def start(self, configs: Sequence[ModelConfig]) -> None:
        """Loads the first models.

        Raises:
          ServingError: UNKNOWN: a model has no version that can be loaded; FAILED_PRECONDITION: a
            label points at a version that is not loaded.
        """
        self._thread.start()
        self._configure(configs, "servable(s)")
        with self._changed:
            self._max_loads = self._max_loads_later

    def configure(self, messages: Iterable[Any]) -> None:
        """See `serving.methods.core.Models`; of ModelConfig messages."""
        self.apply(of_messages(messages))

    def apply(self, configs: Sequence[ModelConfig]) -> None:
        """Replaces all models, and waits until those that are new answer requests.

        Calls wait for each other. Models that are left out are unloaded.

        Raises:
          ServingError: UNKNOWN: no version of a new model can be loaded; the new config stays. Else
            the config is refused and nothing changes: NOT_FOUND or INVALID_ARGUMENT, a new model
            has no versions on disk; FAILED_PRECONDITION, a labelled version is not available.
        """
        self._configure(configs, "model(s)")

    def _configure(self, configs: Sequence[ModelConfig], noun: str) -> None:
        with self._configuring:
            known = self.configs()
            new = [config.name for config in configs if config.name not in known]
            for config in configs:
                if config.name not in known or known[config.name].base_path != config.base_path:
                    _require_versions(config)
            found = {config.name: self._look(config) for config in configs}
            set_logs = self._logs_of(configs)
            with self._changed:
                self._replace(configs, found)
                self._changed.notify_all()
            set_logs()
            self._wait_until_available(new, noun)

    def _logs_of(self, configs: Sequence[ModelConfig]) -> Callable[[], None]:
        """What sets the request logs; refused if one of them cannot be written."""
        if not self.request_logs:
            return lambda: None
        logged = {each.name: [each.logging] for each in configs if each.logging is not None}
        return self.request_logs.prepared(logged)

    def _replace(
        self, configs: Sequence[ModelConfig], found: Mapping[str, "_Found | None"]
    ) -> None:
        available = {name: model.available() for name, model in self._models.items()}
        self._labels = labels.assigned(
            configs, available, self._labels, allow_unavailable=self._allow_unavailable
        )
        before = {name for name, model in self._models.items() if model.config}
        for model in self._models.values():
            model.config = None
        for config in configs:
            model = self._models.setdefault(config.name, Model(config))
            if config.name not in before:
                model.restart()
            model.config = config
            if on_disk := found[config.name]:
                model.found(*on_disk)

    def _wait_until_available(self, names: Sequence[str], noun: str) -> None:
        def is_settled(name: str) -> bool:
            model = self._models[name]
            return bool(model.available()) or model.is_hopeless()

        with self._changed:
            self._changed.wait_for(
                lambda: self._is_stopping or all(is_settled(name) for name in names)
            )
            missing = [name for name in names if not self._models[name].available()]
            if missing:
                reasons = "".join(_reason(name, self._models[name]) for name in missing)
                message = f"{len(missing)} {noun} did not become available: {{{reasons}}}"
                raise ServingError(Code.UNKNOWN, message)

    def close(self) -> None:
        """Starts no load and no unload any more."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    # The thread that looks and decides.

    def _run(self) -> None:
        next_look = time.monotonic() + (self._poll_seconds or _FOREVER)
        while True:
            with self._changed:
                if self._is_stopping:
                    return
                self._advance()
                self._changed.wait(self._seconds_to_sleep(next_look))
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + (self._poll_seconds or _FOREVER)
                self._look_everywhere()

    def _seconds_to_sleep(self, next_look: float) -> float:
        now = time.monotonic()
        retries = [model.next_retry(now) for model in self._models.values()]
        return max(0.0, min([next_look, *(each for each in retries if each is not None)]) - now)

    def _look_everywhere(self) -> None:
        for name, config in self.configs().items():
            found = self._look(config)
            with self._changed:
                model = self._models[name]
                if found and model.config is config:
                    model.found(*found)

    def _look(self, config: ModelConfig) -> "_Found | None":
        """What is on disk, or None if that cannot be told: then all stays as it is."""
        with self._changed:
            model = self._models.get(config.name)
            failures = model.failures() if model else set()
            paths = {number: model.versions[number].path for number in failures} if model else {}
        try:
            on_disk = versions.on_disk(config.base_path)
        except OSError as error:
            self._complain(config, f"cannot be read: {error.strerror}; its versions stay")
            return None
        self._complain(config, "" if on_disk else "has no versions; all are unloaded")
        return on_disk, {number: versions.stamp(path) for number, path in paths.items()}

    def _complain(self, config: ModelConfig, what: str) -> None:
        """Says what is wrong with a base path, once."""
        if what and self._complaints.get(config.name) != what:
            self._report(f"{config.name}: base path {config.base_path} {what}.")
        self._complaints[config.name] = what

    def _advance(self) -> None:
        """Does all that is to be done now."""
        for model in self._models.values():
            model.settle()
        now = time.monotonic()
        for name, model in self._models.items():
            for version in model.due_unloads():
                if self._busy(State.UNLOADING) < self._max_unloads:
                    self._work_on(version, self._unload_version, name, model)
            for version in model.due_loads(now):
                if self._busy(State.LOADING) < self._max_loads:
                    version.state = State.LOADING
                    self._work_on(version, self._load_version, name, model)
        self._changed.notify_all()

    def _busy(self, state: State) -> int:
        all_versions = [each for model in self._models.values() for each in model.versions.values()]
        return sum(each.is_busy and each.state == state for each in all_versions)

    @staticmethod
    def _work_on(
        version: Version, work: Callable[[str, Model, Version], None], name: str, model: Model
    ) -> None:
        version.is_busy = True
        title = f"{name}/{version.number}"
        threading.Thread(target=work, name=title, args=(name, model, version), daemon=True).start()

    # What a thread of its own does.

    def _load_version(self, name: str, model: Model, version: Version) -> None:
        self._report(f"Loading {name}, version {version.number}, from {version.path} ...")
        stamp = versions.stamp(version.path)
        servable, error = None, None
        try:
            servable = self._load(name, version.number, version.path)
        except ServingError as caught:
            error = caught
        except Exception as caught:  # such as no memory: the other models still answer
            logging.exception("Loading %s, version %d, failed", name, version.number)
            error = ServingError(Code.INTERNAL, f"{type(caught).__name__}: {caught}")
        with self._changed:
            version.stamp = stamp
            next_try = ""
            if error and model.failed(version, error, self._retries, time.monotonic()):
                wait = formatting.duration(self._retries.seconds)
                which = f"{version.failures} of {self._retries.number}"
                next_try = f" It is tried again in {wait} ({which}), or when its files change."
            if servable:
                model.loaded(version, servable)
        reason = " ".join(str(error).split()).rstrip(".")  # TensorFlow's may have several lines
        what = f"cannot be loaded: {reason}.{next_try}" if error else "is loaded."
        self._report(f"{name}, version {version.number}, {what}")  # before what follows from it
        with self._changed:
            self._changed.notify_all()

    def _unload_version(self, name: str, model: Model, version: Version) -> None:
        servable, version.servable = version.servable, None
        try:
            if servable:
                servable.close()
        finally:
            del servable
            with self._changed:
                model.unloaded(version)
                self._changed.notify_all()
        self._report(f"{name}, version {version.number}, is unloaded.")


_Found = tuple[dict[int, str], dict[int, versions.Stamp]]


def _require_versions(config: ModelConfig) -> None:
    """Checks that a model, or a path, that is new has something to load."""
    try:
        on_disk = versions.on_disk(config.base_path)
    except OSError as error:
        raise invalid(
            f"Could not find base path {config.base_path} for servable {config.name} with error "
            f"NOT_FOUND: {error.strerror}"
        ) from None
    if not on_disk:
        raise ServingError(
            Code.NOT_FOUND,
            f"Unable to find a numerical version path for servable {config.name} at: "
            f"{config.base_path}",
        )


def _reason(name: str, model: Model) -> str:
    """Why a model is not available, in TensorFlow Serving's words."""
    failed = [each for each in model.versions.values() if each.error]
    newest = max(failed, key=lambda version: version.number, default=None)
    number = newest.number if newest else "?"
    where = model.config.base_path if model.config else "its base path"
    why = newest.error if newest else f"NOT_FOUND: none of the wanted versions is at {where}"
    return f"{{{{name: {name} version: {number}}} due to error: {why}}}, "

"""The manager with real directories and a load that only reads a file: no TensorFlow."""

import contextlib
import dataclasses
import shutil
import threading
import time

import pytest
from tensorflow_serving.config import model_server_config_pb2

from serving import options
from serving.models import manager as manager_lib
from serving.models.config import ModelConfig
from serving.models.policies import All, Latest, Specific
from serving.models.spec import ModelSpec
from serving.monitoring import request_log
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError


class Loaded:
    """What a fake load gives."""

    def __init__(self, version):
        self.version, self.is_closed = version, False

    def close(self):
        self.is_closed = True


class Models:
    """A manager, the directory of its models, and what it has printed."""

    def __init__(self, folder, **flags):
        self.folder, self.lines = folder, []
        self.loads = []
        self.gate = threading.Event()
        self.gate.set()
        flags = {"model_config_file": "unused", "max_num_load_retries": 0} | flags
        self.manager = manager_lib.ModelManager(
            options.ModelFlags(**flags), self.load, self.lines.append
        )
        self.manager._poll_seconds = 0.02  # the flag has whole seconds

    def load(self, name, version, path):
        self.loads.append((name, version))
        assert self.gate.wait(10)
        with open(f"{path}/saved_model.pb") as file:
            if file.read() != "good":
                raise ServingError(Code.DATA_LOSS, "it is broken")
        return Loaded(version)

    def write(self, name, version, content="good"):
        path = self.folder / name / str(version)
        path.mkdir(parents=True)
        (path / "saved_model.pb").write_text(content)

    def config(self, name, policy=None, **labels):
        return ModelConfig(name, str(self.folder / name), policy or Latest(), labels)

    def states(self, name):
        with contextlib.suppress(ServingError):
            return {each.version: str(each.state) for each in self.manager.statuses(name)}
        return {}

    def until(self, name, states):
        """Waits until the versions of a model have these states."""
        end = time.monotonic() + 10
        while self.states(name) != states and time.monotonic() < end:
            time.sleep(0.005)
        assert self.states(name) == states

    def version(self, name, **spec):
        with self.manager.lease(ModelSpec(name, **spec)) as servable:
            return servable.version


@pytest.fixture
def models(tmp_path):
    made = []

    def make(**flags):
        made.append(Models(tmp_path, **flags))
        return made[-1]

    yield make
    for each in made:
        each.gate.set()
        each.manager.close()


def refusal(call, *args):
    with pytest.raises(ServingError) as raised:
        call(*args)
    return raised.value.code, raised.value.message


def test_requests_find_the_latest_a_specific_or_a_labelled_version(models):
    it = models(allow_version_labels_for_unavailable_models=True)
    it.write("m", 1), it.write("m", 2), it.write("m", 3)
    it.manager.start([it.config("m", Specific(frozenset({1, 2})), stable=1)])
    it.until("m", {2: "AVAILABLE", 1: "AVAILABLE"})
    assert list(it.states("m")) == [2, 1]  # newest first
    assert (it.version("m"), it.version("m", version=1), it.version("m", label="stable")) == (
        2, 1, 1,
    )  # fmt: skip
    find = it.version
    assert refusal(lambda: find("x")) == (
        Code.NOT_FOUND, "Servable not found for request: Latest(x)",
    )  # fmt: skip
    assert refusal(lambda: find("m", version=3)) == (
        Code.NOT_FOUND, "Servable not found for request: Specific(m, 3)",
    )  # fmt: skip
    assert refusal(lambda: find("m", label="new")) == (
        Code.INVALID_ARGUMENT, "Unrecognized servable version label: new",
    )  # fmt: skip
    assert refusal(lambda: find("../m"))[0] == Code.NOT_FOUND
    statuses = it.manager.statuses
    assert refusal(statuses, "x") == (
        Code.NOT_FOUND, "Could not find any versions of model x",
    )  # fmt: skip
    assert refusal(statuses, "m", 9) == (Code.NOT_FOUND, "Could not find version 9 of model m")


def test_a_new_version_replaces_the_old_one_and_its_removal_brings_the_old_one_back(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.write("m", 2)
    it.until("m", {2: "AVAILABLE", 1: "END"})
    shutil.rmtree(it.folder / "m" / "2")
    it.until("m", {2: "END", 1: "AVAILABLE"})
    assert it.version("m") == 1
    it.write("m", 2)
    it.until("m", {2: "AVAILABLE", 1: "END"})


def test_the_old_version_answers_until_the_new_one_does(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.gate.clear()
    it.write("m", 2)
    it.until("m", {2: "LOADING", 1: "AVAILABLE"})
    assert it.version("m") == 1
    it.gate.set()
    it.until("m", {2: "AVAILABLE", 1: "END"})


def test_a_version_is_unloaded_when_its_requests_are_answered(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    with it.manager.lease(ModelSpec("m")) as servable:
        it.write("m", 2)
        it.until("m", {2: "AVAILABLE", 1: "UNLOADING"})
        assert not servable.is_closed
        assert it.version("m") == 2
    it.until("m", {2: "AVAILABLE", 1: "END"})
    assert servable.is_closed


def test_a_broken_new_version_changes_nothing_and_is_listed_with_its_error(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.write("m", 2, "broken")
    it.until("m", {2: "END", 1: "AVAILABLE"})
    (status,) = it.manager.statuses("m", 2)
    assert (status.code, status.message) == (Code.DATA_LOSS, "it is broken")
    assert any("m, version 2, cannot be loaded: DATA_LOSS: it is broken" in s for s in it.lines)


def test_at_the_start_an_older_version_stands_in_for_a_broken_one(models):
    it = models(max_num_load_retries=3)
    it.write("m", 1), it.write("m", 2), it.write("m", 3, "broken")
    it.manager.start([it.config("m")])
    assert it.version("m") == 2
    assert it.states("m") == {3: "LOADING", 2: "AVAILABLE"}  # it will be tried again


def test_a_version_that_becomes_whole_is_loaded_at_once(models):
    it = models(max_num_load_retries=3)  # the next try is a minute later
    it.write("m", 1), it.write("m", 2, "half")
    it.manager.start([it.config("m")])
    (it.folder / "m" / "2" / "saved_model.pb").write_text("good")
    it.until("m", {2: "AVAILABLE", 1: "END"})


def test_a_load_is_tried_again_so_many_times(models):
    it = models(max_num_load_retries=2, load_retry_interval_micros=1000)
    it.write("m", 1, "broken")
    code, message = refusal(it.manager.start, [it.config("m")])
    assert (code, it.loads) == (Code.UNKNOWN, [("m", 1)] * 3)
    assert message == (
        "1 servable(s) did not become available: "
        "{{{name: m version: 1} due to error: DATA_LOSS: it is broken}, }"
    )


def test_a_version_that_leaves_while_it_loads_does_not_become_available(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.gate.clear()
    it.write("m", 2)
    it.until("m", {2: "LOADING", 1: "AVAILABLE"})
    (it.folder / "m" / "2").rename(it.folder / "gone")
    time.sleep(0.1)  # it is seen that it has gone
    (it.folder / "m" / "2").symlink_to(it.folder / "gone")
    (it.folder / "m" / "2").unlink()
    it.gate.set()
    it.until("m", {2: "END", 1: "AVAILABLE"})
    assert it.manager.statuses("m", 2)[0].code != Code.OK


def test_an_empty_base_path_unloads_all_and_a_missing_one_nothing(models):
    it = models()
    it.write("m", 1), it.write("n", 1)
    it.manager.start([it.config("m"), it.config("n")])
    (it.folder / "n").rename(it.folder / "elsewhere")
    shutil.rmtree(it.folder / "m" / "1")
    it.until("m", {1: "END"})
    assert it.version("n") == 1
    assert sum("cannot be read: No such file" in line for line in it.lines) == 1


def test_a_config_replaces_all_models_and_waits_for_the_new_ones(models):
    it = models()
    it.write("a", 1), it.write("b", 1), it.write("b", 2)
    it.manager.start([it.config("a")])
    it.manager.apply([it.config("b", All())])
    assert it.version("b") in (1, 2)
    it.until("b", {2: "AVAILABLE", 1: "AVAILABLE"})
    it.until("a", {1: "END"})
    it.manager.apply([it.config("a"), it.config("b", Specific(frozenset({1})))])
    assert it.version("a") == 1
    it.until("b", {2: "END", 1: "AVAILABLE"})


def test_messages_are_a_config(models):
    it = models()
    it.write("a", 1)
    it.manager.start([])
    message = model_server_config_pb2.ModelConfigList()
    message.config.add(name="a", base_path=str(it.folder / "a"), model_platform="tensorflow")
    it.manager.configure(message.config)
    assert it.version("a") == 1


def test_a_config_with_a_broken_model_fails_and_the_others_answer(models):
    it = models()
    it.write("a", 1), it.write("b", 3, "broken")
    it.manager.start([it.config("a")])
    both = [it.config("a"), it.config("b")]
    failure = (
        Code.UNKNOWN,
        "1 model(s) did not become available: "
        "{{{name: b version: 3} due to error: DATA_LOSS: it is broken}, }",
    )
    assert refusal(it.manager.apply, both) == failure
    assert (it.version("a"), it.states("b")) == (1, {3: "END"})
    it.manager.apply([it.config("a")])
    assert refusal(it.manager.apply, both) == failure  # it was tried again


def test_a_config_with_a_missing_model_is_refused_whole(models):
    it = models()
    it.write("a", 1)
    (it.folder / "empty").mkdir()
    it.manager.start([it.config("a")])
    for name, code, message in (
        ("nowhere", Code.INVALID_ARGUMENT, "Could not find base path .*/nowhere for servable"),
        ("empty", Code.NOT_FOUND, "Unable to find a numerical version path for servable empty at"),
    ):
        with pytest.raises(ServingError, match=message) as raised:
            it.manager.apply([it.config(name)])
        assert raised.value.code == code
    moved = ModelConfig("a", str(it.folder / "empty"))
    assert refusal(it.manager.apply, [moved])[0] == Code.NOT_FOUND
    assert it.version("a") == 1
    assert it.manager.configs() == {"a": it.config("a")}


def test_a_label_moves_once_its_version_is_available(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.manager.apply([it.config("m", All(), stable=1)])
    it.write("m", 2)
    it.until("m", {2: "AVAILABLE", 1: "AVAILABLE"})
    it.manager.apply([it.config("m", All(), stable=2)])
    assert it.version("m", label="stable") == 2
    code, _ = refusal(it.manager.apply, [it.config("m", All(), stable=3)])
    assert code == Code.FAILED_PRECONDITION
    assert it.version("m", label="stable") == 2


def test_requests_while_versions_come_and_go_are_all_answered(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    wrong, ends = [], threading.Event()

    def ask():
        while not ends.is_set():
            with it.manager.lease(ModelSpec("m")) as servable:
                time.sleep(0.001)
                if servable.is_closed:
                    wrong.append(servable.version)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for version in range(2, 6):
        it.write("m", version)
        it.until("m", {version: "AVAILABLE"} | {v: "END" for v in range(1, version)})
    ends.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_after_close_nothing_is_loaded(models):
    it = models()
    it.write("m", 1)
    it.manager.start([it.config("m")])
    it.manager.close()
    it.write("m", 2)
    time.sleep(0.1)
    assert it.loads == [("m", 1)]


def test_a_config_sets_the_request_logs_or_is_refused_with_them(models, tmp_path):
    it = models()
    it.write("m", 1)
    it.manager.request_logs = request_log.RequestLogs(Metrics())
    logged = it.config("m")
    logging_config = model_server_config_pb2.ModelConfig().logging_config
    logging_config.log_collector_config.type = "tfrecord"
    logging_config.log_collector_config.filename_prefix = str(tmp_path / "log")
    logging_config.sampling_config.sampling_rate = 1
    it.manager.start([dataclasses.replace(logged, logging=logging_config)])
    wrong = type(logging_config)()
    wrong.log_collector_config.type = "none"
    code, message = refusal(it.manager.apply, [dataclasses.replace(logged, logging=wrong)])
    assert (code, message.partition(".")[0]) == (
        Code.NOT_FOUND,
        "Cannot find LogCollector::Factory for type: none",
    )
    assert it.manager.configs()["m"].logging == logging_config

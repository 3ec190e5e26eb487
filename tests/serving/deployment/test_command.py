"""The command from its flags to what it prints."""

import dataclasses
import pathlib
import re
import time

import pytest

from bert_tf.errors import InputError
from serving.deployment import command
from serving.deployment.options import Deploy
from serving.models import config
from serving.models.manager import ModelManager
from serving.models.spec import ModelSpec
from serving.options import ModelFlags

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "deployment.md"


@dataclasses.dataclass
class Loaded:
    """What a manager of the embedded server takes for a model."""

    version: int

    def close(self):
        pass


@pytest.fixture
def manager():
    flags = ModelFlags(model_config_file="unused", allow_version_labels_for_unavailable_models=True)
    made = ModelManager(flags, lambda name, version, path: Loaded(version), print)
    made._poll_seconds = 0.02  # the flag has whole seconds
    yield made
    made.close()


def answering(manager, wanted):
    """The version that answers to each label, once those that are wanted are loaded."""
    end = time.monotonic() + 30
    while time.monotonic() < end and set(wanted.values()) != {
        each.version for each in manager.statuses("topics") if each.state == "AVAILABLE"
    }:
        time.sleep(0.01)
    found = {}
    for label in wanted:
        with manager.lease(ModelSpec("topics", label=label)) as loaded:
            found[label] = loaded.version
    return found


def test_what_was_decided_and_what_to_do_next_is_printed(topics, tmp_path, capsys):
    folder = tmp_path / "deploy"
    options = Deploy(model_base_path=(str(topics),), output_dir=str(folder), previous_version=2)
    command.main(options)
    first, model, size, docker, kubernetes = capsys.readouterr().out.splitlines()
    num_files = sum(path.is_file() for path in folder.rglob("*"))
    assert first == f"{num_files} files in {folder}, for tensorflow/serving:2.20.0:"
    assert model.startswith("  topics (stable: 10, previous: 2); images 2.12 to 2.")
    assert size == "  4 CPUs and 1280 MiB of memory for each server"
    assert docker.endswith(f"docker compose --file {folder}/docker-compose.yml up --detach")
    assert kubernetes.endswith(f"kubectl apply --kustomize {folder}")


def test_why_a_model_is_not_batched_is_printed(tmp_path, write_version, capsys):
    write_version(tmp_path / "m" / "1", batching="")
    command.main(Deploy(model_base_path=(str(tmp_path / "m"),), output_dir=str(tmp_path / "d")))
    assert "; not batched: version 1 has no batching_params.pbtxt" in capsys.readouterr().out


def test_nothing_is_written_for_a_model_that_is_not_there(tmp_path):
    options = Deploy(model_base_path=(str(tmp_path / "m"),), output_dir=str(tmp_path / "d"))
    with pytest.raises(InputError):
        command.main(options)
    assert not list((tmp_path / "d").rglob("*.yml"))


def test_the_steps_of_a_roll_out_in_the_docs_are_accepted_by_a_server(topics, tmp_path, manager):
    rows = re.findall(r"^\| ([a-z ]+) \| `(--stable_version=\d.*?)` \|", DOCS.read_text(), re.M)
    assert [step for step, _ in rows] == ["try", "move", "roll back", "finish"]
    found = []
    for flags in ("--stable_version=1", *(flags for _, flags in rows)):
        chosen = {name: int(number) for name, number in re.findall(r"--(\w+)=(\d+)", flags)}
        command.main(Deploy(model_base_path=(str(topics),), output_dir=str(tmp_path), **chosen))
        (read,) = config.read(str(tmp_path / "config" / "models.config"))
        here = [dataclasses.replace(read, base_path=str(topics))]
        manager.apply(here) if found else manager.start(here)
        found.append(answering(manager, read.labels))
    assert found == [
        {"stable": 1},
        {"stable": 1, "canary": 2},
        {"stable": 2, "previous": 1},
        {"stable": 1, "previous": 2},
        {"stable": 2},
    ]

"""The command from its flags to what it prints."""

import pytest

from bert_tf.errors import InputError
from serving.deployment import command
from serving.deployment.options import Deploy


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

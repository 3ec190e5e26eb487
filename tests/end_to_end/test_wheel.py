"""The wheel, installed where the checkout is not on the path, and started by its own commands."""

import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from bert_tf import commands
from tests.reference import snippets

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = ("bert_tf", "export", "serving")
CONFIG = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
}


def copy_of_the_project(directory):
    """What a build reads, in `directory`; a build leaves files of its own there."""
    directory.mkdir(parents=True)
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, directory / package, ignore=ignored)
    for pattern in ("*.py", "*.toml", "requirements*.txt", "README.md", "LICENSE"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, directory)
    return directory


def pip(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def environment_with(directory, *requirement):
    """A fresh environment that shares the libraries of this one; returns its bin folder."""
    venv.create(directory, symlinks=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = directory / "bin" / "python"
    pip("--python", python, "install", "-q", "--no-deps", "--no-index", "--no-build-isolation",
        *requirement)  # fmt: skip
    return directory / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Path of the wheel of this checkout."""
    directory = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_project(directory / "source")
    pip("wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", directory, source)
    (path,) = directory.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of an environment that has the wheel."""
    return environment_with(tmp_path_factory.mktemp("installed") / "environment", wheel)


@pytest.fixture
def run(installed, tmp_path):
    """Runs a program of the environment in an empty folder; returns what it printed."""
    return lambda *command, folder=tmp_path: output_of(installed, command, folder)


def output_of(bin_folder, command, folder):
    program, *arguments = map(str, command)
    done = subprocess.run(
        [bin_folder / program, *arguments],
        cwd=folder,
        env=outside_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def outside_environment():
    """The environment of a process that must not find the checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    files = {str(path.relative_to(ROOT)) for path in paths if path.suffix != ".pyc"}
    assert {name for name in names if ".dist-info/" not in name} == files
    assert {f"{package}/py.typed" for package in PACKAGES} <= files


def test_bert_tf_is_the_only_console_script(wheel, installed):
    (distribution,) = importlib.metadata.distributions(
        name="bert-tf", path=[str(path) for path in installed.parent.glob("lib/*/site-packages")]
    )
    (script,) = distribution.entry_points
    assert (script.group, script.name) == ("console_scripts", "bert-tf")
    assert set(distribution.metadata.get_all("Provides-Extra")) == {
        "beam", "benchmarks", "dev", "gpu", "parquet"
    }  # fmt: skip


def test_the_commands_go_from_text_to_a_served_answer(installed, run, server, free_port, tmp_path):
    assert run("bert-tf") == commands.overview() + "\n"
    program = "import bert_tf, export, serving; print(bert_tf.__file__, export.__file__)"
    assert all(str(installed.parent) in path for path in run("python", "-c", program).split())
    write_inputs(tmp_path)
    text = f"--input_file={ROOT}/data/corpus/heldout.txt"
    run("bert-tf", "vocab", text, "--vocab_size=400", "--num_unused=0", "--output_file=vocab.txt")
    size = len((tmp_path / "vocab.txt").read_text().splitlines())
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": size}))
    model = ("--bert_config_file=config.json", "--vocab_file=vocab.txt", "--max_seq_length=32")
    run("bert-tf", "data", text, "--output_file=text.tfrecord", *model[1:], "--dupe_factor=1")
    shown = run("bert-tf", "inspect", "--vocab_file=vocab.txt", "text.tfrecord")
    assert "[MASK:" in shown
    steps = ("--num_train_steps=2", "--num_warmup_steps=1", "--train_batch_size=4")
    run("bert-tf", "pretrain", "--input_file=text.tfrecord", "--output_dir=pretrained", model[0],
        "--max_seq_length=32", "--do_train", *steps)  # fmt: skip
    run("bert-tf", "classify", "--task_name=tsv", "--data_dir=.", "--output_dir=topics", *model,
        "--init_checkpoint=pretrained", "--do_train", "--num_train_epochs=1",
        "--train_batch_size=4")  # fmt: skip
    run("bert-tf", "export", "--model_dir=topics", "--export_dir=models/topics")
    serve = [installed / "bert-tf", "serve", "--model_base_path=models/topics"]
    serve += ["--model_name=topics", f"--rest_api_port={free_port}"]
    with server(serve, tmp_path, outside_environment(), free_port):
        url = f"--url=http://127.0.0.1:{free_port}"
        answer = run("bert-tf", "client", url, "--model_name=topics", "An orbit.")
    labels = json.loads((tmp_path / "topics/model.json").read_text())["labels"]
    assert answer.split(": ")[0] in labels
    printed = run("python", library_programs(tmp_path))
    assert any(f"Classification(label={label!r}" in printed for label in labels)


def library_programs(directory):
    """A file with the programs of docs/library.md; their models are those that were trained."""
    (directory / "bert-base-uncased").symlink_to("pretrained")
    (directory / "out").mkdir()
    (directory / "out" / "topics").symlink_to("../topics")
    blocks = snippets.blocks("docs/library.md")
    programs = [text for text in blocks if "squad" not in text and "fine_tune" not in text]
    assert len(programs) == len(blocks) - 2
    (directory / "programs.py").write_text("\n".join(programs))
    return "programs.py"


def write_inputs(directory):
    """A few rows of each topic."""
    lines = (ROOT / "data/topics/train.tsv").read_text().splitlines()
    (directory / "train.tsv").write_text("\n".join(lines[:25]) + "\n")
    (directory / "dev.tsv").write_text("\n".join(lines[:9]) + "\n")


@pytest.mark.parametrize("is_editable", [False, True])
def test_a_checkout_named_bert_tf_hides_nothing_from_its_parent_folder(
    is_editable, installed, tmp_path
):
    checkout = copy_of_the_project(tmp_path / "bert_tf")
    if is_editable:
        installed = environment_with(tmp_path / "environment", "--editable", checkout)
    version = output_of(installed, ["bert-tf", "--version"], tmp_path)
    package = checkout if is_editable else installed.parent
    program = "import bert_tf, serving; print(bert_tf.__version__, bert_tf.__file__)"
    found = output_of(installed, ["python", "-c", program], tmp_path).split()
    assert found[0] == version.strip() and found[1].startswith(str(package))
    listing = output_of(installed, ["python", "-m", "bert_tf.checkpoints.hub"], tmp_path)
    assert listing == output_of(installed, ["bert-tf", "presets"], tmp_path)
    script = [installed / "python", "bert_tf/run_classifier.py", "--help"]
    done = subprocess.run(script, cwd=tmp_path, env=outside_environment(), capture_output=True)
    assert b"--task_name" in done.stdout + done.stderr


def test_importing_bert_tf_takes_a_tenth_of_a_second():
    program = "import time; s = time.process_time(); import bert_tf; print(time.process_time() - s)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True)
    assert float(done.stdout) < 0.1

"""The wheel, installed where the checkout is not on the path: the README from top to bottom.

Its shell blocks run as one script, as a reader pastes them, with `bert-tf NAME` in place of the
programs of the checkout; then its Python blocks and those of docs/library.md in one process. What
`make quickstart` leaves is there, with a tiny model for weights, and a tenth of the questions.
"""

import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from bert_tf import commands
from tests.reference import shell_blocks, snippets

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = ("bert_tf", "export", "serving")
QUESTION = "Which rocket carried the astronauts to the Moon?"
LIBRARY = "docs/library.md"
# What the library page names, and where the README has left it.
NAMES = {"bert-base-uncased": "out/pretrained", "models": "out/models"}


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
        "beam", "benchmarks", "dev", "gpu", "parquet", "runtimes"
    }  # fmt: skip


def test_the_readme_and_the_library_page_run_from_top_to_bottom(
    installed, run, environment, reader, free_port, lines_of_tensorflow
):
    assert run("bert-tf") == commands.overview() + "\n"
    program = "import bert_tf, export, serving; print(bert_tf.__file__, export.__file__)"
    assert all(str(installed.parent) in path for path in run("python", "-c", program).split())
    environment.pop("PYTHONPATH", None)
    script = shell_blocks.with_console_commands(shell_blocks.script("README.md"), kept=["squad"])
    assert set(shell_blocks.starts("README.md").values()) > set(
        re.findall(r"bert-tf (\w+)", script)
    )
    assert re.findall(r"python \S+", script) == ["python run_squad.py"]
    script = script.replace("8501", str(free_port))
    printed = finished(["bash", "-e", "-c", script], reader, environment)
    assert "[MASK:" in printed
    labels = json.loads((reader / "out/topics/model.json").read_text())["labels"]
    (answer,) = [line for line in printed.splitlines() if line.endswith(f"\t{QUESTION}")]
    assert answer.split(": ")[0] in labels
    assert len((reader / "out/vocab.txt").read_text().splitlines()) == 3000
    for path in ("train.tfrecord", "pretrained/eval_results.txt", "squad/predictions.json"):
        assert (reader / "out" / path).stat().st_size > 0

    for name in ("topics", "pretrained"):
        (reader / "quickstart" / name).symlink_to(reader / "out" / name)
    for name, path in NAMES.items():
        (reader / name).symlink_to(path)
    in_python = finished([installed / "python", "-c", programs()], reader, environment)
    assert any(f"Classification(label={label!r}" in in_python for label in labels)
    assert (reader / "stars.keras").is_file() and (reader / "out/films/model.json").is_file()
    # Many models in one process, and TensorFlow warns of retracing: only the README is judged.
    of_the_readme, _ = in_python.split(f"{LIBRARY}\n")
    assert lines_of_tensorflow(printed + of_the_readme) == []


@pytest.fixture
def reader(installed, little_data, tiny_bert, tmp_path):
    """The folder of a reader: without the packages, which come from the wheel."""
    (tmp_path / "data").symlink_to(little_data)
    shutil.copy(ROOT / "run_squad.py", tmp_path)  # Python would look for packages behind a link
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "weights").symlink_to(tiny_bert)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").write_text(f'PATH="{installed}:$PATH"\n')
    return tmp_path


def programs():
    """The Python blocks of the README, then those of the library page."""
    between = f"print({LIBRARY!r}, flush=True)\nimport shutil\n"
    between += "shutil.rmtree('out/films')\n"  # both pages train into this folder
    text = between.join("".join(snippets.blocks(page)) for page in ("README.md", LIBRARY))
    return f"{text}assert type(classifier).__name__ == 'TextClassifier'\n"


def finished(command, folder, environment):
    """What a command printed, once it has ended well."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


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

import os

import pytest

from bert_tf import invocation


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """`python` and `bert-tf` in env/bin below the working directory."""
    folder = tmp_path / "env" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "bert-tf"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(invocation.sys, "executable", str(folder / "python"))
    monkeypatch.setattr(invocation.sys, "orig_argv", ["python", str(folder / "bert-tf"), "export"])
    return folder


def started_as(monkeypatch, name, path):
    monkeypatch.setattr(invocation.sys, "argv", [name])
    monkeypatch.setenv("PATH", str(path))
    return invocation.of("serve", "-m serving")


def test_what_is_on_the_path_is_named(programs, monkeypatch):
    assert started_as(monkeypatch, "bert-tf export", programs) == "bert-tf serve"
    assert started_as(monkeypatch, "export/savedmodel.py", programs) == "python -m serving"


def test_what_the_path_does_not_find_has_its_own_path(programs, monkeypatch, tmp_path):
    assert started_as(monkeypatch, "bert-tf export", tmp_path) == "env/bin/bert-tf serve"
    assert started_as(monkeypatch, "run.py", tmp_path) == "env/bin/python -m serving"
    (tmp_path / "else where").mkdir()
    os.rename(programs / "python", tmp_path / "else where" / "python")
    monkeypatch.chdir(programs)
    monkeypatch.setattr(invocation.sys, "executable", str(tmp_path / "else where" / "python"))
    quoted = f"'{tmp_path}/else where/python' -m serving"
    assert started_as(monkeypatch, "run.py", tmp_path) == quoted


def test_another_environment_s_python_is_not_named(programs, monkeypatch, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "python").write_text("#!/bin/sh\n")
    (other / "python").chmod(0o755)
    assert started_as(monkeypatch, "run.py", other) == "env/bin/python -m serving"

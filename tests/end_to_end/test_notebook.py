"""The notebook: clean as committed, and every cell runs in a fresh process, on a tiny model."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[2] / "notebooks" / "text_to_answer.ipynb"
MAX_LINES = 20  # of a cell

# Runs the cells one after the other. As papermill does, values are set after the parameters' cell.
PROGRAM = """
import json, sys
cells, values = json.loads(sys.argv[1])
names = {"__name__": "__main__"}
for name, source in cells:
    print(f"[cell {name}]", flush=True)
    exec(compile(source, name, "exec"), names)
    if name == "parameters":
        names.update(values)
"""


@pytest.fixture(scope="module")
def notebook():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_committed_without_outputs_in_short_cells(notebook):
    for cell in code_cells(notebook):
        assert (cell["outputs"], cell["execution_count"]) == ([], None), cell["id"]
        assert len(cell["source"]) <= MAX_LINES, cell["id"]
        assert not re.search(r"^\s*[%!]", "".join(cell["source"]), re.MULTILINE), cell["id"]
    (parameters,) = [cell for cell in code_cells(notebook) if cell["metadata"].get("tags")]
    assert (parameters["id"], parameters["metadata"]["tags"]) == ("parameters", ["parameters"])


def test_all_cells_run_in_their_order(
    notebook, checkout, little_data, tiny_bert, environment, free_port
):
    (checkout / "data").unlink()
    (checkout / "data").symlink_to(little_data)
    cells = [(cell["id"], "".join(cell["source"])) for cell in code_cells(notebook)]
    values = {"MODEL": str(tiny_bert), "OUT": "notebook-out", "PORT": free_port, "NUM_EPOCHS": 1}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([cells, values])],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = dict(re.findall(r"\[cell ([\w-]+)\]\n(.*?)(?=\[cell|\Z)", done.stdout, re.DOTALL))
    assert printed.keys() == dict(cells).keys()
    assert printed["wordpieces"].startswith("['elizabeth', 'was', 'una', ")
    assert "'netherfield'" in printed["vocabulary"]
    assert "[MASK:" in printed["masks"]
    assert "'accuracy': 0." in printed["evaluation"]
    assert "notebook-out/models/topics/1: " in printed["export"]
    labels = json.loads((checkout / "notebook-out/topics/model.json").read_text())["labels"]
    first, second = printed["ask"].splitlines()
    assert first.startswith("Which rocket carried the astronauts to the Moon? ['")
    assert re.search(r"\['(.+?): 0\.\d{3}', ", second)[1] in labels

"""The docs against the tree: what they name exists, and the page of the rooms names all of them."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PACKAGES = ("bert_tf", "export", "serving")
# A path of ours in running text, a table or a code block.
PATH = r"(?<![\w/.$-])((?:bert_tf|export|serving|tests|benchmarks|docs|data)/[\w/.-]*\w/?)"


def named_paths(text):
    return set(re.findall(PATH, text))


def rooms():
    """Every folder with modules."""
    for package in PACKAGES:
        for folder in {path.parent for path in (ROOT / package).rglob("*.py")}:
            yield str(folder.relative_to(ROOT))


def unnamed(text):
    """Rooms that a page does not name: packages by their path, rooms in them by their name."""
    wanted = {room: room for room in rooms() if room.rpartition("/")[0] in ("", "bert_tf")}
    names = {room: wanted.get(room, room.split("/")[-1]) for room in rooms()}
    return {room for room, name in names.items() if f"{name}/" not in text and name not in PACKAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    paths = named_paths(page.read_text())
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_the_page_of_the_rooms_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert len(set(rooms())) > 20
    assert unnamed(text) == set()
    assert len(named_paths(text)) > 30


def test_what_is_missing_would_be_found():
    assert named_paths("see `bert_tf/no/such.py`, bert_tf/text/ and docs/a.md.") == {
        "bert_tf/no/such.py",
        "bert_tf/text/",
        "docs/a.md",
    }
    assert "bert_tf/training/step" in unnamed("only bert_tf/training/ is named")

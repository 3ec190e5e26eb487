"""The files of the page, read without a browser; tests/end_to_end/test_page.py has one."""

import pathlib
import re
import shutil
import subprocess

import pytest

from serving.page import assets
from tests.reference.html_page import Page

FILES = assets.load()
TEXTS = {path: asset.body.decode() for path, asset in FILES.items()}
SCRIPTS = {path: text for path, text in TEXTS.items() if path.endswith(".js")}


@pytest.fixture(scope="module")
def page():
    return Page(TEXTS["/"])


def test_every_file_of_the_folder_is_served():
    folder = pathlib.Path(assets.__file__).parent / "assets"
    names = {f"/assets/{path.name}" for path in folder.iterdir()}
    assert names - {"/assets/index.html"} | {"/"} == set(FILES)


def test_the_page_is_small():
    assert sum(len(asset.body) for asset in FILES.values()) < 100_000


def test_every_tag_closes(page):
    assert page.open == []


def test_what_the_page_loads_is_served(page):
    wanted = [attributes.get("src") or attributes.get("href") for _, attributes in page.tags]
    wanted = {f"/{name}" for name in wanted if name and not name.startswith("#")}
    for text in SCRIPTS.values():
        wanted |= {f"/assets/{name}" for name in re.findall(r'from "\./(.*?)"', text)}
    assert wanted == set(FILES) - {"/"}


def test_nothing_is_loaded_from_elsewhere():
    allowed = {"http://HOST:PORT", "http://www.w3.org/2000/svg"}  # in a text; a name, no address
    for path, text in TEXTS.items():
        found = re.findall(r"\w+://[\w.:/-]+", text)
        assert {each.split("/v1")[0] for each in found} <= allowed, path
    assert re.findall(r"@import|\burl\(", TEXTS["/assets/page.css"]) == []


def test_the_policy_of_the_page_is_kept(page):
    for tag, attributes in page.tags:
        assert not any(name == "style" or name.startswith("on") for name in attributes), tag
        assert tag != "style" and (tag != "script" or attributes.get("src"))


@pytest.mark.parametrize("path", SCRIPTS)
def test_no_text_can_become_html_or_code(path):
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
    assert re.findall(unsafe, SCRIPTS[path]) == []


def test_ids_are_unique_and_labels_and_scripts_name_some(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("for", "aria-labelledby")
    }
    for text in SCRIPTS.values():
        named |= set(re.findall(r'byId\("([\w-]+)"\)', text))
    assert named and named <= set(ids)


def test_every_list_has_a_label(page):
    labelled = {attributes["for"] for tag, attributes in page.tags if tag == "label"}
    lists = {attributes["id"] for tag, attributes in page.tags if tag == "select"}
    assert lists and lists <= labelled


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_are_valid(path):
    node = shutil.which("node")
    if not node:
        pytest.skip("No node: the syntax of scripts is not checked.")
    done = subprocess.run(
        [node, "--check", "--input-type=module"],
        input=SCRIPTS[path],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def test_files_are_as_long_as_those_of_the_code():
    for path, text in TEXTS.items():
        lines = text.splitlines()
        assert len(lines) <= 400, path
        if not path.endswith((".svg", ".css")):
            assert [line for line in lines if len(line) > 100] == []

"""What a reader may rely on in every file: its size, its name, its test, the help of its flags."""

import ast
import dataclasses
import importlib
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("bert_tf", "export", "serving", "tests", "benchmarks", "docs")
PYTHON = [*ROOT.glob("*.py"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))]
PYTHON = {str(path.relative_to(ROOT)): path for path in sorted(PYTHON)}
CODE = [name for name in PYTHON if name.startswith(("bert_tf/", "export/", "serving/"))]

# Tests of no single file: of the whole, of the parts against each other, and what they share.
NOT_MIRRORED = ("tests/end_to_end/", "tests/golden/", "tests/reference/", "tests/structure/")


@pytest.fixture(scope="module")
def tracked():
    """Dict from name to text of every tracked text file, data aside."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("Not a git checkout: nothing is tracked.")
    names = [name for name in done.stdout.split("\0") if name and not name.startswith("data/")]
    texts = {}
    for name in names:
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in content:
            texts[name] = content.decode("utf-8")
    return texts


def lines_with(pattern, texts):
    """`name:number: line` of each line in which the pattern is found."""
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(pattern, line)
    ]


def test_no_python_file_is_longer_than_400_lines():
    lengths = {name: len(path.read_text().splitlines()) for name, path in PYTHON.items()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_no_file_is_named_for_what_did_not_fit_elsewhere():
    assert [name for name in PYTHON if re.search(r"(utils?|common|helpers?|misc)\.py$", name)] == []


def test_every_code_file_says_what_it_is():
    assert [
        name for name in CODE if not ast.get_docstring(ast.parse(PYTHON[name].read_text()))
    ] == []


def mirrored(test):
    """Names of the code files that a test file may stand for; a folder may stand for one too."""
    path = pathlib.PurePath(test).relative_to("tests")
    file = path.with_name(path.name.removeprefix("test_"))
    main = file.with_name(f"__{file.stem}__.py")
    return {str(file), f"bert_tf/{file}", str(main), f"bert_tf/{path.parent}.py"}


def test_every_test_file_mirrors_a_code_file():
    tests = [
        name
        for name in PYTHON
        if pathlib.PurePath(name).match("tests/**/test_*.py") and not name.startswith(NOT_MIRRORED)
    ]
    assert len(tests) > 30
    assert [name for name in tests if not mirrored(name) & PYTHON.keys()] == []


def test_a_test_file_without_a_code_file_is_found():
    assert mirrored("tests/text/test_vocab.py") & PYTHON.keys() == {"bert_tf/text/vocab.py"}
    assert mirrored("tests/export/kinds/test_chunks.py") & PYTHON.keys() == {
        "export/kinds/chunks.py"
    }
    of_folder = mirrored("tests/modeling/encoder/test_block.py")
    assert of_folder & PYTHON.keys() == {"bert_tf/modeling/encoder.py"}
    assert not mirrored("tests/text/test_vocabulary_of_no_file.py") & PYTHON.keys()


def options_classes():
    """Every dataclass of flags in the code."""
    for name in CODE:
        if not re.search(r"flagging import .*\boption\b", PYTHON[name].read_text()):
            continue
        module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
        for value in vars(module).values():
            is_own = dataclasses.is_dataclass(value) and value.__module__ == module.__name__
            if is_own and any("help" in field.metadata for field in dataclasses.fields(value)):
                yield value


def test_every_flag_has_help():
    found = list(options_classes())
    names = {options_class.__name__ for options_class in found}
    assert {"Classifier", "PreTraining", "QuestionAnswering", "Export", "Server"} <= names
    wrong = [
        f"{options_class.__name__}.{field.name}"
        for options_class in found
        for field in dataclasses.fields(options_class)
        if not re.fullmatch(r"(?s)(\(new\) )?\w.{4,}[.)]", field.metadata.get("help", ""))
    ]
    assert wrong == []


# Put together here, so that this file does not hold them.
LATER = r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b"
# A path that starts there, not the rest of a longer one.
MACHINE_PATH = r"(?<![\w.}$*-])/(work|home|root|tmp|Users|mnt)\b"
REGISTRY = "|".join(("pypi" + r"\.", "python" + "hosted", "artifact" + "ory", "index-" + "url"))


def test_nothing_is_left_for_later(tracked):
    texts = {name: text for name, text in tracked.items() if name != "LICENSE"}
    assert lines_with(LATER, texts) == []


def test_no_path_of_somebody_s_machine(tracked):
    assert lines_with(MACHINE_PATH, tracked) == []


def test_no_host_of_a_package_registry(tracked):
    assert lines_with(REGISTRY, tracked) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (LATER, "# TO" + "DO(me): later"),
        (MACHINE_PATH, "see /ho" + "me/me/bert"),
        (MACHINE_PATH, "a = '/tm" + "p'"),
        (MACHINE_PATH, "file:///ro" + "ot/x"),
        (REGISTRY, "https://py" + "pi.org/simple"),
    ],
)
def test_the_searches_find_what_they_search(pattern, text):
    assert lines_with(pattern, {"file": f"first\n{text}"}) == [f"file:2: {text}"]


@pytest.mark.parametrize("text", ["data/work/x", "$TMP/tmp", "../home", "/workers", "s/root/x"])
def test_other_paths_are_no_machine_s(text):
    assert lines_with(MACHINE_PATH, {"file": text}) == []

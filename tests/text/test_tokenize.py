import io
import json
import pathlib
import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.text import tokenize
from bert_tf.text.tokenize import TokenizeOptions

ROOT = pathlib.Path(__file__).parents[2]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "!", "é", "北"]


@pytest.fixture
def vocab_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(TOKENS), encoding="utf-8")
    return str(path)


@pytest.fixture
def run(vocab_file, monkeypatch, capsys):
    """Runs the tool in this process on bytes; returns its output lines and errors."""

    def run_on(data, arguments=(), **options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            tokenize.main(TokenizeOptions(vocab_file=vocab_file, **options), arguments)
        finally:
            run_on.output, run_on.errors = capsys.readouterr()
        return [json.loads(line) for line in run_on.output.splitlines()]

    return run_on


UNAFFABLE = {"ids": [5, 6, 7, 8], "tokens": ["un", "##aff", "##able", "!"]}


def test_python_form_prints_ids_tokens_and_offsets(run):
    assert run(b'"Unaffable!"\n"\\u5317 "\r\n""') == [
        UNAFFABLE | {"offsets": [[0, 2], [2, 5], [5, 9], [9, 10]]},
        {"ids": [10], "tokens": ["北"], "offsets": [[0, 1]]},
        {"ids": [], "tokens": [], "offsets": []},
    ]
    assert "北" in run.output
    assert run.errors == ""


def test_graph_form_prints_ids_and_tokens(run):
    answers = run('"Unaffable!"\n"北\\ud800\\u0000"\n'.encode(), form="graph")
    assert answers == [UNAFFABLE, {"ids": [10, 1], "tokens": ["北", "[UNK]"]}]


def test_keeping_case_warns_about_an_uncased_vocabulary(run):
    (answer,) = run(b'"Un\\u00e9"\n', do_lower_case=False)
    assert answer["tokens"] == ["[UNK]"]
    assert run.errors.startswith("WARNING: --vocab_file")


@pytest.mark.parametrize("form", ["python", "graph"])
def test_lines_of_plain_text_are_answered_in_their_places(run, form):
    answers = run('Unaffable!\n\nun\r\n"un\n1\n北'.encode() + b"\xff", form=form)
    tokens = [answer["tokens"] for answer in answers]
    assert tokens == [UNAFFABLE["tokens"], [], ["un"], ["[UNK]", "un"], ["[UNK]"], ["北"]]


def test_a_json_string_is_read_as_one_unless_the_format_is_text(run):
    assert [answer["tokens"] for answer in run(b'"un"\n')] == [["un"]]
    assert [answer["tokens"] for answer in run(b'"un"\n', line_format="text")] == [
        ["[UNK]", "un", "[UNK]"]
    ]


def test_arguments_are_plain_texts(run):
    answers = run(b"not read", arguments=["un able", '"un"'])
    assert [answer["tokens"] for answer in answers] == [
        ["un", "[UNK]"],
        ["[UNK]", "un", "[UNK]"],
    ]


@pytest.mark.parametrize("line", [b"Unaffable!", b"", b"[1]", b"null", b'"a" "b"', b"\xff", b'"'])
def test_names_the_line_that_is_not_a_string(run, line):
    with pytest.raises(InputError, match="Line 2 of standard input is not a JSON string"):
        run(b'"un"\n' + line + b'\n"un"\n', line_format="json")
    assert [json.loads(answer)["tokens"] for answer in run.output.splitlines()] == [["un"]]


def test_runs_as_a_command(vocab_file):
    command = [sys.executable, "-m", "bert_tf.text.tokenize", f"--vocab_file={vocab_file}"]
    command.append("--line_format=json")
    done = subprocess.run(command, cwd=ROOT, input=b'"un"\n1\n', capture_output=True)
    assert done.returncode == 2
    assert json.loads(done.stdout) == {"ids": [5], "tokens": ["un"], "offsets": [[0, 2]]}
    assert done.stderr.decode().startswith("ERROR: Line 2 of standard input")


def test_python_form_does_not_load_tensorflow():
    check = "import bert_tf.text.tokenize, sys; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)

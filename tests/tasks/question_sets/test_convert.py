"""Conversion from file to file, and what a person sees of it."""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.readers.squad_layout import SquadLayout
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import convert

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture
def triviaqa(tmp_path):
    """Options of a conversion of two questions with three documents, one without an answer."""
    documents = {"wikipedia/Sea.txt": "The sea is deep.", "wikipedia/Tea.txt": "A cup of Tea."}
    for name, text in documents.items():
        path = tmp_path / "evidence" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    questions = [
        {
            "QuestionId": question_id,
            "Question": question,
            "Answer": {"Value": answer, "Aliases": [answer], "NormalizedAliases": [answer.lower()]},
            "EntityPages": [{"Filename": name, "Title": name[:3]} for name in names],
            "SearchResults": [],
        }
        for question_id, question, answer, names in (
            ("tc_1", "What is in the cup?", "Tea", ["Sea.txt", "Tea.txt", "Pea.txt"]),
            ("tc_2", "What is deep?", "the Sea", ["Sea.txt"]),
        )
    ]
    (tmp_path / "train.json").write_text(json.dumps({"Data": questions, "Domain": "Wikipedia"}))

    def options(**changes):
        values = {"layout": "triviaqa", "evidence_dir": str(tmp_path / "evidence")}
        values |= {"input_file": str(tmp_path / "train.json")}
        values |= {"output_file": str(tmp_path / "out" / "trivia.json")}
        return QuestionSet(**values | changes)

    return options


@pytest.fixture
def natural_questions(tmp_path):
    """Options of a conversion of two questions, one of them unanswerable."""
    paragraph = {"start_token": 0, "end_token": 6, "candidate_index": 0}
    lines = [
        {
            "example_id": number,
            "question_text": "who drinks tea",
            "document_text": "<P> The hatter drinks tea </P>",
            "annotations": [
                {"yes_no_answer": "NONE", "long_answer": paragraph, "short_answers": short_answers}
            ],
        }
        for number, short_answers in ((5, [{"start_token": 1, "end_token": 3}]), (6, []))
    ]
    path = tmp_path / "nq.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return QuestionSet(
        layout="natural_questions", input_file=str(path), output_file=str(tmp_path / "nq.json.gz")
    )


def questions(path):
    """(id, answers cut out of their context) of each question of a file."""
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        document = json.load(file)
    for article in document["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                starts = [(each["answer_start"], each["text"]) for each in question["answers"]]
                cut = [paragraph["context"][start : start + len(text)] for start, text in starts]
                assert cut == [text for _, text in starts]
                yield question["id"], cut


def test_triviaqa_is_converted_and_the_next_command_is_named(triviaqa, capsys):
    options = triviaqa()
    convert.main(options)
    found = list(questions(options.output_file))
    assert found == [("tc_1--Tea.txt", ["Tea"]), ("tc_2--Sea.txt", ["The sea"])]
    wrote, kept, left_out, then, command = capsys.readouterr().out.splitlines()
    assert wrote == f"Wrote {options.output_file} ({os.path.getsize(options.output_file)} bytes)."
    assert kept == "Questions: 2 with an answer."
    assert left_out == (
        "Left out: 1 without an answer in the first 400 words of the document, "
        "1 whose document is not in --evidence_dir."
    )
    directory = options.output_file.removesuffix(".json")
    assert then.endswith(f"on SQuAD with --init_checkpoint={directory}:")
    assert command.endswith(
        f"run_squad.py --do_train --train_file={options.output_file} --init_checkpoint=BERT "
        f"--output_dir={directory}"
    )


def test_natural_questions_are_converted_to_squad_2_0(natural_questions, capsys):
    convert.main(natural_questions)
    path = natural_questions.output_file
    assert list(questions(path)) == [("5", ["The hatter"]), ("6", [])]
    text = capsys.readouterr().out
    assert "Questions: 1 with an answer, 1 unanswerable.\n" in text and "Left out" not in text
    assert f"--train_file={path} --version_2_with_negative " in text
    assert text.endswith(f"--output_dir={path.removesuffix('.json.gz')}\n")


def test_run_squad_reads_what_is_written(triviaqa, natural_questions, capsys):
    convert.main(triviaqa())
    convert.main(natural_questions)
    trivia = training_examples(triviaqa(), version_2_with_negative=False)
    assert [each.answers[0].text for each in trivia] == ["Tea", "The sea"]
    natural = training_examples(natural_questions, version_2_with_negative=True)
    assert [each.is_impossible for each in natural] == [False, True]
    assert "WARNING" not in capsys.readouterr().out


def training_examples(options, *, version_2_with_negative):
    layout = SquadLayout(version_2_with_negative=version_2_with_negative, is_training=True)
    return layout.read_as_is(options.output_file, None, is_test=False, is_quiet=False)


def test_compressed_questions_give_the_same_bytes(triviaqa, tmp_path):
    packed = tmp_path / "train.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "train.json").read_bytes()))
    outputs = []
    for input_file, name in ((tmp_path / "train.json", "a"), (packed, "b")):
        convert.main(triviaqa(input_file=str(input_file), output_file=str(tmp_path / name)))
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


def test_where_nothing_can_be_kept_nothing_is_written(triviaqa, tmp_path):
    with pytest.raises(
        InputError, match="no question can be kept. Left out: 3 without an answer in the first 1 "
    ):
        (tmp_path / "evidence" / "wikipedia" / "Pea.txt").write_text("Peas")
        convert.main(triviaqa(max_context_words=1, input_file=one_question(tmp_path)))
    empty = tmp_path / "empty.json"
    empty.write_text('{"Data": []}')
    with pytest.raises(InputError, match="no question can be kept. The file has none."):
        convert.main(triviaqa(input_file=str(empty)))
    assert list((tmp_path / "out").iterdir()) == []


def one_question(directory):
    """A file with the first question alone."""
    document = json.loads((directory / "train.json").read_text())
    path = directory / "one.json"
    path.write_text(json.dumps({"Data": document["Data"][:1]}))
    return str(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input_file": "nothing.json"}, "--input_file=nothing.json does not exist"),
        ({"output_file": "."}, "--output_file=. is a directory"),
        ({"layout": "natural_questions", "evidence_dir": None}, "line 1 has no 'document_text'"),
    ],
)
def test_wrong_files_are_refused(triviaqa, changes, message):
    with pytest.raises(InputError, match=message):
        convert.main(triviaqa(**changes))


def test_the_file_that_is_read_is_not_overwritten(triviaqa):
    path = triviaqa().input_file
    with pytest.raises(InputError, match="is --input_file too"):
        convert.main(triviaqa(output_file=path))


def test_natural_questions_are_no_triviaqa(triviaqa, natural_questions):
    with pytest.raises(InputError, match="another layout: .* an array 'Data' was wanted"):
        convert.main(triviaqa(input_file=natural_questions.input_file))


def test_the_command_loads_no_tensorflow(triviaqa):
    options = triviaqa()
    flags = [f"--{name}={getattr(options, name)}" for name in ("layout", "input_file")]
    flags += [f"--{name}={getattr(options, name)}" for name in ("output_file", "evidence_dir")]
    program = (
        "import sys\nfrom bert_tf import commands\n"
        "try:\n  commands.main()\n"
        "finally:\n  print({'tensorflow', 'keras', 'scipy'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "questions", *flags],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    lines = done.stdout.splitlines()
    assert lines[-1] == "set()" and done.returncode == 0
    assert " squad --do_train --train_file=" in lines[-2]

"""TriviaQA by distant supervision, on invented questions and documents in its original layout."""

import io
import json

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import triviaqa

ANSWER = {
    "Value": "Mount Fuji",
    "Aliases": ["Fuji-san", "Mount Fuji", "\u5bcc\u58eb\u5c71", " "],
    "NormalizedAliases": ["fuji san", "mount fuji"],
    "NormalizedValue": "mount fuji",
    "Type": "WikipediaEntity",
}


@pytest.fixture
def release(tmp_path):
    """Makes a folder evidence with documents by their paths; returns what reads questions."""

    def make(documents):
        for name, text in documents.items():
            path = tmp_path / "evidence" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

        def read(entries, **changes):
            options = QuestionSet(
                layout="triviaqa",
                input_file="qa.json",
                output_file="out.json",
                **{"evidence_dir": str(tmp_path / "evidence")} | changes,
            )
            text = json.dumps({"Data": entries, "Domain": "Web", "VerifiedEval": False})
            return list(triviaqa.read(io.BytesIO(text.encode()), options))

        return read

    return make


def entry(pages=(), results=(), **changes):
    return {
        "QuestionId": "tc_7",
        "Question": "Which is the highest mountain of Japan?",
        "Answer": ANSWER,
        "EntityPages": [{"Filename": name, "Title": name[:-4]} for name in pages],
        "SearchResults": [{"Filename": name, "Url": "http://a.example"} for name in results],
    } | changes


def test_a_question_is_asked_of_each_document_with_an_answer(release):
    read = release(
        {
            "wikipedia/Japan.txt": "Japan's peak is MOUNT\nFuji; Mount Fuji sleeps.\n",
            "wikipedia/Kyoto.txt": "Kyoto has temples.",
            "web/1/1_2.txt": "\ufeff\U0001f5fb Fuji-san, they say.",
        }
    )
    (title, of_page), left_out, (other_title, of_result) = read(
        [entry(["Japan.txt", "Kyoto.txt"], ["1/1_2.txt"])]
    )
    assert (title, of_page.question_id) == ("Japan", "tc_7--Japan.txt")
    assert of_page.question == "Which is the highest mountain of Japan?"
    assert of_page.context == "Japan's peak is MOUNT\nFuji; Mount Fuji sleeps."
    assert of_page.answers == (Answer("MOUNT\nFuji", 16),)
    assert left_out == "without an answer in the first 400 words of the document"
    assert (other_title, of_result.question_id) == ("1/1_2.txt", "tc_7--1/1_2.txt")
    assert of_result.answers == (Answer("Fuji-san", 2),)  # code points: the mountain is one


def test_every_answer_is_cut_out_of_its_context(release):
    before = "\U0001f5fb e\u0301 \u0130stanbul \ufb01 \u00df \u4e2d "
    read = release({"web/a.txt": before + "fuji SAN " * 3})
    ((_, example),) = read([entry(results=["a.txt"])])
    (answer,) = example.answers
    assert example.context[answer.start : answer.end] == answer.text == "fuji SAN"
    assert answer.start == len(before)


def test_only_the_first_words_of_a_document_count(release):
    text = " one two\nthree  Mount Fuji six"
    read = release({"web/a.txt": text})
    for num_words, context in [(5, "one two\nthree  Mount Fuji"), (400, text.strip())]:
        ((_, example),) = read([entry(results=["a.txt"])], max_context_words=num_words)
        assert example.context == context
    (left_out,) = read([entry(results=["a.txt"])], max_context_words=4)
    assert left_out == "without an answer in the first 4 words of the document"


def test_documents_that_are_missing_or_named_twice(release):
    read = release({"wikipedia/a.txt": "Mount Fuji", "wikipedia/b.txt": ""})
    pages = [{"Filename": "a.txt"}, {"Filename": "a.txt"}, {"Title": "No file"}]
    results = read([entry(EntityPages=pages, SearchResults=[{"Filename": "a.txt"}])])
    missing = "whose document is not in --evidence_dir"
    assert [each if isinstance(each, str) else each[0] for each in results] == [
        "a.txt",
        missing,
        missing,
    ]
    (empty,) = read([entry(["b.txt"])])
    assert empty.startswith("without an answer")


def test_bytes_that_are_not_utf_8_do_not_end_the_conversion(release):
    read = release({"web/a.txt": b"\xff Mount Fuji"})
    ((_, example),) = read([entry(results=["a.txt"])])
    assert example.context == "\ufffd Mount Fuji"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("New Yorkers visit york, then York.", Answer("york", 18)),
        ("The City of York, England", Answer("City of York", 4)),
        ("York, England", Answer("York, England", 0)),
        ("York,\n England", Answer("York,\n England", 0)),
        ("york ha", Answer("york", 0)),
        ("The U.S.A. and the U.S. too", Answer("U.S.", 19)),
        ("Is C+++ or C++ better?", Answer("C++", 3)),
        ("Yorks", None),
        ("", None),
    ],
)
def test_the_earliest_name_counts_and_of_two_the_longer(text, found):
    names = ["York", "York, England", "city of york", "York ham", "U.S.", "C++"]
    assert triviaqa.first_occurrence(names, text) == found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Answer": {"Aliases": []}}, r"qa.json: Data\[0\].Answer has no 'Value'"),
        ({"Answer": {"Value": 1}}, r"Data\[0\].Answer: 'Value' is a int, wanted a str"),
        ({"EntityPages": ["a.txt"]}, r"Data\[0\].EntityPages is a str; an object with 'Filename'"),
        ({"EntityPages": {}}, r"Data\[0\]: 'EntityPages' is a dict, wanted a list"),
        ({"Question": None}, r"Data\[0\]: 'Question' is a NoneType, wanted a str"),
    ],
)
def test_what_is_not_in_the_layout_is_refused(release, changes, message):
    read = release({"web/a.txt": "Mount Fuji"})
    with pytest.raises(InputError, match=message):
        read([entry(results=["a.txt"], **changes)])


def test_a_test_set_has_no_answers(release):
    read = release({"web/a.txt": "Mount Fuji"})
    question = entry(results=["a.txt"])
    del question["Answer"]
    with pytest.raises(InputError, match=r"Data\[0\] has no 'Answer', as in TriviaQA's test sets"):
        read([question])


def test_another_folder_than_that_of_the_documents_is_refused(release, tmp_path):
    read = release({"web/1/1.txt": "Mount Fuji", "web/2/1.txt": "Mount Fuji"})
    with pytest.raises(InputError, match="holds no folder wikipedia or web, only 1, 2. Give the"):
        read([entry(["1/1.txt"])], evidence_dir=str(tmp_path / "evidence" / "web"))
    with pytest.raises(InputError, match="is no directory; it must hold wikipedia or web"):
        read([entry(["1/1.txt"])], evidence_dir=str(tmp_path / "nothing"))

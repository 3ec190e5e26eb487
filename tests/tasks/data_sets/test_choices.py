"""SWAG's two layouts and HellaSwag's, with invented rows."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import ChoiceExample
from bert_tf.tasks import registry

HEADER = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
FULL = (
    "video-id,fold-ind,startphrase,gold-ending,distractor-0,distractor-1,distractor-2,"
    "distractor-3,gold-source,gold-type,distractor-0-type,distractor-1-type,distractor-2-type,"
    "distractor-3-type,sent1,sent2\n"
)


def read(tmp_path, task, split, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ((_, examples),) = registry.get(task).read(split, str(tmp_path))
    return examples


def test_swag(tmp_path):
    rows = '0,v1,7,x,"Ann stands up, slowly.",She,gold,sits.,"sings, loudly.",flies.,melts.'
    examples = read(tmp_path, "swag", "train", {"train.csv": f"{HEADER},label\n{rows},2\n"})
    choices = ("She sits.", "She sings, loudly.", "She flies.", "She melts.")
    assert examples == [ChoiceExample("0", "Ann stands up, slowly.", choices, "2")]
    examples = read(tmp_path, "swag", "test", {"test.csv": f"{HEADER}\n{rows}\n"})
    assert examples == [ChoiceExample("0", "Ann stands up, slowly.", choices)]


def test_swag_in_the_full_layout(tmp_path):
    """The right ending is at position (row number modulo 4); distractor-3 is left out."""
    row = "v1,7,x,right.,wrong a.,wrong b.,wrong c.,wrong d.,g,pos,unl,unl,unl,unl,Tom ran.,He\n"
    examples = read(tmp_path, "swag", "dev", {"val_full.csv": FULL + 5 * row})
    assert [example.label for example in examples] == ["0", "1", "2", "3", "0"]
    assert all(e.choices[int(e.label)] == "He right." for e in examples)
    wrong = ("He wrong a.", "He wrong b.", "He wrong c.")
    assert examples[3].choices == (*wrong, "He right.")
    assert examples[1] == ChoiceExample(
        "1", "Tom ran.", ("He wrong a.", "He right.", "He wrong b.", "He wrong c."), "1"
    )


def test_train_csv_goes_before_the_full_file(tmp_path):
    row = "0,v1,7,x,Tom ran.,He,gold,fell.,won.,slept.,sang.,1\n"
    files = {"train_full.csv": FULL, "train.csv": f"{HEADER},label\n{row}"}
    assert [e.label for e in read(tmp_path, "swag", "train", files)] == ["1"]


def test_hellaswag(tmp_path):
    common = '"ind": 24, "activity_label": "Baking", "ctx_a": "A man bakes.", "ctx_b": "he"'
    row = f'{{{common}, "ctx": "x", "endings": ["eats.", "sings.", "runs.", "waits."], "label": 3}}'
    examples = read(tmp_path, "hellaswag", "dev", {"hellaswag_val.jsonl": f"{row}\n"})
    choices = ("he eats.", "he sings.", "he runs.", "he waits.")
    assert examples == [ChoiceExample("24", "A man bakes.", choices, "3")]
    row = row.replace(', "label": 3', "")
    examples = read(tmp_path, "hellaswag", "test", {"hellaswag_test.jsonl": f"{row}\n"})
    assert examples == [ChoiceExample("24", "A man bakes.", choices)]


def test_an_empty_second_part_leaves_the_endings_as_they_are(tmp_path):
    row = '{"ind": 1, "ctx_a": "He bakes.", "ctx_b": "", "endings": ["Eats.", "Runs."], "label": 0}'
    (example,) = read(tmp_path, "hellaswag", "dev", {"hellaswag_val.jsonl": f"{row}\n"})
    assert example.choices == ("Eats.", "Runs.")


def test_a_label_of_no_choice_is_refused_with_its_line(tmp_path):
    row = "0,v1,7,x,Tom ran.,He,gold,fell.,won.,slept.,sang.,"
    text = f"{HEADER},label\n{row}1\n{row}4\n"
    with pytest.raises(InputError, match="train.csv, line 3: label '4' .* wanted .* 0, 1, 2, 3"):
        read(tmp_path, "swag", "train", {"train.csv": text})

"""Task files of every kind, and every way in which one can be wrong."""

import json
import pathlib
import re
import tomllib

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import ChoiceExample, TextExample, TokenExample
from bert_tf.tasks import task_file

REVIEWS = 'Nr;Text;Sterne;Gewicht\na1;"Gut; billig";5;1\na2;Schlecht;1;2\na3;"Sehr ""gut""";5;1\n'
CLASSIFY = """
kind = "classify"
train = "train.csv"
dev = "train.csv"
test = "neu.csv"
delimiter = ";"
text = "Text"
label = "Sterne"
id = "Nr"
"""


@pytest.fixture
def write(tmp_path):
    """A function that writes files, and returns the path of the last one."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def only(sets):
    ((name, examples),) = sets
    assert name == ""
    return examples


@pytest.fixture
def german(write):
    """A function that writes the German reviews and a task file."""

    def german(task=CLASSIFY):
        return write(train_csv=REVIEWS, neu_csv="Nr;Text\nb1;Neu\n", bewertungen_toml=task)

    return german


def test_german_csv(german):
    task = task_file.read(german()).fitted(None)
    assert (task.kind, task.name, task.labels) == ("classify", "bewertungen", ("1", "5"))
    assert task.metrics == ("accuracy",) and task.num_texts == 1 and task.is_own_data
    assert only(task.read("train", None)) == [
        TextExample("a1", "Gut; billig", label="5"),
        TextExample("a2", "Schlecht", label="1"),
        TextExample("a3", 'Sehr "gut"', label="5"),
    ]
    assert only(task.read("test", None)) == [TextExample("b1", "Neu")]


def test_json_has_the_same_keys(write, german):
    german()
    content = {
        "kind": "classify",
        "train": "train.csv",
        **{"delimiter": ";", "text": "Text", "label": "Sterne", "labels": [5, 1], "name": "sterne"},
    }
    task = task_file.read(write(sterne_json=json.dumps(content)))
    assert (task.name, task.labels) == ("sterne", ("5", "1"))
    assert len(only(task.read("train", None))) == 3


def test_weights_of_rows_and_classes_are_multiplied(german):
    """Balanced: 3 rows / (2 labels * 2 rows) = 0.75 and 3 / (2 * 1) = 1.5; row a2 weighs 2."""
    text = f'{CLASSIFY}weight = "Gewicht"\nclass_weights = "balanced"\n'
    task = task_file.read(german(text)).fitted(None)
    assert [e.weight for e in only(task.read("train", None))] == [0.75, 3.0, 0.75]
    assert [e.weight for e in only(task.read("dev", None))] == [1.0, 2.0, 1.0]
    text = f'{CLASSIFY}class_weights = {{"1" = 4}}\n'
    task = task_file.read(german(text)).fitted(None)
    assert [e.weight for e in only(task.read("train", None))] == [1.0, 4.0, 1.0]


def test_class_weights_of_unknown_labels(german):
    task = task_file.read(german(f'{CLASSIFY}class_weights = {{"4" = 4}}\n'))
    with pytest.raises(InputError, match="class_weights names '4', which is no label.*1, 5"):
        task.fitted(None)


def test_regression(german):
    text = CLASSIFY.replace("classify", "regress") + "value_range = [0, 5]\n"
    task = task_file.read(german(text)).fitted(None)
    assert task.metrics == ("spearman", "pearson") and task.labels == ()
    assert [e.label for e in only(task.read("train", None))] == [5.0, 1.0, 5.0]
    text = text.replace("[0, 5]", "[0, 4]")
    with pytest.raises(InputError, match="train.csv, line 2: label '5' .* from 0 to 4"):
        task_file.read(german(text)).read("train", None)


def test_several_labels_in_json_lines(write):
    lines = '{"text": "a", "tags": ["x", "y"]}\n{"text": "b", "tags": []}\n'
    text = 'kind = "multi_label"\ntrain = "t*.jsonl"\nlabel = "tags"\nmetrics = ["macro_f1"]\n'
    task = task_file.read(write(train_jsonl=lines, topics_toml=text)).fitted(None)
    assert (task.labels, task.metrics) == (("x", "y"), ("macro_f1",))
    assert [e.label for e in only(task.read("train", None))] == [("x", "y"), ()]


def test_several_labels_in_one_cell_or_in_columns(write):
    text = 'kind = "multi_label"\nlabel_separator = "|"\n'
    task = task_file.read(write(train_csv="text,label\na,x|y\nb,y\n", task_toml=text)).fitted(None)
    assert [e.label for e in only(task.read("train", None))] == [("x", "y"), ("y",)]
    text = 'kind = "multi_label"\nlabel = ["x", "y"]\n'
    task = task_file.read(write(train_csv="text,x,y\na,0,1\n", task_toml=text)).fitted(None)
    assert task.labels == ("x", "y")
    assert [e.label for e in only(task.read("train", None))] == [("y",)]


def test_conll(write):
    text = 'kind = "tag"\ntrain = "a.conll"\nscheme = "iob1"\ndocument_context = true\n'
    task = task_file.read(write(a_conll="Anna x I-P\nsang x O\n", ner_toml=text)).fitted(None)
    assert (task.labels, task.document_context) == (("B-P", "O"), True)
    assert only(task.read("train", None)) == [TokenExample("0", ("Anna", "sang"), ("B-P", "O"))]


def test_plain_tags_are_scored_by_word(write):
    text = 'kind = "tag"\ntags = 1\nscheme = "plain"\n'
    task = task_file.read(write(train_txt="Anna NN x\nsang VB x\n", pos_toml=text)).fitted(None)
    assert (task.labels, task.metrics) == (("NN", "VB"), ("token_accuracy",))


def test_multiple_choice(write):
    lines = '{"context": "It rains.", "question": "Why?", "a": "sun", "b": "wind", "right": "B"}\n'
    text = """
kind = "choice"
train = "train.jsonl"
context = ["context", "question"]
choices = ["a", "b"]
label = "right"
first_label = "A"
"""
    task = task_file.read(write(train_jsonl=lines, social_toml=text))
    choices = ("sun", "wind")
    assert only(task.read("train", None)) == [ChoiceExample("0", "It rains. Why?", choices, "1")]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ('kind = "classify"\n', "text,label\na,x\nb,y\n"),
        ('kind = "tag"\nwords = "w"\ntags = "t"\n', "w,t\nAnna sang,B-P O\n"),
        ('kind = "choice"\ncontext = "c"\nchoices = ["d", "e"]\n', "c,d,e,label\nx,y,z,1\n"),
    ],
)
def test_labels_of_the_test_file_are_read_if_asked(write, kind, data):
    path = write(test_csv=data, task_toml=kind)
    assert not any(each.is_labelled for each in only(task_file.read(path).read("test", None)))
    path = write(task_toml=f"{kind}test_has_labels = true\n")
    assert all(each.is_labelled for each in only(task_file.read(path).read("test", None)))
    without = data.replace("label", "other").replace("w,t", "w,other")
    path = write(test_csv=without)
    with pytest.raises(InputError, match="no column '(label|t)'"):
        task_file.read(write(task_toml=f"{kind}test_has_labels = true\n")).read("test", None)


def test_files_of_a_directory_and_of_flags(write, tmp_path):
    data = "text,label\na,x\nb,y\n"
    path = write(data__train_csv=data, data__validation_csv=data, a_toml='kind = "classify"\n')
    task = task_file.read(path, data_dir=str(tmp_path / "data"))
    assert list(task.files) == ["train", "dev"]
    given = task_file.read(path, files={"test": str(tmp_path / "data" / "train.csv")})
    assert list(given.files) == ["test"]
    path = write(a_toml='kind = "classify"\ndata_dir = "data"\n')
    assert len(only(task_file.read(path).read("dev", None))) == 2
    with pytest.raises(InputError, match="Task a has no test set; it has: train, dev"):
        task_file.read(path).read("test", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("text =", "texts ="), "key texts is unknown for kind = 'classify'. Did you mean text?"),
        (('id = "Nr"', 'scheme = "iob1"'), "scheme is unknown .* It is a key of kind tag"),
        (('"classify"', '"clasify"'), "kind = 'clasify' is unknown; .* Did you mean classify?"),
        (('kind = "classify"', ""), "the key kind is missing; it is one of classify, multi_label"),
        (('"Sterne"', '"Stern"'), "no column 'Stern', which the key label of .* mean Sterne?"),
        (('delimiter = ";"', ""), "it has: Nr;Text;Sterne;Gewicht. Set delimiter"),
        (('";"', '";;"'), "delimiter = ';;'; wanted: one character"),
        (('"Text"', "Text"), "bewertungen.toml is not TOML: .*line 7.* Texts stand in quotes"),
        (('"Text"', "true"), "text = True; wanted: the name of a column"),
        (('id = "Nr"', 'metrics = ["acuracy"]'), "no metric 'acuracy'. Did you mean accuracy?"),
        (('id = "Nr"', 'metrics = ["pearson"]'), "'pearson' is for numbers, .* are labels"),
        (('id = "Nr"', "value_range = [1, 2]"), "value_range is unknown .* key of kind regress"),
        (('id = "Nr"', 'class_weights = "x"'), 'class_weights = .x.; wanted: "balanced"'),
        (('"train.csv"', '"train*.tsv"'), "No file matches .*train.*.tsv"),
    ],
)
def test_wrong_task_files_are_refused_with_file_and_key(german, change, message):
    with pytest.raises(InputError, match=message):
        task_file.read(german(CLASSIFY.replace(*change, 1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "tag"\ntrain = "x"\nscheme = "iob3"\n', "wanted: one of iob2, iob1, iobes"),
        ('kind = "tag"\ntrain = "x"\nwords = "w"\n', "two names of columns with lists, or two num"),
        ('kind = "choice"\ntrain = "x"\n', "the key context is missing; kind = 'choice' needs it"),
        (
            'kind = "choice"\ntrain = "x"\ncontext = "c"\nchoices = "d"\nlabel = "l"\n'
            'right_choice = "r"\n',
            "label and right_choice exclude each other",
        ),
        ('kind = "choice"\ntrain = "x"\nfirst_label = "first"\n', 'such as "0", "1" or "A"'),
        ('kind = "classify"\ndata_dir = "no"\n', "directory of the data, .*no, does not exist"),
        ('kind = "classify"\n', "names no file. Give train, dev or test, or a data_dir"),
    ],
)
def test_wrong_keys_of_other_kinds(write, text, message):
    with pytest.raises(InputError, match=message):
        task_file.read(write(task_toml=text))


def test_wrong_json(write):
    with pytest.raises(InputError, match="task.json is not JSON: .* line 1"):
        task_file.read(write(task_json="{kind}"))
    with pytest.raises(InputError, match="an object with keys was wanted"):
        task_file.read(write(task_json="[1]"))


def test_the_documentation_has_every_key():
    page = pathlib.Path(__file__).parents[2] / "docs" / "tasks.md"
    rows = [line.split("|")[1:3] for line in page.read_text().splitlines() if line[:3] == "| `"]
    named = {key: kinds for keys, kinds in rows for key in re.findall("`([^`]+)`", keys)}
    assert set(task_file.KEYS) | set().union(*task_file.KEYS_OF_KIND.values()) <= set(named)
    for kind, keys in task_file.KEYS_OF_KIND.items():
        wrong = [key for key in keys if (f"`{kind}`" in named[key]) == ("all but" in named[key])]
        assert wrong == []


def test_the_task_files_of_the_documentation_have_known_keys():
    page = pathlib.Path(__file__).parents[2] / "docs" / "tasks.md"
    blocks = re.findall("```toml\n(.*?)```", page.read_text(), flags=re.DOTALL)
    contents = [tomllib.loads(block) for block in blocks]
    assert [each["kind"] for each in contents] == ["classify", "multi_label", "tag", "choice"]
    for content in contents:
        known = {**task_file.KEYS, **task_file.KEYS_OF_KIND[content["kind"]]}
        for key, value in content.items():
            known[key](value)

"""What run_classifier.py reads: tasks, a user's own files and columns, examples in memory."""

import json

import pytest

from bert_tf import flagging, options
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.tasks import registry
from bert_tf.training.finetuning import classifier_data
from tests.checkpoints import hub_exports

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
CSV = 'id,text,stars,text_b\n7,"a, b",4.5,b\n9,b,1,a\n'


def ids(labelled):
    """The class indices of a set."""
    return labelled.rows.labels["label_ids"].tolist()


@pytest.fixture
def given(tmp_path):
    """`given(**flags)`: options of run_classifier.py in a folder that has the model's files."""
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (tmp_path / "bert_config.json").write_text(CONFIG.to_json())
    (tmp_path / "train.csv").write_text(CSV)

    def make(**flags):
        values = {
            "bert_config_file": str(tmp_path / "bert_config.json"),
            "vocab_file": str(tmp_path / "vocab.txt"),
            "output_dir": str(tmp_path / "out"),
            "max_seq_length": 11,
            "do_train": True,
        }
        return options.Classifier(**values | flags)

    return make


def examples(data, split):
    ((labelled,),) = [data.splits[split]]
    return labelled.examples


@pytest.mark.parametrize("by", ["train_file", "data_dir"])
def test_own_csv_with_named_columns(given, tmp_path, by):
    where = {"train_file": str(tmp_path / "train.csv"), "data_dir": str(tmp_path)}[by]
    data = classifier_data.read(given(**{by: where}, label_column="stars", id_column="id"))
    assert (data.task.kind, data.task.labels, data.task.num_texts) == ("classify", ("1", "4.5"), 2)
    assert examples(data, "train")[0] == TextExample("7", "a, b", "b", "4.5")
    # [CLS] a [UNK] b [SEP] b [SEP]: the comma is no token of this vocabulary.
    (labelled,) = data.splits["train"]
    assert list(labelled.rows.word_ids[0]) == [2, 5, 1, 6, 3, 6, 3]
    assert ids(labelled) == [1, 0]


def test_blank_lines_are_counted_once(given, tmp_path, capsys):
    path = tmp_path / "train.csv"
    path.write_text(CSV + "\n\n")
    classifier_data.read(given(train_file=str(path), label_column="stars"))
    shown = capsys.readouterr().out
    assert shown.count("2 blank lines passed over") == 1
    assert "Data: your own, 2 train examples, 2 labels\n" in shown


def test_own_numbers(given, tmp_path):
    flags = {"train_file": str(tmp_path / "train.csv"), "label_column": "stars"}
    data = classifier_data.read(given(**flags, task_type="regress", text_b_column="id"))
    assert (data.task.kind, data.task.num_texts) == ("regress", 2)
    assert [(e.text_b, e.label) for e in examples(data, "train")] == [("7", 4.5), ("9", 1.0)]


def test_a_task_file(given, tmp_path, capsys):
    (tmp_path / "stars.toml").write_text(
        'kind = "classify"\ntrain = "train.csv"\nlabel = "stars"\nclass_weights = {1 = 3.0}\n'
    )
    data = classifier_data.read(given(task_file=str(tmp_path / "stars.toml")))
    assert (data.task.name, data.task.labels) == ("stars", ("1", "4.5"))
    (labelled,) = data.splits["train"]
    assert labelled.rows.labels["example_weights"].tolist() == [1.0, 3.0]
    assert "Data: your own, 2 train examples, 2 labels\n" in capsys.readouterr().out
    data_dir = tmp_path / "other"
    data_dir.mkdir()
    (data_dir / "train.csv").write_text("text,stars\na,x\nb,y\na,1\n")
    data = classifier_data.read(
        given(task_file=str(tmp_path / "stars.toml"), data_dir=str(data_dir))
    )
    assert data.task.labels == ("1", "x", "y")
    with pytest.raises(InputError, match="--text_column=a and --task_file=.* leave one out"):
        given(task_file="x.toml", text_column="a")


def test_own_files_in_json_lines_by_a_pattern(given, tmp_path):
    for number, label in ((1, "x"), (2, "y")):
        row = f'{{"text": "a", "label": "{label}", "text_b": "b"}}\n'
        (tmp_path / f"part-{number}.jsonl").write_text(row)
    data = classifier_data.read(given(train_file=str(tmp_path / "part-*.jsonl")))
    assert (data.task.labels, data.task.num_texts) == (("x", "y"), 2)
    assert [e.guid for e in examples(data, "train")] == ["0", "1"]


def test_predicting_takes_kind_labels_and_texts_of_the_model(given, tmp_path):
    (tmp_path / "new.tsv").write_text("words\nb a\n")
    trained = given(
        train_file=str(tmp_path / "train.csv"), label_column="stars", task_type="regress"
    )
    metadata = classifier_data.read(trained).directory.metadata
    for name in ("vocab.txt", "bert_config.json"):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_text((tmp_path / name).read_text())
    values = vars(metadata) | {"num_texts": 1}
    (tmp_path / "out" / "model.json").write_text(json.dumps(values))
    flags = {"do_train": False, "do_predict": True, "test_file": str(tmp_path / "new.tsv")}
    data = classifier_data.read(given(**flags, text_column="words"))
    assert data.task.kind == "regress"
    assert examples(data, "test") == [TextExample("0", "b a")]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"text_column": "words"}, "'words'; it has id, text, stars, text_b. .*--text_column"),
        ({}, "no column 'label'; it has .*column of the label by --label_column"),
        ({"label_column": "stars", "id_column": "n"}, "'n'; .*column of the ids by --id_column"),
        ({"label_column": "stars", "output_dir": "", "do_train": False}, "holds no model that"),
    ],
)
def test_wrong_columns_and_missing_labels_are_named(given, tmp_path, flags, message):
    by = {"train_file": str(tmp_path / "train.csv")}
    if not flags.get("do_train", True):
        by = {"do_predict": True, "test_file": str(tmp_path / "train.csv")}
    with pytest.raises(InputError, match=message):
        classifier_data.read(given(**by | flags))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"task_name": "rte", "label_column": "x"}, "--label_column=x is for your own data; task"),
        ({"task_name": "tsv", "task_type": "regress"}, "=tsv and --task_type=regress exclude"),
        ({"task_name": "rtf"}, "Unknown task 'rtf'.* Did you mean rte?"),
    ],
)
def test_flags_of_own_data_and_tasks_exclude_each_other(given, tmp_path, flags, message):
    with pytest.raises(InputError, match=message):
        classifier_data.read(given(data_dir=str(tmp_path), **flags))


def test_the_names_of_own_data_take_columns_too(given, tmp_path):
    flags = {"data_dir": str(tmp_path), "label_column": "stars"}
    data = classifier_data.read(given(**flags, task_name="tsv-regression"))
    assert (data.task.name, data.task.kind) == ("tsv-regression", "regress")


def test_examples_in_memory(given, tmp_path):
    own = registry.own_data("classify").with_num_texts(1)
    splits = {
        "train": [TextExample("0", "a", None, "y"), TextExample("1", "b", None, "x")],
        "dev": [TextExample("0", "b a", None, "x")],
    }
    data = classifier_data.from_memory(given(data_dir=str(tmp_path)), own, splits)
    assert data.task.labels == ("x", "y")
    (train,), (dev,) = data.splits["train"], data.splits["dev"]
    assert (ids(train), ids(dev)) == ([1, 0], [0])
    assert list(dev.rows.word_ids[0]) == [2, 6, 5, 3]
    splits["dev"][0] = TextExample("0", "b", None, "z")
    with pytest.raises(InputError, match="dev: label 'z' of example 0 is unknown; known .*: x, y"):
        classifier_data.from_memory(given(data_dir=str(tmp_path)), own, splits)


@pytest.fixture
def hub_module(tmp_path):
    """Base path of a cased encoder of TensorFlow Hub, version 3, and its `StateDict`."""
    directory, state_dict = hub_exports.saved_model(tmp_path / "made", lower_case=False)
    vocab_file = directory / "assets" / "vocab.txt"
    vocab_file.write_text(vocab_file.read_text().replace("word0\n", "Word\n"))
    (tmp_path / "hub").mkdir()
    directory.rename(tmp_path / "hub" / "3")
    return tmp_path / "hub", state_dict


def test_weights_vocabulary_and_casing_of_a_module_of_tensorflow_hub(hub_module, tmp_path):
    folder, state_dict = hub_module
    (tmp_path / "train.csv").write_text("text,label\nWord a,x\nword b,y\n")
    flags = {
        "bert_hub_module_handle": str(folder),
        "train_file": str(tmp_path / "train.csv"),
        "output_dir": str(tmp_path / "out"),
        "max_seq_length": 7,
        "do_train": True,
    }
    made = flagging.make(options.Classifier, flags)
    again = {**flags, "init_checkpoint": made.init_checkpoint}  # as flags.txt has it
    assert flagging.make(options.Classifier, again) == made
    data = classifier_data.read(made)
    assert made.init_checkpoint == str(folder / "3")
    assert data.inputs.config == state_dict.config
    assert data.inputs.options.do_lower_case is data.directory.metadata.do_lower_case is False
    ((labelled,),) = [data.splits["train"]]
    kept, unknown = (rows[1] for rows in labelled.rows.word_ids)
    assert data.inputs.vocabulary.tokens[kept] == "Word"
    assert data.inputs.vocabulary.tokens[unknown] == "w"


@pytest.mark.parametrize("name", ["init_checkpoint", "bert_config_file", "vocab_file"])
def test_a_module_of_tensorflow_hub_and_another_model(hub_module, name):
    flags = {"bert_hub_module_handle": str(hub_module[0]), name: "other", "do_train": True}
    with pytest.raises(InputError, match=f"--{name}=other both say what the model is"):
        flagging.make(options.Classifier, flags)


def test_a_module_of_tensorflow_hub_that_is_not_there(tmp_path):
    handle = str(tmp_path / "nowhere")
    flags = {"bert_hub_module_handle": handle, "data_dir": "d", "output_dir": "o", "do_eval": True}
    with pytest.raises(InputError, match=f"{handle} is no SavedModel"):
        classifier_data.read(flagging.make(options.Classifier, flags))

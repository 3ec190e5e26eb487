"""Every entry of the registry reads a fixture in its real layout; the sentences are invented."""

import pathlib
import re

import pyarrow
import pytest
from pyarrow import parquet

from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns
from bert_tf.tasks import metrics, registry

PARSES = "p\tp\tp\tp"
MNLI_HEADER = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse"
    "\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2"
)
STS_HEADER = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"

# Task -> file name -> the three first lines of the official file, with other sentences.
FIXTURES = {
    "cola": {
        "train.tsv": "xy01\t1\t\tA bird sang.\nxy01\t0\t*\tA bird song.\nxy01\t1\t\tIt rained.\n",
        "dev.tsv": "xy02\t0\t*\tSings bird a.\nxy02\t1\t\tBirds sing.\nxy02\t1\t\tRain fell.\n",
        "test.tsv": "index\tsentence\n0\tWe left early.\n1\tEarly we.\n",
    },
    "sst-2": {
        "train.tsv": "sentence\tlabel\na warm little story \t1\nhopelessly long \t0\n",
        "dev.tsv": "sentence\tlabel\nno charm at all . \t0\nbright and quick . \t1\n",
        "test.tsv": "index\tsentence\n0\ta fine cast .\n1\tthe plot drags .\n",
    },
    "mrpc": {
        "train.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        '1\t10\t11\tHe said "yes.\tHe agreed.\n0\t12\t13\tIt rose.\tIt fell.\n',
        "dev.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        "0\t14\t15\tShe ran.\tShe sat.\n1\t16\t17\tSnow fell.\tIt snowed.\n",
        "test.tsv": "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        "0\t18\t19\tOne left.\tOne stayed.\n1\t20\t21\tTea is hot.\tHot is the tea.\n",
    },
    "sts-b": {
        "train.tsv": f"{STS_HEADER}\tscore\n"
        "0\tmain-captions\tf\t2012\t1\tnone\tnone\tA dog runs.\tA dog is running.\t5.000\n"
        "1\tmain-captions\tf\t2012\t2\tnone\tnone\tA dog runs.\tA man eats.\t0.200\n",
        "dev.tsv": f"{STS_HEADER}\tscore\n"
        "0\tmain-captions\tf\t2012\t3\tnone\tnone\tA cat sits.\tA cat lies.\t2.750\n"
        "1\tmain-captions\tf\t2012\t4\tnone\tnone\tRain.\tSun.\t1.0\n",
        "test.tsv": f"{STS_HEADER}\n"
        "0\tmain-captions\tf\t2012\t5\tnone\tnone\tHe waves.\tHe greets.\n"
        "1\tmain-captions\tf\t2012\t6\tnone\tnone\tA car.\tA train.\n",
    },
    "qqp": {
        "train.tsv": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        '31\t1\t2\t"Why is "tea" hot?\tWhat makes tea hot?\t1\n32\t3\t4\tWho?\tWhy?\t0\n',
        "dev.tsv": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "33\t5\t6\tWhere is it?\tWhen is it?\t0\n34\t7\t8\tIs it far?\tHow far is it?\t1\n",
        "test.tsv": "id\tquestion1\tquestion2\n0\tWhat now?\tWhat next?\n1\tHow?\tWhy?\n",
    },
    "mnli": {
        "train.tsv": f"{MNLI_HEADER}\tlabel1\tgold_label\n"
        f"0\t1\t1n\tslate\t{PARSES}\tIt rained.\tIt was wet.\tneutral\tneutral\n"
        f"1\t2\t2e\tslate\t{PARSES}\tHe left.\tHe went.\tentailment\tentailment\n",
        "dev_matched.tsv": f"{MNLI_HEADER}\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n"
        f"0\t3\t3c\tslate\t{PARSES}\tHe left.\tHe stayed.\tneutral\tn\tn\tn\tn\tcontradiction\n"
        f"1\t4\t4e\tslate\t{PARSES}\tHe ran.\tHe moved.\te\te\te\te\te\tentailment\n",
        "dev_mismatched.tsv": f"{MNLI_HEADER}\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n"
        f"0\t5\t5c\tverbatim\t{PARSES}\tSo it is.\tIt is not.\tc\tc\tc\tc\tc\tcontradiction\n"
        f"1\t6\t6n\tverbatim\t{PARSES}\tWe met.\tWe talked.\tn\tn\tn\tn\tn\tneutral\n",
        "test_matched.tsv": f"{MNLI_HEADER}\n"
        f"0\t7\t7\ttravel\t{PARSES}\tA bay.\tA hill.\n9\t8\t8\ttravel\t{PARSES}\tA inn.\tA bed.\n",
        "test_mismatched.tsv": f"{MNLI_HEADER}\n"
        f"0\t7\t7\tletters\t{PARSES}\tDear.\tSir.\n8\t8\t8\tletters\t{PARSES}\tYou.\tMe.\n",
    },
    "qnli": {
        "train.tsv": "index\tquestion\tsentence\tlabel\n"
        "0\tWho came?\tAnna came late.\tentailment\n1\tWhen?\tIt is red.\tnot_entailment\n",
        "dev.tsv": "index\tquestion\tsentence\tlabel\n"
        "0\tWhat fell?\tHe slept.\tnot_entailment\n1\tWhat rose?\tThe sun rose.\tentailment\n",
        "test.tsv": "index\tquestion\tsentence\n0\tWhich?\tThe third.\n1\tWhose?\tIt was cold.\n",
    },
    "rte": {
        "train.tsv": "index\tsentence1\tsentence2\tlabel\n"
        "0\tIt snowed all day.\tIt snowed.\tentailment\n1\tHe ran.\tHe won.\tnot_entailment\n",
        "dev.tsv": "index\tsentence1\tsentence2\tlabel\n"
        "0\tShe sang.\tShe danced.\tnot_entailment\n1\tTwo men met.\tMen met.\tentailment\n",
        "test.tsv": "index\tsentence1\tsentence2\n0\tHe fell.\tHe rose.\n1\tA gate.\tA door.\n",
    },
    "wnli": {
        "train.tsv": "index\tsentence1\tsentence2\tlabel\n"
        "0\tThe box hid the ball as it is big.\tThe box is big.\t1\n1\tIt is.\tHe is.\t0\n",
        "dev.tsv": "index\tsentence1\tsentence2\tlabel\n"
        "0\tTom hid Sam as he is tall.\tSam is tall.\t0\n1\tShe ran.\tAnn ran.\t1\n",
        "test.tsv": "index\tsentence1\tsentence2\n0\tIt broke.\tThe cup broke.\n1\tHe.\tTim.\n",
    },
    "tsv": {
        "train.tsv": "label\ttext_a\ttext_b\nspam\tBuy it.\tNow.\nham\tHello.\tHow are you?\n",
        "dev.tsv": "text_a\ttext_b\tlabel\nCheap.\tCheaper.\tspam\nDear.\tSee you.\tham\n",
        "test.tsv": "text_a\ttext_b\nWin.\tA car.\nLunch?\tAt noon.\n",
    },
    "tsv-regression": {
        "train.tsv": "label\ttext_a\n-1.5\tCold.\n20\tWarm.\n",
        "dev.tsv": "text_a\tlabel\nHot.\t31.25\nCool.\t9\n",
        "test.tsv": "text_a\nMild.\nFreezing.\n",
    },
}

# Task -> split -> (guid, text_a, text_b, label) of the first row of every set.
FIRST = {
    "cola": {
        "train": [("0", "A bird sang.", None, "1")],
        "dev": [("0", "Sings bird a.", None, "0")],
        "test": [("0", "We left early.", None, None)],
    },
    "sst-2": {
        "train": [("0", "a warm little story ", None, "1")],
        "dev": [("0", "no charm at all . ", None, "0")],
        "test": [("0", "a fine cast .", None, None)],
    },
    "mrpc": {
        "train": [("0", 'He said "yes.', "He agreed.", "1")],
        "dev": [("0", "She ran.", "She sat.", "0")],
        "test": [("0", "One left.", "One stayed.", None)],
    },
    "sts-b": {
        "train": [("0", "A dog runs.", "A dog is running.", 5.0)],
        "dev": [("0", "A cat sits.", "A cat lies.", 2.75)],
        "test": [("0", "He waves.", "He greets.", None)],
    },
    "qqp": {
        "train": [("0", '"Why is "tea" hot?', "What makes tea hot?", "1")],
        "dev": [("0", "Where is it?", "When is it?", "0")],
        "test": [("0", "What now?", "What next?", None)],
    },
    "mnli": {
        "train": [("0", "It rained.", "It was wet.", "neutral")],
        "dev": [
            ("0", "He left.", "He stayed.", "contradiction"),
            ("0", "So it is.", "It is not.", "contradiction"),
        ],
        "test": [("0", "A bay.", "A hill.", None), ("0", "Dear.", "Sir.", None)],
    },
    "qnli": {
        "train": [("0", "Who came?", "Anna came late.", "entailment")],
        "dev": [("0", "What fell?", "He slept.", "not_entailment")],
        "test": [("0", "Which?", "The third.", None)],
    },
    "rte": {
        "train": [("0", "It snowed all day.", "It snowed.", "entailment")],
        "dev": [("0", "She sang.", "She danced.", "not_entailment")],
        "test": [("0", "He fell.", "He rose.", None)],
    },
    "wnli": {
        "train": [("0", "The box hid the ball as it is big.", "The box is big.", "1")],
        "dev": [("0", "Tom hid Sam as he is tall.", "Sam is tall.", "0")],
        "test": [("0", "It broke.", "The cup broke.", None)],
    },
    "tsv": {
        "train": [("0", "Buy it.", "Now.", "spam")],
        "dev": [("0", "Cheap.", "Cheaper.", "spam")],
        "test": [("0", "Win.", "A car.", None)],
    },
    "tsv-regression": {
        "train": [("0", "Cold.", None, -1.5)],
        "dev": [("0", "Hot.", None, 31.25)],
        "test": [("0", "Mild.", None, None)],
    },
}


def fill(directory, name):
    for file_name, text in FIXTURES[name].items():
        (directory / file_name).write_text(text, encoding="utf-8", newline="")
    return str(directory)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("name", FIXTURES)
def test_every_entry_reads_its_real_layout(tmp_path, name, split):
    data_dir = fill(tmp_path, name)
    task = registry.get(name).fitted(data_dir)
    sets = task.read(split, data_dir)
    first = [(e.guid, e.text_a, e.text_b, e.label) for e in (examples[0] for _, examples in sets)]
    assert first == FIRST[name][split]
    for _, examples in sets:
        assert len(examples) == (3 if name == "cola" and split != "test" else 2)
        if task.kind == "classify" and split != "test":
            assert {example.label for example in examples} <= set(task.labels)


@pytest.mark.parametrize("name", registry.REGISTRY)
def test_every_entry_is_consistent(name):
    task = registry.get(name)
    assert task.name == name
    assert task.kind in registry.KINDS
    metrics.check(task.metrics, task.answers, len(task.labels))
    assert set(task.files) <= {"train", "dev", "test"} and "test" in task.files
    assert bool(task.labels) == (task.is_labelled and not task.is_own_data)
    if "f1" in task.metrics:
        assert task.labels == ("0", "1")  # F1 is of class 1


@pytest.mark.parametrize("name", FIXTURES)
def test_the_number_of_texts(tmp_path, name):
    task = registry.get(name).fitted(fill(tmp_path, name))
    assert task.num_texts == (2 if FIRST[name]["dev"][0][2] else 1)


def test_ids_of_test_rows_are_those_of_the_file(tmp_path):
    sets = registry.get("mnli").read("test", fill(tmp_path, "mnli"))
    assert [(name, [e.guid for e in examples]) for name, examples in sets] == [
        ("matched", ["0", "9"]),
        ("mismatched", ["0", "8"]),
    ]


@pytest.mark.parametrize("spelling", ["SST-2", "sst2", "sst_2", " Sst-2 "])
def test_spellings(spelling):
    assert registry.get(spelling).name == "sst-2"


def test_unknown_name_lists_the_known():
    with pytest.raises(InputError, match="Unknown task 'sst-3'; known: cola, sst-2, mrpc"):
        registry.get("sst-3")


def test_missing_file_and_unknown_split(tmp_path):
    (tmp_path / "dev.tsv").touch()
    with pytest.raises(InputError, match=r"train\.tsv .*which holds: dev\.tsv"):
        registry.get("rte").read("train", str(tmp_path))
    with pytest.raises(InputError, match="rte has no valid set; it has: train, dev, test"):
        registry.get("rte").read("valid", str(tmp_path))


def test_file_of_another_task_is_refused(tmp_path):
    data_dir = fill(tmp_path, "mrpc")
    with pytest.raises(InputError, match=r"no column 'sentence1', 'sentence2', 'label'; it reads"):
        registry.get("rte").read("train", data_dir)


def test_score_out_of_range_is_refused(tmp_path):
    data_dir = fill(tmp_path, "sts-b")
    path = tmp_path / "dev.tsv"
    path.write_text(path.read_text().replace("2.750", "27.50"))
    with pytest.raises(InputError, match=r"dev\.tsv, line 2: label '27.50' .* from 0 to 5"):
        registry.get("sts-b").read("dev", data_dir)


def test_broken_rows_of_the_official_qqp_file_are_skipped(tmp_path):
    data_dir = fill(tmp_path, "qqp")
    path = tmp_path / "train.tsv"
    path.write_text(path.read_text() + "35\t9\t10\tWhy\n is it?\tWhy?\t1\n")
    ((_, examples),) = registry.get("qqp").read("train", data_dir)
    assert [example.text_b for example in examples] == ["What makes tea hot?", "Why?"]


def test_own_data(tmp_path):
    data_dir = fill(tmp_path, "tsv")
    task = registry.get("tsv").fitted(data_dir)
    assert (task.labels, task.num_texts) == (("ham", "spam"), 2)
    (tmp_path / "dev.tsv").write_text("text_a\ttext_b\tlabel\na\tb\teggs\n")
    with pytest.raises(InputError, match="line 2: label 'eggs' is unknown; known: ham, spam"):
        task.read("dev", data_dir)
    (tmp_path / "train.tsv").write_text("text_a\tlabel\na\tham\n")
    with pytest.raises(InputError, match="one label only, 'ham'"):
        registry.get("tsv").fitted(data_dir)


def test_labels_of_a_trained_model():
    own = registry.get("tsv").with_labels(["b", "a"], num_texts=2)
    assert (own.labels, own.num_texts, own.layout.test_columns.text_b) == (("b", "a"), 2, "text_b")
    rte = registry.get("rte")
    assert rte.with_labels(["entailment", "not_entailment"], num_texts=2) is rte
    with pytest.raises(InputError, match="trained on 2 texts and labels"):
        rte.with_labels(["not_entailment", "entailment"], num_texts=2)
    with pytest.raises(InputError, match="trained on 1 texts"):
        rte.with_labels(rte.labels, num_texts=1)


def test_a_near_name_is_suggested():
    with pytest.raises(InputError, match="Did you mean mrpc. Leave --task_name out for your own"):
        registry.get("MRCP")


@pytest.mark.parametrize("missing", ["matched", "mismatched"])
def test_a_split_is_read_as_far_as_its_files_are_there(tmp_path, capsys, missing):
    data_dir = fill(tmp_path, "mnli")
    (tmp_path / f"dev_{missing}.tsv").unlink()
    ((name, examples),) = registry.get("mnli").read("dev", data_dir)
    assert name == ({"matched", "mismatched"} - {missing}).pop() and len(examples) == 2
    shown = capsys.readouterr().out
    assert shown == f"dev_{missing}.tsv is not in --data_dir={data_dir}: dev is {name} alone.\n"


def test_a_split_without_any_file_is_refused(tmp_path):
    (tmp_path / "train.tsv").touch()
    with pytest.raises(InputError, match="dev_matched.tsv .*which holds: train.tsv"):
        registry.get("mnli").read("dev", str(tmp_path))


def test_own_files_with_named_columns(tmp_path):
    train, test = tmp_path / "reviews.csv", tmp_path / "new.tsv"
    train.write_text('id,stars,review,title\n7,5,"Good, cheap.",Fine\n9,1,Bad.,No\n')
    test.write_text("title\treview\tid\nOh\tWell.\t11\n")
    columns = Columns(text_a="title", text_b="review", label="stars", row_id="id")
    own = registry.own_data("classify", columns, {"train": str(train), "test": str(test)})
    task = own.fitted(None)
    assert (task.labels, task.num_texts) == (("1", "5"), 2)
    ((_, examples),) = task.read("train", None)
    assert examples[0] == TextExample("7", "Fine", "Good, cheap.", "5")
    ((_, examples),) = task.read("test", None)
    assert examples == [TextExample("11", "Oh", "Well.")]
    trained = own.with_labels(["1", "5"], num_texts=2)
    assert (trained.labels, trained.layout.test_columns) == (task.labels, task.layout.test_columns)
    with pytest.raises(InputError, match="trained on 1 texts and labels"):
        own.with_labels(["1", "5"], num_texts=1)


def test_an_empty_text_of_own_data_is_refused(tmp_path):
    (tmp_path / "train.csv").write_text("label,text_a\nham,a\nspam,\n")
    with pytest.raises(InputError, match="train.csv, line 3: the text is empty"):
        registry.own_data("classify").fitted(str(tmp_path))


def test_own_data_may_be_json_lines_or_a_saved_data_set(tmp_path):
    (tmp_path / "train").mkdir()
    table = pyarrow.table({"text_a": ["a", "b"], "label": ["ham", "spam"]})
    parquet.write_table(table, tmp_path / "train" / "0000.parquet")
    (tmp_path / "validation.jsonl").write_text('{"text_a": "a", "label": "ham"}\n')
    task = registry.own_data("classify").fitted(str(tmp_path))
    assert task.labels == ("ham", "spam")
    assert len(task.read("dev", str(tmp_path))[0][1]) == 1


def test_own_data_may_be_csv(tmp_path):
    (tmp_path / "train.csv").write_text("label,text_a\nham,a\nspam,b\n")
    assert registry.own_data("classify").fitted(str(tmp_path)).labels == ("ham", "spam")
    with pytest.raises(InputError, match="dev.tsv, dev.csv, .* or validation is not in"):
        registry.own_data("classify").read("dev", str(tmp_path))


def test_the_overview_has_a_line_for_each_task():
    head, *lines = registry.overview().splitlines()
    assert [line.split()[0] for line in lines] == list(registry.REGISTRY)
    assert max(map(len, lines)) <= 80


def test_the_documentation_has_every_task():
    page = pathlib.Path(__file__).parents[2] / "docs" / "tasks.md"
    rows = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]
    named = re.findall("`([^`]+)`", " ".join(rows))
    assert set(registry.REGISTRY) <= set(named)

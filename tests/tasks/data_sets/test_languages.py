"""XNLI and PAWS-X as released and in XTREME's layout, ChnSentiCorp, LCQMC; invented sentences."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks import registry

XNLI_HEADER = (
    "language\tgold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse"
    "\tsentence2_parse\tsentence1\tsentence2\tpromptID\tpairID\tgenre\n"
)


def xnli_row(language, label, first, second):
    return f"{language}\t{label}\t\t\t\t\t{first}\t{second}\t1\t1\ttravel\n"


def fill(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return str(tmp_path)


def rows(task, split, data_dir):
    return [
        (name, [(e.guid, e.text_a, e.text_b, e.label) for e in examples])
        for name, examples in registry.get(task).read(split, data_dir)
    ]


MULTINLI = "premise\thypo\tlabel\nIt rained.\tIt was dry.\tcontradictory\nA.\tB.\tneutral\n"


@pytest.mark.parametrize("name", ["multinli/multinli.train.en.tsv", "multinli.train.en.tsv"])
def test_xnli_trains_on_english_and_renames_a_label(tmp_path, name):
    data_dir = fill(tmp_path, {name: MULTINLI})
    assert rows("XNLI", "train", data_dir) == [
        (
            "",
            [
                ("0", "It rained.", "It was dry.", "contradiction"),
                ("1", "A.", "B.", "neutral"),
            ],
        )
    ]


def test_one_file_of_xnli_has_a_set_for_each_language(tmp_path, capsys):
    text = XNLI_HEADER + xnli_row("de", "neutral", "Es regnet.", "Es donnert.")
    text += xnli_row("en", "entailment", "It rains.", "It is wet.")
    text += xnli_row("de", "contradiction", "Es regnet.", "Es ist trocken.")
    data_dir = fill(tmp_path, {"xnli.dev.tsv": text})
    assert rows("xnli", "dev", data_dir) == [
        ("en", [("1", "It rains.", "It is wet.", "entailment")]),
        (
            "de",
            [
                ("0", "Es regnet.", "Es donnert.", "neutral"),
                ("2", "Es regnet.", "Es ist trocken.", "contradiction"),
            ],
        ),
    ]
    assert [name for name, _ in rows("xnli-de", "dev", data_dir)] == ["de"]
    assert capsys.readouterr().out == ""


def test_xnli_in_xtremes_layout_has_no_header_and_crlf(tmp_path, capsys):
    text = "Es regnet.\tEs donnert.\tneutral\r\nEr lief.\tEr ging.\tentailment\r\n"
    data_dir = fill(tmp_path, {"dev-de.tsv": text})
    assert rows("xnli", "dev", data_dir) == [
        (
            "de",
            [
                ("0", "Es regnet.", "Es donnert.", "neutral"),
                ("1", "Er lief.", "Er ging.", "entailment"),
            ],
        )
    ]
    assert capsys.readouterr().out.endswith(f"not in --data_dir={data_dir}: dev is de alone.\n")
    data_dir = fill(tmp_path, {"test-de.tsv": "Es regnet.\tEs donnert.\r\n"})
    assert rows("xnli", "test", data_dir) == [("de", [("0", "Es regnet.", "Es donnert.", None)])]


def test_a_broken_row_of_xnli_is_reported_with_its_line(tmp_path):
    data_dir = fill(tmp_path, {"dev-de.tsv": "a\tb\tneutral\r\na\tb\tc\td\r\n"})
    with pytest.raises(InputError, match="dev-de.tsv, line 2: 4 columns found, 3 wanted"):
        rows("xnli", "dev", data_dir)


@pytest.mark.parametrize("name", ["paws-x", "PAWS-X", "pawsx", "paws_x"])
def test_paws_x_as_released(tmp_path, name):
    header = "id\tsentence1\tsentence2\tlabel\n"
    files = {
        "en/train.tsv": f"{header}5\tAnn met Tom .\tTom met Ann .\t1\n",
        "de/dev_2k.tsv": f"{header}7\tAnn traf Tom .\tTom ging .\t0\n",
    }
    data_dir = fill(tmp_path, files)
    assert rows(name, "train", data_dir) == [("", [("5", "Ann met Tom .", "Tom met Ann .", "1")])]
    assert rows(name, "dev", data_dir) == [("de", [("7", "Ann traf Tom .", "Tom ging .", "0")])]


def test_paws_x_in_xtremes_layout(tmp_path):
    data_dir = fill(tmp_path, {"dev-en.tsv": "Ann met Tom .\tTom met Ann .\t1\r\n"})
    assert rows("paws-x", "dev", data_dir) == [
        ("en", [("0", "Ann met Tom .", "Tom met Ann .", "1")])
    ]


def test_translated_training_data_of_a_language(tmp_path):
    header = "id\tsentence1\tsentence2\tlabel\n"
    files = {"de/translated_train.tsv": f"{header}1\tA\tB\t0\n", "multinli.train.de.tsv": MULTINLI}
    data_dir = fill(tmp_path, files)
    assert rows("paws-x-de", "train", data_dir) == [("", [("1", "A", "B", "0")])]
    assert len(rows("XNLI-de", "train", data_dir)[0][1]) == 2
    assert registry.get("xnli_zh").name == "xnli-zh"
    with pytest.raises(InputError, match="Unknown task 'xnli-xx'"):
        registry.get("xnli-xx")


@pytest.mark.parametrize(
    "train",
    ["房间很好。\tpositive\n太吵。\tnegative\n", "label\ttext_a\n1\t房间很好。\n0\t太吵。\n"],
)
def test_chnsenticorp_with_and_without_a_header(tmp_path, train):
    data_dir = fill(tmp_path, {"train.tsv": train, "test.tsv": "qid\ttext_a\n3\t还可以。\n"})
    assert rows("ChnSentiCorp", "train", data_dir) == [
        ("", [("0", "房间很好。", None, "positive"), ("1", "太吵。", None, "negative")])
    ]
    assert rows("ChnSentiCorp", "test", data_dir) == [("", [("3", "还可以。", None, None)])]


@pytest.mark.parametrize("header", ["", "text_a\ttext_b\tlabel\n"])
def test_lcqmc_with_and_without_a_header(tmp_path, header):
    data_dir = fill(tmp_path, {"dev.txt": f"{header}怎么去？\t如何去？\t1\n谁？\t为什么？\t0\n"})
    assert rows("lcqmc", "dev", data_dir) == [
        ("", [("0", "怎么去？", "如何去？", "1"), ("1", "谁？", "为什么？", "0")])
    ]

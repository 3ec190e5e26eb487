"""CoNLL-2003 and MSRA, with invented sentences in their layouts."""

import gzip

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks import registry

# IOB1 as released: I- begins an entity, B- only one right behind another of its type.
TRAIN = """-DOCSTART- -X- O O

Anna NNP I-NP I-PER
Berg NNP I-NP I-PER
met VBD I-VP O
Swiss JJ I-NP I-MISC
British JJ B-NP B-MISC
guests NNS I-NP O

-DOCSTART- -X- O O

Oslo NNP I-NP I-LOC
won VBD I-VP O
"""


def test_conll_2003(tmp_path):
    (tmp_path / "eng.train.gz").write_bytes(gzip.compress(TRAIN.encode()))
    ((_, examples),) = registry.get("conll2003").read("train", str(tmp_path))
    assert [example.words[0] for example in examples] == ["Anna", "Oslo"]
    assert examples[0].tags == ("B-PER", "I-PER", "O", "B-MISC", "B-MISC", "O")
    assert examples[1].tags == ("B-LOC", "O")


def test_conll_2003_in_iob2_under_other_names(tmp_path):
    text = TRAIN.replace("I-PER\nBerg", "B-PER\nBerg").replace("I-MISC", "B-MISC")
    (tmp_path / "valid.txt").write_text(text.replace("I-LOC", "B-LOC"))
    ((_, examples),) = registry.get("conll-2003").read("dev", str(tmp_path))
    assert examples[0].tags == ("B-PER", "I-PER", "O", "B-MISC", "B-MISC", "O")


def test_tags_of_the_test_set_are_read_if_they_are_there(tmp_path):
    (tmp_path / "eng.testb").write_text(TRAIN)
    ((_, examples),) = registry.get("conll-2003").read("test", str(tmp_path))
    assert examples[1].tags == ("B-LOC", "O")
    lines = [line.rpartition(" ")[0] for line in TRAIN.splitlines()]
    (tmp_path / "eng.testb").write_text("\n".join(lines))
    ((_, examples),) = registry.get("conll-2003").read("test", str(tmp_path))
    assert examples[1].words == ("Oslo", "won") and examples[1].tags is None


def test_an_entity_of_another_type_is_refused_with_its_line(tmp_path):
    (tmp_path / "eng.train").write_text(TRAIN.replace("I-LOC", "I-PLACE"))
    with pytest.raises(InputError, match=r"eng.train, line 12: label 'B-PLACE' is unknown"):
        registry.get("conll-2003").read("train", str(tmp_path))


def test_msra(tmp_path):
    text = "李 B-NR\n四 E-NR\n在 O\n京 S-NS\n\n一 B-NT\n九 M-NT\n年 E-NT\n"
    (tmp_path / "dev.ner").write_text(text, encoding="utf-8")
    ((_, examples),) = registry.get("msra-ner").read("dev", str(tmp_path))
    assert [example.words for example in examples] == [tuple("李四在京"), tuple("一九年")]
    assert examples[0].tags == ("B-NR", "I-NR", "O", "B-NS")
    assert examples[1].tags == ("B-NT", "I-NT", "I-NT")

import dataclasses

import pytest

from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.formats.bert_tf import BertTF
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from tests.checkpoints import samples

FORMAT = BertTF()


def write(given, folder):
    folder.mkdir()
    FORMAT.write(given, str(folder))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_directory_is_one_that_predicts(kind, tmp_path):
    given = samples.state_dict(kind, tmp_path / "given")
    folder = write(given, tmp_path / "out")
    directory = model_directory.ModelDirectory.open(str(folder))
    assert (directory.metadata.kind, directory.config) == (kind, given.config)
    assert directory.metadata.labels == given.labels and directory.metadata.do_lower_case
    values = {v.path: v.numpy() for v in directory.build_model().variables}
    samples.assert_equal_arrays(values, given.arrays)


@pytest.mark.parametrize(
    "name",
    ["", "last"] + [f"last/bert_model.ckpt{end}" for end in ("", ".index", ".data-00000-of-00001")],
)
def test_the_metadata_is_read_from_the_directory_and_from_its_weights(name, tmp_path):
    folder = write(samples.state_dict("tag", tmp_path / "given"), tmp_path / "out")
    checkpoint = FORMAT.open(FORMAT.find(str(folder / name)))
    assert (checkpoint.kind, checkpoint.labels, checkpoint.do_lower_case) == (
        "tag",
        samples.LABELS,
        True,
    )
    assert checkpoint.vocab_file == str(folder / "vocab.txt")


def test_other_files_next_to_the_weights_are_none(tmp_path):
    folder = write(samples.state_dict("tag", tmp_path / "given"), tmp_path / "out")
    for name in ("bert_config.json", "last/another.ckpt", "last/bert_model.ckpt.index.json"):
        assert FORMAT.find(str(folder / name)) is None


def test_a_model_without_a_next_sentence_head(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "given", without=("next_sentence",))
    folder = write(given, tmp_path / "out")
    directory = model_directory.ModelDirectory.open(str(folder))
    assert directory.metadata.num_texts == 1
    assert not directory.build_model().has_next_sentence


def test_a_next_sentence_head_alone_is_no_model_of_ours(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "given", without=("masked_lm",))
    with pytest.raises(InputError, match="--skip='next_sentence"):
        write(given, tmp_path / "out")


def test_a_vocabulary_is_wanted(tmp_path):
    given = samples.state_dict("encoder", tmp_path / "given")
    with pytest.raises(InputError, match="Give --vocab_file"):
        write(dataclasses.replace(given, vocab_file=None), tmp_path / "out")


def test_labels_that_nobody_gave(tmp_path):
    given = dataclasses.replace(samples.state_dict("classify", tmp_path / "given"), labels=())
    folder = write(given, tmp_path / "out")
    metadata = model_directory.ModelDirectory.open(str(folder)).metadata
    assert metadata.labels[:2] == ("LABEL_0", "LABEL_1")
    assert FORMAT.open(FORMAT.find(str(folder))).labels == ()

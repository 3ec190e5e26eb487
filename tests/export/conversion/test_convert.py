import dataclasses
import errno
import json
import os

import pytest
import tensorflow as tf
from safetensors import SafetensorError

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.opening import format_named
from bert_tf.errors import DiskFullError, InputError
from export import options
from export.conversion import convert as conversion
from export.conversion import verify
from tests.checkpoints import samples
from tests.modeling import harness


def source(tmp_path, kind="pretrain", name="huggingface", **changes):
    """Path of a checkpoint of a format."""
    given = dataclasses.replace(samples.state_dict(kind, tmp_path / "given"), **changes)
    folder = tmp_path / "source"
    folder.mkdir()
    format_named(name).write(given, str(folder))
    return str(folder)


def convert(path, target, output, **flags):
    given = options.Conversion(source=path, target=target, output=str(output), **flags)
    conversion.run(given)
    return open_checkpoint(output)


@pytest.mark.parametrize("target", ["tf1", "huggingface", "bert_tf"])
def test_a_conversion_takes_everything_along(tmp_path, capsys, target):
    checkpoint = convert(source(tmp_path), target, tmp_path / "out", verify=True)
    converted, _ = reading.read(checkpoint)
    given = samples.state_dict("pretrain", tmp_path / "given")
    samples.assert_equal_arrays(converted.arrays, given.arrays)
    assert (checkpoint.kind, checkpoint.do_lower_case) == ("pretrain", True)
    assert checkpoint.config == given.config
    with open(given.vocab_file, "rb") as one, open(checkpoint.vocab_file, "rb") as other:
        assert one.read() == other.read()
    printed = capsys.readouterr().out
    assert "next sentence head" in printed and "kind pretrain" in printed
    assert "sequence_output 0.0e+00" in printed and "masked_lm_logits 0.0e+00" in printed


def test_tasks_survive_a_format_that_cannot_store_them(tmp_path):
    path = source(tmp_path, "tag")
    convert(path, "tf1", tmp_path / "one")
    checkpoint = convert(str(tmp_path / "one"), "huggingface", tmp_path / "two")
    assert (checkpoint.kind, checkpoint.labels) == ("tag", samples.LABELS)


def test_options_say_what_the_source_does_not(tmp_path):
    path = source(tmp_path, "classify", "tf1")
    checkpoint = convert(
        path,
        "huggingface",
        tmp_path / "out",
        kind="tag",
        labels=",".join(samples.LABELS),
        do_lower_case=False,
        num_texts=2,
    )
    assert (checkpoint.kind, checkpoint.labels) == ("tag", samples.LABELS)
    assert (checkpoint.do_lower_case, checkpoint.num_texts) == (False, 2)


def test_labels_of_another_number_are_refused(tmp_path):
    with pytest.raises(InputError, match="11 outputs and there are 2 labels"):
        convert(source(tmp_path, "classify"), "tf1", tmp_path / "out", labels="a,b")
    assert not (tmp_path / "out").exists()


def test_config_and_vocabulary_from_elsewhere(tmp_path, capsys):
    path = source(tmp_path, "span", "tf1")
    for name in ("vocab.txt", "bert_config.json"):
        os.rename(os.path.join(path, name), tmp_path / name)
    with pytest.raises(InputError, match="Give --bert_config_file"):
        convert(path, "huggingface", tmp_path / "out")
    config_file = str(tmp_path / "bert_config.json")
    convert(path, "huggingface", tmp_path / "out", bert_config_file=config_file, verify=True)
    assert "--vocab_file gives one" in capsys.readouterr().out
    assert not (tmp_path / "out" / "vocab.txt").exists()
    given = {"bert_config_file": config_file, "vocab_file": str(tmp_path / "vocab.txt")}
    checkpoint = convert(path, "huggingface", tmp_path / "out", **given)
    assert checkpoint.vocab_file == str(tmp_path / "out" / "vocab.txt")
    assert "does not say its casing" in capsys.readouterr().out


def test_skip(tmp_path, capsys):
    checkpoint = convert(
        source(tmp_path), "tf1", tmp_path / "out", skip="next_sentence/.*,masked_lm/.*", verify=True
    )
    assert all(name.startswith("bert/") for name in checkpoint.names)
    assert checkpoint.kind == "encoder"
    assert "left out (7): cls.predictions.bias" in capsys.readouterr().out


def test_a_pattern_that_is_none(tmp_path):
    with pytest.raises(InputError, match="--skip: '\\*' is not a regular expression"):
        convert(source(tmp_path), "tf1", tmp_path / "out", skip="*")


def test_positions_and_vocabulary_change_when_somebody_says_so(tmp_path, capsys):
    tokens = [*samples.SPECIAL, "a", "b", "c", "##c", "word7"]
    subset = tmp_path / "subset.txt"
    subset.write_text("".join(f"{token}\n" for token in tokens))
    flags = {"extend_positions": 29, "vocab_subset": str(subset), "verify": True}
    checkpoint = convert(source(tmp_path), "huggingface", tmp_path / "out", **flags)
    config = dataclasses.replace(harness.config(), vocab_size=10, max_position_embeddings=29)
    assert checkpoint.config == dataclasses.replace(config)
    printed = capsys.readouterr().out
    assert "17 -> 29" in printed and "101 rows -> 10" in printed
    assert "masked_lm_logits 0.0e+00" in printed  # of the tokens that are kept


def test_a_pooler_is_added_where_one_is_wanted(tmp_path, capsys):
    given = samples.state_dict("span", tmp_path / "given", without=("encoder/pooler",))
    path = source(tmp_path, "span", arrays=given.arrays)
    checkpoint = convert(path, "bert_tf", tmp_path / "out", verify=True)
    assert "bert/pooler/dense/kernel" in checkpoint.names
    printed = capsys.readouterr().out
    assert "no pooler in the source, so its weights are random" in printed
    assert "pooled_output" not in printed
    assert "bert/pooler/dense/kernel" not in convert(path, "tf1", tmp_path / "tf1").names


def test_an_earlier_conversion_is_replaced_and_nothing_else(tmp_path):
    path, output = source(tmp_path), tmp_path / "out"
    convert(path, "huggingface", output)
    convert(path, "tf1", output)
    assert not (output / "model.safetensors").exists()
    (output / "conversion.json").unlink()
    before = sorted(os.listdir(output))
    with pytest.raises(InputError, match="is not empty and not an earlier conversion.*bert_config"):
        convert(path, "huggingface", output)
    assert sorted(os.listdir(output)) == before
    with pytest.raises(InputError, match="is a file"):
        convert(path, "tf1", output / "vocab.txt")


def test_the_source_is_never_replaced(tmp_path):
    convert(source(tmp_path), "bert_tf", tmp_path / "out")
    for path in (tmp_path / "out", tmp_path / "out" / "last"):
        with pytest.raises(InputError, match="holds the source"):
            convert(str(path), "tf1", tmp_path / "out")


def test_a_failed_conversion_leaves_what_was_there(tmp_path, monkeypatch):
    path, output = source(tmp_path), tmp_path / "out"
    convert(path, "huggingface", output)
    before = json.loads((output / "conversion.json").read_text())

    def differ(*_):
        raise verify.MismatchError("differs")

    monkeypatch.setattr(verify, "compare", differ)
    with pytest.raises(verify.MismatchError):
        convert(path, "tf1", output, verify=True)
    assert json.loads((output / "conversion.json").read_text()) == before
    assert (output / "model.safetensors").is_file()
    assert sorted(os.listdir(tmp_path)) == ["given", "out", "source"]


def test_a_vocabulary_that_does_not_match(tmp_path):
    path = source(tmp_path)
    samples.vocab_file(path, 103)
    with pytest.raises(InputError, match="103 tokens, the config vocab_size=101"):
        convert(path, "tf1", tmp_path / "out")


def test_a_casing_that_contradicts_the_vocabulary_is_said(tmp_path, capsys):
    convert(source(tmp_path), "tf1", tmp_path / "out", do_lower_case=False)
    assert "do_lower_case=False, but the vocabulary is uncased" in capsys.readouterr().out


def test_the_path_of_the_weights_of_a_model_directory_keeps_what_it_is(tmp_path):
    path = source(tmp_path, "tag", "bert_tf")
    checkpoint = convert(f"{path}/last/bert_model.ckpt", "huggingface", tmp_path / "out")
    assert (checkpoint.kind, checkpoint.labels) == ("tag", samples.LABELS)


def test_a_pattern_that_leaves_nothing_out_is_said(tmp_path, capsys):
    convert(source(tmp_path), "tf1", tmp_path / "out", skip="next_sentense/.*")
    assert "--skip: 'next_sentense/.*' leaves nothing out" in capsys.readouterr().out


def test_a_comma_in_braces_separates_nothing(tmp_path):
    skip = "masked_lm/.*,next_sentence/.{1,9}"
    assert convert(source(tmp_path), "tf1", tmp_path / "out", skip=skip).kind == "encoder"


def test_labels_are_taken_without_the_spaces_around_them(tmp_path):
    labels = ", ".join(samples.LABELS)
    path = source(tmp_path, "classify", "tf1")
    assert convert(path, "huggingface", tmp_path / "out", labels=labels).labels == samples.LABELS


@pytest.mark.parametrize("labels", ["a,b,a", "a,,b", "a,b,"])
def test_labels_that_are_none(tmp_path, labels):
    path = source(tmp_path, "classify", "tf1")
    with pytest.raises(InputError, match=f"--labels={labels} has a label twice, or an empty one"):
        convert(path, "huggingface", tmp_path / "out", labels=labels)


@pytest.mark.parametrize("output", ["", ".", ".."])
def test_the_working_directory_is_never_replaced(tmp_path, monkeypatch, output):
    path = source(tmp_path)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(InputError, match="is or contains the working directory"):
        convert(path, "tf1", output)


def test_an_output_that_cannot_be_written(tmp_path):
    path = source(tmp_path)
    with pytest.raises(InputError, match="cannot be written: .*vocab.txt"):
        convert(path, "tf1", f"{path}/vocab.txt/out")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        SafetensorError("I/O error: No space left on device (os error 28)"),
        tf.errors.ResourceExhaustedError(None, None, "x.data; No space left on device"),
    ],
)
def test_a_full_disk_leaves_the_conversion_of_before(tmp_path, monkeypatch, error):
    path, out = source(tmp_path), tmp_path / "out"
    convert(path, "tf1", out)
    before = sorted(os.listdir(out))

    def full(*_):
        raise error

    with monkeypatch.context() as context:
        context.setattr(type(format_named("huggingface")), "write", full)
        with pytest.raises(DiskFullError, match=rf"disk is full \({out}\).*same command again"):
            convert(path, "huggingface", out)
    assert sorted(os.listdir(out)) == before
    convert(path, "huggingface", out)


def test_a_config_that_gives_the_weights_another_meaning(tmp_path):
    """Every shape fits: 21 units are 3 heads of 7 or 7 heads of 3."""
    path, given = source(tmp_path, "pretrain", "tf1"), tmp_path / "bert_config.json"
    given.write_text(harness.config(num_attention_heads=7).to_json())
    with pytest.raises(InputError, match="num_attention_heads is 3 in the .*config, 7 in"):
        convert(path, "huggingface", tmp_path / "out", bert_config_file=str(given))
    assert not (tmp_path / "out").exists()


def test_another_vocabulary_than_the_source_s_is_said(tmp_path, capsys):
    path = source(tmp_path)
    tokens = (tmp_path / "given" / "vocab.txt").read_text().split()
    (tmp_path / "other.txt").write_text("\n".join([*tokens[:-1], "last"]) + "\n")
    convert(path, "tf1", tmp_path / "out", vocab_file=str(tmp_path / "other.txt"))
    assert "other.txt is another vocabulary than the source's" in capsys.readouterr().out
    convert(path, "tf1", tmp_path / "out", vocab_file=str(tmp_path / "given" / "vocab.txt"))
    assert "another vocabulary" not in capsys.readouterr().out

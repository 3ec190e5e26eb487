import dataclasses
import types

import pytest

from bert_tf.errors import InputError
from export import build, options


def test_other_kinds_are_refused_with_what_can_be_exported(model_directory):
    with pytest.raises(InputError, match="kind 'span'.*exportable kinds: classify, regress"):
        build.check(model_directory("span", 2))


def test_the_length_is_checked_against_the_position_table(model_directory):
    directory = model_directory("classify", 2)
    assert build.check(directory) == 31
    assert build.check(directory, 53) == 53
    with pytest.raises(InputError, match="max_seq_length=59 is beyond the model's position table"):
        build.check(directory, 59)
    with pytest.raises(InputError, match="at least 5"):
        build.check(directory, 4)


def test_no_model_directory_is_said(tmp_path):
    flags = options.Export(model_dir=str(tmp_path), export_dir=str(tmp_path / "m"))
    with pytest.raises(InputError, match="is not a model directory"):
        build.run(flags)
    with pytest.raises(InputError, match="piece_rows=0"):
        dataclasses.replace(flags, piece_rows=0)


def test_the_report_says_how_to_serve_and_ask(cases, monkeypatch, tmp_path, capsys):
    case = cases["regress", 2]
    opened = types.SimpleNamespace(
        path=case.directory.path,
        config=case.directory.config,
        vocabulary=case.directory.vocabulary,
        vocab_file=case.directory.vocab_file,
        metadata=case.directory.metadata,
        build_model=lambda which: case.model,
    )
    monkeypatch.setattr(build.ModelDirectory, "open", lambda path: opened)
    base_path = str(tmp_path / "similarity")
    build.run(options.Export(model_dir="any", export_dir=base_path))
    report = capsys.readouterr().out
    assert f"Exported {base_path}/1: " in report
    assert "serving_default: text_a string [B], text_b string [B] -> logits float32 [B 1]" in report
    assert "ids: input_mask int32 [B T], input_type_ids int32 [B T], input_word_ids" in report
    assert f"python -m serving --model_name=similarity --model_base_path={base_path}\n" in report
    assert 'python -m serving.client --model_name=similarity --text_a="..."' in report

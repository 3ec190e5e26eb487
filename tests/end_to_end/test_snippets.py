"""Every Python block of the documentation runs as it is printed."""

import os
import pathlib
import shutil

import keras
import pytest

from tests.reference import snippets

PAGE = "docs/library.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory in which the names of the page are tiny models."""
    from bert_tf import checkpoints
    from bert_tf.checkpoints import model_directory
    from bert_tf.config import BertConfig
    from bert_tf.modeling.models import PretrainingModel
    from export import version

    folder = tmp_path_factory.mktemp("reader")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,?!", *"abcdefghijklmnopqrstuvwxyz"]
    tokens += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=6,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=11,
        max_position_embeddings=131,
    )
    keras.utils.set_random_seed(1)
    checkpoints.save(PretrainingModel(config), folder / "bert-base-uncased")
    vocab_file = folder / "bert-base-uncased" / "vocab.txt"
    vocab_file.write_text("\n".join(tokens) + "\n")
    for name, kind, labels in (("topics", "classify", ("music", "space")), ("squad", "span", ())):
        metadata = model_directory.ModelMetadata(
            kind=kind, task=name, labels=labels, do_lower_case=True, max_seq_length=61
        )
        os.makedirs(folder / "out" / name)
        path = str(folder / "out" / name)
        directory = model_directory.create(path, config, vocab_file, metadata)
        model = model_directory.new_model(config, metadata)
        checkpoints.save(model, f"{path}/last")
        if kind == "classify":
            version.write(model, directory, str(folder / "models" / name), 61, chunk_rows=32)
    return folder


def test_the_library_page(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = snippets.run(PAGE)
    assert type(names["classifier"]).__name__ == "TextClassifier"
    assert names["vectors"].shape == (2, 6) or names["model"]
    printed = capsys.readouterr().out
    assert "label='space'" in printed or "label='music'" in printed
    assert os.path.isfile("stars.keras") and os.path.isfile("out/films/model.json")


def test_programs_have_at_most_five_lines():
    lengths = [len(snippets.statements(block)) for block in snippets.blocks(PAGE)]
    assert len(lengths) > 8 and max(lengths) <= 5


def test_blocks_of_a_page_are_found(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(
        "```python\na = 1\n```\n\n```sh\nls\n```\n```python\nb = a\n```\n"
    )
    monkeypatch.setattr(snippets, "PAGES", pathlib.Path(tmp_path))
    assert snippets.blocks("page.md") == ["a = 1\n", "b = a\n"]
    assert snippets.run("page.md")["b"] == 1
    shutil.rmtree(tmp_path)

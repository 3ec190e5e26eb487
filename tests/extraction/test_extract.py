"""From a file of texts to a file of vectors, with a small model on disk."""

import json
import pathlib

import numpy as np
import pytest

from bert_tf import checkpoints, options
from bert_tf.checkpoints import saving
from bert_tf.errors import InputError
from bert_tf.extraction import extract, inputs
from bert_tf.modeling.encoder import Encoder
from tests.checkpoints import samples
from tests.modeling import harness
from tests.reference import numpy_bert

L, H = 4, harness.H
TEXTS = ["a b c", "", "word7 ||| b", "x y z " * 9, "c"]
# Tokens of `TEXTS`, cut to 13.
TOKENS = ["[CLS] a b c [SEP]", "[CLS] [SEP]", "[CLS] word7 [SEP] b [SEP]"]
TOKENS += ["[CLS] " + "x y z " * 3 + "x y [SEP]", "[CLS] c [SEP]"]
FIRST_B = 3  # position in the third row from which on types are 1


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A directory with a TensorFlow 1 checkpoint; and the encoder."""
    folder = tmp_path_factory.mktemp("bert")
    encoder = harness.randomize(Encoder(harness.config(num_hidden_layers=L)))
    checkpoints.save(encoder, folder / "model")
    samples.vocab_file(folder / "model")
    return folder / "model", encoder


@pytest.fixture
def given(model, tmp_path):
    """`given(**flags)`: options that read `TEXTS`."""
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")

    def make(**flags):
        values = {
            "input_file": f"{tmp_path}/in.txt",
            "output_file": f"{tmp_path}/out.jsonl",
            "init_checkpoint": str(model[0]),
            "max_seq_length": 13,
            "batch_size": 2,
        }
        return options.FeatureExtraction(**values | flags)

    return make


@pytest.fixture(scope="module")
def reference(model):
    """For each text: ids, and the list of [T H] of the embeddings and the layers."""
    vocabulary = (model[0] / "vocab.txt").read_text().split("\n")
    weights = saving.to_arrays(model[1])
    found = []
    for number, tokens in enumerate(TOKENS):
        ids = [vocabulary.index(token) for token in tokens.split()]
        types = [int(number == 2 and position >= FIRST_B) for position in range(len(ids))]
        row = (ids, np.ones(len(ids)), types)
        layers, _ = numpy_bert.encode(weights, L, harness.A, numpy_bert.gelu_tanh, *row)
        found.append((ids, layers))
    return found


def run(given_options):
    inputs.main(given_options)
    return pathlib.Path(given_options.output_file)


def test_the_released_call(given, reference, capfd):
    path = run(given())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["linex_index"] for line in lines] == [0, 1, 2, 3, 4]
    for line, tokens, (_, layers) in zip(lines, TOKENS, reference, strict=True):
        assert " ".join(each["token"] for each in line["features"]) == tokens
        for position, each in enumerate(line["features"]):
            assert [layer["index"] for layer in each["layers"]] == [-1, -2, -3, -4]
            values = [layer["values"] for layer in each["layers"]]
            wanted = [layer[position] for layer in layers[:0:-1]]
            np.testing.assert_allclose(values, wanted, rtol=0, atol=3e-5)
    printed = capfd.readouterr().out
    assert "Extracted: 5 texts of 28 tokens" in printed
    assert "1 of them were longer than --max_seq_length=13" in printed
    assert sorted(p.name for p in path.parent.iterdir()) == ["in.txt", "out.jsonl"]


def test_chunks_give_the_order_of_the_input(given, reference, monkeypatch):
    monkeypatch.setattr(extract, "_MAX_TOKENS", 13)  # of three texts, and of the other two
    path = run(given(output_file=given().output_file.replace("jsonl", "npz"), layers="embeddings"))
    found = np.load(path)
    assert found["word_ids"].tolist() == [i for ids, _ in reference for i in ids]
    assert found["row_splits"].tolist() == [0, 5, 7, 12, 25, 28]
    wanted = np.concatenate([layers[0] for _, layers in reference])[:, None]
    np.testing.assert_allclose(found["values"], wanted, rtol=0, atol=3e-5)


def test_a_chunk_fits_into_memory_and_has_at_least_a_batch():
    rows = [extract.Row(i, [0] * 5, [0] * 5, False) for i in range(11)]
    layout = extract.Layout(inputs.Selection(inputs.layers.parse("-1", 1)), None, 2**20, "float32")
    # A row of 5 vectors of 4 MiB: four of them are more than 2^26 bytes.
    assert [len(p) for p in extract.chunks(rows, layout, 2)] == [4, 4, 3]
    assert [len(p) for p in extract.chunks(rows, layout, 6)] == [6, 5]


def test_a_killed_extraction_goes_on(given, reference, monkeypatch, capfd):
    path = given().output_file + ".npz"
    monkeypatch.setattr(extract, "_MAX_TOKENS", 1)  # a chunk for each batch
    monkeypatch.setattr(extract.unfinished, "_SECONDS_BETWEEN_SAVES", -1.0)
    add = extract.unfinished.Unfinished.add

    def add_once(self, *arguments):
        if self.num_rows:
            raise KeyboardInterrupt
        add(self, *arguments)

    monkeypatch.setattr(extract.unfinished.Unfinished, "add", add_once)
    with pytest.raises(KeyboardInterrupt):
        run(given(output_file=path))
    monkeypatch.setattr(extract.unfinished.Unfinished, "add", add)
    assert not pathlib.Path(path).exists()
    with pytest.raises(InputError, match="out.jsonl.npz.unfinished is what another .* pooling is"):
        run(given(output_file=path, pooling="mean"))
    found = np.load(run(given(output_file=path)))
    assert "Going on after line 2." in capfd.readouterr().out
    assert found["word_ids"].tolist() == [i for ids, _ in reference for i in ids]
    wanted = np.concatenate([np.stack(layers[:0:-1], axis=1) for _, layers in reference])
    np.testing.assert_allclose(found["values"], wanted, rtol=0, atol=3e-5)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"layers": "-5"}, "'-5' is none of the 4 layers"),
        ({"max_seq_length": 18}, "beyond the model's position table of 17"),
        ({"max_seq_length": 2}, "leaves no room for text"),
        ({"do_lower_case": False}, "do_lower_case"),
        ({"output_file": "x.npz.gz"}, "npz is not compressed by gzip"),
        ({"output_file": "x.npz", "output_format": "jsonl"}, "ends as npz, and --output_format"),
        ({"output_file": "."}, "is a directory; the name of a file was wanted"),
        ({"input_file": "nowhere.txt"}, "--input_file=nowhere.txt does not exist"),
        ({"init_checkpoint": "nowhere/x.ckpt"}, "No checkpoint at"),
    ],
)
def test_what_is_refused(flags, message, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        run(given(**flags))
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_the_output_is_not_the_input(given):
    with pytest.raises(InputError, match="is --input_file too"):
        run(given(output_file=given().input_file))


def test_without_a_pooler(given, model, tmp_path):
    arrays = {n: x for n, x in saving.to_arrays(model[1]).items() if "pooler" not in n}
    saving.write(arrays, model[1].config, tmp_path / "headless")
    samples.vocab_file(tmp_path / "headless")
    flags = {"init_checkpoint": str(tmp_path / "headless")}
    with pytest.raises(InputError, match="has no pooler, which --pooling=pooled reads"):
        run(given(pooling="pooled", **flags))
    assert run(given(pooling="mean", **flags)).exists()


def test_parquet_needs_pyarrow(given, monkeypatch):
    monkeypatch.setattr(inputs.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="Run pip install pyarrow, or give a file that ends in"):
        run(given(output_format="parquet"))

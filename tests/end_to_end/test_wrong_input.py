"""Wrong input is refused before work starts, with the way out."""

import dataclasses
import json

import numpy as np
import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.records.build import builder
from bert_tf.text import vocab
from bert_tf.training.finetuning import classifier_data, squad_data
from bert_tf.training.pretraining import pretrain
from tests.reference import records

HEADER = "index\tquestion\tsentence\tlabel\n"
ROWS = "0\tWho?\tJane.\tentailment\n1\tWhen?\tNo one.\tnot_entailment\n"


@pytest.fixture
def data(tmp_path):
    """A directory with a QNLI of two rows and a corpus of two documents."""
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text(HEADER + ROWS)
    sentences = [f"This is sentence {i} of a document.\n" for i in range(7)]
    (tmp_path / "corpus.txt").write_text("".join(sentences) + "\n" + "".join(sentences))
    return tmp_path


@pytest.fixture
def refused(data):
    """`refused(function, arguments, *wanted)`: the error has every part that is wanted, and the
    files are as they were."""

    def refused(function, arguments, *wanted):
        before = contents(data)
        with pytest.raises(InputError) as caught:
            function(arguments)
        for part in wanted:
            assert part in str(caught.value)
        assert contents(data) == before

    return refused


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("flag", ["bert_config_file", "vocab_file", "init_checkpoint"])
def test_missing_file(tiny_bert, data, refused, classifier_options, flag):
    arguments = classifier_options(data, **{flag: f"{data}/nowhere/file"})
    refused(classifier_data.main, arguments, f"{data}/nowhere/file")


def test_empty_file(tiny_bert, data, refused, classifier_options):
    (data / "train.tsv").write_text("")
    refused(classifier_data.main, classifier_options(data), "train.tsv", "empty")


def test_row_with_a_missing_column(tiny_bert, data, refused, classifier_options):
    (data / "train.tsv").write_text(HEADER + "0\tWho?\tentailment\n")
    refused(classifier_data.main, classifier_options(data), "train.tsv", "line 2", "3", "4")


def test_label_outside_the_list(tiny_bert, data, refused, classifier_options):
    (data / "dev.tsv").write_text(HEADER + "0\tWho?\tJane.\tperhaps\n")
    arguments = classifier_options(data, do_eval=True)
    refused(classifier_data.main, arguments, "dev.tsv", "line 2", "'perhaps'", "entailment")


def test_sequences_beyond_the_position_table(tiny_bert, data, refused, classifier_options):
    arguments = classifier_options(data, max_seq_length=513)
    refused(classifier_data.main, arguments, "--max_seq_length=513", "512")


def vocabulary_file(bert, path, tokens):
    lines = (bert / "vocab.txt").read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in tokens(lines)), encoding="utf-8")
    return str(path)


def test_vocabulary_smaller_than_the_config(tiny_bert, data, refused, classifier_options):
    path = vocabulary_file(tiny_bert, data / "small.txt", lambda lines: lines[:20000])
    arguments = classifier_options(data, vocab_file=path)
    refused(classifier_data.main, arguments, "20000", "30522")


def test_vocabulary_larger_than_the_config(tiny_bert, data, refused, classifier_options):
    path = vocabulary_file(tiny_bert, data / "large.txt", lambda lines: [*lines, "##newpiece"])
    arguments = classifier_options(data, vocab_file=path)
    refused(classifier_data.main, arguments, "30523", "30522")


def cased(lines):
    return [line.title() if line.isascii() and line.isalpha() else line for line in lines]


def test_cased_vocabulary_with_lower_casing(tiny_bert, data, refused, classifier_options):
    path = vocabulary_file(tiny_bert, data / "cased.txt", cased)
    arguments = classifier_options(data, vocab_file=path, init_checkpoint=None)
    refused(classifier_data.main, arguments, "cased", "--do_lower_case=false")


def test_cased_vocabulary_with_an_uncased_checkpoint(tiny_bert, data, refused, classifier_options):
    path = vocabulary_file(tiny_bert, data / "cased.txt", cased)
    arguments = classifier_options(data, vocab_file=path, do_lower_case=False)
    refused(
        classifier_data.main, arguments, "cased", "uncased", f"--vocab_file={tiny_bert}/vocab.txt"
    )


def test_output_directory_of_another_run(tiny_bert, data, refused, classifier_options):
    arguments = classifier_options(data, num_train_epochs=1.0)
    classifier_data.main(arguments)
    other = dataclasses.replace(arguments, learning_rate=1e-3)
    refused(classifier_data.main, other, "learning_rate", "5e-05", "0.001", "new --output_dir")
    (data / "train.tsv").write_text(HEADER + ROWS.replace("Jane", "Emily"))
    refused(classifier_data.main, arguments, "examples", "new --output_dir")
    other = dataclasses.replace(arguments, max_seq_length=64)
    refused(classifier_data.main, other, "max_seq_length is 128 there and 64 here")


def records_options(bert, data, text):
    (data / "text.txt").write_text(text)
    return options.PretrainingData(
        input_file=f"{data}/text.txt",
        output_file=f"{data}/text.tfrecord",
        vocab_file=f"{bert}/vocab.txt",
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "empty"),
        ("One line, one document.\n", "document"),
        ("One document.\nOf two sentences.\n", "another document"),
    ],
)
def test_corpus_that_gives_no_pairs(tiny_bert, data, refused, text, wanted):
    refused(builder.run, records_options(tiny_bert, data, text), wanted)


def pretraining_options(bert, data, **changes):
    values = {
        "bert_config_file": f"{bert}/config.json",
        "output_dir": f"{data}/out",
        "input_file": f"{data}/corpus.tfrecord",
        "do_train": True,
        "num_train_steps": 1,
        "num_warmup_steps": 0,
        "train_batch_size": 2,
    }
    return options.PreTraining(**values | changes)


def test_records_that_do_not_fit_the_flags(tiny_bert, data, refused):
    builder.run(
        options.PretrainingData(
            input_file=f"{data}/corpus.txt",
            output_file=f"{data}/corpus.tfrecord",
            vocab_file=f"{tiny_bert}/vocab.txt",
        )
    )
    arguments = pretraining_options(tiny_bert, data, max_seq_length=64)
    refused(pretrain.run, arguments, "corpus.tfrecord", "--max_seq_length=128")
    (data / "small.json").write_text(
        json.dumps(json.loads((tiny_bert / "config.json").read_text()) | {"vocab_size": 997})
    )
    path = vocabulary_file(tiny_bert, data / "small.txt", lambda lines: lines[:997])
    arguments = pretraining_options(
        tiny_bert, data, bert_config_file=f"{data}/small.json", vocab_file=path
    )
    refused(pretrain.run, arguments, "corpus.tfrecord", "997")


def made_records(data, vocab_file, **changes):
    """A record file with a manifest."""
    vocabulary = vocab.from_file(vocab_file)
    sizes = {"T": changes.get("max_seq_length", 128), "P": 20}
    values = records.pretraining_values([101, 2000, 102], [1], [7], pair_label=0, sizes=sizes)
    path = records.write_file(data / "corpus.tfrecord", [values])
    records.enter([path], vocabulary, **changes)
    return path


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"max_seq_length": 64}, ["--max_seq_length=64", "128 was wanted"]),
        ({"max_predictions_per_seq": 19}, ["--max_predictions_per_seq=19", "20 was wanted"]),
        ({"do_lower_case": False}, ["--do_lower_case=false", "the model's is true"]),
        ({"example_type": "packed"}, ["--example_type=packed", "nsp was wanted"]),
        ({"example_type": "full_sentences"}, ["--example_type=full_sentences", "nsp was wanted"]),
        ({"example_type": "doc_sentences"}, ["--example_type=doc_sentences", "nsp was wanted"]),
    ],
)
def test_records_that_were_made_for_another_model(tiny_bert, data, refused, changes, wanted):
    made_records(data, f"{tiny_bert}/vocab.txt", **changes)
    arguments = pretraining_options(tiny_bert, data, max_predictions_per_seq=20)
    refused(pretrain.run, arguments, "corpus.tfrecord", "manifest.json", *wanted)


def test_records_of_another_vocabulary(tiny_bert, data, refused):
    def other(lines):
        return [f"{line}x" if number == 2000 else line for number, line in enumerate(lines)]

    made_records(data, vocabulary_file(tiny_bert, data / "other.txt", other))
    arguments = pretraining_options(tiny_bert, data)
    refused(pretrain.run, arguments, "corpus.tfrecord", "another vocabulary", "--vocab_file")


def test_records_that_are_not_whole(tiny_bert, data, refused):
    path = made_records(data, f"{tiny_bert}/vocab.txt")
    with open(path, "rb+") as file:
        file.truncate(100)
    refused(pretrain.run, pretraining_options(tiny_bert, data), "corpus.tfrecord", "100 bytes")


def test_questions_without_answers_need_the_flag(tiny_bert, data, refused):
    question = {"id": "1", "question": "Who?", "answers": [], "is_impossible": True}
    paragraph = {"context": "No one knows.", "qas": [question]}
    document = {"version": "v2.0", "data": [{"title": "A", "paragraphs": [paragraph]}]}
    (data / "squad.json").write_text(json.dumps(document))
    arguments = options.QuestionAnswering(
        bert_config_file=f"{tiny_bert}/config.json",
        vocab_file=f"{tiny_bert}/vocab.txt",
        init_checkpoint=str(tiny_bert),
        output_dir=f"{data}/out",
        do_predict=True,
        predict_file=f"{data}/squad.json",
    )
    refused(squad_data.main, arguments, "--version_2_with_negative=true")


def test_weights_of_another_size(tiny_bert, data, refused, classifier_options):
    from safetensors.numpy import load_file, save_file

    other = data / "other"
    other.mkdir()
    tensors = load_file(tiny_bert / "model.safetensors")
    tensors["pooler.dense.bias"] = np.zeros(23, np.float32)
    save_file(tensors, other / "model.safetensors")
    (other / "config.json").write_bytes((tiny_bert / "config.json").read_bytes())
    arguments = classifier_options(data, init_checkpoint=str(other))
    refused(classifier_data.main, arguments, "pooler", "23", "22")

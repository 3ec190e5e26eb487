"""create_pretraining_data.py from text to records: bytes, statistics, every wrong input."""

import contextlib
import dataclasses
import errno
import math
import os
import random

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build import builder, recipe, scratch

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NUM_DOCUMENTS, NUM_WORDS = 13, 31
# "d3w5" is word 5 of document 3, so that a token tells which document it is from.
WORDS = [f"d{d}w{w}" for d in range(NUM_DOCUMENTS) for w in range(NUM_WORDS)]
TOKENS = [*SPECIAL, *WORDS]


def corpus(num_sentences=17):
    rng = random.Random(1)
    documents = [
        "\n".join(
            " ".join(f"D{d}w{rng.randrange(NUM_WORDS)}" for _ in range(rng.randint(3, 11)))
            for _ in range(num_sentences)
        )
        for d in range(NUM_DOCUMENTS)
    ]
    return "\n\n".join(documents) + "\n"


@pytest.fixture
def options(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (tmp_path / "text.txt").write_text(corpus())
    return PretrainingData(
        input_file=str(tmp_path / "text.txt"),
        output_file=str(tmp_path / "out.tfrecord"),
        vocab_file=str(tmp_path / "vocab.txt"),
        max_seq_length=37,
        max_predictions_per_seq=7,
        dupe_factor=3,
        num_workers=1,
    )


def with_text(options, text):
    with open(options.input_file, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return options


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def examples(path):
    """Parsed as the released input function does."""
    specification = {
        "input_ids": tf.io.FixedLenFeature([37], tf.int64),
        "input_mask": tf.io.FixedLenFeature([37], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([37], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([7], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([7], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([7], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }
    for record in tf.data.TFRecordDataset(path):
        found = tf.io.parse_single_example(record, specification)
        yield {name: value.numpy().tolist() for name, value in found.items()}


def texts(example):
    """The two texts before masking, as tokens."""
    ids = list(example["input_ids"])
    for place, label, weight in zip(
        example["masked_lm_positions"],
        example["masked_lm_ids"],
        example["masked_lm_weights"],
        strict=True,
    ):
        if weight:
            ids[place] = label
    num_tokens = sum(example["input_mask"])
    first_sep = ids.index(3)
    assert ids[0] == 2
    assert ids[num_tokens - 1] == 3
    return (
        [TOKENS[i] for i in ids[1:first_sep]],
        [TOKENS[i] for i in ids[first_sep + 1 : num_tokens - 1]],
    )


def document_numbers(tokens):
    return {token[1:].split("w")[0] for token in tokens}


@pytest.fixture
def small_parts(monkeypatch):
    """Many units, pools and buckets out of little text: about three documents each."""
    monkeypatch.setattr(builder, "UNIT_BYTES", 1009)
    monkeypatch.setattr(builder, "POOL_TOKENS", 500)
    monkeypatch.setattr(recipe, "_BUCKET_BYTES", 4001)
    monkeypatch.setattr(recipe, "_RUN_BYTES", 8009)


@pytest.mark.parametrize("is_small", [False, True])
def test_labels_are_true(options, request, is_small):
    if is_small:
        request.getfixturevalue("small_parts")
    builder.run(options)
    found = list(examples(options.output_file))
    num_random = 0
    for example in found:
        text_a, text_b = texts(example)
        (number_a,), (number_b,) = document_numbers(text_a), document_numbers(text_b)
        assert example["next_sentence_labels"] == [int(number_a != number_b)]
        num_random += example["next_sentence_labels"][0]
        assert example["segment_ids"][: len(text_a) + 2] == [0] * (len(text_a) + 2)
        assert sum(example["segment_ids"]) == len(text_b) + 1
    assert abs(num_random - len(found) / 2) < 4 * math.sqrt(len(found) / 4)


def test_statistics_of_the_masks_and_the_summary(options):
    read, made = builder.run(dataclasses.replace(options, dupe_factor=10))
    num_tokens = num_predictions = num_masked = num_kept = num_random = num_examples = 0
    for example in examples(options.output_file):
        num_examples += 1
        num_tokens += sum(example["input_mask"])
        for place, label in zip(
            example["masked_lm_positions"], example["masked_lm_ids"], strict=True
        ):
            if place == 0:
                continue
            num_predictions += 1
            found = example["input_ids"][place]
            assert label >= len(SPECIAL)
            assert found == 4 or found >= len(SPECIAL)
            num_masked += found == 4
            num_kept += found == label
        num_random += example["next_sentence_labels"][0]
    assert made.num_examples == made.num_pairs == num_examples
    assert made.num_label_1 == num_random
    assert (made.num_tokens, made.num_predictions) == (num_tokens, num_predictions)
    assert (made.num_masked, made.num_kept) == (num_masked, num_kept)
    assert read.num_bytes == os.path.getsize(options.input_file)
    deviation = math.sqrt(num_predictions)
    assert abs(num_masked - 0.8 * num_predictions) < 4 * 0.4 * deviation
    assert abs(num_kept - 0.1 * num_predictions) < 4 * 0.3 * deviation
    assert num_predictions / (num_tokens - 3 * num_examples) == pytest.approx(0.15, rel=0.05)


def test_output_depends_on_input_flags_and_seed_alone(options, tmp_path):
    builder.run(options)
    first = read_bytes(options.output_file)
    random.seed(7)
    tf.random.set_seed(7)
    again = dataclasses.replace(options, output_file=str(tmp_path / "again.tfrecord"))
    builder.run(again)
    assert read_bytes(again.output_file) == first
    builder.run(dataclasses.replace(again, random_seed=1))
    assert read_bytes(again.output_file) != first


def test_passes_differ(options):
    builder.run(options)
    found = [str(example) for example in examples(options.output_file)]
    assert len(found) > 100
    assert len(set(found)) > 0.98 * len(found)  # two short ones may be alike


def test_examples_are_shared_out_evenly_and_mixed(options, tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    _, made = builder.run(dataclasses.replace(options, output_file=", ".join(paths)))
    numbers = [
        [int(min(document_numbers(texts(example)[0]))) for example in examples(path)]
        for path in paths
    ]
    sizes = [len(each) for each in numbers]
    assert sum(sizes) == made.num_examples
    assert max(sizes) - min(sizes) <= 1
    assert all(each != sorted(each) for each in numbers)


def test_names_of_shards(options, tmp_path):
    builder.run(dataclasses.replace(options, output_file=f"{tmp_path}/x@2,{tmp_path}/y"))
    wanted = {"x-00000-of-00002", "x-00001-of-00002", "y", "manifest.json"}
    assert set(os.listdir(tmp_path)) == wanted | {"text.txt", "vocab.txt"}


@pytest.fixture
def several(options, tmp_path):
    """Options with three input files, and the directory they are in."""
    directory = tmp_path / "corpus"
    directory.mkdir()
    for number in range(3):
        (directory / f"{number}.txt").write_text(corpus(5 + number))
    return dataclasses.replace(options, input_file=str(directory)), directory


def shards(options):
    """The bytes of two shards built with these options."""
    output = f"{options.output_file}@2"
    builder.run(dataclasses.replace(options, output_file=output))
    return [read_bytes(f"{options.output_file}-{number:05d}-of-00002") for number in range(2)]


def test_bytes_do_not_depend_on_names_order_or_workers(several, small_parts):
    """Two workers, as processes, do not see the small parts; but the parent cuts for them."""
    options, directory = several
    wanted = shards(options)
    names = [str(directory / f"{number}.txt") for number in range(3)]
    assert shards(dataclasses.replace(options, input_file=",".join(reversed(names)))) == wanted
    assert shards(dataclasses.replace(options, num_workers=2)) == wanted
    for number, name in enumerate(names):
        os.rename(name, directory / f"{(2 - number) % 3}.renamed.txt")
    assert shards(options) == wanted


@pytest.mark.parametrize("stage", ["tokenize", "draw", "encode"])
@pytest.mark.parametrize("num_done", [0, 1, 2])
def test_a_build_that_stops_goes_on(several, small_parts, monkeypatch, stage, num_done):
    options, _ = several
    wanted = shards(options)
    run_stage, calls = getattr(scratch.Stages, stage), []

    def stops(self, *arguments):
        if len(calls) == num_done:
            raise KeyboardInterrupt
        calls.append(arguments)
        return run_stage(self, *arguments)

    with monkeypatch.context() as context:
        context.setattr(scratch.Stages, stage, stops)
        with contextlib.suppress(KeyboardInterrupt):
            shards(options)

    def counts(self, *arguments):
        later.append(arguments)
        return run_stage(self, *arguments)

    later = []
    monkeypatch.setattr(scratch.Stages, stage, counts)
    assert shards(options) == wanted
    if stage != "encode":  # a shard is encoded again, all of its buckets
        assert not {str(each) for each in calls} & {str(each) for each in later}


def test_a_build_that_was_killed_while_shards_moved_goes_on(several, monkeypatch):
    options, _ = several
    wanted = shards(options)
    move, moved = builder._move, []

    def stops(source, path):
        if moved:
            raise KeyboardInterrupt
        moved.append(path)
        move(source, path)

    with monkeypatch.context() as context:
        context.setattr(builder, "_move", stops)
        with pytest.raises(KeyboardInterrupt):
            shards(options)
    assert shards(options) == wanted


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "rows/0000"),
        OSError("27640 requested and 27073 written"),  # as NumPy says it
    ],
)
def test_a_full_disk_is_said_and_can_be_gone_on_with(several, monkeypatch, error):
    options, _ = several
    wanted = shards(options)

    def full(*arguments):
        raise error

    with monkeypatch.context() as context:
        context.setattr(scratch, "write_rows", full)
        with pytest.raises(InputError, match="disk is full.*same command again"):
            shards(options)
    assert shards(options) == wanted


def test_unfinished_work_of_other_options_is_refused(several, monkeypatch):
    options, _ = several
    with monkeypatch.context() as context:
        context.setattr(scratch.Stages, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            shards(options)
    with pytest.raises(InputError, match="random_seed is 12345 there and 7 here"):
        shards(dataclasses.replace(options, random_seed=7))


def test_scratch_may_lie_elsewhere(options, tmp_path):
    builder.run(dataclasses.replace(options, scratch_dir=str(tmp_path / "else")))
    assert os.listdir(tmp_path / "else") == []
    assert os.path.isfile(options.output_file)


def test_several_inputs_and_globs(options, tmp_path):
    for number in (1, 2):
        (tmp_path / f"part{number}.txt").write_text(corpus(5 + number))
    several = dataclasses.replace(options, input_file=f"{tmp_path}/part*.txt,{options.input_file}")
    read, _ = builder.run(several)
    assert read.num_documents == 3 * NUM_DOCUMENTS


@pytest.mark.parametrize("example_type", ["full_sentences", "doc_sentences", "packed"])
def test_example_types_without_pairs_take_a_single_document(options, example_type):
    text = corpus().split("\n\n")[0]
    options = dataclasses.replace(with_text(options, text), example_type=example_type)
    read, made = builder.run(options)
    assert (read.num_documents, made.num_pairs) == (1, 0)
    (build_entry,) = manifest.read(os.path.dirname(options.output_file))
    assert build_entry.example_type == example_type
    assert build_entry.examples == dataclasses.asdict(made)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d0w1 d0w2.\nd0w3.\nd0w4.\n", "has 1 document"),
        ("\n".join(f"d0w{w}.\n" for w in range(9)), "has 0 document"),  # a blank after each line
        ("\n\n \n", "has 0 document"),
        ("Bücher und Bäume\n".encode("latin-1") * 40, "not UTF-8"),
        (b"", "is empty"),
    ],
)
def test_refuses_text_that_gives_no_pairs(options, text, message):
    with open(options.output_file, "w") as file:
        file.write("old")
    with pytest.raises(InputError, match=message):
        builder.run(with_text(options, text))
    assert read_bytes(options.output_file) == b"old"
    assert len(os.listdir(os.path.dirname(options.output_file))) == 3  # nothing half-written


def test_documents_of_one_sentence_are_left_out_and_counted(options, capsys):
    text = corpus() + "\n\nd0w1 d0w2\n\nd0w3\n"
    read, _ = builder.run(with_text(options, text))
    assert (read.num_documents, read.num_short_documents) == (NUM_DOCUMENTS + 2, 2)
    assert "2 documents have fewer than two sentences" in capsys.readouterr().out


def test_long_lines_are_documents_of_several_sentences(options):
    lines = [" ".join(f"d{d}w{w % NUM_WORDS}" for w in range(200)) for d in range(2)]
    _, made = builder.run(with_text(options, "\n\n".join(lines)))
    assert made.num_examples >= 6


def test_prints_two_examples_and_a_summary(options, capsys):
    builder.run(options)
    out = capsys.readouterr().out
    assert out.count("Example: [CLS] ") == 2
    assert f"Read {NUM_DOCUMENTS} documents, {17 * NUM_DOCUMENTS} sentences" in out
    assert "Second text from another document: " in out
    assert "WARNING" not in out


def test_warns_of_a_capped_rate_and_of_unknown_words(options, capsys):
    text = corpus().replace("D1w", "strange ")
    _, made = builder.run(dataclasses.replace(with_text(options, text), max_predictions_per_seq=2))
    assert 0.5 * made.num_examples < made.num_capped <= made.num_examples
    out = capsys.readouterr().out
    assert "--max_predictions_per_seq=2 kept" in out
    assert "6 would be enough for --max_seq_length=37" in out  # 0.15 * 34 = 5.1
    assert "of the tokens are [UNK]" in out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output_file": " , "}, "--output_file is empty"),
        ({"output_file": "{dir}"}, "is a directory"),
        ({"output_file": "{dir}/a,{dir}/./a"}, "names a file twice"),
        ({"output_file": "{dir}/text.txt"}, "names the input"),
        ({"output_file": ",".join(f"{{dir}}/{i}" for i in range(5000))}, "Name fewer files"),
        ({"input_file": "{dir}/none*.txt"}, "matches no file"),
        ({"vocab_file": "{dir}/none.txt"}, "does not exist"),
        ({"do_lower_case": False}, "--do_lower_case=true"),
    ],
)
def test_refuses_wrong_flags_before_work_starts(options, tmp_path, change, message):
    change = {
        name: value.format(dir=tmp_path) if isinstance(value, str) else value
        for name, value in change.items()
    }
    with pytest.raises(InputError, match=message):
        builder.run(dataclasses.replace(options, **change))
    assert sorted(os.listdir(tmp_path)) == ["text.txt", "vocab.txt"]

"""An exported version: what it answers in a fresh process, and what is left when it fails."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.version import write
from serving.models import servable, warmup

KINDS = [("classify", 1), ("classify", 2), ("regress", 2)]
TEXTS = [
    "The quick brown fox",
    "",
    "jumps over a lazy dog. " * 9,
    b"caf\xc3\xa9 \xff\xfe dog",
    "東京 fox\x00!",
    *["lazy " * n + "dog" for n in range(27)],
]
NAMES = {1: ("text",), 2: ("text_a", "text_b")}

IN_A_FRESH_PROCESS = """
import json, sys
import tensorflow as tf, tensorflow_text
for path, texts in json.load(sys.stdin):
    model = tf.saved_model.load(path)
    columns = {k: [bytes.fromhex(t) for t in v] for k, v in texts.items()}
    print(json.dumps(model(*columns.values())["logits"].numpy().tolist()))
"""


def columns(num_texts):
    """The texts of each input: the same ones in another order for the second."""
    encoded = [text if isinstance(text, bytes) else text.encode() for text in TEXTS]
    return dict(zip(NAMES[num_texts], (encoded, encoded[::-1]), strict=False))


def python_logits(case):
    """The logits by tokenizer, packing and model, each row alone."""
    directory = case.directory
    tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case=True)
    logits = []
    for row in zip(*columns(directory.metadata.num_texts).values(), strict=True):
        ids_a, ids_b = (*map(tokenizer.encode, row), None)[:2]
        packed = packing.pack(ids_a, ids_b, directory.vocabulary, max_seq_length=31)
        batch = encoder_inputs(*([part] for part in packed))
        logits.append(np.asarray(case.model(batch, training=False)["logits"])[0])
    return np.stack(logits)


def test_a_fresh_process_gives_the_logits_of_the_python_path(cases):
    work = [
        [
            cases[key].exported.path,
            {k: [t.hex() for t in v] for k, v in columns(key[1]).items()},
        ]
        for key in KINDS
    ]
    result = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=True,
    )
    for key, line in zip(KINDS, result.stdout.splitlines(), strict=True):
        want = python_logits(cases[key])
        assert want.std(axis=0).min() > 0.01  # rows differ, or equality would say nothing
        np.testing.assert_allclose(json.loads(line), want, atol=1e-5)


@pytest.mark.parametrize("key", KINDS)
def test_an_answer_does_not_depend_on_its_neighbours(cases, key, loaded_version):
    signature = loaded_version(cases[key]).signatures["serving_default"]
    feeds = columns(key[1])
    together = signature(**{name: tf.constant(texts) for name, texts in feeds.items()})
    assert len(TEXTS) == 32
    for row in range(32):
        alone = signature(**{name: tf.constant([texts[row]]) for name, texts in feeds.items()})
        np.testing.assert_allclose(alone["logits"][0], together["logits"][row], atol=2e-6)


@pytest.mark.parametrize("key", KINDS)
@pytest.mark.parametrize("signature_name", ["serving_default", "ids"])
def test_outputs_have_a_batch_dimension_and_an_empty_batch_is_answered(
    cases, key, signature_name, loaded_version
):
    signature = loaded_version(cases[key]).signatures[signature_name]
    inputs = signature.structured_input_signature[1]
    empty = {k: tf.zeros([0] * spec.shape.rank, spec.dtype) for k, spec in inputs.items()}
    answer = signature(**empty)
    num_outputs = 5 if key[0] == "classify" else 1
    want = {"logits": (tf.float32, (0, num_outputs))}
    if key[0] == "classify":
        want |= {"label": (tf.string, (0,)), "probabilities": (tf.float32, (0, num_outputs))}
        want |= {"labels": (tf.string, (0, num_outputs))}
    else:
        want |= {"score": (tf.float32, (0,))}
    assert {k: (v.dtype, tuple(v.shape)) for k, v in answer.items()} == want
    static = {k: spec.shape.as_list()[0] for k, spec in signature.structured_outputs.items()}
    assert static == dict.fromkeys(want)


def test_labels_and_probabilities_follow_from_the_logits(cases, loaded_version):
    signatures = loaded_version(cases["classify", 1]).signatures
    answer = signatures["serving_default"](text=tf.constant(TEXTS))
    logits = answer["logits"].numpy().astype(np.float64)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-6)
    labels = np.array([b"zero", b"one", b"two", b"three", b"vier"])
    np.testing.assert_array_equal(answer["label"], labels[logits.argmax(axis=1)])


def test_a_score_is_the_one_logit(cases, loaded_version):
    signatures = loaded_version(cases["regress", 2]).signatures
    texts = {name: tf.constant(column) for name, column in columns(2).items()}
    answer = signatures["serving_default"](**texts)
    np.testing.assert_array_equal(answer["score"], answer["logits"][:, 0])


def test_vocabulary_and_labels_are_assets(cases):
    case = cases["classify", 1]
    assets = pathlib.Path(case.exported.path, "assets")
    assert (assets / "vocab.txt").read_bytes() == pathlib.Path(
        case.directory.vocab_file
    ).read_bytes()
    assert (assets / "labels.txt").read_text() == "zero\none\ntwo\nthree\nvier\n"
    assert not pathlib.Path(cases["regress", 2].exported.path, "assets", "labels.txt").exists()


# That of single texts is run by the command of the documentation.
@pytest.mark.parametrize("key", KINDS[1:])
def test_the_server_runs_the_warm_up_requests(cases, key):
    path = cases[key].exported.path
    loaded = servable.Servable("m", 1, path)
    assert warmup.run(loaded) == 6


def test_versions_count_up_from_the_largest_number(tmp_path):
    assert write.next_version(str(tmp_path / "new")) == 1
    for name in ("3", "0010", "11x", ".12.tmp"):
        (tmp_path / name).mkdir()
    assert write.next_version(str(tmp_path)) == 11


def test_a_failed_export_leaves_nothing_behind(cases, tmp_path, monkeypatch):
    case = cases["classify", 1]

    def fail(path, *_):
        assert os.path.exists(os.path.join(path, "saved_model.pb"))
        assert not [name for name in os.listdir(tmp_path) if name.isdigit()]
        raise KeyboardInterrupt

    monkeypatch.setattr(write.verify, "largest_difference", fail)
    with pytest.raises(KeyboardInterrupt):
        write.write(case.served, str(tmp_path))
    assert os.listdir(tmp_path) == []

"""An exported masked language model fills [MASK]s as the Python path does."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import table
from export.kinds.module import Served

MASK_ID = 5
TEXTS = [
    "the [MASK] fox",
    "",
    "[MASK]",
    "[MASK][MASK] jumps [MASK] over",
    "no mask, [mask] nor MASK",
    "lazy " * 28 + "[MASK] dog [MASK]",  # the second one is behind the last token
    "[MASK",
]
NUM_MASKS = [1, 0, 1, 3, 0, 1, 0]


@pytest.fixture(scope="module")
def case(model_directory, export_case, tmp_path_factory):
    return export_case(model_directory("pretrain", 1), tmp_path_factory.mktemp("m") / "lm", top_k=3)


@pytest.fixture(scope="module")
def model(case):
    return tf.saved_model.load(case.exported.path)


def ids_of(case, text):
    """The ids of a text by the Python tokenizer; [MASK] is one of them."""
    encode = WordPieceTokenizer(case.directory.vocabulary, do_lower_case=True).encode
    ids = []
    for part in text.split("[MASK]"):
        ids += [*encode(part), MASK_ID]
    return [3, *ids[:-1][:29], 4]


def probabilities(case, ids):
    """The probabilities of all tokens at each [MASK] of a row, [M V]."""
    batch = {
        "input_word_ids": np.array([ids]),
        "input_mask": np.ones([1, len(ids)], np.int32),
        "input_type_ids": np.zeros([1, len(ids)], np.int32),
    }
    logits = np.asarray(case.model(batch)["masked_lm_logits"])[0].astype(np.float64)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (exponentials / exponentials.sum(axis=-1, keepdims=True))[np.array(ids) == MASK_ID]


def assert_filled(case, tokens, given, of_masks):
    """Tokens [M K] and their probabilities are those of `of_masks`, [M' V]."""
    count = len(of_masks)
    order = np.argsort(-of_masks, axis=1)[:, :3]
    np.testing.assert_allclose(given[:count], np.take_along_axis(of_masks, order, 1), atol=1e-6)
    want = [[case.directory.vocabulary.tokens[i].encode() for i in of_mask] for of_mask in order]
    assert tokens[:count].tolist() == want
    assert not given[count:].any()
    assert set(tokens[count:].ravel()) <= {b""}


def test_the_best_tokens_of_each_mask(case, model):
    answer = {name: x.numpy() for name, x in model(TEXTS).items()}
    assert answer["tokens"].shape == answer["probabilities"].shape == (7, 3, 3)
    for row, (text, num_masks) in enumerate(zip(TEXTS, NUM_MASKS, strict=True)):
        of_masks = probabilities(case, ids_of(case, text))
        assert len(of_masks) == num_masks
        assert_filled(case, answer["tokens"][row], answer["probabilities"][row], of_masks)


def test_texts_without_a_mask_and_no_texts(model):
    assert model(["a", ""])["tokens"].shape == (2, 0, 3)
    assert model(tf.zeros([0], tf.string))["probabilities"].shape == (0, 0, 3)
    assert model("the [MASK]")["tokens"].shape == (1, 3)


def test_the_ids_signature_fills_wherever_the_id_stands(case, model):
    rows = [ids_of(case, TEXTS[3]), ids_of(case, TEXTS[0])]
    length = max(map(len, rows))
    ids = np.array([row + [0] * (length - len(row)) for row in rows], np.int32)
    answer = model.signatures["ids"](
        input_word_ids=tf.constant(ids),
        input_mask=tf.cast(ids > 0, tf.int32),
        input_type_ids=tf.zeros_like(ids),
    )
    for row, of_row in enumerate(rows):
        assert_filled(
            case,
            answer["tokens"][row].numpy(),
            answer["probabilities"][row].numpy(),
            probabilities(case, of_row),
        )


def test_a_left_to_right_model_is_refused(case):
    import dataclasses

    config = dataclasses.replace(case.directory.config, is_causal=True)
    directory = dataclasses.replace(case.directory, config=config)
    with pytest.raises(InputError, match="left-to-right language model"):
        table.make(Served(model=case.model, directory=directory, max_seq_length=31))

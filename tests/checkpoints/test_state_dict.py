import dataclasses

import numpy as np
import pytest

from bert_tf.checkpoints.state_dict import extend_positions, vocab_subset
from bert_tf.checkpoints.variables import POOLER
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

POSITIONS = "encoder/embeddings/position"


@pytest.mark.parametrize(
    ("kind", "labels"), [("classify", ("LABEL_0", "LABEL_1")), ("regress", ()), ("encoder", ())]
)
def test_a_kind_with_labels_has_one_for_each_output(kind, labels, tmp_path):
    given = samples.state_dict(kind, tmp_path)
    assert given.output_labels == given.labels
    unnamed = dataclasses.replace(given, labels=())
    assert unnamed.output_labels[:2] == labels
    assert len(unnamed.output_labels) == len(given.labels)


def test_a_pooler_that_is_not_there_is_made_as_training_would_start_it(tmp_path):
    given = samples.state_dict("span", tmp_path, without=("encoder/pooler",))
    changed = given.with_pooler()
    kernel, bias = (changed.arrays[path] for path in POOLER)
    assert kernel.shape == (harness.H, harness.H) and not bias.any()
    assert np.abs(kernel).max() < 2 * given.config.initializer_range
    assert 0.8 < kernel.std() / given.config.initializer_range < 0.95  # 0.88 of the uncut normal
    assert changed.with_pooler() is changed
    assert len(given.arrays) + 2 == len(changed.arrays)


def test_a_longer_position_table_repeats_the_one_there_is(tmp_path):
    given = samples.state_dict("encoder", tmp_path)
    changed, text = extend_positions(given, 41)
    table, longer = given.arrays[POSITIONS], changed.arrays[POSITIONS]
    np.testing.assert_array_equal(longer, np.concatenate([table, table, table])[:41])
    assert changed.config.max_position_embeddings == 41
    assert "17 -> 41" in text and "repeat" in text
    assert given.config.max_position_embeddings == 17  # the given one is as it was


def test_a_shorter_position_table_is_its_start(tmp_path):
    given = samples.state_dict("encoder", tmp_path)
    changed, text = extend_positions(given, 5)
    np.testing.assert_array_equal(changed.arrays[POSITIONS], given.arrays[POSITIONS][:5])
    assert "rows from 5 on are gone" in text


def test_positions_are_at_least_one(tmp_path):
    with pytest.raises(InputError, match="--extend_positions=0"):
        extend_positions(samples.state_dict("encoder", tmp_path), 0)


def smaller(folder, tokens):
    path = folder / "smaller.txt"
    path.write_text("".join(f"{token}\n" for token in tokens))
    return str(path)


def test_a_vocabulary_subset_keeps_the_rows_of_its_tokens_in_its_order(tmp_path):
    given = samples.state_dict("pretrain", tmp_path)
    path = smaller(tmp_path, [*samples.SPECIAL, "c", "a", "word7"])
    changed, text = vocab_subset(given, path)
    rows = [0, 1, 2, 3, 4, 5 + 2, 5, 5 + 52 + 7]
    for name in ("encoder/embeddings/word", "masked_lm/output_bias"):
        np.testing.assert_array_equal(changed.arrays[name], given.arrays[name][rows])
    assert (changed.config.vocab_size, changed.vocab_file) == (8, path)
    assert f"{harness.V} rows -> 8" in text


def test_a_token_that_the_source_lacks_is_an_error(tmp_path):
    path = smaller(tmp_path, [*samples.SPECIAL, "a", "Zebra", "Yak"])
    with pytest.raises(
        InputError, match="has 2 tokens for which .* has no embedding: Zebra, Yak. Remove"
    ):
        vocab_subset(samples.state_dict("encoder", tmp_path), path)


def test_a_subset_needs_the_source_s_vocabulary(tmp_path):
    given = dataclasses.replace(samples.state_dict("encoder", tmp_path), vocab_file=None)
    with pytest.raises(InputError, match="Give --vocab_file of its model"):
        vocab_subset(given, smaller(tmp_path, samples.SPECIAL))

import dataclasses

import numpy as np
import pytest

from bert_tf.checkpoints import resizing
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

POSITIONS = "encoder/embeddings/position"


def test_a_longer_position_table_repeats_the_one_there_is(tmp_path):
    given = samples.contents("encoder", tmp_path)
    found, text = resizing.extend_positions(given, 41)
    table, longer = given.arrays[POSITIONS], found.arrays[POSITIONS]
    np.testing.assert_array_equal(longer, np.concatenate([table, table, table])[:41])
    assert found.config.max_position_embeddings == 41
    assert "17 -> 41" in text and "repeat" in text
    assert given.config.max_position_embeddings == 17  # the given one is as it was


def test_a_shorter_position_table_is_its_start(tmp_path):
    given = samples.contents("encoder", tmp_path)
    found, text = resizing.extend_positions(given, 5)
    np.testing.assert_array_equal(found.arrays[POSITIONS], given.arrays[POSITIONS][:5])
    assert "rows from 5 on are gone" in text


def test_positions_are_at_least_one(tmp_path):
    with pytest.raises(InputError, match="--extend_positions=0"):
        resizing.extend_positions(samples.contents("encoder", tmp_path), 0)


def smaller(folder, tokens):
    path = folder / "smaller.txt"
    path.write_text("".join(f"{token}\n" for token in tokens))
    return str(path)


def test_a_vocabulary_subset_keeps_the_rows_of_its_tokens_in_its_order(tmp_path):
    given = samples.contents("pretrain", tmp_path)
    path = smaller(tmp_path, [*samples.SPECIAL, "c", "a", "word7"])
    found, text = resizing.vocab_subset(given, path)
    rows = [0, 1, 2, 3, 4, 5 + 2, 5, 5 + 52 + 7]
    for name in ("encoder/embeddings/word", "masked_lm/output_bias"):
        np.testing.assert_array_equal(found.arrays[name], given.arrays[name][rows])
    assert (found.config.vocab_size, found.vocab_file) == (8, path)
    assert f"{harness.V} rows -> 8" in text


def test_a_token_that_the_source_lacks_is_an_error(tmp_path):
    path = smaller(tmp_path, [*samples.SPECIAL, "a", "Zebra", "Yak"])
    with pytest.raises(InputError, match="has 2 tokens that .* no embedding of: Zebra, Yak. Take"):
        resizing.vocab_subset(samples.contents("encoder", tmp_path), path)


def test_a_subset_needs_the_source_s_vocabulary(tmp_path):

    given = dataclasses.replace(samples.contents("encoder", tmp_path), vocab_file=None)
    with pytest.raises(InputError, match="Give --vocab_file of its model"):
        resizing.vocab_subset(given, smaller(tmp_path, samples.SPECIAL))

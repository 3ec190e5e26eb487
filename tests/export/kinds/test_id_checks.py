"""What an ids signature refuses, in a session of a SavedModel: there nothing runs eagerly."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.config import BertConfig
from export.kinds import id_checks

CONFIG = BertConfig(
    vocab_size=11,
    hidden_size=6,
    num_attention_heads=1,
    num_hidden_layers=1,
    intermediate_size=7,
    max_position_embeddings=5,
    type_vocab_size=3,
)
NAMES = [feature.name for feature in features.ENCODER_INPUTS]


@pytest.fixture(scope="module", params=[2, 3], ids=["rows", "rows of choices"])
def ask(request, tmp_path_factory):
    """Feeds a signature that gives the word ids back and looks at nothing else."""
    path = str(tmp_path_factory.mktemp("model"))
    specs = [tf.TensorSpec([None] * request.param, tf.int32, name=name) for name in NAMES]

    @tf.function(input_signature=specs, autograph=False)
    def answer(input_word_ids, input_mask, input_type_ids):
        batch = dict(zip(NAMES, (input_word_ids, input_mask, input_type_ids), strict=True))
        return {"ids": id_checks.checked(batch, CONFIG)["input_word_ids"]}

    tf.saved_model.save(tf.Module(), path, signatures={"ids": answer})
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["ids"]

        def run(**values):
            values = {name: np.asarray(values[name], np.int32) for name in NAMES}
            if request.param == 3:
                values = {name: value[:, np.newaxis] for name, value in values.items()}
            feeds = {signature.inputs[name].name: value for name, value in values.items()}
            return session.run(signature.outputs["ids"].name, feeds)

        yield run


def inputs(**changes):
    ids = [[6, 0, 10, 3, 0], [1, 2, 0, 0, 0]]
    mask = [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]
    types = [[0, 0, 2, 1, 0], [0, 0, 0, 0, 0]]
    return dict(zip(NAMES, (ids, mask, types), strict=True)) | changes


def test_what_is_right_is_answered(ask):
    given = inputs()
    np.testing.assert_array_equal(np.squeeze(ask(**given)), given["input_word_ids"])
    for shape in ((0, 4), (0, 0), (2, 0)):
        assert ask(**dict.fromkeys(NAMES, np.zeros(shape))).size == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input_word_ids": [[6, 11], [1, 2]]}, "input_word_ids.*1.*11.*from 0 to 10"),
        ({"input_word_ids": [[-1, 9], [1, 2]]}, "input_word_ids.*-1.*9.*from 0 to 10"),
        ({"input_type_ids": [[0, 1], [3, 0]]}, "input_type_ids.*0.*3.*from 0 to 2"),
        ({"input_type_ids": [[0, -2], [1, 0]]}, "input_type_ids.*-2.*1.*from 0 to 2"),
        ({"input_mask": [[1, 2], [1, 0]]}, "input_mask.*0.*2.*from 0 to 1"),
        ({"input_mask": [[1, 1], [-1, 0]]}, "input_mask.*-1.*1.*from 0 to 1"),
        ({"input_mask": [[1, 1]]}, r"input_mask.*\[1.* 2\].*input_word_ids.*\[2.* 2\]"),
        ({"input_type_ids": [[0], [0]]}, r"input_type_ids.*\[2.* 1\].*input_word_ids.*\[2.* 2\]"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(ask, changes, message):
    right = {name: np.array(value)[:, :2] for name, value in inputs().items()}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ask(**(right | changes))


def test_a_row_beyond_the_positions_is_refused(ask):
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_word_ids.*6.*At most 5"):
        ask(**dict.fromkeys(NAMES, np.zeros((2, 6))))

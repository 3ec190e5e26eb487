import numpy as np

from bert_tf.modeling import layer
from tests.modeling import harness


def test_a_config_survives_serialization():
    made = layer.ConfigLayer(harness.config(hidden_act="gelu_erf"), name="thing")
    copy = layer.ConfigLayer.from_config(made.get_config())
    assert copy.config == made.config and copy.name == "thing"


def test_initial_values_are_a_truncated_normal():
    dense = layer.ConfigLayer(harness.config(initializer_range=0.05)).new_dense(307, "dense")
    dense.build((None, 311))
    kernel = np.asarray(dense.kernel.value)
    # A normal distribution cut at two deviations has 0.8796 of its deviation.
    assert abs(kernel.std() - 0.05 * 0.8796) < 0.0005
    assert abs(kernel).max() <= 0.1
    assert not np.asarray(dense.bias.value).any()


def test_variables_of_one_shape_start_differently():
    one, two = (layer.ConfigLayer(harness.config()).new_dense(7, n) for n in ("one", "two"))
    one.build((None, 5))
    two.build((None, 5))
    assert (np.asarray(one.kernel.value) != np.asarray(two.kernel.value)).all()


def test_parts_follow_config_and_dtype_policy():
    owner = layer.ConfigLayer(harness.config(layer_norm_eps=0.25), dtype="mixed_bfloat16")
    norm = owner.new_layer_norm()
    assert norm.epsilon == 0.25
    parts = norm, owner.new_dense(3, "dense"), owner.new_dropout(0.1, 1), owner.new(type(owner))
    assert {part.compute_dtype for part in parts} == {"bfloat16"}
    assert {part.variable_dtype for part in parts} == {"float32"}

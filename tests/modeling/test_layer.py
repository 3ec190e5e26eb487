import numpy as np

from bert_tf.modeling import layer
from tests.modeling import harness


def test_a_config_survives_serialization():
    made = layer.ConfigLayer(harness.config(hidden_act="gelu_erf"), name="thing")
    copy = layer.ConfigLayer.from_config(made.get_config())
    assert copy.config == made.config and copy.name == "thing"


def test_initial_values_are_a_truncated_normal():
    dense = layer.dense(307, harness.config(initializer_range=0.05), "dense")
    dense.build((None, 311))
    kernel = np.array(dense.kernel.value)
    # A normal distribution cut at two deviations has 0.8796 of its deviation.
    assert abs(kernel.std() - 0.05 * 0.8796) < 0.0005
    assert abs(kernel).max() <= 0.1
    assert not np.array(dense.bias.value).any()


def test_variables_of_one_shape_start_differently():
    one, two = (layer.dense(7, harness.config(), name) for name in ("one", "two"))
    one.build((None, 5))
    two.build((None, 5))
    assert (np.array(one.kernel.value) != np.array(two.kernel.value)).all()


def test_layer_norm_has_the_epsilon_of_the_config():
    assert layer.layer_norm(harness.config(layer_norm_eps=0.25)).epsilon == 0.25

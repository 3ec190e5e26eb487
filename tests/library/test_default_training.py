import keras
import numpy as np
import pytest

from bert_tf.library import default_training
from bert_tf.library.text_classifier import TextRegressor


def test_what_decays_is_what_decays_in_the_scripts(bert):
    regressor = TextRegressor.from_preset(bert)
    optimizer = default_training.new_optimizer(regressor, 1e-3)
    optimizer.build(regressor.trainable_variables)
    for variable in regressor.trainable_variables:
        is_vector = variable.path.endswith(("bias", "gamma", "beta"))
        assert optimizer._use_weight_decay(variable) != is_vector, variable.path
    assert (optimizer.epsilon, optimizer.global_clipnorm, optimizer.weight_decay) == (
        1e-6,
        1.0,
        0.01,
    )


@pytest.mark.parametrize("steps", [10, None])
def test_the_learning_rate_warms_up_and_falls_to_zero_behind_the_last_update(steps):
    callback = default_training.WarmupAndDecay(0.5)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5))
    callback.set_model(model)
    callback.set_params({"epochs": 2, "steps": steps})
    callback.on_train_begin()
    rates = []
    for batch in range(20):
        callback.on_train_batch_begin(batch)
        rates.append(float(model.optimizer.learning_rate))
    # 20 updates, 2 of them warm-up: at update u the decay has (21 - u) of 19 parts left.
    decaying = [0.25] + [0.5 * (21 - update) / 19 for update in range(2, 21)]
    np.testing.assert_allclose(rates, decaying if steps else [0.5] * 20, rtol=1e-6)

"""Each weight's group, counted from the architecture, not from its name."""

import keras
import pytest

from bert_tf.config import BertConfig
from bert_tf.modeling import frozen_tagger, layer, models
from bert_tf.training.optimization import parameter_groups

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
HEADS = {
    "pretraining": (models.PretrainingModel, {}, [(6, 6), (6, 2)]),
    "classifier": (models.ClassifierModel, {"num_classes": 3}, [(6, 3)]),
    "spans": (models.SpanModel, {}, [(6, 2)]),
}
# Three embeddings; of each block query, key and value, output, two of the feed-forward; the pooler.
ENCODER = [(7, 6), (13, 6), (2, 6)] + 2 * [(6, 18), (6, 6), (6, 5), (5, 6)] + [(6, 6)]


def by_shape(model):
    groups = parameter_groups.of(model)
    assert len(groups) == len(model.trainable_variables)
    return [
        (tuple(v.shape), group) for v, group in zip(model.trainable_variables, groups, strict=True)
    ]


@pytest.mark.parametrize("kind", HEADS)
def test_kernels_and_tables_decay_and_nothing_else(kind):
    model_class, settings, head = HEADS[kind]
    found = by_shape(model_class(CONFIG, **settings))
    assert sorted(shape for shape, group in found if group.decays) == sorted(ENCODER + head)
    assert {len(shape) for shape, group in found if not group.decays} == {1}


def test_query_key_and_value_are_three_blocks_and_every_other_weight_is_one():
    found = by_shape(models.PretrainingModel(CONFIG))
    assert {group.num_blocks for shape, group in found if shape == (6, 18)} == {3}
    assert {group.num_blocks for shape, group in found if shape != (6, 18)} == {1}


def test_a_bilstm_on_frozen_layers():
    """Kernels of an LSTM are those of its four gates; the weights of a sum of layers are few."""
    model = frozen_tagger.FrozenTaggerModel(CONFIG, 3, "weighted_all", lstm_units=5)
    found = by_shape(model)
    cells = 2 * [(6, 20), (5, 20)] + 2 * [(10, 20), (5, 20)]  # two layers in two directions
    assert sorted(s for s, group in found if group.decays) == sorted([*cells, (10, 3)])
    assert {group.num_blocks for shape, group in found if shape[1:] == (20,)} == {4}
    assert sorted(s for s, group in found if not group.decays) == [(1,), (2,), (3,), *4 * [(20,)]]


def test_a_name_does_not_matter():
    plain, renamed = (models.SpanModel(CONFIG, name=name) for name in ("spans", "bias_LayerNorm"))
    assert parameter_groups.of(plain) == parameter_groups.of(renamed)


class Gate(layer.ConfigLayer):
    """A layer that nobody entered in the table, in a list."""

    def __init__(self, config):
        super().__init__(config, name="gate")
        self.parts = [keras.layers.Dense(3), keras.layers.PReLU(name="slopes")]
        for part in self.parts:
            part.build((None, 5))


def test_a_weight_without_a_group_is_an_error():
    with pytest.raises(ValueError, match=r"No group for \['.*slopes/alpha'\]"):
        parameter_groups.of(Gate(CONFIG))


def test_each_layer_learns_at_a_share_of_the_rate_of_the_one_above():
    model = models.ClassifierModel(CONFIG, num_classes=3)
    groups = parameter_groups.of(model, layer_lr_decay=0.5)
    factors = {
        variable.path: group.rate_factor
        for variable, group in zip(model.trainable_variables, groups, strict=True)
    }
    wanted = {
        "classifier/": 1.0,
        "encoder/pooler/": 1.0,
        "encoder/layer_1/": 0.5,
        "encoder/layer_0/": 0.25,
        "encoder/embeddings/": 0.125,
    }
    for start, factor in wanted.items():
        found = {value for path, value in factors.items() if path.startswith(start)}
        assert found == {factor}, start
    assert all(path.startswith(tuple(wanted)) for path in factors)
    assert {group.rate_factor for group in parameter_groups.of(model)} == {1.0}

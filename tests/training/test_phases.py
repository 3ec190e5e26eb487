"""`--phases` is read as documented, or refused with the part that is wrong."""

import types

import pytest

from bert_tf.errors import InputError
from bert_tf.training.phases import Phase, parse


def with_phases(text):
    return types.SimpleNamespace(
        phases=text, max_seq_length=64, num_train_steps=11, train_batch_size=7, learning_rate=1e-3
    )


@pytest.mark.parametrize("text", [None, ""])
def test_without_a_text_there_is_one_phase(text):
    assert parse(with_phases(text)) == [Phase(64, 11, 7, 1e-3)]


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        ("128:900000,512:100000", [Phase(128, 900_000, 7, 1e-3), Phase(512, 100_000, 7, 1e-3)]),
        ("128:900000:256:1e-4", [Phase(128, 900_000, 256, 1e-4)]),
        ("128:3:5", [Phase(128, 3, 5, 1e-3)]),
        ("128:3::0.5", [Phase(128, 3, 7, 0.5)]),
        ("128:3:5:", [Phase(128, 3, 5, 1e-3)]),
        (" 128 : 3 , 128:5", [Phase(128, 3, 7, 1e-3), Phase(128, 5, 7, 1e-3)]),
    ],
)
def test_phases(text, phases):
    assert parse(with_phases(text)) == phases


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("128", "'128' has 1 field"),
        ("128:3:5:1e-4:9", "has 5 field"),
        ("128:3,", "'' has 1 field"),
        ("long:3", "the length in 'long:3' is 'long'; an integer of at least 5"),
        ("4:3", "the length in '4:3' is '4'"),
        ("128:900k", "the number of steps in '128:900k' is '900k'; an integer of at least 1"),
        ("128:0", "the number of steps"),
        ("128:1e6", "the number of steps"),
        ("128:-3", "the number of steps"),
        ("128:3:0", "the batch size in '128:3:0' is '0'"),
        ("128:3:5:fast", "the learning rate in '128:3:5:fast' is 'fast'; a number above 0"),
        ("128:3:5:0", "the learning rate"),
        ("128:3:5:nan", "the learning rate"),
        ("128:3:5:inf", "the learning rate"),
    ],
)
def test_what_is_no_phase_is_refused_with_an_example(text, message):
    with pytest.raises(InputError, match="--phases=128:900000,512:100000") as error:
        parse(with_phases(text))
    assert message in str(error.value)

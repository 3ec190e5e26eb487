"""When evaluations are due, and when early stopping ends a training: by hand and against Keras."""

import numpy as np
import pytest

from bert_tf import identity
from bert_tf.errors import InputError
from bert_tf.options import Classifier
from bert_tf.training.finetuning import evaluation_schedule
from bert_tf.training.finetuning.evaluation_schedule import EarlyStopping, EvaluationSchedule
from bert_tf.training.inputs import identity_file


def options(**changes):
    values = {"output_dir": "o", "init_checkpoint": "b", "data_dir": "d", "do_eval": True}
    return Classifier(**values | changes)


def test_evaluations_are_due_every_interval_and_at_the_end():
    schedule = EvaluationSchedule(interval=3, num_steps=8)
    assert [step for step in range(1, 9) if schedule.is_due(step)] == [3, 6, 8]
    assert [schedule.next_after(step) for step in range(8)] == [3, 3, 3, 6, 6, 6, 8, 8]


def lines(metric, *values):
    return [{"step": 10 * n, metric: value} for n, value in enumerate(values, start=1)]


@pytest.mark.parametrize(
    ("metric", "values", "min_delta", "ends"),
    [
        ("f1", (0.5, 0.6, 0.6, 0.59), 0.0, 4),  # as good is not better
        ("f1", (0.5, 0.4, 0.6, 0.5, 0.61), 0.0, None),  # never two in a row
        ("f1", (0.5, 0.4, 0.3), 0.0, 3),
        ("f1", (0.5, 0.55, 0.58, 0.62), 0.1, 3),
        ("f1", (0.5, 0.55, 0.65, 0.7), 0.1, None),  # 0.65 is far enough from 0.5
        ("loss", (2.0, 1.0, 1.5, 0.9), 0.0, None),
        ("loss", (2.0, 2.5, 3.0), 0.0, 3),
        ("mean_squared_error", (2.0, 1.95, 1.92), 0.1, 3),
    ],
)
def test_two_evaluations_without_a_better_score_end_the_training(metric, values, min_delta, ends):
    stopping = EarlyStopping(metric, patience=2, min_delta=min_delta)
    reasons = [stopping.reason(lines(metric, *values[:n])) for n in range(len(values) + 1)]
    found = next((n for n, reason in enumerate(reasons) if reason), None)
    assert found == ends


def keras_ends(values, patience, min_delta):
    """After how many epochs `keras.callbacks.EarlyStopping` ends a training."""
    from keras.callbacks import EarlyStopping as OfKeras

    class Model:
        stop_training = False

    model = Model()
    callback = OfKeras("score", patience=patience, min_delta=min_delta, mode="max")
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {"score": value})
        if model.stop_training:
            return epoch + 1
    return None


def test_the_rule_is_that_of_keras():
    rng = np.random.default_rng(3)
    for patience in (1, 2, 3):
        for min_delta in (0.0, 0.1):
            stopping = EarlyStopping("f1", patience, min_delta)
            values = rng.normal(size=12)
            ended = [n for n in range(1, 13) if stopping.reason(lines("f1", *values[:n]))]
            assert next(iter(ended), None) == keras_ends(values, patience, min_delta)


def test_the_reason_says_what_was_waited_for():
    reason = EarlyStopping("f1", 2).reason(lines("f1", 0.5, 0.75, 0.7, 0.75))
    assert reason == (
        "f1 did not rise above 0.75, the score after step 20, in 2 evaluations in a row"
    )
    reason = EarlyStopping("loss", 1, 0.01).reason(lines("loss", 0.5, 0.495))
    assert reason == (
        "loss did not fall below 0.5 by more than 0.01, the score after step 10, in the last "
        "evaluation"
    )


def test_without_patience_or_scores_nothing_ends():
    assert EarlyStopping("f1", None).reason(lines("f1", 3.0, 2.0, 1.0)) == ""
    assert EarlyStopping("f1", 1).reason([]) == ""


def test_the_metric_of_the_flag_decides_and_stays_after_the_training(tmp_path):
    def found(**changes):
        return evaluation_schedule.deciding_metric(
            options(**changes), str(tmp_path), "f1", ("f1", "accuracy", "loss")
        )

    assert found(do_train=True) == found() == "f1"
    assert found(do_train=True, best_metric="loss") == "loss"
    with pytest.raises(InputError, match="best_metric=auc is not .*: f1, accuracy, loss"):
        found(do_train=True, best_metric="auc")
    kept = evaluation_schedule.deciding_options(options(do_train=True, best_metric="loss"))
    (tmp_path / "training").mkdir()
    identity.keep(identity_file(str(tmp_path)), kept)
    assert found() == "loss"


def test_flags_that_decide_the_result_are_part_of_the_identity(tmp_path):
    def kept(**changes):
        return evaluation_schedule.deciding_options(options(do_train=True, **changes))

    path = str(tmp_path / "identity.json")
    identity.keep(path, {"seed": 3})  # of a version without these flags
    assert identity.differences(path, {"seed": 3} | kept(eval_steps=5)) == []
    (difference,) = identity.differences(path, kept(early_stopping_patience=2), is_part=True)
    assert difference.startswith("early_stopping is None there and {'patience': 2")

"""Plans: what fits, how the batch is split, what takes time; and the command line."""

import dataclasses
import subprocess
import sys

import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES
from bert_tf.training.plan import flops, memory, planner, text
from bert_tf.training.plan.hardware import Chip, Hardware, find
from bert_tf.training.plan.options import PlanOptions

BASE = BertConfig(vocab_size=30522)
TOY = BertConfig(
    vocab_size=101,
    hidden_size=21,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=37,
    max_position_embeddings=64,
)


def options(**changes):
    values = {"hardware": "", "bert_config_file": "", "dtype": "float32", "train_batch_size": 24}
    return PlanOptions(**(values | {"max_seq_length": 32, "jit_compile": False} | changes))


def toy_hardware(rows, count=4, num_micro_batches=2, **changes):
    """Devices that hold micro-batches of `rows` rows of `TOY`, 32 tokens and 5 predictions each."""
    found = memory.estimate(TOY, memory.Settings(), rows, 32, 5, num_micro_batches)
    values = {
        "title": "abacus",
        "kind": "GPU",
        "peaks": {"float32": 1e9},
        "memory": int(found.total / planner.USABLE_MEMORY) + 1,
        "bandwidth": 1e8,
        "exchange": 1e7,
        "source": "its maker",
        "status": "read there",
    }
    return Hardware(Chip(**(values | changes)), count)


def only(config, plan_options, hardware, mfu=0.35):
    (found,) = planner.plan(config, plan_options, hardware, mfu)
    return found


@pytest.mark.parametrize(
    ("rows", "number", "rows_of_each"), [(6, 1, 6), (5, 2, 3), (3, 2, 3), (2, 3, 2), (1, 6, 1)]
)
def test_accumulation_keeps_the_global_batch(rows, number, rows_of_each):
    found = only(TOY, options(), toy_hardware(rows, num_micro_batches=1 if rows == 6 else 2))
    assert (found.num_micro_batches, found.num_rows) == (number, rows_of_each)
    assert found.num_devices * found.num_micro_batches * found.num_rows == 24


def test_the_largest_micro_batch_is_of_any_size():
    assert only(TOY, options(), toy_hardware(131, num_micro_batches=1)).largest == 131


def test_a_batch_that_cannot_be_shared_evenly_leaves_devices_idle():
    assert only(TOY, options(train_batch_size=10), toy_hardware(9)).num_devices == 2
    assert only(TOY, options(train_batch_size=3), toy_hardware(9)).num_devices == 3


def test_what_does_not_fit_is_said():
    hardware = toy_hardware(1, memory=1000)
    assert only(TOY, options(), hardware).num_rows == 0
    assert "phase 1: does not fit" in text.describe(TOY, options(), hardware)


def test_seconds_by_hand():
    found = only(TOY, options(), toy_hardware(6), mfu=0.25)
    weights = sum(flops.parameters(TOY).values())
    work = sum(flops.training(TOY, flops.Amount.padded(24, 32, 5)).values())
    assert found.seconds == {
        "computing": pytest.approx(work / (4 * 0.25e9)),
        "updating weights": pytest.approx(28 * weights / 1e8),
        "exchanging gradients": pytest.approx(2 * 4 * weights * 3 / 4 / 1e7),
    }
    assert found.total_seconds == pytest.approx(sum(found.seconds.values()) * 100_000)


def test_recomputing_takes_the_forward_pass_of_the_layers_longer():
    hardware = toy_hardware(6)
    plain = only(TOY, options(), hardware)
    again = only(TOY, options(recompute=True), hardware)
    amount = flops.Amount.padded(24, 32, 5)
    more = flops.recomputed(TOY, amount) / sum(flops.training(TOY, amount).values())
    assert again.seconds["computing"] / plain.seconds["computing"] == pytest.approx(1 + more)
    assert again.flops == plain.flops  # no model FLOPs


def test_one_device_exchanges_nothing():
    assert only(TOY, options(), toy_hardware(24, count=1)).seconds["exchanging gradients"] == 0


def test_what_is_not_known_of_the_hardware_is_said():
    hardware = toy_hardware(6, bandwidth=None, exchange=None)
    assert only(TOY, options(), hardware).seconds["updating weights"] is None
    assert "not counted: updating weights, exchanging gradients." in text.describe(
        TOY, options(), hardware
    )


@pytest.mark.parametrize(
    ("changes", "predictions"),
    [
        ({}, [5]),
        ({"max_predictions_per_seq": 3}, [3]),
        ({"phases": "20:3,64:1", "max_predictions_per_seq": 3}, [3, 10]),
        ({"objective": "ltr"}, [32]),
        ({"objective": "mlm_sop"}, [5]),
    ],
)
def test_predictions(changes, predictions):
    found = planner.plan(TOY, options(**changes), toy_hardware(9), 0.35)
    assert [phase.num_predictions for phase in found] == predictions


def test_the_papers_predictions():
    found = planner.plan(
        BASE, options(phases="128:9,512:1", train_batch_size=256), find("v3-8"), 0.35
    )
    assert [phase.num_predictions for phase in found] == [20, 77]


@pytest.mark.parametrize("objective", PRETRAINING_OBJECTIVES)
def test_only_objectives_with_pairs_have_their_head(objective):
    found = only(TOY, options(objective=objective), toy_hardware(9))
    assert ("next sentence" in found.flops) == (objective in ("mlm_nsp", "mlm_sop", "ltr_nsp"))


def test_a_phase_longer_than_the_positions_is_refused():
    with pytest.raises(InputError, match="has 65 tokens .* positions for 64"):
        planner.plan(TOY, options(phases="65:1"), toy_hardware(9), 0.35)


def test_published_speed_of_bert_large_is_within_a_factor_of_the_plan():
    # 485.6 examples per second at length 128 of BERT-Large, float16, on an A100, and 206.5 on a
    # V100, with an update for hundreds of batches: NVIDIA DeepLearningExamples, TensorFlow 2.
    large = dataclasses.replace(
        BASE,
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
    )
    settings = options(dtype="float16", max_seq_length=128, train_batch_size=65536)
    for name, published in (("a100", 485.6), ("v100", 206.5)):
        speed = 65536 / only(large, settings, find(name)).step_seconds
        assert speed == pytest.approx(published, rel=0.2)


def test_the_command_plans_on_paper_without_tensorflow(tmp_path):
    (tmp_path / "bert_config.json").write_text(BASE.to_json())
    arguments = ["--hardware=v5e-256", f"--bert_config_file={tmp_path}/bert_config.json"]
    arguments += ["--phases=128:900000:256:1e-4,512:100000:256:1e-4"]
    code = (
        "import sys; from bert_tf import commands\n"
        f"sys.argv[1:] = {arguments}\n"
        "try: commands.run('plan')\n"
        "finally: print('tensorflow' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "256 x TPU v5e, 197 TFLOP/s in bfloat16" in found.stdout
    assert "109,482,240 of them in the encoder" in found.stdout
    assert found.stdout.rstrip().endswith("False")

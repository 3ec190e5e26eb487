"""The table of a plan: a column per phase, numbers with units, notes where they apply."""

import pytest

from bert_tf.config import BertConfig
from bert_tf.training.plan import text as plan_text
from bert_tf.training.plan.hardware import find
from bert_tf.training.plan.options import PlanOptions

BASE = BertConfig(vocab_size=30522)


def describe(hardware, **changes):
    values = {"phases": "128:900000,512:100000", "train_batch_size": 256, "dtype": "bfloat16"}
    options = PlanOptions(hardware="", bert_config_file="", **(values | changes))
    return plan_text.describe(BASE, options, find(hardware))


def cells(text, label):
    """The cells of the row with this label."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(label + "  ")]
    return line.strip().removeprefix(label).split("  ")


def row(text, label):
    return [cell.strip() for cell in cells(text, label) if cell.strip()]


def test_every_phase_is_a_column():
    text = describe("h100x8")
    assert row(text, "phase") == ["1", "2"]
    assert row(text, "tokens per example") == ["128", "512"]
    assert row(text, "updates") == ["900,000", "100,000"]
    assert row(text, "examples per device and update") == ["32", "32"]


def test_flops_of_the_papers_run():
    text = describe("h100x8")
    # By hand 1.611e19 + 7.71e18, from 6 N T + 12 L S H T and the head.
    assert "Total: 1,000,000 updates, 23.8 EFLOP" in text


def test_shares_of_the_flops_add_up():
    text = describe("h100x8")
    names = ("attention projections", "attention scores", "feed-forward")
    names += ("masked LM transform", "masked LM logits", "pooler", "next sentence")
    shares = [[float(cell.removesuffix(" %")) for cell in row(text, name)] for name in names]
    assert [sum(column) for column in zip(*shares, strict=True)] == pytest.approx(
        [100, 100], abs=0.4
    )


def test_memory_is_that_of_the_parts():
    text = describe("h100x8")
    (total, *_) = row(text, "maximum memory of a device")
    parts = ("weights", "weights in the dtype of the layers", "moments of the optimizer")
    parts += ("activations of embeddings and layers", "activations of the heads")
    parts += ("gradient of the word embeddings",)
    sizes = [float(row(text, part)[0].removesuffix(" GB")) for part in parts]
    assert sum(sizes) == pytest.approx(float(total.removesuffix(" GB")), abs=0.03)


def test_only_what_there_is_has_a_row():
    assert "sums of gradients" not in describe("h100x8")
    assert "of a layer being recomputed" not in describe("h100x8")
    assert "sums of gradients" in describe("h100x8", train_batch_size=65536)
    assert "of a layer being recomputed" in describe("h100x8", recompute=True)


def test_devices_that_hardly_compute_are_noted():
    assert "per device takes less time than the rest of an update" in describe("v5e-256")
    assert "takes less time than the rest" not in describe("t4", dtype="float16")


def test_idle_devices_are_noted():
    assert "over only 8 of the 16 devices" in describe("v5e-16", train_batch_size=8)


def test_where_figures_are_from_is_said():
    assert "Source: cloud.google.com/tpu/docs/v5e, 2025; read there." in describe("v5e-8")

"""Names of hardware, and its figures against other published figures."""

import pytest

from bert_tf.errors import InputError
from bert_tf.training.plan import hardware
from bert_tf.training.plan.hardware import CHIPS, find


@pytest.mark.parametrize(
    ("text", "chip", "num_chips", "num_devices"),
    [
        ("v5e-256", "v5e", 256, 256),
        ("v5litepod-8", "v5e", 8, 8),
        ("v6e-1", "v6e", 1, 1),
        ("v3-32", "v3", 16, 32),
        ("v4-8", "v4", 4, 4),
        ("v5p-128", "v5p", 64, 64),
        ("h100x8", "h100", 8, 8),
        ("H100-PCIe", "h100-pcie", 1, 1),
        ("a100-40x16", "a100-40", 16, 16),
        ("t4", "t4", 1, 1),
    ],
)
def test_names(text, chip, num_chips, num_devices):
    found = find(text)
    assert (found.chip, found.num_chips) == (CHIPS[chip], num_chips)
    assert found.num_devices == num_devices


@pytest.mark.parametrize("text", ["v7-8", "h100-8", "h100x0", "v5e-0", "x8", "", "abacus"])
def test_unknown_names_are_refused_with_the_known_ones(text):
    with pytest.raises(InputError, match="known: cpu, v2, .*v5e-256 or h100x8"):
        find(text)


def test_half_a_chip_is_refused():
    with pytest.raises(InputError, match="v3 slice counts TensorCores, 2 per chip"):
        find("v3-7")


def test_a_v3_device_is_half_a_chip():
    device = find("v3-8")
    assert device.peak("bfloat16") == 123e12 / 2
    assert device.memory == 16 * 2**30
    assert device.bandwidth == 450e9


@pytest.mark.parametrize(
    ("name", "chips", "petaflops"), [("v3", 1024, 126), ("v4", 4096, 1100), ("v6e", 256, 234.9)]
)
def test_chips_make_the_published_figure_of_a_pod(name, chips, petaflops):
    assert CHIPS[name].peaks["bfloat16"] * chips == pytest.approx(petaflops * 1e15, rel=0.03)


@pytest.mark.parametrize("name", ["t4", "v100"])
def test_a_type_without_units_is_refused(name):
    with pytest.raises(InputError, match="--dtype=float16 or float32"):
        find(name).peak("bfloat16")


def test_beyond_a_host_gradients_go_over_the_network():
    assert find("h100x8").exchange == 450e9
    assert find("h100x16").exchange == 400e9
    assert find("a100x16").exchange == 200e9
    assert find("t4x16").exchange is None
    assert find("v5e-256").exchange == 200e9


@pytest.mark.parametrize("name", CHIPS)
def test_every_figure_has_a_source(name):
    chip = CHIPS[name]
    assert chip.source and chip.status in (hardware.SEEN, hardware.QUOTED, hardware.RECALLED)
    assert chip.peaks["float32"] > 1e12 and chip.memory >= 16e9


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("NVIDIA A100-SXM4-40GB", "a100-40"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA L4", "l4"),
        ("Tesla T4", "t4"),
        ("Tesla V100-SXM2-16GB", "v100-16"),
    ],
)
def test_gpus_are_known_by_the_name_that_their_driver_gives(title, name):
    assert hardware.name_of(title) == name


def test_a_gpu_that_is_not_in_the_table_is_refused():
    with pytest.raises(InputError, match="NVIDIA L40S is not in the table"):
        hardware.name_of("NVIDIA L40S")


def test_this_cpu_is_measured(monkeypatch):
    from bert_tf.training.plan import peak

    monkeypatch.setattr(peak, "measure", lambda device, dtype: {"bfloat16": 7e10}[dtype])
    found = find("cpu", "bfloat16")
    assert (found.num_devices, found.peak("bfloat16")) == (1, 7e10)
    assert found.memory > 2**28
    assert found.exchange is None and found.bandwidth is None
    assert hardware.here("bfloat16") == found

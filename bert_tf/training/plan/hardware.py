"""Peak performance of hardware: published figures; for a CPU, measured.

A figure's source is a page or paper of the vendor. `SEEN` means that it was read there; `QUOTED`
that it was read in other pages, which quote it; `RECALLED` that it was not looked up again.
"""

import dataclasses
import os
import re

from bert_tf.errors import InputError

SEEN, QUOTED, RECALLED = "read there", "as other pages quote it", "not looked up again"
_GIB, _GB, _TERA = 2**30, 10**9, 10**12


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
    """One TPU chip, graphics card or processor.

    Attributes:
      title: str.
      kind: "TPU", "GPU" or "CPU".
      peaks: FLOP/s of dense products, by the dtype that layers compute in. On GPUs float32 is
        TF32 where that is supported, as TensorFlow multiplies by default.
      memory: bytes.
      source: of the figures.
      status: `SEEN`, `QUOTED` or `RECALLED`.
      bandwidth: bytes per second of that memory; None: not known.
      exchange: bytes per second that it sends to its neighbours, one direction, or None.
      network: bytes per second that a whole host sends to others, or None.
      chips_per_host: chips connected at `exchange`; None: all of them.
      cores_per_name: what the number in a slice's name counts in one chip.
      devices: replicas that one chip runs, each with its share of everything.
    """

    title: str
    kind: str
    peaks: dict[str, float]
    memory: int
    source: str
    status: str
    bandwidth: float | None = None
    exchange: float | None = None
    network: float | None = None
    chips_per_host: int | None = None
    cores_per_name: int = 1
    devices: int = 1


def _tpu(
    name: str,
    tera: float,
    memory: int,
    bandwidth: float,
    exchange: float,
    source: tuple[str, str],
    cores: int = 1,
    devices: int = 1,
) -> Chip:
    """TPUs multiply in bfloat16, even float32 unless a higher precision is requested."""
    return Chip(
        title=f"TPU {name}",
        kind="TPU",
        peaks={"bfloat16": tera * _TERA, "float32": tera * _TERA},
        memory=memory,
        bandwidth=bandwidth * _GB,
        exchange=exchange * _GB,
        cores_per_name=cores,
        devices=devices,
        source=source[0],
        status=source[1],
    )


def _gpu(
    title: str,
    tera: tuple[float | None, float, float],
    gigabytes: int,
    bandwidth: float,
    exchange: float,
    source: tuple[str, str],
    network: float | None = None,
) -> Chip:
    types = ("bfloat16", "float16", "float32")
    return Chip(
        title=f"NVIDIA {title}",
        kind="GPU",
        peaks={name: t * _TERA for name, t in zip(types, tera, strict=True) if t},
        memory=gigabytes * _GB,
        bandwidth=bandwidth * _GB,
        exchange=exchange * _GB,
        network=network and network * _GB,
        chips_per_host=8,
        source=source[0],
        status=source[1],
    )


def _cloud(name: str) -> tuple[str, str]:
    return f"cloud.google.com/tpu/docs/{name}, 2025", SEEN


_A100 = ("NVIDIA A100 datasheet, 2021", QUOTED)
_H200 = ("NVIDIA H200 datasheet, 2024, without sparsity", QUOTED)
_L4 = ("NVIDIA L4 datasheet, 2023, without sparsity", QUOTED)
_V100 = ("NVIDIA V100 datasheet, 2020", QUOTED)
_H100 = "NVIDIA H100 datasheet, 2023, without sparsity"

# Exchange of TPUs: all-reduce bandwidth of a pod divided by its chips; v2 and v5p: bandwidth of the
# links of a chip. Of GPUs: half of NVLink's or PCIe's figure, which counts both directions; the
# network of a host is that of NVIDIA's DGX systems, not looked up again.
CHIPS = {
    "v2": _tpu("v2", 46, 16 * _GIB, 700, 248, ("Jouppi et al., CACM 2020", RECALLED), 2, 2),
    "v3": _tpu("v3", 123, 32 * _GIB, 900, 332, _cloud("v3"), cores=2, devices=2),
    "v4": _tpu("v4", 275, 32 * _GIB, 1200, 268, _cloud("v4"), cores=2),
    "v5e": _tpu("v5e", 197, 16 * _GB, 819, 200, _cloud("v5e")),
    "v5p": _tpu("v5p", 459, 95 * _GB, 2765, 600, _cloud("v5p"), cores=2),
    "v6e": _tpu("v6e", 918, 32 * _GB, 1638, 400, _cloud("v6e")),
    "a100-40": _gpu("A100 40 GB", (312, 312, 156), 40, 1555, 300, _A100, network=200),
    "a100": _gpu("A100 80 GB SXM", (312, 312, 156), 80, 2039, 300, _A100, network=200),
    "h100": _gpu("H100 SXM", (989, 989, 494), 80, 3350, 450, (_H100, QUOTED), network=400),
    "h100-pcie": _gpu("H100 PCIe", (756, 756, 378), 80, 2000, 64, (_H100, RECALLED)),
    "h200": _gpu("H200 SXM", (989, 989, 494), 141, 4800, 450, _H200, network=400),
    "l4": _gpu("L4", (121, 121, 60), 24, 300, 32, _L4),
    "t4": _gpu("T4", (None, 65, 8.1), 16, 320, 16, ("NVIDIA T4 datasheet, 2019", QUOTED)),
    "v100": _gpu("V100 32 GB SXM2", (None, 125, 15.7), 32, 900, 150, _V100, network=50),
    "v100-16": _gpu("V100 16 GB SXM2", (None, 125, 15.7), 16, 900, 150, _V100, network=50),
}


@dataclasses.dataclass(frozen=True)
class Hardware:
    """Chips of one kind, with one replica on each device."""

    chip: Chip
    num_chips: int

    @property
    def num_devices(self) -> int:
        """Replicas."""
        return self.num_chips * self.chip.devices

    @property
    def memory(self) -> int:
        """Bytes of a device."""
        return self.chip.memory // self.chip.devices

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second of a device's memory; None: not known."""
        return self.chip.bandwidth and self.chip.bandwidth / self.chip.devices

    @property
    def exchange(self) -> float | None:
        """Bytes per second at which sums of gradients pass a chip or host; None: not known.

        What leaves a host for a sum over all hosts does not grow with its chips.
        """
        chip = self.chip
        if chip.chips_per_host is None or self.num_chips <= chip.chips_per_host:
            return chip.exchange
        return chip.network and min(chip.exchange or 0.0, chip.network)

    def dtype(self, wanted: str | None) -> str:
        """The dtype that layers compute in; if None is wanted, the best that there is."""
        return wanted or next(iter(self.chip.peaks))

    def peak(self, dtype: str) -> float:
        """FLOP/s of a device for layers that compute in `dtype`.

        Raises:
          InputError: it does not support this dtype.
        """
        if dtype not in self.chip.peaks:
            raise InputError(
                f"--dtype={dtype}: {self.chip.title} does not support it; give --dtype="
                f"{' or '.join(self.chip.peaks)}."
            )
        return self.chip.peaks[dtype] / self.chip.devices


def find(text: str, dtype: str = "float32") -> Hardware:
    """The hardware that `--hardware` names.

    Args:
      text: a TPU slice as Google calls it ("v5e-256", "v5litepod-256", "v3-32": the number counts
        the chips of v5e and v6e, and the TensorCores, two per chip, of the others), GPUs
        ("h100x8", "a100"), or "cpu": this machine, measured.
      dtype: to measure the CPU with.

    Raises:
      InputError: it is none of these.
    """
    name = text.strip().lower().replace("v5litepod", "v5e")
    if name == "cpu":
        return Hardware(this_cpu(dtype), 1)
    chip, count = name, 1
    if match := re.fullmatch(r"(v[0-9][ep]?)-([1-9][0-9]*)|(.+)x([1-9][0-9]*)", name):
        chip, count = match[1] or match[3], int(match[2] or match[4])
    if chip not in CHIPS:
        raise InputError(
            f"--hardware={text} is not in the table; known: cpu, {', '.join(CHIPS)}, with a number "
            "as in v5e-256 or h100x8."
        )
    cores = CHIPS[chip].cores_per_name if match and match[1] else 1
    if count % cores:
        raise InputError(
            f"--hardware={text}: the number of a {chip} slice counts TensorCores, {cores} per "
            f"chip, and must be a multiple of {cores}."
        )
    return Hardware(CHIPS[chip], count // cores)


def here(dtype: str) -> Hardware:
    """What this process can train on: its GPUs, by their name, or else the CPU, measured.

    Raises:
      InputError: the GPU is not in the table.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return Hardware(this_cpu(dtype), 1)
    title = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "unnamed GPU")
    return Hardware(CHIPS[name_of(title)], len(gpus))


def name_of(title: str) -> str:
    """The key in `CHIPS` of a GPU that TensorFlow calls `title`, e.g. "Tesla T4".

    Raises:
      InputError: there is none.
    """
    for pattern, name in _TITLES.items():
        if re.search(pattern, title):
            return name
    raise InputError(
        f"{title} is not in the table of hardware; python -m bert_tf.training.plan plans for "
        f"{', '.join(CHIPS)}."
    )


_TITLES = {
    r"A100.*40GB": "a100-40",
    r"A100.*80GB": "a100",
    r"H100 PCIe": "h100-pcie",
    r"H100.*80GB": "h100",
    r"H200": "h200",
    r"\bL4\b": "l4",
    r"\bT4\b": "t4",
    r"V100.*16GB": "v100-16",
    r"V100.*32GB": "v100",
}


def this_cpu(dtype: str) -> Chip:
    """The processor of this machine and its memory; a short matrix product measures its peak."""
    from bert_tf.training.plan import peak

    return Chip(
        title=f"this CPU, {os.cpu_count()} cores",
        kind="CPU",
        peaks={dtype: peak.measure("/CPU:0", dtype)},
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        source="a matrix product of 2048 rows and columns",
        status="measured now",
    )

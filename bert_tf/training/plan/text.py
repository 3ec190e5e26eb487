"""A plan as text: a table with a column for each phase, and notes.

python -m bert_tf.training.plan --hardware=v5e-256 --bert_config_file=bert_config.json \
    --phases=128:900000,512:100000 --train_batch_size=256
"""

from collections.abc import Iterator, Sequence

from bert_tf.config import BertConfig, from_file
from bert_tf.formatting import abbreviated, duration, number, percent
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES
from bert_tf.training.plan import flops, planner
from bert_tf.training.plan.hardware import Hardware, find
from bert_tf.training.plan.options import PlanOptions
from bert_tf.training.plan.planner import PhasePlan

_Row = tuple[str, list[str]]  # label, a cell for each phase
_LABEL_WIDTH = 42
_COLUMN_WIDTH = 16


def main(options: PlanOptions) -> None:
    """Prints the plan."""
    config = from_file(options.bert_config_file)
    print(describe(config, options, find(options.hardware, options.dtype or "float32")))


def describe(
    config: BertConfig,
    options: PlanOptions,
    hardware: Hardware,
    num_predictions: Sequence[int] | None = None,
) -> str:
    """The plan as text.

    Args:
      num_predictions: per row of each phase; None: as the options say.

    Raises:
      InputError: as `planner.plan`.
    """
    mfu = options.assumed_mfu or planner.ASSUMED_MFU[hardware.chip.kind]
    plans = planner.plan(config, options, hardware, mfu, num_predictions)
    dtype = hardware.dtype(options.dtype)
    lines = [*_hardware(hardware, dtype), *_model(config, options.objective), ""]
    lines += [_row("phase", [str(i + 1) for i in range(len(plans))]), ""]
    for block in (_work(plans), _memory(plans), _time(plans, hardware, dtype, mfu)):
        lines += [_row(label, cells) for label, cells in block] + [""]
    lines += _whole(plans)
    lines += [f"Note: {note}" for note in _notes(plans, hardware)]
    return "\n".join(lines)


def _hardware(hardware: Hardware, dtype: str) -> list[str]:
    chip = hardware.chip
    devices = f"{hardware.num_devices} devices" if chip.devices > 1 else ""
    count = f"{hardware.num_chips} x {chip.title}" + (f" = {devices}" if devices else "")
    figures = f"{abbreviated(hardware.peak(dtype), 'FLOP/s')} in {dtype}"
    figures += f", {_bytes(hardware.memory)}"
    if hardware.bandwidth:
        figures += f" at {abbreviated(hardware.bandwidth, 'B/s')}"
    return [
        f"Hardware: {count}, {figures} per device",
        f"  Source: {chip.source}; {chip.status}.",
    ]


def _model(config: BertConfig, objective: str) -> list[str]:
    parts = flops.parameters(config, PRETRAINING_OBJECTIVES[objective].has_pair)
    encoder = flops.num_encoder_parameters(config)
    listed = ", ".join(f"{name} {count:,}" for name, count in parts.items())
    return [
        f"Model: L={config.num_hidden_layers} H={config.hidden_size} "
        f"A={config.num_attention_heads} I={config.intermediate_size} V={config.vocab_size}, "
        f"objective {objective}",
        f"  Parameters: {sum(parts.values()):,}, {encoder:,} of them in the encoder",
        f"  By part: {listed}",
    ]


def _work(plans: Sequence[PhasePlan]) -> Iterator[_Row]:
    phases = [plan.phase for plan in plans]
    yield "tokens per example", [str(phase.max_seq_length) for phase in phases]
    yield "predictions per example", [str(plan.num_predictions) for plan in plans]
    yield "examples per update", [f"{phase.batch_size:,}" for phase in phases]
    yield "learning rate", [f"{phase.learning_rate:g}" for phase in phases]
    yield "updates", [f"{phase.num_steps:,}" for phase in phases]
    yield "model FLOPs per update", [abbreviated(sum(plan.flops.values())) for plan in plans]
    for name in plans[0].flops:
        shares = [plan.flops[name] / sum(plan.flops.values()) for plan in plans]
        yield f"  {name}", [percent(share) for share in shares]
    yield "model FLOPs of the phase", [abbreviated(_phase_flops(plan)) for plan in plans]


def _phase_flops(plan: PhasePlan) -> int:
    return sum(plan.flops.values()) * plan.phase.num_steps


def _memory(plans: Sequence[PhasePlan]) -> Iterator[_Row]:
    names = {
        "weights": "weights",
        "copies": "weights in the dtype of the layers",
        "moments": "moments of the optimizer",
        "sums": "sums of gradients",
        "layers": "activations of embeddings and layers",
        "table": "gradient of the word embeddings",
        "heads": "activations of the heads",
        "inside": "or of a layer being recomputed",
        "update": "or, in place of these, all gradients",
    }
    yield "devices used", [f"{plan.num_devices}" for plan in plans]
    yield "examples per device and update", [str(_share(plan)) for plan in plans]
    yield "largest micro-batch that fits a device", [str(plan.largest) for plan in plans]
    yield (
        "micro-batches x examples of a device",
        [f"{plan.num_micro_batches} x {plan.num_rows}" if plan.num_rows else "-" for plan in plans],
    )
    yield "maximum memory of a device", [_bytes(plan.memory.total) for plan in plans]
    for field, label in names.items():
        sizes = [getattr(plan.memory, field) for plan in plans]
        if any(sizes):
            yield f"  {label}", [_bytes(size) for size in sizes]


def _share(plan: PhasePlan) -> int:
    return plan.phase.batch_size // plan.num_devices


def _time(plans: Sequence[PhasePlan], hardware: Hardware, dtype: str, mfu: float) -> Iterator[_Row]:
    yield "time per update", [_seconds(plan.step_seconds) for plan in plans]
    labels = {"computing": f"computing at {percent(mfu, 2)} of the peak"}
    for name in plans[0].seconds:
        yield f"  {labels.get(name, name)}", [_seconds(plan.seconds[name]) for plan in plans]
    yield "updates per second", [number(1 / plan.step_seconds, 3) for plan in plans]
    tokens = [plan.phase.batch_size * plan.phase.max_seq_length for plan in plans]
    yield (
        "positions per second",
        [abbreviated(n / plan.step_seconds) for n, plan in zip(tokens, plans, strict=True)],
    )
    peak = hardware.peak(dtype) * hardware.num_devices
    shares = [sum(plan.flops.values()) / plan.step_seconds / peak for plan in plans]
    yield "model FLOP utilisation of all devices", [percent(share) for share in shares]
    yield "time", [duration(plan.total_seconds) for plan in plans]


def _whole(plans: Sequence[PhasePlan]) -> list[str]:
    total = sum(plan.total_seconds for plan in plans)
    steps = sum(plan.phase.num_steps for plan in plans)
    work = sum(_phase_flops(plan) for plan in plans)
    if all(plan.num_rows for plan in plans):
        return [f"Total: {steps:,} updates, {abbreviated(work, 'FLOP')}, {duration(total)}."]
    return [f"Total: {steps:,} updates, {abbreviated(work, 'FLOP')}; it does not fit."]


def _notes(plans: Sequence[PhasePlan], hardware: Hardware) -> Iterator[str]:
    """Each note once, with the phases that it is about."""
    phases: dict[str, list[str]] = {}
    for index, plan in enumerate(plans, start=1):
        for note in _phase_notes(plan, hardware):
            phases.setdefault(note, []).append(str(index))
    for note, numbers in phases.items():
        yield f"phase {' and '.join(numbers)}: {note}"
    unknown = [name for name, seconds in plans[0].seconds.items() if seconds is None]
    if unknown:
        yield f"not known for this hardware and not counted: {', '.join(unknown)}."
    yield (
        "memory is an estimate, and the time follows from the assumed utilisation; reading data, "
        "saving and evaluation come on top."
    )


def _phase_notes(plan: PhasePlan, hardware: Hardware) -> Iterator[str]:
    if not plan.num_rows:
        yield (
            f"does not fit: {_bytes(plan.memory.total)} for one example per device; try "
            "--recompute, --dtype=bfloat16, a shorter length or a smaller model."
        )
    if plan.num_devices < hardware.num_devices:
        yield (
            f"{plan.phase.batch_size} examples divide evenly over only {plan.num_devices} of "
            f"the {hardware.num_devices} devices; a multiple of {hardware.num_devices} uses all."
        )
    if 2 * (plan.seconds["computing"] or 0.0) < plan.step_seconds:
        yield (
            f"computing {_share(plan)} example(s) per device takes less time than the rest of an "
            "update; a larger batch (LAMB) or fewer devices waste less."
        )


def _row(label: str, cells: Sequence[str]) -> str:
    return label.ljust(_LABEL_WIDTH) + "".join(cell.rjust(_COLUMN_WIDTH) for cell in cells)


def _bytes(size: float) -> str:
    """In GB, 10^9 bytes, as vendors count; below 10 MB in MB."""
    return f"{size / 1e9:.2f} GB" if size >= 1e7 else f"{size / 1e6:.2f} MB"


def _seconds(seconds: float | None) -> str:
    return "not known" if seconds is None else duration(seconds)

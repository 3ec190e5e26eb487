"""What pre-training will need and how long it will take.

FLOPs are exact and memory is an estimate. The time is the sum of three parts that are assumed not
to overlap: computing, at an assumed utilisation; updating the weights; exchanging gradients.
"""

import dataclasses
import math
from collections.abc import Sequence

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.options.data import num_predictions_needed
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES
from bert_tf.training import phases
from bert_tf.training.plan import flops, memory
from bert_tf.training.plan.hardware import Hardware
from bert_tf.training.plan.options import PlanOptions

# Reported utilisation: 37 % at length 128 and 32 % at 512 for BERT-Large in TensorFlow 2 on an A100
# (NVIDIA DeepLearningExamples); on a CPU 57 to 76 % of a measured product.
ASSUMED_MFU = {"TPU": 0.35, "GPU": 0.35, "CPU": 0.6}
# Of a device's memory; the runtime, buffers and fragmentation take the rest.
USABLE_MEMORY = 0.9
# An update reads weight, gradient and moments and writes all but the gradient, in float32.
_UPDATE_BYTES = 7 * 4
_GRADIENT_BYTES = 4


@dataclasses.dataclass(frozen=True)
class PhasePlan:
    """One phase on some hardware.

    Attributes:
      num_predictions: per row.
      num_devices: that share the batch evenly; may be fewer than there are.
      num_rows: rows of a micro-batch; 0: not even one fits.
      num_micro_batches: of a device, per update.
      largest: maximum rows of a micro-batch that fit.
      flops: model FLOPs of an update, by part.
      memory: of a device with micro-batches of `num_rows` rows, at least one.
      seconds: of an update, by what takes the time; None: not known.
    """

    phase: phases.Phase
    num_predictions: int
    num_devices: int
    num_rows: int
    num_micro_batches: int
    largest: int
    flops: dict[str, int]
    memory: memory.Memory
    seconds: dict[str, float | None]

    @property
    def step_seconds(self) -> float:
        """Of an update."""
        return sum(seconds for seconds in self.seconds.values() if seconds is not None)

    @property
    def total_seconds(self) -> float:
        """Of the phase."""
        return self.step_seconds * self.phase.num_steps


def plan(
    config: BertConfig,
    options: PlanOptions,
    hardware: Hardware,
    mfu: float,
    num_predictions: Sequence[int] | None = None,
) -> list[PhasePlan]:
    """Plans every phase.

    Args:
      mfu: assumed model FLOP utilisation.
      num_predictions: per row of each phase; None: as the options say.

    Raises:
      InputError: a phase does not fit the model, or the hardware does not support the dtype.
    """
    parsed = phases.parse(options)
    rate = mfu * hardware.peak(hardware.dtype(options.dtype))
    if num_predictions is None:
        num_predictions = [_num_predictions(phase, options) for phase in parsed]
    return [
        _plan_phase(config, options, hardware, *each, rate)
        for each in zip(parsed, num_predictions, strict=True)
    ]


def _num_predictions(phase: phases.Phase, options: PlanOptions) -> int:
    if PRETRAINING_OBJECTIVES[options.objective].is_causal:
        return phase.max_seq_length
    if options.max_predictions_per_seq and not options.phases:
        return options.max_predictions_per_seq
    return num_predictions_needed(MaskSettings.masked_lm_prob, phase.max_seq_length)


def _has_pair(options: PlanOptions) -> bool:
    return PRETRAINING_OBJECTIVES[options.objective].has_pair


def _plan_phase(
    config: BertConfig,
    options: PlanOptions,
    hardware: Hardware,
    phase: phases.Phase,
    num_predictions: int,
    rate: float,
) -> PhasePlan:
    if phase.max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"A phase has {phase.max_seq_length} tokens per example; the model has positions for "
            f"{config.max_position_embeddings} (max_position_embeddings)."
        )
    settings = memory.Settings(
        dtype=hardware.dtype(options.dtype),
        is_compiled=options.jit_compile or hardware.chip.kind == "TPU",
        recompute=options.recompute,
        has_next_sentence=_has_pair(options),
    )
    sizes = (phase.max_seq_length, num_predictions)
    limit = int(USABLE_MEMORY * hardware.memory)
    num_devices = _largest_divisor(phase.batch_size, hardware.num_devices)
    share = phase.batch_size // num_devices
    num_rows = next(
        (
            rows
            for rows in range(share, 0, -1)
            if share % rows == 0
            and memory.estimate(config, settings, rows, *sizes, share // rows).total <= limit
        ),
        0,
    )
    amount = flops.Amount.padded(phase.batch_size, *sizes)
    parts = flops.training(config, amount, _has_pair(options))
    num_micro_batches = share // max(1, num_rows)
    return PhasePlan(
        phase=phase,
        num_predictions=num_predictions,
        num_devices=num_devices,
        num_rows=num_rows,
        num_micro_batches=num_micro_batches,
        largest=memory.largest_batch(config, settings, *sizes, limit),
        flops=parts,
        memory=memory.estimate(config, settings, max(1, num_rows), *sizes, num_micro_batches),
        seconds=_seconds(config, options, hardware, num_devices, amount, sum(parts.values()), rate),
    )


def _largest_divisor(number: int, maximum: int) -> int:
    return next(divisor for divisor in range(min(number, maximum), 0, -1) if number % divisor == 0)


def _seconds(
    config: BertConfig,
    options: PlanOptions,
    hardware: Hardware,
    num_devices: int,
    amount: flops.Amount,
    model_flops: int,
    rate: float,
) -> dict[str, float | None]:
    """Of an update, by what takes the time; None: not known."""
    if options.recompute:
        model_flops += flops.recomputed(config, amount)
    num_weights = sum(flops.parameters(config, _has_pair(options)).values())
    num_chips = math.ceil(num_devices / hardware.chip.devices)
    exchange: float | None = 0.0
    if num_chips > 1:  # every chip sends sums twice: to be added up, then the result
        sent = 2 * _GRADIENT_BYTES * num_weights * (num_chips - 1) / num_chips
        exchange = sent / hardware.exchange if hardware.exchange else None
    bandwidth = hardware.bandwidth
    return {
        "computing": model_flops / (rate * num_devices),
        "updating weights": _UPDATE_BYTES * num_weights / bandwidth if bandwidth else None,
        "exchanging gradients": exchange,
    }

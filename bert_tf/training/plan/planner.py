"""What pre-training will need and how long it will take, before any of it runs.

python -m bert_tf.training.plan --hardware=v5e-256 --bert_config_file=bert_config.json \
    --phases=128:900000,512:100000 --train_batch_size=256

FLOPs are exact, memory is an estimate, and the time rests on an assumed utilisation while the
model computes, to which come the passes over the weights that an update makes and the exchange of
gradients, as if nothing of these three overlapped.
"""

import dataclasses
import math

from bert_tf import config as config_lib
from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.options.data import num_predictions_needed
from bert_tf.training import phases
from bert_tf.training.plan import flops, memory, text
from bert_tf.training.plan import hardware as hardware_lib

# Utilisation that others report: 37 % at length 128 and 32 % at 512 of BERT-Large in TensorFlow 2
# on an A100 (NVIDIA DeepLearningExamples); on a CPU 57 to 76 % of a measured product.
ASSUMED_MFU = {"TPU": 0.35, "GPU": 0.35, "CPU": 0.6}
# Of a device's memory; the rest goes to the runtime, to buffers and to what lies between arrays.
USABLE_MEMORY = 0.9
# An update reads weight, gradient and moments and writes all but the gradient, in float32.
_UPDATE_BYTES = 7 * 4
_GRADIENT_BYTES = 4


@dataclasses.dataclass(frozen=True)
class PhasePlan:
    """One phase on some hardware.

    Attributes:
      phase: `phases.Phase`.
      num_predictions: int, of a row.
      num_devices: int, that share the batch evenly; may be fewer than there are.
      num_rows: int, of a piece, or 0: not even one fits.
      num_pieces: int, that a device adds up for an update.
      largest: int, the most rows of a piece that fit.
      flops: dict from part to model FLOPs of an update.
      memory: `memory.Memory` of a device with pieces of `num_rows` rows, at least one.
      seconds: dict from what takes time in an update to seconds, None: not known.
    """

    phase: phases.Phase
    num_predictions: int
    num_devices: int
    num_rows: int
    num_pieces: int
    largest: int
    flops: dict
    memory: memory.Memory
    seconds: dict

    @property
    def step_seconds(self):
        """Of an update."""
        return sum(seconds for seconds in self.seconds.values() if seconds is not None)

    @property
    def total_seconds(self):
        """Of the phase."""
        return self.step_seconds * self.phase.num_steps


def plan(config, options, hardware, assumed_mfu=None, num_predictions=None):
    """Plans every phase.

    Args:
      config: `BertConfig`.
      options: `PlanOptions`, or other options with its fields `phases` to `jit_compile`.
      hardware: `hardware.Hardware`.
      assumed_mfu: float in (0, 1], or None: that of `ASSUMED_MFU`.
      num_predictions: list of int, of a row of each phase, or None: what the options say.

    Returns:
      list of `PhasePlan`.

    Raises:
      InputError: the phases make no sense, or the hardware has no units for the type.
    """
    found = phases.parse(options.phases, options)
    mfu = assumed_mfu or ASSUMED_MFU[hardware.chip.kind]
    rate = mfu * hardware.peak(options.dtype)
    if num_predictions is None:
        num_predictions = [_num_predictions(phase, options) for phase in found]
    return [
        _plan_phase(config, options, hardware, *each, rate)
        for each in zip(found, num_predictions, strict=True)
    ]


def _num_predictions(phase, options):
    if options.objective.startswith("ltr"):
        return phase.max_seq_length
    if options.max_predictions_per_seq and not options.phases:
        return options.max_predictions_per_seq
    return num_predictions_needed(MaskSettings.masked_lm_prob, phase.max_seq_length)


def _settings(options, hardware):
    return memory.Settings(
        dtype=options.dtype,
        is_compiled=options.jit_compile or hardware.chip.kind == "TPU",
        recompute=options.recompute,
        has_next_sentence=_has_pairs(options),
    )


def _has_pairs(options):
    return options.objective.endswith(("_nsp", "_sop"))


def _plan_phase(config, options, hardware, phase, num_predictions, rate):
    if phase.max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"A phase has {phase.max_seq_length} tokens per example; the model has positions for "
            f"{config.max_position_embeddings} (max_position_embeddings)."
        )
    settings = _settings(options, hardware)
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
    parts = flops.training(config, amount, _has_pairs(options))
    num_pieces = share // max(1, num_rows)
    return PhasePlan(
        phase=phase,
        num_predictions=num_predictions,
        num_devices=num_devices,
        num_rows=num_rows,
        num_pieces=num_pieces,
        largest=memory.largest_batch(config, settings, *sizes, limit),
        flops=parts,
        memory=memory.estimate(config, settings, max(1, num_rows), *sizes, num_pieces),
        seconds=_seconds(config, options, hardware, num_devices, amount, sum(parts.values()), rate),
    )


def _largest_divisor(number, most):
    return next(divisor for divisor in range(min(number, most), 0, -1) if number % divisor == 0)


def _seconds(config, options, hardware, num_devices, amount, model_flops, rate):
    """Dict from what takes time in an update to seconds, None where that is not known."""
    if options.recompute:
        model_flops += flops.recomputed(config, amount)
    num_weights = sum(flops.parameters(config, _has_pairs(options)).values())
    num_chips = math.ceil(num_devices / hardware.chip.devices)
    exchange = 0.0
    if num_chips > 1:  # every chip sends its sums twice: to be added up, and the result
        sent = 2 * _GRADIENT_BYTES * num_weights * (num_chips - 1) / num_chips
        exchange = sent / hardware.exchange if hardware.exchange else None
    bandwidth = hardware.bandwidth
    return {
        "computing": model_flops / (rate * num_devices),
        "updating weights": _UPDATE_BYTES * num_weights / bandwidth if bandwidth else None,
        "exchanging gradients": exchange,
    }


def describe(config, options, hardware, assumed_mfu=None, num_predictions=None):
    """The plan as text; see `plan`."""
    mfu = assumed_mfu or ASSUMED_MFU[hardware.chip.kind]
    plans = plan(config, options, hardware, mfu, num_predictions)
    return text.text(config, options, hardware, plans, mfu)


def main(options):
    """Prints the plan."""
    config = config_lib.from_file(options.bert_config_file)
    hardware = hardware_lib.find(options.hardware, options.dtype or "float32")
    dtype = options.dtype or next(iter(hardware.chip.peaks))
    options = dataclasses.replace(options, dtype=dtype)
    print(describe(config, options, hardware, options.assumed_mfu))

"""What `bert_tf.training.plan.memory` estimates against what a training step takes on this CPU.

    python -m benchmarks.step.training_memory

Each case runs in a process of its own: model, moments and one update, which traces and compiles
everything; then the allocator's peak is set back, and a second update is measured. What is
compared are the arrays of the step, the peak less what is allocated between two updates; weights
and moments are not part of that. `--tolerance` is the share that an estimate may be off by.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results"
VOCAB_SIZE = 30522


@dataclasses.dataclass(frozen=True)
class Case:
    num_layers: int
    hidden_size: int
    num_rows: int
    num_tokens: int
    num_predictions: int
    dtype: str = "float32"
    is_compiled: bool = False
    recompute: bool = False


CASES = (
    Case(4, 512, 32, 128, 20),
    Case(4, 512, 8, 512, 77),
    Case(12, 768, 8, 128, 20),
    Case(12, 768, 2, 512, 77),
    Case(4, 512, 32, 128, 20, recompute=True),
    Case(4, 512, 32, 128, 20, is_compiled=True),
    Case(4, 512, 8, 512, 77, is_compiled=True),
    Case(12, 768, 8, 128, 20, is_compiled=True),
    Case(4, 512, 32, 128, 20, is_compiled=True, recompute=True),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    tolerance: float = option(0.1, "Share that an estimate may be off by.")
    case: int | None = option(None, "Number of a case to run in this process.")


def config(case):
    return BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=case.hidden_size,
        num_hidden_layers=case.num_layers,
        num_attention_heads=case.hidden_size // 64,
        intermediate_size=4 * case.hidden_size,
    )


def new_step(case):
    """A callable that does one update."""
    import keras
    import numpy as np
    import tensorflow as tf

    from bert_tf.modeling import dropout, models
    from bert_tf.training.step import objectives, recomputation

    keras.config.set_dtype_policy({"float32": "float32", "bfloat16": "mixed_bfloat16"}[case.dtype])
    model = models.PretrainingModel(config(case))
    recomputation.set_up(model.encoder, recompute=case.recompute, is_compiled=case.is_compiled)
    variables = [variable.value for variable in model.trainable_variables]
    moments = [[tf.Variable(tf.zeros_like(v), trainable=False) for v in variables] for _ in "mv"]
    rng = np.random.default_rng(3)
    rows, slots = (case.num_rows, case.num_tokens), (case.num_rows, case.num_predictions)
    batch = {
        "input_word_ids": tf.constant(rng.integers(0, VOCAB_SIZE, rows), tf.int32),
        "input_mask": tf.ones(rows, tf.int32),
        "input_type_ids": tf.zeros(rows, tf.int32),
        "masked_lm_positions": tf.constant(rng.integers(0, case.num_tokens, slots), tf.int32),
        "masked_lm_ids": tf.constant(rng.integers(0, VOCAB_SIZE, slots), tf.int32),
        "masked_lm_weights": tf.ones(slots),
        "next_sentence_labels": tf.zeros(case.num_rows, tf.int32),
    }
    objective = objectives.PRETRAINING["mlm_nsp"]

    @tf.function(jit_compile=case.is_compiled)
    def step(batch):
        with tf.GradientTape() as tape, dropout.step_seed(tf.constant([1, 2])):
            measures = objective.measure(model(batch, training=True), batch)
            loss = tf.add_n([measures[name][0] for name in objective.losses])
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
        for variable, gradient, first, second in zip(variables, clipped, *moments, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=0.0,
                beta2_power=0.0,
                lr=1e-4,
                beta1=0.9,
                beta2=0.999,
                epsilon=1e-6,
                grad=gradient,
            )
        return norm

    return lambda: step(batch).numpy()


def measure(case):
    """Bytes that an update allocates at most above what is allocated before it."""
    import tensorflow as tf

    step = new_step(case)
    step()
    tf.config.experimental.reset_memory_stats("CPU:0")
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    step()
    return tf.config.experimental.get_memory_info("CPU:0")["peak"] - before


def estimate(case):
    """What `memory` says of the same."""
    from bert_tf.training.plan import memory

    settings = memory.Settings(
        dtype=case.dtype, is_compiled=case.is_compiled, recompute=case.recompute
    )
    found = memory.estimate(
        config(case), settings, case.num_rows, case.num_tokens, case.num_predictions
    )
    return found.total - found.weights - found.moments


def run_alone(number):
    """`measure` in a new process, whose allocator counts."""
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_CPU_ALLOCATOR_USE_BFC": "true",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": "12000",
    }
    command = [sys.executable, "-m", "benchmarks.step.training_memory", f"--case={number}"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    if found.returncode:
        raise InputError(f"Case {number} failed:\n{found.stderr[-2000:]}")
    return int(found.stdout.strip().splitlines()[-1])


def main(options):
    if options.case is not None:
        print(measure(CASES[options.case]))
        return
    rows = []
    print(f"{'L':>3}{'H':>5}{'B':>4}{'T':>5}  {'type':9}{'step':22}{'estimate':>9}{'measured':>9}")
    for number, case in enumerate(CASES):
        measured, estimated = run_alone(number), estimate(case)
        kind = ("XLA" if case.is_compiled else "graph") + (" recomputing" * case.recompute)
        ratio = estimated / measured
        rows.append(
            dataclasses.asdict(case) | {"estimated_bytes": estimated, "measured_bytes": measured}
        )
        print(
            f"{case.num_layers:3}{case.hidden_size:5}{case.num_rows:4}{case.num_tokens:5}  "
            f"{case.dtype:9}{kind:22}{estimated / 1e9:6.2f} GB{measured / 1e9:6.2f} GB"
            f"{100 * (ratio - 1):+6.0f} %{'' if abs(ratio - 1) <= options.tolerance else '  OFF'}",
            flush=True,
        )
    summary = {"tolerance": options.tolerance, "cases": rows}
    files.write_text(RESULTS / "training_memory.json", json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

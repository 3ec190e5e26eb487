"""`run_pretraining.py`: masked LM and next sentence prediction on TFRecords (paper section 3.1).

Files in `--output_dir` in addition to those of a model directory: eval_results.txt with the
released keys, metrics.jsonl and report.html.
"""

import collections
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.formatting import abbreviated
from bert_tf.options import PreTraining
from bert_tf.progress import Progress, status
from bert_tf.records import check, manifest
from bert_tf.records.read import stream
from bert_tf.training import setup
from bert_tf.training.finetuning import finetune
from bert_tf.training.inputs import Inputs, announce, check_identity, deciding_options
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.plan import flops, hardware, peak
from bert_tf.training.plan.options import PlanOptions
from bert_tf.training.plan.text import describe
from bert_tf.training.pretraining import pretraining_data, pretraining_inputs
from bert_tf.training.pretraining.pretraining_data import PhaseData, Records
from bert_tf.training.pretraining.pretraining_inputs import PretrainingInputs
from bert_tf.training.resume import completion, full_disk
from bert_tf.training.step import recomputation
from bert_tf.training.step.loop import Loop
from bert_tf.training.step.objectives import PRETRAINING, Pretraining


def run(options: PreTraining) -> None:
    """Runs what the flags ask for; see the module.

    Raises:
      InputError: see `pretraining_inputs.read`; or the records are not as wanted.
    """
    run_on(pretraining_inputs.read(options))


@full_disk.explained
def run_on(given: PretrainingInputs) -> None:
    """`run` on what was checked."""
    inputs, directory = given.inputs, given.directory
    options, objective = inputs.options, PRETRAINING[inputs.options.objective]
    with status("Checking the records"):
        data = _phase_data(given)
        eval_records = pretraining_data.find_records(
            options, inputs.vocabulary, data[-1].phase.max_seq_length, is_evaluation=True
        )
    strategy = setup.set_up_devices(options)
    for each in data:
        pretraining_data.check_batch_size(each.phase, options, strategy)
    announce(options)
    if options.dry_run:
        check_identity(directory.path, deciding_options(options) | _identity(data, options))
        if inputs.checkpoint:
            setup.initial_model(inputs, directory)  # raises if the weights do not fit
        print(_plan(inputs, data, objective), flush=True)
        return
    run = setup.Run(inputs, strategy, directory)
    is_complete = options.do_train and _is_complete(directory, data, options)
    if is_complete or not options.do_train:
        if options.do_eval and run.is_chief:
            model = setup.trained_model(inputs, directory)
            step = completion.num_updates(directory.path) or 0
            _evaluate(model, eval_records, objective, options, step)
        if is_complete and run.is_chief:  # a full disk may have kept it from being written
            finetune.write_report(directory.path)
        return
    loop = _train(run, data, objective)
    if options.do_eval and run.is_chief:
        # A model on a TPU is built again for the host, which evaluates.
        model = directory.build_model("last") if options.use_tpu else loop.model
        loop.log.evaluation(
            loop.step, _evaluate(model, eval_records, objective, options, loop.step)
        )
    loop.log.event(loop.step, "end")
    if run.is_chief:
        completion.finish(directory.path, loop.step, keeps_states=options.keep_training_state)
    loop.close()
    if run.is_chief:
        finetune.write_report(directory.path)


def _is_complete(
    directory: model_directory.ModelDirectory, data: Sequence[PhaseData], options: PreTraining
) -> bool:
    """Whether the directory holds this run, and nothing is left to train; says so then."""
    num_steps = _num_steps(data)
    if not completion.is_marked(directory.path, num_steps):
        return False
    check_identity(directory.path, deciding_options(options) | _identity(data, options))
    print(completion.message(directory.path, num_steps), flush=True)
    return True


def _phase_data(given: PretrainingInputs) -> list[PhaseData]:
    """The phases of the run with their records, checked."""
    options, vocabulary = given.inputs.options, given.inputs.vocabulary
    return [
        PhaseData(
            phase,
            number,
            pretraining_data.find_records(options, vocabulary, phase.max_seq_length),
        )
        for number, phase in enumerate(given.phases)
    ]


def _num_steps(data: Sequence[PhaseData]) -> int:
    return sum(each.phase.num_steps for each in data)


def _identity(data: Sequence[PhaseData], options: PreTraining) -> dict[str, Any]:
    """What decides the result, in addition to `inputs.deciding_options`."""
    paths = sorted({path for each in data for path in each.records.paths})
    # Rows that are sorted by length have other positions in the batch, and so other dropout masks.
    default_buckets = "full" if options.has_static_shapes else None
    identity: dict[str, Any] = {
        "num_warmup_steps": options.num_warmup_steps,
        "objective": options.objective,
        "dynamic_masking": options.dynamic_masking,
        "length_buckets": options.length_buckets or default_buckets,
        "phases": [dataclasses.astuple(each.phase) for each in data],
        "records": {os.path.basename(path): check.num_records(path) for path in paths},
    }
    if data[0].records.masks:
        masks = [each.records.masks for each in data if each.records.masks]
        identity["masks"] = [dataclasses.asdict(each) for each in masks]
    if hashes := [each for each in map(manifest.sha256, paths) if each]:
        identity["records_sha256"] = hashes
    return identity


def _plan(inputs: Inputs[PreTraining], data: Sequence[PhaseData], objective: Pretraining) -> str:
    """What the run would take on this machine."""
    options = inputs.options
    if options.use_tpu:
        return (
            "The TPU answers, and the run can start. What it would take on one: "
            "python -m bert_tf.training.plan --hardware=v5e-8, or another kind of TPU."
        )
    fields = {field.name for field in dataclasses.fields(PlanOptions)}
    values = {name: value for name, value in vars(options).items() if name in fields}
    planned = PlanOptions(**values, hardware="this machine")
    num_predictions = [_sizes(each, objective)[1] for each in data]
    try:
        here = hardware.here(options.dtype)
    except InputError as error:
        return f"The run can start. What it would take is not known: {error}"
    return describe(inputs.config, planned, here, num_predictions=num_predictions)


def _train(run: setup.Run[PreTraining], data: Sequence[PhaseData], objective: Pretraining) -> Loop:
    """Trains to the end."""
    options = run.inputs.options
    num_steps = _num_steps(data)
    ends = np.cumsum([each.phase.num_steps for each in data]).tolist()
    readers = [each.reader(options) for each in data]

    def record_files(step: int) -> list[str]:
        number = next(n for n, end in enumerate(ends) if step <= end)
        first = ends[number] - data[number].phase.num_steps
        return sorted({path for path, _ in readers[number].sources(step - 1 - first)})

    peaks = [(each.phase.num_steps, each.phase.learning_rate) for each in data]
    schedule = setup.new_schedule(options, num_steps, options.num_warmup_steps, peaks)
    loop = run.new_loop(objective, schedule, _identity(data, options), record_files)
    recomputation.set_up(
        loop.model.encoder,
        recompute=options.recompute,
        is_compiled=options.jit_compile or options.use_tpu,
    )
    done = loop.restore()
    print(
        f"Pre-training: {sum(reader.num_records for reader in readers):,} records in "
        f"{sum(len(each.records.paths) for each in data):,} file(s), {num_steps:,} steps, "
        f"{run.strategy.num_replicas_in_sync} replica(s)"
        + (f"; resumed after step {done}." if done else "."),
        flush=True,
    )
    meter = _new_meter(run, data, objective, loop)
    for each, reader, end in zip(data, readers, ends, strict=True):
        first = end - each.phase.num_steps
        if loop.step >= end:
            continue
        sizes = {
            "max_seq_length": each.phase.max_seq_length,
            "train_batch_size": each.phase.batch_size,
        }
        loop.new_phase(sizes, is_new=loop.step == first)
        with stream.naming_damaged_file(each.records.paths):
            batches = each.batches(reader, options, run.strategy, loop.step - first)
            loop.run(batches, end, meter)
    if run.is_chief:
        loop.save_weights("last")
    return loop


def _new_meter(
    run: setup.Run[PreTraining], data: Sequence[PhaseData], objective: Pretraining, loop: Loop
) -> Meter:
    inputs, done = run.inputs, loop.step
    flops_per_token = []
    for each in data:
        length, num_predictions = _sizes(each, objective)
        flops_per_token.append(
            flops.per_token(
                inputs.config, length, num_predictions, has_next_sentence=objective.has_pair
            )
        )
    peak_flops = None
    if done < _num_steps(data):
        with status("Measuring the peak of this machine, which MFU is relative to"):
            peak_flops = peak.of_strategy(run.strategy, inputs.options.dtype)
    if peak_flops:
        print(
            f"MFU (model FLOP utilisation) is relative to {abbreviated(peak_flops, 'FLOP/s')}, "
            "the fastest matrix products measured on all devices.",
            flush=True,
        )
        loop.log.event(done, "peak", flops_per_second=peak_flops)
    return Meter([each.phase for each in data], done, flops_per_token, peak_flops)


def _sizes(each: PhaseData, objective: Pretraining) -> tuple[int, int]:
    """T and the predictions of a row; a left-to-right model predicts every token."""
    sizes = each.records.sizes
    return sizes["T"], sizes["T"] if objective.is_causal else sizes["P"]


def _evaluate(
    model: keras.Model,
    records: Records,
    objective: Pretraining,
    options: PreTraining,
    step: int,
) -> dict[str, float]:
    """`evaluate`, also written to eval_results.txt; `step`: updates behind the weights."""
    metrics = evaluate(model, records, objective, options)
    finetune.write_results(options.output_dir, {"global_step": step} | metrics)
    return metrics


def evaluate(
    model: keras.Model, records: Records, objective: Pretraining, options: PreTraining
) -> dict[str, float]:
    """Losses and accuracies over held-out records, each a mean over all predictions.

    Returns:
      `loss` and, for each loss, e.g. `masked_lm_loss` and `masked_lm_accuracy`.
    """
    reader = records.reader(options.eval_batch_size, pretraining_data.EVALUATION_SEED)
    batches, num_batches = reader.once(), -(-reader.num_records // options.eval_batch_size)
    if options.max_eval_steps:
        num_batches = min(num_batches, options.max_eval_steps)
        batches = batches.take(num_batches)

    # Traced once: the number of rows is open, since the last batch may be short.
    @tf.function(input_signature=[batches.element_spec], autograph=False)
    def measure(batch: dict[str, tf.Tensor]) -> dict[str, tuple[tf.Tensor, tf.Tensor]]:
        batch = objective.prepare(batch)
        return objective.measure(model(batch, training=False), batch)

    totals: dict[str, np.ndarray] = collections.defaultdict(lambda: np.zeros(2))
    with (
        stream.naming_damaged_file(records.paths),
        Progress("evaluate", num_batches, "batches", first="compiling the model") as progress,
    ):
        for batch in batches:
            for name, pair in measure(batch).items():
                totals[name] += [float(value) for value in pair]
            progress.advance()
    means = {name: float(total / max(1.0, count)) for name, (total, count) in totals.items()}
    return means | {"loss": sum(means[name] for name in objective.losses)}

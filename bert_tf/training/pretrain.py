"""`run_pretraining.py`: masked LM and next sentence prediction on TFRecords (paper section 3.1).

Files in `--output_dir` beside those of a model directory: eval_results.txt with the released keys,
metrics.jsonl and report.html.
"""

import collections
import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_tf import checkpoints, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.progress import Progress
from bert_tf.records import check, manifest
from bert_tf.records.read import stream
from bert_tf.training import finetune, phases
from bert_tf.training import pretraining_data as data_lib
from bert_tf.training import setup as start_lib
from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.plan import flops, hardware, peak, planner
from bert_tf.training.pretraining_data import PhaseData
from bert_tf.training.report import page
from bert_tf.training.step import objectives, recomputation
from bert_tf.training.step.loop import check_identity


def run(options):
    """Runs what the flags ask for; see the module.

    Args:
      options: `options.PreTraining`.
    """
    start = start_lib.check(options)
    objective = objectives.PRETRAINING_OBJECTIVES[options.objective]
    _check_direction(start.checkpoint, objective)
    start = dataclasses.replace(
        start, config=dataclasses.replace(start.config, is_causal=objective.is_causal)
    )
    course = [
        _phase_data(start, phase, number, options, objective)
        for number, phase in enumerate(phases.parse(options.phases, options))
    ]
    eval_records = data_lib.records(
        options.eval_input_file or options.input_file,
        "--eval_input_file",
        course[-1].phase.max_seq_length,
        start.vocabulary,
        options,
        objective,
        is_evaluation=True,
    )
    _check_warmup(course, options)
    strategy = start_lib.set_up(options)
    for each in course:
        data_lib.check_batch_size(each.phase, options, strategy)
    directory = model_directory.prepare(
        options.output_dir,
        start.config,
        start.vocab_file,
        _metadata(options, start, course, objective),
    )
    flagging.announce(options)
    if options.dry_run:
        check_identity(directory.path, _identity(course, options))
        if start.checkpoint:
            start_lib.initial_model(start, directory)  # raises if the weights do not fit
        print(_plan(start.config, course, options, objective), flush=True)
        return
    if options.do_train:
        loop = _train(start, course, options, strategy, directory, objective)
        model, step = loop.model, loop.step
        if options.do_eval and options.use_tpu:
            model = directory.build_model("last")  # for the host, which evaluates
    else:
        loop, model = None, start_lib.trained_model(directory, start)
        step = _num_updates_made(directory)
    if options.do_eval and start_lib.is_chief(strategy):
        metrics = evaluate(model, eval_records, objective, options)
        finetune.write_results(options.output_dir, {"global_step": step} | metrics)
        if loop:
            loop.log.evaluation(step, metrics)
    if loop:
        loop.log.event(step, "end")
        loop.close()
        if start_lib.is_chief(strategy):
            print(f"Report: {page.write(directory.path)}", flush=True)


def _check_direction(checkpoint, objective):
    """Refuses weights that read from the left for a model that reads both ways, and the reverse."""
    config = checkpoint.config if checkpoint else None
    if config and config.is_causal != objective.is_causal:
        fitting = [
            name
            for name, each in objectives.PRETRAINING_OBJECTIVES.items()
            if each.is_causal == config.is_causal
        ]
        raise InputError(
            f"--init_checkpoint={checkpoint.path} has is_causal {str(config.is_causal).lower()} in "
            "the config beside it, and --objective wants the other. Give --objective="
            f"{' or '.join(fitting)}, or another checkpoint."
        )


def _num_updates_made(directory):
    """Updates behind the weights of a finished run; 0 where there are none in the directory."""
    if not os.path.isdir(directory.weights("last")):
        return 0
    ends = history.read(os.path.join(directory.path, history.NAME)).events("end")
    return ends[-1]["step"] if ends else 0


def _plan(config, course, options, objective):
    """What the run would take on this machine."""
    if options.use_tpu:
        return (
            "The TPU answers, and the run can start. What it would take on one: "
            "python -m bert_tf.training.plan --hardware=v5e-8, or another kind of TPU."
        )
    shared = {field.name for field in dataclasses.fields(planner.PlanOptions)} & vars(
        options
    ).keys()
    values = {name: getattr(options, name) for name in shared}
    planned = planner.PlanOptions(**values, hardware="this machine")
    num_predictions = [_sizes(each, objective)[1] for each in course]
    try:
        here = hardware.here(options.dtype)
    except InputError as error:
        return f"The run can start. What it would take is not known: {error}"
    return planner.describe(config, planned, here, num_predictions=num_predictions)


def _phase_data(start, phase, number, options, objective):
    packing.check_length(phase.max_seq_length, start.config, shortest=5)
    records = data_lib.records(
        options.input_file,
        "--input_file",
        phase.max_seq_length,
        start.vocabulary,
        options,
        objective,
    )
    return PhaseData(phase, number, records)


def _check_warmup(course, options):
    num_steps = _num_steps(course)
    if options.num_warmup_steps >= num_steps:
        raise InputError(
            f"--num_warmup_steps={options.num_warmup_steps} must be below the {num_steps} steps "
            "of --phases."
        )


def _num_steps(course):
    return sum(each.phase.num_steps for each in course)


def _metadata(options, start, course, objective):
    tasks = {"mlm_nsp": "masked-lm-and-next-sentence"}  # as the first version wrote it
    return model_directory.ModelMetadata(
        kind="pretrain",
        task=tasks.get(options.objective, options.objective),
        num_texts=2 if objective.has_pair else 1,
        do_lower_case=not start.vocabulary.is_cased,
        max_seq_length=max(each.phase.max_seq_length for each in course),
    )


def _identity(course, options):
    """What decides the course of the run."""
    names = (*start_lib.COURSE, "num_warmup_steps", "objective", "dynamic_masking")
    identity = {name: getattr(options, name) for name in names}
    # Rows that are sorted by length have other places in the batch, and so other dropout masks.
    full = "full" if options.has_static_shapes else None
    identity["length_buckets"] = options.length_buckets or full
    paths = sorted({path for each in course for path in each.records.paths})
    identity["phases"] = [dataclasses.astuple(each.phase) for each in course]
    identity["phases"] = [list(each) for each in identity["phases"]]
    identity["records"] = {os.path.basename(path): check.num_records(path) for path in paths}
    if course[0].records.masks:
        identity["masks"] = [dataclasses.asdict(each.records.masks) for each in course]
    if hashes := [each for each in map(manifest.sha256, paths) if each]:
        identity["records_sha256"] = hashes
    return identity


def _train(start, course, options, strategy, directory, objective):
    """Trains to the end; returns the `Loop`."""
    num_steps = _num_steps(course)
    ends = np.cumsum([each.phase.num_steps for each in course]).tolist()
    readers = [each.reader(options) for each in course]

    def record_files(step):
        number = next(n for n, end in enumerate(ends) if step <= end)
        first = ends[number] - course[number].phase.num_steps
        return sorted({path for path, _ in readers[number].sources(step - 1 - first)})

    schedule = start_lib.new_schedule(
        options,
        num_steps,
        options.num_warmup_steps,
        peaks=[(each.phase.num_steps, each.phase.learning_rate) for each in course],
    )
    loop = start_lib.new_loop(
        start,
        options,
        strategy,
        directory,
        objective,
        schedule,
        _identity(course, options),
        record_files,
        jit_compile=options.jit_compile and not options.use_tpu,
    )
    recomputation.set_up(
        loop.model.encoder,
        recompute=options.recompute,
        is_compiled=options.jit_compile or options.use_tpu,
    )
    done = loop.restore()
    print(
        f"Pre-training: {sum(reader.num_records for reader in readers)} records in "
        f"{sum(len(each.records.paths) for each in course)} file(s), {num_steps} steps, "
        f"{strategy.num_replicas_in_sync} replica(s)"
        + (f"; going on after step {done}." if done else "."),
        flush=True,
    )
    meter = Meter(
        [each.phase for each in course],
        done,
        [
            flops.per_token(
                start.config, *_sizes(each, objective), has_next_sentence=objective.has_pair
            )
            for each in course
        ],
        peak.of_strategy(strategy, options.dtype) if done < num_steps else None,
    )
    for each, reader, end in zip(course, readers, ends, strict=True):
        if loop.step < end:
            _train_phase(loop, each, reader, end, options, strategy, meter)
    if start_lib.is_chief(strategy):
        checkpoints.save(loop.model, os.path.join(directory.path, "last"))
    return loop


def _sizes(each, objective):
    """T and the predictions of a row; a left-to-right model predicts every token."""
    sizes = each.records.sizes
    return sizes["T"], sizes["T"] if objective.is_causal else sizes["P"]


def _train_phase(loop, each, reader, end, options, strategy, meter):
    phase = each.phase
    first = end - phase.num_steps
    loop.new_phase(
        {"max_seq_length": phase.max_seq_length, "train_batch_size": phase.batch_size},
        is_new=loop.step == first,
    )
    start_batch = loop.step - first
    with stream.naming_damaged_file(each.records.paths):
        if options.has_static_shapes:
            batches, specification = each.device_batches(reader, options, strategy, start_batch)
            loop.run_on_devices(
                batches,
                specification,
                end,
                meter,
                lengths=options.lengths(phase.max_seq_length),
                steps_per_call=options.iterations_per_loop,
            )
        else:
            loop.run(each.host_batches(reader, options, strategy, start_batch), end, meter)


def evaluate(model, records, objective, options):
    """Losses and accuracies over held-out records, each a mean over all predictions.

    Args:
      model: `PretrainingModel`.
      records: `pretraining_data.Records`.
      objective: `objectives.PretrainingObjective`.
      options: `options.PreTraining`.

    Returns:
      dict with `loss` and, of each loss, e.g. `masked_lm_loss` and `masked_lm_accuracy`.
    """

    @tf.function(reduce_retracing=True)
    def measure(batch):
        batch = objective.prepare(batch)
        return objective.measure(model(batch, training=False), batch)

    batches = records.reader(options.eval_batch_size, data_lib.EVALUATION_SEED).once()
    if options.max_eval_steps:
        batches = batches.take(options.max_eval_steps)
    totals = collections.defaultdict(lambda: np.zeros(2))
    progress = Progress("evaluate", None, "batches")
    with stream.naming_damaged_file(records.paths):
        for batch in batches:
            for name, pair in measure(batch).items():
                totals[name] += [float(value) for value in pair]
            progress.advance()
    progress.close()
    means = {name: total / max(1.0, count) for name, (total, count) in totals.items()}
    return means | {"loss": sum(means[name] for name in objective.losses)}

"""What `run_pretraining.py` checks before TensorFlow loads, so that wrong input is refused at once.

Of the records, the first one of every file is looked for. What they hold is read later, with
TensorFlow (`pretraining_data`).
"""

import dataclasses
from collections.abc import Sequence

from bert_tf import checkpoints, files
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.options import PreTraining
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES, PretrainingObjective
from bert_tf.records import check, manifest
from bert_tf.training import inputs as run_inputs
from bert_tf.training import phases
from bert_tf.training.inputs import Inputs
from bert_tf.training.phases import Phase


@dataclasses.dataclass(frozen=True)
class PretrainingInputs:
    """What a run of `run_pretraining.py` is made from, as far as checked.

    Attributes:
      directory: --output_dir, which need not be on disk yet.
    """

    inputs: Inputs[PreTraining]
    phases: Sequence[Phase]
    directory: model_directory.ModelDirectory


def main(options: PreTraining) -> None:
    """Checks what can be checked at once, and only then loads TensorFlow and starts."""
    given = read(options)

    from bert_tf.training.pretraining import pretrain  # TensorFlow takes seconds to load

    pretrain.run_on(given)


def read(options: PreTraining) -> PretrainingInputs:
    """Reads and checks what the options name, the contents of the records excepted.

    Raises:
      InputError: a file is missing or does not fit, or the output directory is another run's.
    """
    inputs = run_inputs.check(options)
    objective = PRETRAINING_OBJECTIVES[options.objective]
    _check_direction(inputs.checkpoint, objective)
    config = dataclasses.replace(inputs.config, is_causal=objective.is_causal)
    inputs = dataclasses.replace(inputs, config=config)
    parsed = _phases(inputs)
    _check_records(inputs, objective)
    metadata = _metadata(inputs, parsed, objective)
    return PretrainingInputs(inputs, parsed, run_inputs.prepare_directory(inputs, metadata))


def _check_direction(
    checkpoint: checkpoints.Checkpoint | None, objective: PretrainingObjective
) -> None:
    """Refuses left-to-right weights for a model that reads both ways, and the reverse."""
    config = checkpoint.config if checkpoint else None
    if checkpoint and config and config.is_causal != objective.is_causal:
        objectives = PRETRAINING_OBJECTIVES.items()
        fitting = [name for name, each in objectives if each.is_causal == config.is_causal]
        raise InputError(
            f"--init_checkpoint={checkpoint.path} has is_causal {str(config.is_causal).lower()} in "
            "the config next to it, and --objective wants the other. Give --objective="
            f"{' or '.join(fitting)}, or another checkpoint."
        )


def _phases(inputs: Inputs[PreTraining]) -> list[Phase]:
    options = inputs.options
    parsed = phases.parse(options)
    for phase in parsed:
        packing.check_length(phase.max_seq_length, inputs.config, shortest=5)
    num_steps = sum(phase.num_steps for phase in parsed)
    if options.num_warmup_steps >= num_steps:
        raise InputError(
            f"--num_warmup_steps={options.num_warmup_steps} must be below the {num_steps} "
            "steps of --phases."
        )
    return parsed


def _check_records(inputs: Inputs[PreTraining], objective: PretrainingObjective) -> None:
    """Checks that the files hold records, and of one phase what their manifests say."""
    options = inputs.options
    for patterns, flag in (
        (options.input_file, "--input_file"),
        (options.eval_input_file, "--eval_input_file"),
    ):
        paths = files.expand(patterns, flag) if patterns is not None else []
        if paths:
            print(f"Data: {len(paths)} file(s) of {flag}={patterns}", flush=True)
        for path in paths:
            next(check.records(path))
        if not options.phases:
            manifest.check(
                paths,
                vocabulary=inputs.vocabulary,
                do_lower_case=not inputs.vocabulary.is_cased,
                max_seq_length=options.max_seq_length,
                max_predictions_per_seq=(
                    None if options.dynamic_masking else options.max_predictions_per_seq
                ),
                example_types=objective.example_types,
            )


def _metadata(
    inputs: Inputs[PreTraining], parsed: Sequence[Phase], objective: PretrainingObjective
) -> model_directory.ModelMetadata:
    name = inputs.options.objective
    return model_directory.ModelMetadata(
        kind="pretrain",
        task={"mlm_nsp": "masked-lm-and-next-sentence"}.get(name, name),
        num_texts=2 if objective.has_pair else 1,
        do_lower_case=not inputs.vocabulary.is_cased,
        max_seq_length=max(phase.max_seq_length for phase in parsed),
    )

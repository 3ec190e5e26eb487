"""The records of a pre-training run: which phase takes which, and its batches."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.examples.choices import DYNAMIC_GRANULARITIES, EXAMPLE_TYPES, MaskSettings
from bert_tf.options.data import num_predictions_needed
from bert_tf.records import check, manifest
from bert_tf.records.read import dynamic_masking, global_batches
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.devices import strategy as strategy_lib
from bert_tf.training.phases import Phase
from bert_tf.training.step.update import ROW_NUMBERS

# Of the masks that are drawn for held-out records; no --random_seed is as large.
EVALUATION_SEED = 2**31
# Records are padded to the full length; two pieces of a batch leave out most of that.
_NUM_PIECES = 2
# The --example_type of the records that an objective wants; others take every type, those of one
# text being the better ones.
_EXAMPLE_TYPES = {"mlm_nsp": ("nsp",), "mlm_sop": ("sop",), "ltr_nsp": ("nsp",)}
_ANY_EXAMPLE_TYPE = tuple(sorted(EXAMPLE_TYPES, key=lambda name: EXAMPLE_TYPES[name].has_pair))


@dataclasses.dataclass(frozen=True)
class Records:
    """The record files of one length.

    Attributes:
      paths: list of str.
      sizes: dict from axis letter to length.
      features: tuple of `features.Feature`, those a batch is to have.
      vocabulary: `text.vocab.Vocabulary`.
      masks: `MaskSettings` of masks that are drawn while records are read; None: those that
        the records have, if any.
    """

    paths: list
    sizes: dict
    features: tuple
    vocabulary: Vocabulary
    masks: MaskSettings | None

    def reader(self, batch_size, seed):
        """`global_batches.Reader` of these files; `seed` is that of order and masks."""
        masker = None
        if self.masks:
            masker = dynamic_masking.DynamicMasker(self.vocabulary, self.masks, seed)
        return global_batches.Reader(
            self.paths, self.features, self.sizes, batch_size=batch_size, seed=seed, masker=masker
        )


def records(patterns, what, max_seq_length, vocabulary, options, objective, *, is_evaluation=False):
    """Finds the files of a length among some files, and checks them.

    Args:
      patterns: str, files and globs.
      what: str, the flag they come from.
      max_seq_length: int.
      vocabulary: `text.vocab.Vocabulary`.
      options: `options.PreTraining`.
      objective: `objectives.PretrainingObjective`.
      is_evaluation: bool, whether masks that the records have are kept in any case.

    Returns:
      `Records`.

    Raises:
      InputError: there are none of this length, or they do not fit.
    """
    paths = files.expand(patterns, what)
    if options.phases:
        paths = _of_length(paths, what, max_seq_length)
    num_predictions = None if options.dynamic_masking else options.max_predictions_per_seq
    build = manifest.check(
        paths,
        vocabulary=vocabulary,
        do_lower_case=not vocabulary.is_cased,
        max_seq_length=max_seq_length,
        max_predictions_per_seq=num_predictions,
        example_types=_EXAMPLE_TYPES.get(options.objective, _ANY_EXAMPLE_TYPE),
    )[0]
    wanted, sizes = objective.features, {"T": max_seq_length}
    if not objective.has_pair:
        wanted += check.present(paths, (features.SEQUENCE_IDS,))
    is_masked = bool(check.present(paths, features.MASKED_LM))
    if is_masked:
        sizes["P"] = num_predictions or _num_slots(paths[0], build)
    else:
        wanted = tuple(feature for feature in wanted if feature not in features.MASKED_LM)
    check.record_names(paths, wanted, sizes)
    check.check_ids(paths, len(vocabulary))
    masks, keeps = None, is_masked and (is_evaluation or not options.dynamic_masking)
    if not (keeps or objective.is_causal):
        masks = _masks_to_draw(paths[0], build, sizes, options)
        sizes["P"] = masks.max_predictions_per_seq
    return Records(paths, sizes, wanted, vocabulary, masks)


def _num_slots(path, build):
    """P of records with masks."""
    if build:
        return build.max_predictions_per_seq
    return check.num_values(path, features.MASKED_LM_POSITIONS)


def _masks_to_draw(path, build, sizes, options):
    """`MaskSettings` of `--dynamic_masking`: those of the manifest, or else of the paper."""
    if not options.dynamic_masking:
        raise InputError(
            f"{path} has no masks, which --objective={options.objective} learns from. Give "
            "--dynamic_masking=true, which draws them while records are read, or make the records "
            "with --mask=true."
        )
    made = build.options if build else {}
    granularity = made.get("mask_granularity", MaskSettings.granularity)
    if granularity not in DYNAMIC_GRANULARITIES or made.get("segmented_text"):
        raise InputError(
            f"{path} was made with --mask_granularity={granularity} and --segmented_text="
            f"{str(made.get('segmented_text')).lower()}, says its {manifest.NAME}. The records do "
            "not say what was masked together, so --dynamic_masking cannot draw other masks. Give "
            "--dynamic_masking=false, or make the records with --mask_granularity=token or word."
        )
    names = ("masked_lm_prob", "mask_prob", "random_prob")
    shares = {name: made[name] for name in names if name in made}
    limit = (
        options.max_predictions_per_seq
        or (build.max_predictions_per_seq if build else sizes.get("P"))
        or num_predictions_needed(MaskSettings.masked_lm_prob, sizes["T"])
    )
    return MaskSettings(max_predictions_per_seq=limit, granularity=granularity, **shares)


def _of_length(paths, what, max_seq_length):
    builds = manifest.find_all(paths)
    lengths = [
        build.max_seq_length if build else check.num_values(path, features.WORD_IDS)
        for path, build in zip(paths, builds, strict=True)
    ]
    chosen = [path for path, length in zip(paths, lengths, strict=True) if length == max_seq_length]
    if not chosen:
        raise InputError(
            f"{what} has no records of length {max_seq_length}, which --phases wants; theirs are "
            f"{sorted(set(lengths))}. Make some with --max_seq_length={max_seq_length}."
        )
    return chosen


@dataclasses.dataclass(frozen=True)
class PhaseData:
    """A phase with its records.

    Attributes:
      phase: `phases.Phase`.
      number: int, from 0.
      records: `Records`.
    """

    phase: Phase
    number: int
    records: Records

    def reader(self, options):
        """The batches of this phase; other phases on the same files have another order."""
        return self.records.reader(self.phase.batch_size, options.random_seed + self.number)

    def host_batches(self, reader, options, strategy, start_batch):
        """Yields what `loop.Loop.run` takes."""
        replicas, here = strategy.num_replicas_in_sync, strategy_lib.local_replicas(strategy)
        num_pieces = max(_NUM_PIECES, options.gradient_accumulation_steps)
        for batch in reader.batches(start_batch).as_numpy_iterator():
            lengths = batch[features.MASK.name].sum(axis=1)
            shares = batching.share_out(np.arange(len(lengths)), lengths, replicas, num_pieces)
            yield [tuple(_cut(batch, rows, lengths) for rows in shares[r]) for r in here]

    def device_batches(self, reader, options, strategy, start_batch):
        """What `loop.Loop.run_on_devices` takes: distributed dataset, element specification."""
        per_replica = self.phase.batch_size // strategy.num_replicas_in_sync

        def dataset(context=None):
            here = strategy_lib.local_replicas(strategy, context)
            return reader.pieces(
                start_batch,
                num_pieces=options.gradient_accumulation_steps,
                length_buckets=options.lengths(self.phase.max_seq_length),
                first_row=here[0] * per_replica,
                num_rows=len(here) * per_replica,
                num_replicas=len(here),
            )

        on_devices = tf.distribute.InputOptions(experimental_fetch_to_device=True)
        distributed = strategy.distribute_datasets_from_function(dataset, on_devices)
        return distributed, dataset().element_spec


def check_batch_size(phase, options, strategy):
    """Refuses a batch that replicas, or pieces of known shape, cannot share evenly.

    Raises:
      InputError: it is no multiple of them.
    """
    strategy_lib.check_batch_size(strategy, phase.batch_size)
    parts = strategy.num_replicas_in_sync * options.gradient_accumulation_steps
    if options.has_static_shapes and phase.batch_size % parts:
        raise InputError(
            f"A batch of {phase.batch_size} is no multiple of {parts}, the replicas times "
            f"--gradient_accumulation_steps={options.gradient_accumulation_steps}; give "
            f"{-(-phase.batch_size // parts) * parts}."
        )


def _cut(batch, rows, lengths):
    """Some rows of a batch, as long as the longest of them."""
    longest = int(lengths[rows].max(initial=1))
    per_token = {feature.name for feature in (*features.ENCODER_INPUTS, features.SEQUENCE_IDS)}
    piece = {
        name: values[rows, :longest] if name in per_token else values[rows]
        for name, values in batch.items()
    }
    return piece | {ROW_NUMBERS: np.asarray(rows, np.int32)}

"""The records of a pre-training run: which phase takes which, and its batches."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.records import check, global_batches, manifest
from bert_tf.records.dynamic_masking import DynamicMasker
from bert_tf.training import strategy as strategy_lib
from bert_tf.training.loop import ROW_NUMBERS
from bert_tf.training.phases import Phase

# Records are padded to the full length; two pieces of a batch leave out most of that.
_NUM_PIECES = 2
# The --objective of the builder that makes the records a kind of training wants.
_RECORD_OBJECTIVES = {
    "mlm_nsp": ("nsp",),
    "mlm_sop": ("sop",),
    "ltr_nsp": ("nsp",),
    "mlm": ("full_sentences", "doc_sentences", "packed", "nsp", "sop"),
    "ltr": ("full_sentences", "doc_sentences", "packed", "nsp", "sop"),
}


@dataclasses.dataclass(frozen=True)
class Records:
    """The record files of one length.

    Attributes:
      paths: list of str.
      sizes: dict from axis letter to length.
      features: tuple of `features.Feature`, those a batch is to have.
    """

    paths: list
    sizes: dict
    features: tuple

    def reader(self, batch_size, seed, masker=None):
        """`global_batches.Reader` of these files."""
        return global_batches.Reader(
            self.paths, self.features, self.sizes, batch_size=batch_size, seed=seed, masker=masker
        )


def records(patterns, what, max_seq_length, vocabulary, options, objective):
    """Finds the files of a length among some files, and checks them.

    Args:
      patterns: str, files and globs.
      what: str, the flag they come from.
      max_seq_length: int.
      vocabulary: `text.vocab.Vocabulary`.
      options: `options.PreTraining`.
      objective: `objectives.PretrainingObjective`.

    Returns:
      `Records`.

    Raises:
      InputError: there are none of this length, or they do not fit.
    """
    paths = files.expand(patterns, what)
    if options.phases:
        paths = _of_length(paths, what, max_seq_length)
    num_predictions = options.max_predictions_per_seq
    builds = manifest.check(
        paths,
        vocabulary=vocabulary,
        do_lower_case=not vocabulary.is_cased,
        max_seq_length=max_seq_length,
        max_predictions_per_seq=num_predictions,
        objectives=_RECORD_OBJECTIVES[options.objective],
    )
    if num_predictions is None and builds[0]:
        num_predictions = builds[0].max_predictions_per_seq
    elif num_predictions is None:
        num_predictions = check.num_values(paths[0], features.MASKED_LM_POSITIONS)
    wanted = objective.features
    if not objective.has_pair:
        wanted += check.present(paths, (features.SEQUENCE_IDS,))
    sizes = {"T": max_seq_length, "P": num_predictions}
    check.record_names(paths, wanted, sizes)
    check.check_ids(paths, len(vocabulary))
    return Records(paths, sizes, wanted)


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

    def reader(self, options, vocabulary):
        """The batches of this phase; other phases on the same files have another order."""
        seed, masker = options.random_seed + self.number, None
        if options.dynamic_masking:
            masker = DynamicMasker(
                vocabulary,
                seed=seed,
                masked_lm_prob=self._masked_lm_prob(),
                max_predictions_per_seq=self.records.sizes["P"],
            )
        return self.records.reader(self.phase.batch_size, seed, masker)

    def _masked_lm_prob(self):
        build = manifest.find(self.records.paths[0])
        return build.options["masked_lm_prob"] if build else 0.15

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
        here, replicas = strategy_lib.local_replicas(strategy), strategy.num_replicas_in_sync
        per_replica = self.phase.batch_size // replicas

        def dataset(_=None):
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
    if options.length_buckets and phase.batch_size % parts:
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

"""The records of a pre-training run: which phase takes which, and its batches."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.examples.choices import DYNAMIC_GRANULARITIES, MaskSettings
from bert_tf.examples.rows import Batch, Ints
from bert_tf.options import PreTraining
from bert_tf.options.data import num_predictions_needed
from bert_tf.options.objectives import PRETRAINING_OBJECTIVES
from bert_tf.records import check, manifest
from bert_tf.records.read import dynamic_masking, global_batches, micro_batches
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.devices import strategies
from bert_tf.training.phases import Phase
from bert_tf.training.step.feeding import DeviceBatches
from bert_tf.training.step.objectives import PRETRAINING
from bert_tf.training.step.update import StaticShapes

# Of the masks that are drawn for held-out records; no --random_seed is as large.
EVALUATION_SEED = 2**31
# Records are padded to the full length; two micro-batches leave out most of that.
_MIN_MICRO_BATCHES = 2


@dataclasses.dataclass(frozen=True)
class Records:
    """The record files of one length.

    Attributes:
      sizes: from axis letter to length.
      features: those of a batch.
      masks: of masks that are drawn while records are read; None: the records' own, if any.
    """

    paths: list[str]
    sizes: dict[str, int]
    features: tuple[features.Feature, ...]
    vocabulary: Vocabulary
    masks: MaskSettings | None

    def reader(self, batch_size: int, seed: int) -> global_batches.Reader:
        """Reads these files; `seed` is that of order and masks."""
        masker = None
        if self.masks:
            masker = dynamic_masking.DynamicMasker(self.vocabulary, self.masks, seed)
        return global_batches.Reader(
            self.paths, self.features, self.sizes, batch_size=batch_size, seed=seed, masker=masker
        )


def find_records(
    options: PreTraining,
    vocabulary: Vocabulary,
    max_seq_length: int,
    *,
    is_evaluation: bool = False,
) -> Records:
    """Finds the record files of a length among those of the options, and checks them.

    Args:
      is_evaluation: whether they are those of --eval_input_file. Masks that such records have are
        kept in any case.

    Raises:
      InputError: there are none of this length, or they do not fit.
    """
    objective = PRETRAINING[options.objective]
    patterns, flag = options.input_file, "--input_file"
    if is_evaluation:
        patterns, flag = options.eval_input_file or options.input_file, "--eval_input_file"
    paths = files.expand(patterns, flag)
    if options.phases:
        paths = _of_length(paths, flag, max_seq_length)
    num_predictions = None if options.dynamic_masking else options.max_predictions_per_seq
    build = manifest.check(
        paths,
        vocabulary=vocabulary,
        do_lower_case=not vocabulary.is_cased,
        max_seq_length=max_seq_length,
        max_predictions_per_seq=num_predictions,
        example_types=PRETRAINING_OBJECTIVES[options.objective].example_types,
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


def _num_slots(path: str, build: manifest.Build | None) -> int:
    """P of records with masks."""
    if build:
        return build.max_predictions_per_seq
    return check.num_values(path, features.MASKED_LM_POSITIONS)


def _masks_to_draw(
    path: str, build: manifest.Build | None, sizes: dict[str, int], options: PreTraining
) -> MaskSettings:
    """Those of `--dynamic_masking`: as in the manifest, or else in the paper."""
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


def _of_length(paths: list[str], flag: str, max_seq_length: int) -> list[str]:
    builds = manifest.find_all(paths)
    lengths = [
        build.max_seq_length if build else check.num_values(path, features.WORD_IDS)
        for path, build in zip(paths, builds, strict=True)
    ]
    chosen = [path for path, length in zip(paths, lengths, strict=True) if length == max_seq_length]
    if not chosen:
        raise InputError(
            f"{flag} has no records of length {max_seq_length}, which --phases wants. Lengths "
            f"found: {sorted(set(lengths))}. Make some with --max_seq_length={max_seq_length}."
        )
    return chosen


@dataclasses.dataclass(frozen=True)
class PhaseData:
    """A phase with its records.

    Attributes:
      number: of the phase, from 0.
    """

    phase: Phase
    number: int
    records: Records

    def reader(self, options: PreTraining) -> global_batches.Reader:
        """The batches of this phase; other phases on the same files have another order."""
        return self.records.reader(self.phase.batch_size, options.random_seed + self.number)

    def batches(
        self,
        reader: global_batches.Reader,
        options: PreTraining,
        strategy: tf.distribute.Strategy,
        start_batch: int,
    ) -> Iterator | DeviceBatches:
        """What `loop.Loop.run` takes, without the first `start_batch` batches of the phase."""
        make = self._device_batches if options.has_static_shapes else self._host_batches
        return make(reader, options, strategy, start_batch)

    def _host_batches(
        self,
        reader: global_batches.Reader,
        options: PreTraining,
        strategy: tf.distribute.Strategy,
        start_batch: int,
    ) -> Iterator[list[tuple[Batch, ...]]]:
        replicas, here = strategy.num_replicas_in_sync, strategies.local_replicas(strategy)
        num_micro_batches = max(_MIN_MICRO_BATCHES, options.gradient_accumulation_steps)
        for batch in reader.batches(start_batch).as_numpy_iterator():
            lengths = batch[features.MASK.name].sum(axis=1)
            shares = batching.share_out(lengths, replicas, num_micro_batches)
            yield [tuple(_cut(batch, rows, lengths) for rows in shares[r]) for r in here]

    def _device_batches(
        self,
        reader: global_batches.Reader,
        options: PreTraining,
        strategy: tf.distribute.Strategy,
        start_batch: int,
    ) -> DeviceBatches:
        per_replica = self.phase.batch_size // strategy.num_replicas_in_sync
        lengths = options.lengths(self.phase.max_seq_length)

        def dataset(context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
            here = strategies.local_replicas(strategy, context)
            return reader.micro_batches(
                start_batch,
                num_micro_batches=options.gradient_accumulation_steps,
                length_buckets=lengths,
                first_row=here[0] * per_replica,
                num_rows=len(here) * per_replica,
                num_replicas=len(here),
            )

        distributed = strategies.distribute(strategy, dataset)
        shapes = StaticShapes(dataset().element_spec, lengths)
        return DeviceBatches(distributed, shapes, options.iterations_per_loop)


def check_batch_size(phase: Phase, options: PreTraining, strategy: tf.distribute.Strategy) -> None:
    """Refuses a batch that replicas, or micro-batches of static shape, cannot share evenly.

    Raises:
      InputError: the batch size is not a multiple of them.
    """
    strategies.check_batch_size(strategy, phase.batch_size)
    parts = strategy.num_replicas_in_sync * options.gradient_accumulation_steps
    if options.has_static_shapes and phase.batch_size % parts:
        raise InputError(
            f"A batch of {phase.batch_size} is not a multiple of {parts}, the replicas times "
            f"--gradient_accumulation_steps={options.gradient_accumulation_steps}; give "
            f"{-(-phase.batch_size // parts) * parts}."
        )


def _cut(batch: Batch, rows: Ints, lengths: Ints) -> Batch:
    """Some rows of a batch as a micro-batch, as long as the longest of them."""
    longest = int(lengths[rows].max(initial=1))
    shortened = micro_batches.shortened(batch, longest)
    micro_batch = {name: values[rows] for name, values in shortened.items()}
    return micro_batch | {features.ROW_NUMBERS: np.asarray(rows, np.int32)}

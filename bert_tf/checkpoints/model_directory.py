"""The output directory of a run: all that predicting, exporting and resuming need.

    bert_config.json  vocab.txt  model.json     what the model is
    best/bert_model.ckpt.*                      weights with the best score on the dev set
    last/bert_model.ckpt.*                      weights at the last step
    training/                                   optimizer and step, for resuming a run; of a
                                                complete one only if --keep_training_state
    flags.txt                                   options of the training; --flagfile repeats it

`best` and `last` are ordinary google-research/bert checkpoints.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from bert_tf import files, invocation
from bert_tf.checkpoints import kinds
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.config import BertConfig, from_file
from bert_tf.errors import InputError
from bert_tf.files import StrPath
from bert_tf.text import vocab
from bert_tf.text.vocab import Vocabulary

FORMAT = 1

# Names of files, as in the released checkpoints.
CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
WEIGHTS_PREFIX = "bert_model.ckpt"

_METADATA_FILE = "model.json"
# The setting of an ensemble: from the directory of each member, in its own, to the digest of it.
MEMBERS = "members"
# Keys of model.json that are left out where they have these values.
_OPTIONAL: dict[str, Any] = {"feature_based": "", "lstm_units": 0, "settings": {}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """model.json: what the model answers.

    Attributes:
      kind: key of `kinds.KINDS`; it selects the head.
      task: the task's name, e.g. "sst-2".
      labels: label of each logit for a kind that is labelled, else empty.
      num_texts: texts per example, 1 or 2; a pre-trained model of 1 has no next sentence head.
      do_lower_case: casing of the text side.
      max_seq_length: tokens per example in training, special tokens included.
      feature_based: key of `FROZEN_LAYERS` for a BiLSTM on layers that are not trained; "" for
        every other model.
      lstm_units: of the BiLSTM in each direction; 0 without one.
      settings: what else the rows and the model are made from, such as the windows of long texts,
        by the names of the flags; keys as `Kind.settings`, and `MEMBERS` of an ensemble.
    """

    kind: str
    task: str
    do_lower_case: bool
    max_seq_length: int
    labels: tuple[str, ...] = ()
    num_texts: int = 1
    format: int = FORMAT
    feature_based: str = ""
    lstm_units: int = 0
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    @property
    def fixed_settings(self) -> dict[str, Any]:
        """Those settings that models which answer alike, and runs of one model, have in common."""
        if KINDS[self.kind].settings_are_defaults:
            return {}
        return {name: value for name, value in self.settings.items() if name != MEMBERS}

    @property
    def num_outputs(self) -> int:
        """C: logits of the classifier; 1 for a kind without labels."""
        return len(self.labels) if KINDS[self.kind].is_labelled else 1


@dataclasses.dataclass(frozen=True)
class ModelDirectory:
    """An opened model directory."""

    path: str
    config: BertConfig
    vocabulary: Vocabulary
    metadata: ModelMetadata

    @classmethod
    def open(cls, path: str, what: str = "--model_dir") -> "ModelDirectory":
        """Reads the description of a model directory; `build_model` reads the weights.

        Args:
          what: the flag that an error names.

        Raises:
          InputError: `path` is not a model directory, is damaged, or was written by a later
            version.
        """
        metadata_file = os.path.join(path, _METADATA_FILE)
        if not os.path.isfile(metadata_file):
            held = ", ".join(sorted(os.listdir(path))[:8]) if os.path.isdir(path) else "(missing)"
            raise InputError(
                f"{what}={path} is not a model directory: no {_METADATA_FILE} in it. It holds: "
                f"{held}. Give the --output_dir of a run_*.py that has trained, or make one of a "
                f"checkpoint: {invocation.of('convert', '-m export.checkpoint')} --from={path} "
                "--to=bert_tf --output=NEW_DIRECTORY."
            )
        return cls(
            path=path,
            config=from_file(os.path.join(path, CONFIG_FILE), what),
            vocabulary=vocab.from_file(os.path.join(path, VOCAB_FILE), what),
            metadata=_read_metadata(metadata_file),
        )

    @property
    def vocab_file(self) -> str:
        """Path of vocab.txt."""
        return os.path.join(self.path, VOCAB_FILE)

    @property
    def members(self) -> "list[ModelDirectory]":
        """The models of an ensemble; [] for any other model.

        Raises:
          InputError: one of them is damaged.
        """
        names = self.metadata.settings.get(MEMBERS, {})
        return [ModelDirectory.open(os.path.join(self.path, name), "member") for name in names]

    def files(self) -> list[str]:
        """The files that decide what the model answers."""
        found = [
            os.path.join(self.path, name) for name in (CONFIG_FILE, VOCAB_FILE, _METADATA_FILE)
        ]
        for member in self.members:
            found += member.files()
        weights = self.weights("best")
        names = sorted(os.listdir(weights)) if os.path.isdir(weights) else []
        return found + [os.path.join(weights, name) for name in names]

    def digest(self) -> str:
        """sha256 over `files`: equal for equal models, wherever they lie."""
        return files.digest(self.path, self.files())

    def weights(self, which: str) -> str:
        """Path of the directory with the `"best"` or the `"last"` weights.

        A run without a dev set has no best weights; the last ones stand for them.
        """
        path = os.path.join(self.path, which)
        return path if os.path.isdir(path) else os.path.join(self.path, "last")

    def build_model(self, which: str = "best") -> Any:
        """Builds the model that the metadata describes, and loads its weights.

        Raises:
          InputError: there are no such weights, or they do not fit.
        """
        from bert_tf import checkpoints

        if members := self.members:
            from bert_tf.modeling.ensemble import EnsembleModel

            models = [member.build_model(which) for member in members]
            return EnsembleModel(models, KINDS[self.metadata.kind].activation)
        model = new_model(self.config, self.metadata)
        checkpoints.load(model, checkpoints.open_checkpoint(self.weights(which)))
        return model


def read_metadata(directory: str) -> ModelMetadata | None:
    """Reads the metadata of a model directory; None if there is none.

    Raises:
      InputError: it is damaged, or of a later version.
    """
    path = os.path.join(directory, _METADATA_FILE)
    return _read_metadata(path) if os.path.isfile(path) else None


def _read_metadata(path: str) -> ModelMetadata:
    """Reads a model.json; anything unknown in it is an error."""
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    version = values.get("format") if isinstance(values, dict) else None
    if version != FORMAT:
        raise InputError(f"{path} has format {version!r}; this version reads {FORMAT}.")
    names = {field.name for field in dataclasses.fields(ModelMetadata)}
    if not names - _OPTIONAL.keys() <= values.keys() <= names:
        raise InputError(f"{path} has the keys {sorted(values)}; {sorted(names)} were wanted.")
    if values["kind"] not in KINDS:
        known = ", ".join(KINDS)
        raise InputError(f"{path}: kind {values['kind']!r} is unknown; known: {known}.")
    _check_settings(path, values["kind"], values.get("settings", {}))
    return ModelMetadata(**values | {"labels": tuple(values["labels"])})


def _check_settings(path: str, kind: str, settings: Mapping[str, Any]) -> None:
    """Refuses settings that this version would ignore: its answers would be others."""
    if unknown := settings.keys() - {*KINDS[kind].settings, MEMBERS}:
        known = ", ".join(KINDS[kind].settings) or "none"
        raise InputError(
            f"{path}: the settings {', '.join(sorted(unknown))} are unknown; those of kind "
            f"{kind!r} are: {known}. A later version may know them."
        )


def new_model(config: BertConfig, metadata: ModelMetadata) -> Any:
    """Builds a model with initial weights and the head of `metadata.kind`: a Keras layer."""
    kind = KINDS[metadata.kind]
    arguments: dict[str, Any] = {}
    if kind.has_num_classes:
        arguments["num_classes"] = metadata.num_outputs
    for name in set(kind.model_settings) & metadata.settings.keys():
        arguments[name] = metadata.settings[name]
    if "next_sentence" in kind.heads:
        arguments["has_next_sentence"] = metadata.num_texts == 2
    if metadata.feature_based:
        arguments["frozen_layers"] = metadata.feature_based
        arguments["lstm_units"] = metadata.lstm_units
        return kinds.load_class(kind.frozen_model)(config, **arguments)
    return kinds.load_class(kind.model)(config, **arguments)


def prepare(
    path: str, config: BertConfig, vocab_file: StrPath, metadata: ModelMetadata
) -> ModelDirectory:
    """Checks that a run may use `path` as its directory, and writes nothing.

    The same run may resume in it; another run may not use it.

    Returns:
      The model directory, which need not be on disk yet.

    Raises:
      InputError: `path` belongs to another run, and the message lists what differs; it holds a
        released checkpoint; or it cannot be written to.
    """
    files.require_writable_directory(path, "--output_dir")
    if os.path.isfile(os.path.join(path, _METADATA_FILE)):
        directory = ModelDirectory.open(path, "--output_dir")
        _check_same(directory, config, vocab_file, metadata)
        return directory
    if os.path.isfile(os.path.join(path, f"{WEIGHTS_PREFIX}.index")):
        raise InputError(
            f"--output_dir={path} holds a released checkpoint, whose configuration and "
            "vocabulary would be overwritten. Give a new directory."
        )
    return ModelDirectory(path, config, vocab.from_file(vocab_file), metadata)


def create(
    path: str, config: BertConfig, vocab_file: StrPath, metadata: ModelMetadata
) -> ModelDirectory:
    """Writes the description into `path` unless it is there, and opens it.

    Raises:
      InputError: see `prepare`.
    """
    prepare(path, config, vocab_file, metadata)
    if not os.path.isfile(os.path.join(path, _METADATA_FILE)):
        vocab.copy(vocab_file, os.path.join(path, VOCAB_FILE))
        files.write_text(os.path.join(path, CONFIG_FILE), config.to_json())
        _write_metadata(path, metadata)
    return ModelDirectory.open(path, "--output_dir")


def remember(path: str, settings: Mapping[str, Any]) -> None:
    """Adds settings that a training has found to the model.json of a directory."""
    metadata = _read_metadata(os.path.join(path, _METADATA_FILE))
    if (changed := {**metadata.settings, **settings}) != metadata.settings:
        _write_metadata(path, dataclasses.replace(metadata, settings=changed))


def _write_metadata(path: str, metadata: ModelMetadata) -> None:
    values = dataclasses.asdict(metadata)
    stated = {key: x for key, x in values.items() if _OPTIONAL.get(key, ...) != x}
    files.write_text(os.path.join(path, _METADATA_FILE), json.dumps(stated, indent=2) + "\n")


def _check_same(
    directory: ModelDirectory, config: BertConfig, vocab_file: StrPath, metadata: ModelMetadata
) -> None:
    there, here = (
        dataclasses.replace(each, settings=each.fixed_settings)
        for each in (directory.metadata, metadata)
    )
    differences = [
        f"{name} is {getattr(ours, name)!r} there and {getattr(wanted, name)!r} here"
        for ours, wanted in ((there, here), (directory.config, config))
        for name in (field.name for field in dataclasses.fields(wanted))
        if getattr(ours, name) != getattr(wanted, name)
    ]
    if directory.metadata.settings.get(MEMBERS) != metadata.settings.get(MEMBERS):
        differences.append("it is an ensemble of other models, or only one of the two is one")
    if directory.vocabulary.sha256 != vocab.from_file(vocab_file).sha256:
        differences.append("the vocabulary differs")
    if differences:
        raise InputError(
            f"--output_dir={directory.path} holds another run: {'; '.join(differences)}. "
            "Give a new directory, or the options of that run (in its flags.txt) to resume it."
        )

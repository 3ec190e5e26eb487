"""The directory a run leaves behind: everything that predicting, exporting or going on needs.

    bert_config.json  vocab.txt  model.json     what the model is
    best/bert_model.ckpt.*                      weights with the best score on the dev set
    last/bert_model.ckpt.*                      weights at the last step
    training/                                   optimizer and step, for resuming
    flags.txt                                   the training's options; --flagfile replays it

`best` and `last` are ordinary google-research/bert checkpoints.
"""

import dataclasses
import json
import os

from bert_tf import config as config_lib
from bert_tf import files
from bert_tf.checkpoints import variables
from bert_tf.errors import InputError
from bert_tf.text import vocab

FORMAT = 1
_METADATA_FILE = "model.json"
_CONFIG_FILE = "bert_config.json"
_VOCAB_FILE = "vocab.txt"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """model.json: what the weights answer.

    Attributes:
      kind: one of `variables.KINDS`; it selects the head.
      task: the task's name, e.g. "sst-2".
      labels: label of each logit for "classify" and "tag", else empty.
      num_texts: texts per example, 1 or 2; a pre-trained model of 1 has no next sentence head.
      do_lower_case: casing of the text side.
      max_seq_length: tokens per example in training, special tokens included.
    """

    kind: str
    task: str
    do_lower_case: bool
    max_seq_length: int
    labels: tuple = ()
    num_texts: int = 1
    format: int = FORMAT

    @property
    def num_outputs(self):
        """C: logits of the classification head; a regression has one, and so has a choice."""
        return len(self.labels) if self.kind in variables.LABELLED else 1


@dataclasses.dataclass(frozen=True)
class ModelDirectory:
    """An opened model directory.

    Attributes:
      path: str.
      config: `BertConfig`.
      vocabulary: `text.vocab.Vocabulary`.
      metadata: `ModelMetadata`.
    """

    path: str
    config: config_lib.BertConfig
    vocabulary: vocab.Vocabulary
    metadata: ModelMetadata

    @classmethod
    def open(cls, path, what="--model_dir"):
        """Reads the description of a model directory; weights are read by `build_model`.

        Raises:
          InputError: `path` is not a model directory, is damaged, or was written by a later
            version.
        """
        metadata_file = os.path.join(path, _METADATA_FILE)
        if not os.path.isfile(metadata_file):
            held = ", ".join(sorted(os.listdir(path))[:8]) if os.path.isdir(path) else "(missing)"
            raise InputError(
                f"{what}={path} is not a model directory: no {_METADATA_FILE} in it. It holds: "
                f"{held}. Give the --output_dir of a run_*.py that has trained."
            )
        vocabulary_file = os.path.join(path, _VOCAB_FILE)
        return cls(
            path=path,
            config=config_lib.from_file(os.path.join(path, _CONFIG_FILE), what),
            vocabulary=vocab.from_file(vocabulary_file, what),
            metadata=_read_metadata(metadata_file),
        )

    @property
    def vocab_file(self):
        """Path of vocab.txt."""
        return os.path.join(self.path, _VOCAB_FILE)

    def weights(self, which):
        """Path of the directory with the `"best"` or the `"last"` weights.

        A run without a dev set has no best weights; then they are the last ones.
        """
        path = os.path.join(self.path, which)
        return path if os.path.isdir(path) else os.path.join(self.path, "last")

    def build_model(self, which="best"):
        """Builds the model of the metadata and loads its weights, every one accounted for.

        Raises:
          InputError: there are no such weights, or they do not fit.
        """
        from bert_tf import checkpoints

        model = new_model(self.config, self.metadata)
        checkpoints.load(model, checkpoints.open_checkpoint(self.weights(which)))
        return model


def read_metadata(directory):
    """The `ModelMetadata` of a model directory, or None if there is none.

    Raises:
      InputError: it is damaged, or of a later version.
    """
    path = os.path.join(directory, _METADATA_FILE)
    return _read_metadata(path) if os.path.isfile(path) else None


def _read_metadata(path):
    """The `ModelMetadata` in a model.json; anything unknown in it is an error."""
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    found = values.get("format") if isinstance(values, dict) else None
    if found != FORMAT:
        raise InputError(f"{path} has format {found!r}; this version reads {FORMAT}.")
    names = {field.name for field in dataclasses.fields(ModelMetadata)}
    if values.keys() != names:
        raise InputError(f"{path} has the keys {sorted(values)}; {sorted(names)} were wanted.")
    if values["kind"] not in variables.KINDS:
        known = ", ".join(variables.KINDS)
        raise InputError(f"{path}: kind {values['kind']!r} is unknown; known: {known}.")
    return ModelMetadata(**values | {"labels": tuple(values["labels"])})


def new_model(config, metadata):
    """A freshly initialised model with the head that `metadata.kind` names."""
    from bert_tf.modeling import encoder, models

    makers = {
        "encoder": lambda: encoder.Encoder(config),
        "pretrain": lambda: models.PretrainingModel(
            config, has_next_sentence=metadata.num_texts == 2
        ),
        "classify": lambda: models.ClassifierModel(config, num_classes=metadata.num_outputs),
        "regress": lambda: models.ClassifierModel(config, num_classes=1),
        "span": lambda: models.SpanModel(config),
        "tag": lambda: models.TokenClassifierModel(config, num_classes=metadata.num_outputs),
        "choice": lambda: models.MultipleChoiceModel(config),
    }
    return makers[metadata.kind]()


def prepare(path, config, vocab_file, metadata):
    """Checks that a run may have `path` as its directory; writes nothing.

    A run that is started again may go on; another run's directory is never mixed into.

    Returns:
      `ModelDirectory`, of which nothing need be on disk yet.

    Raises:
      InputError: `path` belongs to another run, and the message lists what differs; it holds a
        released checkpoint; or it cannot be written to.
    """
    files.require_writable_directory(path, "--output_dir")
    if os.path.isfile(os.path.join(path, _METADATA_FILE)):
        found = ModelDirectory.open(path, "--output_dir")
        _check_same(found, config, vocab_file, metadata)
        return found
    if os.path.isfile(os.path.join(path, "bert_model.ckpt.index")):
        raise InputError(
            f"--output_dir={path} holds a released checkpoint, whose configuration and "
            "vocabulary would be overwritten. Give a new directory."
        )
    return ModelDirectory(path, config, vocab.from_file(vocab_file), metadata)


def create(path, config, vocab_file, metadata):
    """Writes the description into `path` unless it is there; arguments and errors of `prepare`.

    Returns:
      the opened `ModelDirectory`.
    """
    prepare(path, config, vocab_file, metadata)
    if not os.path.isfile(os.path.join(path, _METADATA_FILE)):
        vocab.copy(vocab_file, os.path.join(path, _VOCAB_FILE))
        files.write_text(os.path.join(path, _CONFIG_FILE), config.to_json())
        text = json.dumps(dataclasses.asdict(metadata), indent=2) + "\n"
        files.write_text(os.path.join(path, _METADATA_FILE), text)
    return ModelDirectory.open(path, "--output_dir")


def _check_same(found, config, vocab_file, metadata):
    differences = [
        f"{name} is {getattr(ours, name)!r} there and {getattr(wanted, name)!r} here"
        for ours, wanted in ((found.metadata, metadata), (found.config, config))
        for name in (field.name for field in dataclasses.fields(wanted))
        if getattr(ours, name) != getattr(wanted, name)
    ]
    if found.vocabulary.sha256 != vocab.from_file(vocab_file).sha256:
        differences.append("the vocabulary differs")
    if differences:
        raise InputError(
            f"--output_dir={found.path} holds another run: {'; '.join(differences)}. "
            "Give a new directory, or the options of that run (its flags.txt) to go on with it."
        )

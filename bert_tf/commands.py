"""The commands of `bert-tf`: one row each, which the scripts and `python -m` entries run too."""

import difflib
import gc
import importlib
import os
import sys
from typing import Any, NamedTuple

import bert_tf
from bert_tf import quiet


class Command(NamedTuple):
    """A command; modules are names, so that the list of commands loads none of them.

    Attributes:
      summary: what it does, for the list of commands and for its --help.
      options: dataclass of its flags, as MODULE:CLASS. The module must load without TensorFlow.
      function: what runs it with the options, as MODULE:FUNCTION, loaded once the flags are right.
      arguments: what it takes in addition to flags, as its --help names it; the function then has
        a second parameter, the list of them.
      keeps_unknown: unknown flags are arguments, too.
      takes_remote_paths: paths may be on other file systems, such as gs://bucket/name.
      help_notes: what gives the text below the flags in its --help, as MODULE:FUNCTION.
    """

    summary: str
    options: str
    function: str
    arguments: str = ""
    keeps_unknown: bool = False
    takes_remote_paths: bool = False
    help_notes: str = ""


COMMANDS = {
    "vocab": Command(
        "Learn a WordPiece vocabulary from text, or extend a released one.",
        "bert_tf.options:LearnVocabulary",
        "bert_tf.vocabulary.learn:main",
    ),
    "tokenize": Command(
        "Show how texts are tokenized: a text per line in, a JSON object per line out.",
        "bert_tf.text.tokenize:TokenizeOptions",
        "bert_tf.text.tokenize:main",
        arguments="[TEXT ...]",
        help_notes="bert_tf.text.tokenize:notes",
    ),
    "data": Command(
        "Make pre-training TFRecords from text: sentence pairs and masks.",
        "bert_tf.options:PretrainingData",
        "bert_tf.records.build.builder:run",
    ),
    "beam": Command(
        "Make the same TFRecords with an Apache Beam pipeline, for corpora beyond one machine.",
        "bert_tf.options:PretrainingData",
        "bert_tf.records.beam.__main__:main",
        arguments="[FLAGS OF THE RUNNER] [-- MORE OF THEM]",
        keeps_unknown=True,
        takes_remote_paths=True,
    ),
    "inspect": Command(
        "Show pre-training records as text, statistics and a picture.",
        "bert_tf.options:InspectRecords",
        "bert_tf.records.inspect.show:main",
        arguments="RECORDS ...",
    ),
    "plan": Command(
        "Estimate FLOPs, memory and time of a pre-training run.",
        "bert_tf.training.plan.options:PlanOptions",
        "bert_tf.training.plan.text:main",
    ),
    "pretrain": Command(
        "Pre-train BERT on TFRecords: masked LM and next sentence prediction.",
        "bert_tf.options:PreTraining",
        "bert_tf.training.pretraining.pretraining_inputs:main",
    ),
    "report": Command(
        "Write the HTML report of a pre-training or fine-tuning run.",
        "bert_tf.training.report.page:ReportOptions",
        "bert_tf.training.report.page:main",
    ),
    "classify": Command(
        "Fine-tune BERT to classify or score one or two texts (GLUE).",
        "bert_tf.options:Classifier",
        "bert_tf.training.finetuning.classifier_data:main",
        help_notes="bert_tf.tasks.registry:overview",
    ),
    "submission": Command(
        "Collect predictions of the tasks of GLUE in a file for its server.",
        "bert_tf.options:Submission",
        "bert_tf.tasks.submission:main",
    ),
    "squad": Command(
        "Fine-tune BERT to answer questions from a passage (SQuAD).",
        "bert_tf.options:QuestionAnswering",
        "bert_tf.training.finetuning.squad_data:main",
    ),
    "questions": Command(
        "Convert TriviaQA or Natural Questions to the layout of SQuAD, to train on before it.",
        "bert_tf.options:QuestionSet",
        "bert_tf.tasks.question_sets.convert:main",
    ),
    "features": Command(
        "Write the vectors that an encoder gives texts to a file.",
        "bert_tf.options:FeatureExtraction",
        "bert_tf.extraction.inputs:main",
    ),
    "presets": Command(
        "List the released models that have a name; fetch or verify some.",
        "bert_tf.checkpoints.hub.__main__:Options",
        "bert_tf.checkpoints.hub.__main__:main",
        arguments="[NAME ...]",
    ),
    "convert": Command(
        "Convert a checkpoint from any format to another.",
        "export.options:Conversion",
        "export.checkpoint:main",
    ),
    "export": Command(
        "Export a trained model as a SavedModel: texts in, answers out.",
        "export.options:Export",
        "export.savedmodel:run",
    ),
    "hub": Command(
        "Export an encoder, or its text preprocessing, for hub.load.",
        "export.options:HubExport",
        "export.hub:run",
    ),
    "compatibility": Command(
        "Say which TensorFlow Serving images can run a SavedModel.",
        "export.options:Compatibility",
        "export.compatibility:main",
        arguments="PATH",
        help_notes="export.compatibility:notes",
    ),
    "runtimes": Command(
        "Write a trained model as ONNX and TensorFlow Lite files: ids in, logits out.",
        "export.options:Runtimes",
        "export.runtimes:run",
    ),
    "serve": Command(
        "Serve a SavedModel over TensorFlow Serving's REST API.",
        "serving.options:Server",
        "serving.server:run",
    ),
    "deploy": Command(
        "Write what Docker and Kubernetes need for TensorFlow Serving.",
        "serving.deployment.options:Deploy",
        "serving.deployment.command:main",
    ),
    "client": Command(
        "Ask a model on a server about texts.",
        "serving.client.command:Client",
        "serving.client.command:main",
        arguments="[TEXT ...]",
        help_notes="serving.client.command:notes",
    ),
    "loadtest": Command(
        "Measure throughput and latency of a model on a server.",
        "serving.loadtest.options:LoadTest",
        "serving.loadtest.command:main",
    ),
    "parity": Command(
        "Compare answers of a server with recorded ones.",
        "serving.parity.options:Parity",
        "serving.parity.command:main",
    ),
}


def main() -> None:
    """Runs the command that the command line of `bert-tf` names."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "-help", "--help", "help"):
        print(overview())
    elif name == "--version":
        print(bert_tf.__version__)
    elif name in COMMANDS:
        sys.argv = [f"bert-tf {name}", *sys.argv[2:]]  # absl names the program by argv[0]
        run(name)
    else:
        print(f"ERROR: {_unknown(name)}", file=sys.stderr)
        sys.exit(2)


def run(name: str) -> None:
    """Parses the flags of a command and runs it."""
    from bert_tf import flagging  # absl is not needed for the list of commands

    quiet.show_loading()
    _start_sooner()
    command = COMMANDS[name]
    flagging.run(
        lambda *arguments: _load(command.function)(*arguments),
        _load(command.options),
        help_page=lambda: help_page(name),
        takes_arguments=bool(command.arguments),
        keeps_unknown=command.keeps_unknown,
        takes_remote_paths=command.takes_remote_paths,
    )


def _start_sooner() -> None:
    """Takes a fifth off loading TensorFlow, and a sixth off tracing a model."""
    # Both make millions of objects that live long; to look for garbage among them is in vain.
    gc.set_threshold(50_000, 20, 50)
    # Keras loads scikit-learn where there is one, for wrappers that no command uses.
    sys.modules.setdefault("sklearn", None)  # type: ignore[arg-type]


def help_page(name: str) -> str:
    """What --help of a command prints."""
    from bert_tf import flag_help
    from bert_tf.options.groups import GROUPS

    command = COMMANDS[name]
    notes = _load(command.help_notes)() if command.help_notes else ""
    return flag_help.page(usage(name), _load(command.options), GROUPS, notes)


def overview() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    head = f"{bert_tf.__doc__}\n\nUsage: bert-tf COMMAND [FLAGS]\n"
    return "\n".join([head, *rows, "", "bert-tf COMMAND --help lists the flags of a command."])


def usage(name: str) -> str:
    """The lines above the flags in the --help of a command."""
    command = COMMANDS[name]
    call = f"{_program()} [FLAGS] {command.arguments}".rstrip()
    return f"{command.summary}\n\nUsage: {call}\n"


def _program() -> str:
    """How this program was started: bert-tf COMMAND, a script, or a module after -m."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if sys.argv[0].startswith("bert-tf "):
        return sys.argv[0]
    if spec:
        return f"python -m {spec.name.removesuffix('.__main__')}"
    return f"python {os.path.basename(sys.argv[0])}"


def _unknown(name: str) -> str:
    nearest = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean {nearest[0]}? " if nearest else ""
    return f"bert-tf has no command {name}. {hint}bert-tf --help lists all commands."


def _load(target: str) -> Any:
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)

"""What an earlier version wrote is read by this one, and gives the same numbers.

python -m benchmarks.runs.version_compatibility --before=CHECKOUT [--before_python=PYTHON]

With a tiny model, both versions learn a vocabulary, make records, pre-train on rows of any length
and of static lengths, and fine-tune a classifier. Each training of the earlier version is also
killed once a state is saved, and this version finishes it. The table has one row per comparison.

Version 0.1.0 drew the dropout masks of fine-tuning otherwise. So fine-tuning is compared without
dropout, and one that 0.1.0 began must be refused.
"""

import dataclasses
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks import child_process
from benchmarks.runs import training_runs
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = pathlib.Path(__file__).parents[1] / "results" / "version_compatibility.json"
CONFIG = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
NUM_STEPS, SAVE_STEPS = 16, 4
Row = tuple[str, bool, str]  # what is compared, whether it is equal, a detail
TEXTS = (
    "Which rocket carried the astronauts to the Moon?",
    "",
    "a b c d e f g h i j k l m n o p q",
)
# Names of modules and flags, the current one first; each version has one of them.
_MODULES = {"vocab": ("bert_tf.vocabulary.learn", "bert_tf.text.learn_vocab")}
_FLAGS = {
    "mask_granularity": ("mask_granularity", "masking"),
    "num_micro_batches": ("num_micro_batches", "batch_pieces"),
}
# Loads an export and prints its answers to texts, which are the arguments behind its path.
_ANSWERS = """
import json, sys, tensorflow as tf, tensorflow_text
model = tf.saved_model.load(sys.argv[1])
outputs = model.signatures["serving_default"](tf.constant(sys.argv[2:]))
values = {name: value.numpy() for name, value in sorted(outputs.items())}
print(json.dumps({name: value.tolist() for name, value in values.items() if value.dtype != object}))
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    before: str = option(REQUIRED, "Checkout of the earlier version.")
    before_python: str | None = option(
        None, "Interpreter with its libraries; none: that of its .venv."
    )
    directory: str | None = option(None, "Where to keep what is made; none: a temporary one.")


@dataclasses.dataclass(frozen=True)
class Version:
    """A checkout, its interpreter and the directory for what it makes."""

    checkout: pathlib.Path
    python: str
    directory: pathlib.Path

    def command(self, program: str, *flags: str) -> list[str]:
        """A command with this version's spelling of the module and of the flags."""
        script = [program] if program.endswith(".py") else ["-m", self._module(program)]
        return [self.python, *script, *(self._flag(flag, tuple(script)) for flag in flags)]

    def run(self, program: str, *flags: str) -> str:
        """Runs it and returns what it prints."""
        return output(self.command(program, *flags), self.checkout)

    def _module(self, name: str) -> str:
        names = _MODULES.get(name, (name,))
        paths = {each: self.checkout / each.replace(".", "/") for each in names}
        return next(name for name, path in paths.items() if path.with_suffix(".py").exists()
                    or path.is_dir())  # fmt: skip

    def _flag(self, flag: str, script: tuple[str, ...]) -> str:
        name, equals, value = flag.partition("=")
        names = _FLAGS.get(name[2:], ())
        if names:
            done = subprocess.run(
                [self.python, *script, "--help"], cwd=self.checkout, capture_output=True, text=True
            )
            text = done.stdout + done.stderr
            name = "--" + next(each for each in names if re.search(rf"--{each}\b", text))
        return name + equals + value


def output(command: list[str], cwd: pathlib.Path) -> str:
    """What a command prints to standard output."""
    environment = child_process.without_gpu()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise InputError(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}"
        )
    return done.stdout


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(options.directory or temporary).resolve()
        before = pathlib.Path(options.before).resolve()
        python = options.before_python or str(before / ".venv" / "bin" / "python")
        versions = (
            Version(before, python, directory / "before"),
            Version(ROOT, sys.executable, directory / "after"),
        )
        rows = [*compare(*versions)]
    width = max(len(name) for name, _, _ in rows)
    for name, is_equal, detail in rows:
        print(f"{name:{width}}  {'equal' if is_equal else 'DIFFERENT'}  {detail}")
    version = output([python, "-c", "import bert_tf; print(bert_tf.__version__)"], before).strip()
    results = [
        {"what": name, "is_equal": is_equal, "detail": detail} for name, is_equal, detail in rows
    ]
    files.write_text(RESULTS, json.dumps({"before": version, "results": results}, indent=1) + "\n")
    if not all(is_equal for _, is_equal, _ in rows):
        sys.exit(1)


def compare(before: Version, after: Version) -> Iterator[Row]:
    """Makes everything and compares it."""
    for version in (before, after):
        version.directory.mkdir(parents=True)
        make_data(version)
    for name in ("vocab.txt", "plain.tfrecord", "words.tfrecord"):
        first, second = (sha256(version.directory / name) for version in (before, after))
        yield f"{name} made by both: bytes", first == second, first[:12]
    shown = [
        numbers(version.run("bert_tf.records.inspect", f"--vocab_file={before.directory}/vocab.txt",
                            f"{before.directory}/plain.tfrecord"))
        for version in (before, after)
    ]  # fmt: skip
    yield "records: numbers that inspect shows", shown[0] == shown[1], f"{len(shown[0])} numbers"
    for kind, flags in trainings(before).items():
        yield from compare_training(before, after, kind, flags)
    yield from compare_classifier(before, after)


def make_data(version: Version) -> None:
    """Vocabulary, configuration and two kinds of records."""
    text = f"--input_file={ROOT}/data/corpus/heldout.txt"
    vocab_file = version.directory / "vocab.txt"
    version.run("vocab", text, f"--output_file={vocab_file}", "--vocab_size=99", "--num_unused=0",
                "--character_coverage=0.99")  # fmt: skip
    size = len(vocab_file.read_text(encoding="utf-8").splitlines())
    for name, changes in {"bert_config": {}, "without_dropout": WITHOUT_DROPOUT}.items():
        config = CONFIG | {"vocab_size": size} | changes
        (version.directory / f"{name}.json").write_text(json.dumps(config))
    for name in ("plain", "words"):
        granularity = ["--mask_granularity=word"] if name == "words" else []
        version.run("create_pretraining_data.py", text, f"--vocab_file={vocab_file}",
                    f"--output_file={version.directory}/{name}.tfrecord", "--dupe_factor=1",
                    "--max_seq_length=32", *granularity)  # fmt: skip


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def numbers(text: str) -> list[str]:
    """The numbers in a text, whatever the words around them."""
    return re.findall(r"\d+(?:[.,]\d+)*", text)


def trainings(version: Version) -> dict[str, list[str]]:
    """Kinds of training, each the script and its flags, --output_dir aside."""
    data = version.directory
    shared = ["--max_seq_length=32", "--do_train"]
    shared += ["--learning_rate=1e-3", "--train_batch_size=8"]
    shared += [f"--save_checkpoints_steps={SAVE_STEPS}"]
    pretraining = ["run_pretraining.py", *shared, f"--input_file={data}/plain.tfrecord"]
    pretraining += [f"--bert_config_file={data}/bert_config.json"]
    pretraining += [f"--num_train_steps={NUM_STEPS}", "--num_warmup_steps=2"]
    fine_tuning = ["run_classifier.py", *shared, f"--vocab_file={data}/vocab.txt", "--do_eval"]
    fine_tuning += [f"--bert_config_file={data}/without_dropout.json"]
    fine_tuning += ["--task_name=tsv", f"--data_dir={ROOT}/data/topics", "--num_train_epochs=0.2"]
    return {
        "pre-training": pretraining,
        "pre-training, --length_buckets": [*pretraining, "--length_buckets=16,32"],
        "fine-tuning": [*fine_tuning, "--num_micro_batches=2"],
    }


def compare_training(before: Version, after: Version, kind: str, flags: list[str]) -> Iterator[Row]:
    """Rows of uninterrupted runs of both, and of one that goes on across the versions."""
    name = re.sub(r"\W+", "-", kind)
    script, *flags = flags
    runs = {version: version.directory / name for version in (before, after)}
    for version, path in runs.items():
        version.run(script, *flags, f"--output_dir={path}")
    killed = before.directory / f"{name}-killed"
    step = kill_once_saved(before, [script, *flags, f"--output_dir={killed}"], killed / "training")
    continued = [script, *flags, f"--output_dir={killed}"]
    others = {"uninterrupted": runs[after]}
    if kind == "fine-tuning":
        yield f"{kind}, resumed at step {step}: refused", is_refused(after, continued), ""
    else:
        after.run(*continued)
        others[f"resumed at step {step}"] = killed
    wanted = training_runs.weights(runs[before])
    for what, path in others.items():
        difference, _ = training_runs.largest_difference(training_runs.weights(path), wanted)
        yield f"{kind}, {what}: weights", difference == 0, f"largest difference {difference:g}"


def is_refused(version: Version, command: list[str]) -> bool:
    """Whether a training is refused because version 0.1.0 began it."""
    try:
        version.run(*command)
    except InputError as error:
        return "version 0.1.0 began it" in str(error)
    return False


def kill_once_saved(version: Version, command: list[str], states: pathlib.Path) -> int:
    """Kills a training once it has saved a state; returns the step of the latest one."""
    process = subprocess.Popen(
        version.command(*command),
        cwd=version.checkout,
        env=child_process.without_gpu(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        if any(states.glob("step-*")):
            process.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    if process.wait() != -signal.SIGKILL:
        raise InputError(f"The training in {states.parent} ended before it could be killed.")
    return max(int(path.name.removeprefix("step-")) for path in states.glob("step-*"))


def compare_classifier(before: Version, after: Version) -> Iterator[Row]:
    """Rows of the scores of the earlier version's classifier, and of its export."""
    model = before.directory / "fine-tuning"
    script, *flags = trainings(before)["fine-tuning"]
    flags = [flag for flag in flags if flag != "--do_train"]
    wanted = scores(model)
    after.run(script, *flags, f"--init_checkpoint={model}", f"--output_dir={model}-evaluated")
    evaluated = pathlib.Path(f"{model}-evaluated")
    yield "classifier: scores", scores(evaluated) == wanted, json.dumps(wanted)
    answers = []
    for version in (before, after):
        path = version.directory / "export"
        version.run("export.savedmodel", f"--model_dir={model}", f"--export_dir={path}")
        (exported,) = path.iterdir()
        answers.append(output([after.python, "-c", _ANSWERS, str(exported), *TEXTS], ROOT))
    own = output([before.python, "-c", _ANSWERS, str(next((before.directory / "export").iterdir())),
                  *TEXTS], before.checkout)  # fmt: skip
    yield "export of before, read by both: answers", answers[0] == own, f"{len(TEXTS)} texts"
    yield "exports of both: answers", answers[1] == own, f"{len(TEXTS)} texts"


def scores(directory: pathlib.Path) -> dict[str, str]:
    """The scores in eval_results.txt, rounded to the digits that the later version writes."""
    lines = (directory / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" = ") for line in lines if line.startswith("eval_"))
    return {name: f"{float(value):.9g}" for name, value in pairs}


if __name__ == "__main__":
    flagging.run(main, Options)

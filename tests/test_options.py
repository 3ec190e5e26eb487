"""The published command lines parse; the released flags are all there with their defaults.

Commands, flag names and defaults are those of google-research/bert, whose README and scripts
are the source; only the directories are shorter.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys

import pytest
from absl import flags

from bert_tf import commands, flagging, options
from bert_tf.errors import InputError

ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = {
    "run_classifier.py": options.Classifier,
    "run_pretraining.py": options.PreTraining,
    "run_squad.py": options.QuestionAnswering,
    "create_pretraining_data.py": options.PretrainingData,
}

COMMAND_OF = {
    "run_classifier.py": "classify",
    "run_pretraining.py": "pretrain",
    "run_squad.py": "squad",
    "create_pretraining_data.py": "data",
}

MODEL = """
  --vocab_file=uncased_L-12_H-768_A-12/vocab.txt
  --bert_config_file=uncased_L-12_H-768_A-12/bert_config.json
  --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt
"""
MRPC = f"""--task_name=MRPC --do_train=true --do_eval=true --data_dir=glue_data/MRPC {MODEL}
  --max_seq_length=128 --train_batch_size=32 --learning_rate=2e-5 --num_train_epochs=3.0
  --output_dir=mrpc_output/"""
MRPC_PREDICTION = f"""--task_name=MRPC --do_predict=true --data_dir=glue_data/MRPC {MODEL}
  --max_seq_length=128 --output_dir=mrpc_output/"""
SQUAD_1 = f"""{MODEL} --do_train=True --train_file=squad/train-v1.1.json --do_predict=True
  --predict_file=squad/dev-v1.1.json --train_batch_size=12 --learning_rate=3e-5
  --num_train_epochs=2.0 --max_seq_length=384 --doc_stride=128 --output_dir=squad_base/"""
SQUAD_2 = f"""{MODEL} --do_train=True --train_file=squad/train-v2.0.json --do_predict=True
  --predict_file=squad/dev-v2.0.json --train_batch_size=24 --learning_rate=3e-5
  --num_train_epochs=2.0 --max_seq_length=384 --doc_stride=128 --output_dir=squad_large/
  --use_tpu=False --version_2_with_negative=True"""
SQUAD_2_THRESHOLD = SQUAD_2.replace("--do_train=True", "--do_train=False") + (
    " --null_score_diff_threshold=-1.9"
)
DATA = """--input_file=./sample_text.txt --output_file=tf_examples.tfrecord
  --vocab_file=uncased_L-12_H-768_A-12/vocab.txt --do_lower_case=True --max_seq_length=128
  --max_predictions_per_seq=20 --masked_lm_prob=0.15 --random_seed=12345 --dupe_factor=5"""
PRETRAINING = """--input_file=tf_examples.tfrecord --output_dir=pretraining_output --do_train=True
  --do_eval=True --bert_config_file=uncased_L-12_H-768_A-12/bert_config.json
  --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt --train_batch_size=32
  --max_seq_length=128 --max_predictions_per_seq=20 --num_train_steps=20 --num_warmup_steps=10
  --learning_rate=2e-5"""
TPU = {
    "use_tpu": False,
    "tpu_name": None,
    "tpu_zone": None,
    "gcp_project": None,
    "master": None,
    "num_tpu_cores": 8,
}
TRAINING = TPU | {
    "bert_config_file": None,  # released as required, which it is without --init_checkpoint
    "output_dir": "REQUIRED",
    "init_checkpoint": None,
    "do_train": False,
    "train_batch_size": 32,
    "learning_rate": 5e-5,
    "save_checkpoints_steps": 1000,
    "iterations_per_loop": 1000,
}
FINE_TUNING = TRAINING | {
    "vocab_file": None,  # likewise
    "do_lower_case": True,
    "do_predict": False,
    "predict_batch_size": 8,
    "num_train_epochs": 3.0,
    "warmup_proportion": 0.1,
}
RELEASED = {
    "run_classifier.py": FINE_TUNING
    | {
        "data_dir": None,  # released as required, which both are not for a user's own files
        "task_name": None,
        "max_seq_length": 128,
        "do_eval": False,
        "eval_batch_size": 8,
    },
    "run_squad.py": FINE_TUNING
    | {
        "train_file": None,
        "predict_file": None,
        "max_seq_length": 384,
        "doc_stride": 128,
        "max_query_length": 64,
        "n_best_size": 20,
        "max_answer_length": 30,
        "verbose_logging": False,
        "version_2_with_negative": False,
        "null_score_diff_threshold": None,  # released: 0, without a search for the best
    },
    "run_pretraining.py": TRAINING
    | {
        "input_file": "REQUIRED",
        "max_seq_length": 128,
        "max_predictions_per_seq": None,  # released: 20; what the records have, unless given
        "do_eval": False,
        "eval_batch_size": 8,
        "num_train_steps": 100000,
        "num_warmup_steps": 10000,
        "max_eval_steps": 100,
    },
    "create_pretraining_data.py": {
        "input_file": "REQUIRED",
        "output_file": "REQUIRED",
        "vocab_file": "REQUIRED",
        "do_lower_case": True,
        "do_whole_word_mask": False,
        "max_seq_length": 128,
        "max_predictions_per_seq": None,  # released: 20, which is what 128 tokens give
        "random_seed": 12345,
        "dupe_factor": 10,
        "masked_lm_prob": 0.15,
        "short_seq_prob": 0.1,
    },
}


def parse(script, command):
    flag_values = flags.FlagValues()
    flagging.define(SCRIPTS[script], flag_values)
    flag_values([script, *command.split()])
    return flagging.read(SCRIPTS[script], flag_values)


def given(command):
    """The flags of a command, name to text."""
    return dict(part.removeprefix("--").split("=", 1) for part in command.split())


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("run_classifier.py", MRPC),
        ("run_classifier.py", MRPC_PREDICTION),
        ("run_squad.py", SQUAD_1),
        ("run_squad.py", SQUAD_2),
        ("run_squad.py", SQUAD_2_THRESHOLD),
        ("create_pretraining_data.py", DATA),
        ("run_pretraining.py", PRETRAINING),
    ],
)
def test_published_commands_parse(script, command):
    found = parse(script, command)
    for name, text in given(command).items():
        value = getattr(found, name)
        if isinstance(value, bool):
            assert value is (text.lower() == "true"), name
        else:
            assert value == type(value)(text), name


@pytest.mark.parametrize("script", RELEASED)
def test_released_flags_have_their_released_defaults(script):
    found = {
        field.name: "REQUIRED" if field.default is flagging.REQUIRED else field.default
        for field in dataclasses.fields(SCRIPTS[script])
    }
    assert {name: found.get(name, "missing") for name in RELEASED[script]} == RELEASED[script]


@pytest.mark.parametrize("script", RELEASED)
def test_flags_that_the_release_lacks_say_so(script):
    new = {
        field.name
        for field in dataclasses.fields(SCRIPTS[script])
        if field.metadata["help"].startswith("(new) ")
    }
    wanted = {field.name for field in dataclasses.fields(SCRIPTS[script])} - set(RELEASED[script])
    # Of run_classifier.py and run_pretraining.py only; of run_classifier_with_tfhub.py.
    assert new == wanted - {"do_eval", "bert_hub_module_handle"}


@pytest.mark.parametrize(
    ("script", "command", "name"),
    [
        ("run_classifier.py", MRPC, "bert_config_file"),
        ("run_classifier.py", MRPC, "vocab_file"),
        ("run_squad.py", SQUAD_1, "bert_config_file"),
        ("run_squad.py", SQUAD_1, "vocab_file"),
        ("run_pretraining.py", PRETRAINING, "bert_config_file"),
    ],
)
def test_files_of_the_model_may_be_left_out_where_a_checkpoint_has_them(script, command, name):
    assert getattr(parse(script, without(command, name)), name) is None
    with pytest.raises(InputError, match=f"--{name} is not given, and there is no --init_check"):
        parse(script, without(without(command, name), "init_checkpoint"))


def without(command, name):
    """The command without one of its flags."""
    kept = [flag for flag in command.split() if not flag.startswith(f"--{name}=")]
    assert len(kept) == len(command.split()) - 1
    return " ".join(kept)


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("run_pretraining.py", PRETRAINING),
        ("run_classifier.py", MRPC),
        ("run_squad.py", SQUAD_1),
    ],
)
@pytest.mark.parametrize(
    ("flags", "is_static"),
    [
        ("", False),
        ("--length_buckets=64,128", True),
        ("--jit_compile", True),
        ("--use_tpu=True --tpu_name=name --num_tpu_cores=8", True),
    ],
)
def test_compilers_are_given_static_shapes(flags, is_static, script, command):
    assert parse(script, f"{command} {flags}").has_static_shapes is is_static


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--distribution_strategy=mirrored", "=mirrored exclude each other"),
        ("--tpu_name=a --master=grpc://b:8470", "=a and --master=grpc://b:8470 both name the TPU"),
        ("--dtype=float16", "--dtype=float16 is for GPUs; .*bfloat16"),
    ],
)
def test_flags_that_make_no_sense_on_a_tpu_are_refused(flags, message):
    parse("run_pretraining.py", f"{PRETRAINING} {flags}")
    with pytest.raises(InputError, match=message):
        parse("run_pretraining.py", f"{PRETRAINING} {flags} --use_tpu=True")


@pytest.mark.parametrize(
    ("script", "command", "wrong", "message"),
    [
        ("run_classifier.py", MRPC, "train_batch_size=0", "must be above 0"),
        ("run_classifier.py", MRPC, "learning_rate=-0.5", "must be above 0"),
        ("run_classifier.py", MRPC, "learning_rate=nan", "must be a finite number"),
        ("run_classifier.py", MRPC, "learning_rate=inf", "must be a finite number"),
        ("run_classifier.py", MRPC, "max_grad_norm=-1", "must be at least 0"),
        ("run_classifier.py", MRPC, "max_grad_norm=inf", "must be a finite number"),
        ("run_classifier.py", MRPC, "weight_decay_rate=-0.01", "must be at least 0"),
        ("run_classifier.py", MRPC, "random_seed=-1", "must be at least 0"),
        ("run_classifier.py", MRPC, f"random_seed={2**31}", r"must be below 2\*\*31"),
        ("run_classifier.py", MRPC, "save_checkpoints_steps=0", "must be above 0"),
        ("run_classifier.py", MRPC, "num_train_epochs=0", "must be above 0"),
        ("run_classifier.py", MRPC, "num_micro_batches=0", "must be above 0"),
        ("run_classifier.py", MRPC, "max_train_examples=0", "must be above 0"),
        ("run_classifier.py", MRPC, "predict_batch_size=0", "must be above 0"),
        ("run_classifier.py", MRPC, "eval_batch_size=-1", "must be above 0"),
        ("run_classifier.py", MRPC, "max_seq_length=0", "must be above 0"),
        ("run_classifier.py", MRPC, "warmup_proportion=1", r"must be in \[0, 1\)"),
        ("run_classifier.py", MRPC, "warmup_proportion=-0.1", r"must be in \[0, 1\)"),
        ("run_classifier.py", MRPC, "lr_power=0", "must be above 0"),
        ("run_classifier.py", MRPC, "lr_power=2", "needs --lr_schedule=polynomial"),
        ("run_classifier.py", MRPC, "lr_end_ratio=1", r"must be in \[0, 1\)"),
        ("run_classifier.py", MRPC, "lr_end_ratio=-0.1", r"must be in \[0, 1\)"),
        ("run_squad.py", SQUAD_1, "doc_stride=0", "must be above 0"),
        ("run_squad.py", SQUAD_1, "max_query_length=0", "must be above 0"),
        ("run_squad.py", SQUAD_1, "n_best_size=0", "must be above 0"),
        ("run_squad.py", SQUAD_1, "max_answer_length=0", "must be above 0"),
        ("run_squad.py", SQUAD_1, "max_predict_examples=-1", "must be above 0"),
        ("run_pretraining.py", PRETRAINING, "max_predictions_per_seq=0", "must be above 0"),
        ("run_pretraining.py", PRETRAINING, "num_train_steps=0", "must be above 0"),
        ("run_pretraining.py", PRETRAINING, "num_warmup_steps=20", "must be below --num_train"),
        ("run_pretraining.py", PRETRAINING, "num_warmup_steps=-1", "must be at least 0"),
        ("run_pretraining.py", PRETRAINING, "max_eval_steps=-1", "must be at least 0"),
        ("create_pretraining_data.py", DATA, "max_seq_length=4", "must be at least 5"),
        ("create_pretraining_data.py", DATA, "max_predictions_per_seq=0", "must be above 0"),
        ("create_pretraining_data.py", DATA, "dupe_factor=0", "must be above 0"),
        ("create_pretraining_data.py", DATA, "random_seed=-1", "must be at least 0"),
        ("create_pretraining_data.py", DATA, f"random_seed={2**31}", r"must be below 2\*\*31"),
        ("create_pretraining_data.py", DATA, "masked_lm_prob=0", r"must be in \(0, 1\]"),
        ("create_pretraining_data.py", DATA, "masked_lm_prob=1.1", r"must be in \(0, 1\]"),
        ("create_pretraining_data.py", DATA, "short_seq_prob=-0.1", r"must be in \[0, 1\]"),
    ],
)
def test_wrong_values_are_named(script, command, wrong, message):
    with pytest.raises(InputError, match=rf"^--{wrong}(\.0)? {message}"):
        parse(script, f"{command} --{wrong}")


def test_the_optimizer_is_the_released_one_unless_another_is_asked_for():
    plain = parse("run_pretraining.py", PRETRAINING)
    assert (plain.optimizer, plain.lr_schedule, plain.lr_end_ratio) == ("adamw", "linear", 0.0)
    lamb = "--optimizer=lamb --lr_schedule=polynomial --lr_power=0.5 --dtype=float16"
    asked = parse("run_pretraining.py", f"{PRETRAINING} {lamb}")
    assert (asked.optimizer, asked.lr_schedule, asked.lr_power) == ("lamb", "polynomial", 0.5)


def test_a_constant_rate_has_no_end():
    with pytest.raises(InputError, match="constant never decays; leave out --lr_end_ratio"):
        parse("run_classifier.py", f"{MRPC} --lr_schedule=constant --lr_end_ratio=0.1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--train_file=", "--do_train needs --train_file"),
        ("--predict_file=", "--do_predict and --do_eval need --predict_file"),
    ],
)
def test_work_on_questions_needs_its_file(change, message):
    with pytest.raises(InputError, match=message):
        parse("run_squad.py", f"{SQUAD_1} {change}")


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("run_classifier.py", "--do_train=false --do_eval=false"),
        ("run_squad.py", "--do_train=false --do_predict=false"),
        ("run_pretraining.py", "--do_train=false --do_eval=false"),
    ],
)
def test_nothing_to_do_is_an_error(script, command):
    full = {"run_classifier.py": MRPC, "run_squad.py": SQUAD_1, "run_pretraining.py": PRETRAINING}
    with pytest.raises(InputError, match="Nothing to do: give --do_train"):
        parse(script, f"{full[script]} {command}")


def test_a_flagfile_replays_a_command(tmp_path):
    before = parse("run_squad.py", SQUAD_2)
    path = tmp_path / "flags.txt"
    path.write_text(flagging.to_flagfile(before))
    assert parse("run_squad.py", f"--flagfile={path}") == before


# Runs a script as its own process would, then prints what of the slow libraries it has loaded.
IMPORTS = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as stop:
    print("status", stop.code)
print("loaded", sorted({"tensorflow", "keras", "numpy", "scipy"} & set(sys.modules)))
"""


def run_for_imports(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, script, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_lists_the_flags_without_loading_anything_slow(script):
    output, errors = run_for_imports(script, "--help")
    names = [flagging.flag_name(field) for field in dataclasses.fields(SCRIPTS[script])]
    shown = [line.strip().split("=")[0] for line in output.splitlines() if line.startswith("  --")]
    assert sorted(shown) == sorted(f"--{name}" for name in names)
    assert output.startswith(
        f"{commands.COMMANDS[COMMAND_OF[script]].summary}\n\nUsage: python {script}"
    )
    # The list of tasks comes from the tasks, which need NumPy: a tenth of a second.
    loaded = ["numpy"] if script == "run_classifier.py" else []
    assert output.endswith(f"status 0\nloaded {loaded}\n") and errors == ""


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--max_seq_lenght=7", "There is no flag --max_seq_lenght. Did you mean --max_seq_length?"),
        ("--vocab_file=v", "--output_"),
    ],
)
def test_a_wrong_or_missing_flag_loads_nothing_slow(script, wrong, message):
    output, errors = run_for_imports(script, wrong)
    assert errors.startswith("ERROR: ") and message in errors
    assert output == "status 2\nloaded []\n"


def test_a_wrong_value_loads_nothing_slow():
    output, errors = run_for_imports("run_classifier.py", *MRPC.split(), "--train_batch_size=0")
    assert errors == "ERROR: --train_batch_size=0 must be above 0.\n"
    assert output == "status 2\nloaded []\n"

"""Wrong input is refused before TensorFlow loads, whatever the command."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from bert_tf.config import BertConfig

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
RTE = "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n1\tb\ta\tnot_entailment\n"

# Calls commands with options from standard input, and prints what each says and whether TensorFlow
# or Keras is loaded then.
PROGRAM = """
import importlib, json, sys
from bert_tf import commands, flagging

def target(text):
    module, name = text.split(":")
    return getattr(importlib.import_module(module), name)

for name, values in json.load(sys.stdin):
    command = commands.COMMANDS[name]
    try:
        target(command.function)(flagging.make(target(command.options), values))
        message = "no error"
    except ValueError as error:
        message = str(error)
    print(json.dumps([message, sorted({"tensorflow", "keras", "scipy"} & set(sys.modules))]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    (folder / "rte").mkdir()
    (folder / "rte" / "train.tsv").write_text(RTE)
    (folder / "rte" / "dev.tsv").write_text(RTE.replace("not_entailment", "perhaps"))
    (folder / "empty").mkdir()
    (folder / "squad.json").write_text("{")
    (folder / "own.csv").write_text("words,label\na,1\nb,2\n")
    (folder / "one.tfrecord").write_bytes(bytes(12 + 4))  # an empty record between its checksums
    (folder / "key.toml").write_text('kind = "classify"\ntexts = "words"\n')
    (folder / "tags.toml").write_text('kind = "tag"\ntrain = "tags.conll"\n')
    (folder / "tags.conll").write_text("a O\n\nb O\na I-PER\n")
    (folder / "why.toml").write_text(
        'kind = "choice"\ntrain = "why.jsonl"\ncontext = "c"\nchoices = "d"\n'
    )
    (folder / "why.jsonl").write_text('{"c": "a", "d": ["b"], "label": 0}\n')
    other = folder / "other" / "training"
    other.mkdir(parents=True)
    (other / "identity.json").write_text(json.dumps({"learning_rate": 1e-3, "examples": "x"}))
    return folder


def cases(folder):
    """(Command, options, part of the message) of each wrong input."""
    model = {"bert_config_file": f"{folder}/bert_config.json", "vocab_file": f"{folder}/vocab.txt"}
    training = model | {"do_train": True, "output_dir": f"{folder}/out", "max_seq_length": 11}
    rte = training | {"task_name": "rte", "data_dir": f"{folder}/rte"}
    squad = training | {"train_file": f"{folder}/squad.json", "max_query_length": 3}
    pretrain = training | {"input_file": f"{folder}/one.tfrecord", "num_warmup_steps": 0}
    nowhere = f"{folder}/nowhere"
    features = {"input_file": f"{folder}/own.csv", "output_file": "x.jsonl"}
    features |= {"init_checkpoint": f"{nowhere}/x.ckpt"}
    return [
        ("classify", rte | {"task_name": "rtf"}, "Unknown task 'rtf'"),
        ("classify", rte | {"data_dir": nowhere}, "is not a directory"),
        ("classify", rte | {"data_dir": f"{folder}/empty"}, "train.tsv (or train.tsv.gz) is not"),
        ("classify", rte | {"task_name": "mrpc"}, "the header has no column '#1 String'"),
        ("classify", rte | {"do_eval": True}, "line 3: label 'perhaps' is unknown"),
        ("classify", rte | {"bert_config_file": nowhere}, "nowhere does not exist"),
        ("classify", rte | {"vocab_file": nowhere}, "nowhere does not exist"),
        ("classify", rte | {"init_checkpoint": f"{nowhere}/x.ckpt"}, "No checkpoint at"),
        ("classify", rte | {"max_seq_length": 14}, "13"),
        ("classify", rte | {"output_dir": f"{folder}/other"}, "learning_rate is 0.001 there"),
        ("classify", rte | {"output_dir": "gs://bucket/x"}, "gs:// are not supported"),
        (
            "classify",
            training | {"train_file": f"{folder}/own.csv", "text_column": "text"},
            "the header has no column 'text'; it has words, label. Name the column of the text",
        ),
        (
            "classify",
            training | {"task_file": f"{folder}/key.toml"},
            "key.toml: the key texts is unknown for kind = 'classify'. Did you mean text?",
        ),
        (
            "classify",
            training | {"task_file": f"{folder}/tags.toml"},
            "tags.conll, line 4: tag 'I-PER' behind O goes on with an entity that is not open",
        ),
        (
            "classify",
            training | {"task_file": f"{folder}/why.toml"},
            "why.jsonl, line 1: 1 choice found, at least 2 wanted",
        ),
        ("squad", squad | {"train_file": nowhere}, "--train_file="),
        ("squad", squad, "squad.json"),
        ("squad", squad | {"output_dir": f"{folder}/other"}, "learning_rate is 0.001 there"),
        ("pretrain", pretrain | {"input_file": nowhere}, "--input_file: "),
        (
            "pretrain",
            pretrain | {"input_file": f"{folder}/own.csv"},
            "own.csv is not a complete TFRecord file: the record at byte 0",
        ),
        ("pretrain", pretrain | {"eval_input_file": nowhere}, "--eval_input_file: "),
        ("pretrain", pretrain | {"vocab_file": nowhere}, "nowhere does not exist"),
        ("pretrain", pretrain | {"max_seq_length": 14}, "13"),
        ("pretrain", pretrain | {"output_dir": f"{folder}/other"}, "learning_rate is 0.001 there"),
        (
            "data",
            {"input_file": nowhere, "output_file": "x", "vocab_file": f"{folder}/vocab.txt"},
            "nowhere",
        ),
        (
            "data",
            {"input_file": f"{folder}/own.csv", "output_file": "x", "vocab_file": nowhere},
            "nowhere",
        ),
        ("features", features | {"input_file": nowhere}, "nowhere does not exist"),
        ("features", features | {"output_file": "x.npz.gz"}, "npz is not compressed"),
        ("features", features, "No checkpoint at"),
        ("export", {"model_dir": nowhere, "export_dir": "x"}, "is not a model directory"),
        ("serve", {"model_base_path": nowhere}, "nowhere"),
        ("convert", {"source": f"{nowhere}/x.ckpt", "target": "tf1", "output": "x"}, "No checkp"),
    ]


def test_wrong_input_is_refused_before_tensorflow_loads(folder):
    given = cases(folder)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([[name, values] for name, values, _ in given]),
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert len(lines) == len(given), done.stderr
    wrong = [
        (name, part, message, loaded)
        for (name, _, part), (message, loaded) in zip(given, lines, strict=True)
        if part not in message or loaded
    ]
    assert wrong == []
    assert not (folder / "out").exists()

"""What keras-hub and this package answer with each other's presets.

    python -m benchmarks.golden.golden_keras_hub [--peer_python=../peers/tf/bin/python]

The interpreter has tensorflow, tensorflow-text and keras-hub. keras-hub saves small random presets
of every kind and answers; the same files are read here. Then it loads what is written here,
MiniLM among it. Two presets and keras-hub's answers are kept for the golden test.
"""

import dataclasses
import json
import pathlib
import shutil
import tempfile

import numpy as np

from benchmarks import child_process
from benchmarks.golden import golden_minilm
from benchmarks.golden.golden_model_garden import inputs, largest_difference, our_answers
from bert_tf import files, flagging
from bert_tf.checkpoints.formats.keras_hub import KerasHub
from bert_tf.flagging import option
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/golden_keras_hub.json"
PEER = pathlib.Path(__file__).parent / "keras_hub_peer.py"
KEPT = ("masked-lm", "classifier")
TEXT = "a Bcd ÉF g"
CONFIG = {
    "vocab_size": 57,
    "hidden_size": 22,
    "num_attention_heads": 2,
    "intermediate_size": 13,
    "max_position_embeddings": 17,
    "type_vocab_size": 3,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    peer_python: str = option("../peers/tf/bin/python", "An interpreter with keras-hub.")
    seed: int = option(7, "Of the input ids.")


def peer(options, **task):
    """What `keras_hub_peer.py` prints last, as JSON, where it answers."""
    printed = child_process.ask(options.peer_python, PEER, task)
    return json.loads(printed[-1]) if task["do"] == "answer" else None


def masked_lm_as_there(arrays, sequence_output, batch):
    """The head with keras-hub's constants: exact GELU and a LayerNorm epsilon of 1e-5."""
    from scipy import special

    chosen = np.take_along_axis(sequence_output, batch["masked_lm_positions"][..., None], 1)
    x = chosen @ arrays["masked_lm/transform/kernel"] + arrays["masked_lm/transform/bias"]
    x = x * (1 + special.erf(x / np.sqrt(2))) / 2
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    x = x * arrays["masked_lm/layer_norm/gamma"] + arrays["masked_lm/layer_norm/beta"]
    return x @ arrays["encoder/embeddings/word"].T + arrays["masked_lm/output_bias"]


def compare(state_dict, ours, theirs, batch):
    """Columns of the table: the largest differences, and that of the masked LM by itself."""
    columns = {}
    if "masked_lm" in theirs:
        columns["of masked LM"] = float(np.abs(ours["masked_lm"] - theirs["masked_lm"]).max())
        ours["masked_lm"] = masked_lm_as_there(state_dict.arrays, ours["sequence_output"], batch)
    return {"largest difference": largest_difference(ours, theirs, batch["input_mask"])} | columns


def read_theirs(folder, batch):
    """Rows of the table: their presets, read here."""
    for saved in sorted(path for path in folder.iterdir() if (path / "answers.npz").is_file()):
        state_dict, ours = our_answers(saved, batch)
        yield {
            "saved by keras-hub": saved.name,
            "kind": state_dict.kind,
            "arrays": len(state_dict.arrays),
            **compare(state_dict, ours, dict(np.load(saved / "answers.npz")), batch),
        }


def read_ours(options, source, folder, batch, name, **changes):
    """A row: a preset written here, answered by keras-hub and by us from `source`."""
    state_dict, ours = our_answers(source, batch)
    if changes:
        changed = dataclasses.replace(state_dict.config, **changes)
        state_dict = dataclasses.replace(state_dict, config=changed)
    target = folder / f"ours-{name}"
    target.mkdir()
    KerasHub().write(state_dict, str(target))
    again, again_ours = our_answers(target, batch)
    np.savez(folder / "ours.npz", **batch)
    told = peer(
        options,
        do="answer",
        checkpoint=str(target),
        kind=state_dict.kind,
        inputs=str(folder / "ours.npz"),
        output=str(folder / "theirs.npz"),
        text=TEXT,
    )
    tokenizer = WordPieceTokenizer(vocab.from_file(state_dict.vocab_file), state_dict.do_lower_case)
    return {
        "written here": name,
        "kind": state_dict.kind,
        "arrays": len(state_dict.arrays),
        "bit-equal when read back": again.arrays.keys() == state_dict.arrays.keys()
        and all(np.array_equal(a, state_dict.arrays[p]) for p, a in again.arrays.items()),
        "config equal when read back": again.config == state_dict.config,
        "tokens equal": told["tokens"] == list(tokenizer.encode(TEXT)),
        **compare(state_dict, again_ours, dict(np.load(folder / "theirs.npz")), batch),
        "notes": KerasHub().notes(state_dict),
    }


def main(options):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        batch = inputs(CONFIG, options.seed)
        (folder / "bert_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
        letters = [chr(one) for one in range(ord("a"), ord("z") + 1)]
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
        tokens += [f"##{letter}" for letter in letters]
        (folder / "vocab.txt").write_text("\n".join(tokens[: CONFIG["vocab_size"]]) + "\n")
        np.savez(folder / "inputs.npz", **batch)
        peer(options, do="make", folder=str(folder))
        rows = list(read_theirs(folder, batch))
        for name in (*KEPT, "regressor", "encoder"):
            rows.append(read_ours(options, folder / name, folder, batch, name))
        minilm = golden_minilm.package_folder()
        words = inputs(CONFIG | {"vocab_size": 30522, "type_vocab_size": 2}, options.seed)
        rows.append(read_ours(options, minilm, folder, words, "MiniLM"))
        tanh = {"hidden_act": "gelu"}
        rows.append(read_ours(options, minilm, folder, words, "MiniLM-tanh", **tanh))
        for name in KEPT:
            keep(folder / name, batch)
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()))
    files.write_text(RESULTS, json.dumps(rows, indent=2) + "\n")


def keep(saved, batch):
    """Puts one of their presets and its answers where the golden test looks."""
    target = ROOT / f"tests/data/tiny-keras-hub-{saved.name}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(saved, target, ignore=shutil.ignore_patterns("answers.npz"))
    answers = dict(np.load(saved / "answers.npz"))
    golden = ROOT / f"tests/golden/keras_hub_{saved.name.replace('-', '_')}.npz"
    np.savez_compressed(golden, **batch, **answers)


if __name__ == "__main__":
    flagging.run(main, Options)

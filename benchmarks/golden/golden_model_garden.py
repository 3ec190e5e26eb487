"""What TF Model Garden and this package answer with each other's checkpoints.

    python -m benchmarks.golden.golden_model_garden [--peer_python=../peers/garden/bin/python]

The interpreter has tensorflow, tf-keras, tf-models-official (and what `official.nlp.modeling`
imports). Model Garden saves small random models of every kind and under every root, and answers;
the same files are read here. Then it restores what is written here, MiniLM among it. One of its
files and its answers are kept for the golden test.
"""

import dataclasses
import json
import pathlib
import shutil
import tempfile

import numpy as np

from benchmarks import child_process
from benchmarks.golden import golden_minilm
from bert_tf import files, flagging
from bert_tf.checkpoints import loading, opening, reading
from bert_tf.checkpoints.formats.model_garden import ModelGarden
from bert_tf.checkpoints.formats.model_garden_legacy import ModelGardenLegacy
from bert_tf.flagging import option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/golden_model_garden.json"
PEER = pathlib.Path(__file__).parent / "model_garden_peer.py"
LENGTHS = (11, 7, 3)  # real tokens of each row; the rest is padding
NUM_PREDICTIONS = 5
KEPT = "pretrainer-v1"
CONFIG = {
    "vocab_size": 31,
    "hidden_size": 22,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 13,
    "hidden_act": "gelu",
    "max_position_embeddings": 17,
    "type_vocab_size": 3,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    peer_python: str = option("../peers/garden/bin/python", "An interpreter with Model Garden.")
    seed: int = option(7, "Of the input ids.")


def inputs(config, seed):
    """A batch whose axes have different sizes, with padding and all types."""
    rng = np.random.default_rng(seed)
    shape = (len(LENGTHS), max(LENGTHS))
    mask = (np.arange(shape[1]) < np.array(LENGTHS)[:, None]).astype(np.int32)
    types = rng.integers(0, config["type_vocab_size"], shape, dtype=np.int32)
    return {
        "input_word_ids": rng.integers(1, config["vocab_size"], shape, dtype=np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": types * mask,
        "masked_lm_positions": rng.integers(0, 3, (shape[0], NUM_PREDICTIONS), dtype=np.int32),
    }


def peer(options, **task):
    """What `model_garden_peer.py` prints last, as JSON, where it answers."""
    printed = child_process.ask(options.peer_python, PEER, task)
    return json.loads(printed[-1]) if task["do"] == "answer" else None


def our_answers(folder, batch):
    """(`StateDict`, answers under the peer's names) of a checkpoint, with our models."""
    from bert_tf.modeling import models
    from bert_tf.modeling.encoder import Encoder

    checkpoint = opening.open_checkpoint(folder)
    state_dict, _ = reading.read(checkpoint)
    config, c = state_dict.config, state_dict.num_outputs
    model = {
        "encoder": lambda: Encoder(config),
        "pretrain": lambda: models.PretrainingModel(
            config, has_next_sentence="next_sentence/kernel" in state_dict.arrays
        ),
        "classify": lambda: models.ClassifierModel(config, c),
        "regress": lambda: models.ClassifierModel(config, c),
        "tag": lambda: models.TokenClassifierModel(config, c),
        "span": lambda: models.SpanModel(config),
    }[state_dict.kind]()
    loading.load(model, checkpoint)
    encoder = model if state_dict.kind == "encoder" else model.encoder
    outputs = encoder(batch) | (model(batch) if encoder is not model else {})
    outputs.pop("encoder_outputs")
    return state_dict, {
        name.removesuffix("_logits"): np.asarray(array) for name, array in outputs.items()
    }


def largest_difference(ours, theirs, mask):
    """The largest of all that they answer; span logits only where there is a token."""
    found = 0.0
    for name, array in theirs.items():
        difference = np.abs(ours[name] - array)
        if name in ("start", "end"):
            difference = difference[mask == 1]
        found = max(found, float(difference.max()))
    return found


def read_theirs(folder, batch):
    """Rows of the table: their files, read here."""
    for saved in sorted(path for path in folder.iterdir() if (path / "answers.npz").is_file()):
        state_dict, ours = our_answers(saved, batch)
        theirs = dict(np.load(saved / "answers.npz"))
        yield {
            "saved by Model Garden": saved.name,
            "kind": state_dict.kind,
            "arrays": len(state_dict.arrays),
            "largest difference": largest_difference(ours, theirs, batch["input_mask"]),
        }


def read_ours(options, source, folder, batch, target_format, name):
    """A row: a checkpoint written here, answered by Model Garden and by us from `source`."""
    state_dict, ours = our_answers(source, batch)
    target = folder / f"ours-{name}"
    target.mkdir()
    target_format.write(state_dict, target)
    np.savez(folder / "ours.npz", **batch)
    done = peer(
        options,
        do="answer",
        checkpoint=str(target),
        kind=state_dict.kind,
        num_outputs=state_dict.num_outputs,
        by_name=isinstance(target_format, ModelGardenLegacy),
        inputs=str(folder / "ours.npz"),
        output=str(folder / "theirs.npz"),
    )
    theirs = dict(np.load(folder / "theirs.npz"))
    again, _ = reading.read(opening.open_checkpoint(target))
    return {
        "written here": name,
        "kind": state_dict.kind,
        "arrays": len(state_dict.arrays),
        "bit-equal when read back": _equal(again.arrays, state_dict.arrays),
        "largest difference": largest_difference(ours, theirs, batch["input_mask"]),
        "restored as": done,
    }


def _equal(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(array, other[path]) for path, array in one.items()
    )


def converted(options, folder):
    """Rows: what their converter makes of a TensorFlow 1 checkpoint, read here."""
    source = ROOT / "tests/data/tiny-tf1"
    peer(options, do="convert", checkpoint=str(source), folder=str(folder))
    wanted, _ = reading.read(opening.open_checkpoint(source))
    for name in ("converted", "converted-2019"):
        found, _ = reading.read(opening.open_checkpoint(folder / name))
        yield {
            "converted by Model Garden": name,
            "arrays": len(found.arrays),
            "bit-equal to TensorFlow 1": _equal(found.arrays, wanted.arrays),
        }


def main(options):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        batch = inputs(CONFIG, options.seed)
        (folder / "bert_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
        np.savez(folder / "inputs.npz", **batch)
        peer(options, do="make", folder=str(folder))
        rows = [*read_theirs(folder, batch), *converted(options, folder)]
        for name in (KEPT, "encoder-v2", "classifier-trained", "span-v1", "tag-v2"):
            source = folder / name
            rows.append(read_ours(options, source, folder, batch, ModelGarden(), name))
        for name in (KEPT, "encoder-v2"):
            rows.append(
                read_ours(
                    options,
                    folder / name,
                    folder,
                    batch,
                    ModelGardenLegacy(),
                    f"{name}-names",
                )
            )
        minilm = golden_minilm.package_folder()
        batch_of_words = inputs(CONFIG | {"vocab_size": 30522, "type_vocab_size": 2}, options.seed)
        rows.append(read_ours(options, minilm, folder, batch_of_words, ModelGarden(), "MiniLM"))
        keep(folder / KEPT, batch)
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()))
    files.write_text(RESULTS, json.dumps(rows, indent=2) + "\n")


def keep(saved, batch):
    """Puts one of their checkpoints and its answers where the golden test looks."""
    target = ROOT / "tests/data/tiny-model-garden"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in saved.iterdir():
        if path.name != "answers.npz":
            shutil.copy(path, target)
    answers = dict(np.load(saved / "answers.npz"))
    np.savez_compressed(ROOT / "tests/golden/model_garden.npz", **batch, **answers)


if __name__ == "__main__":
    flagging.run(main, Options)

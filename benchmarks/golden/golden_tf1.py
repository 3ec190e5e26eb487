"""Runs the released TensorFlow 1 code on a checkpoint and records what it answers.

    python -m benchmarks.golden.golden_tf1 --released_code=../bert

The code is that of google-research/bert, unmodified. What it calls and TensorFlow 2 no longer
has (`tf.contrib.layers.layer_norm`, `tf.layers.dense`, the flags module) is stood in for here.
The golden test of the two pre-training heads compares against the file this writes.
"""

import dataclasses
import importlib
import json
import pathlib
import sys
import types

import numpy as np

from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
LENGTHS = (11, 7, 3)  # real tokens of each row; the rest is padding
NUM_PREDICTIONS = 5
LAYER_NORM_EPSILON = 1e-12  # that of tf.contrib.layers.layer_norm


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    released_code: str = option(REQUIRED, "Checkout with modeling.py and run_pretraining.py.")
    checkpoint: str = option(str(ROOT / "tests/data/tiny-tf1"), "Folder of a TF1 checkpoint.")
    output: str = option(str(ROOT / "tests/golden/tiny_tf1_reference.npz"), "File to write.")
    seed: int = option(7, "Of the input ids.")


def inputs(vocab_size, seed):
    """A batch whose axes have different sizes, with padding and both types."""
    rng = np.random.default_rng(seed)
    shape = (len(LENGTHS), max(LENGTHS))
    mask = (np.arange(shape[1]) < np.array(LENGTHS)[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(1, vocab_size, shape, dtype=np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, 2, shape, dtype=np.int32) * mask,
        "masked_lm_positions": rng.integers(0, 3, (shape[0], NUM_PREDICTIONS), dtype=np.int32),
    }


def released_modules(folder, names=("modeling", "run_pretraining")):
    """Imports files of the released code over the TensorFlow 1 interface."""
    import tensorflow as tf

    stand_in = types.ModuleType("tensorflow")
    stand_in.__dict__.update(tf.compat.v1.__dict__)
    layers = types.SimpleNamespace(dense=_dense, layer_norm=_layer_norm)
    stand_in.layers = layers
    stand_in.contrib = types.SimpleNamespace(layers=layers)
    stand_in.flags = _NoFlags()
    real, sys.modules["tensorflow"] = sys.modules["tensorflow"], stand_in
    sys.path.insert(0, folder)
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(folder)
        sys.modules["tensorflow"] = real


class _NoFlags:
    """Takes every flag that a script declares and keeps none."""

    FLAGS = None

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def _dense(inputs, units, activation=None, name="dense", kernel_initializer=None):
    import tensorflow.compat.v1 as tf

    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [inputs.shape[-1], units])
        outputs = tf.tensordot(inputs, kernel, 1) + tf.get_variable("bias", [units])
    return activation(outputs) if activation else outputs


def _layer_norm(inputs, begin_norm_axis, begin_params_axis, scope):
    import tensorflow.compat.v1 as tf

    with tf.variable_scope(scope or "LayerNorm"):
        beta, gamma = (tf.get_variable(name, inputs.shape[-1:]) for name in ("beta", "gamma"))
    mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
    return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, LAYER_NORM_EPSILON)


def answers(options, batch):
    """What the released graph computes from `batch`: dict of arrays."""
    import tensorflow.compat.v1 as tf

    modeling, run_pretraining = released_modules(options.released_code)
    checkpoint = pathlib.Path(options.checkpoint)
    values = json.loads((checkpoint / "bert_config.json").read_text())
    config = modeling.BertConfig.from_dict(values)
    with tf.Graph().as_default(), tf.Session() as session:
        model = modeling.BertModel(
            config,
            is_training=False,
            input_ids=tf.constant(batch["input_word_ids"]),
            input_mask=tf.constant(batch["input_mask"]),
            token_type_ids=tf.constant(batch["input_type_ids"]),
        )
        positions = batch["masked_lm_positions"]
        _, _, masked_lm = run_pretraining.get_masked_lm_output(
            config,
            model.get_sequence_output(),
            model.get_embedding_table(),
            tf.constant(positions),
            tf.zeros_like(positions),
            tf.ones(positions.shape),
        )
        _, _, next_sentence = run_pretraining.get_next_sentence_output(
            config, model.get_pooled_output(), tf.zeros(len(positions), tf.int32)
        )
        tf.train.Saver().restore(session, str(checkpoint / "bert_model.ckpt"))
        return session.run(
            {
                "sequence_output": model.get_sequence_output(),
                "pooled_output": model.get_pooled_output(),
                "first_layer_output": model.get_all_encoder_layers()[0],
                "masked_lm_log_probs": tf.reshape(masked_lm, [*positions.shape, -1]),
                "next_sentence_log_probs": next_sentence,
            }
        )


def main(options):
    config = json.loads((pathlib.Path(options.checkpoint) / "bert_config.json").read_text())
    batch = inputs(config["vocab_size"], options.seed)
    found = answers(options, batch)
    np.savez_compressed(options.output, **batch, **found)
    print(f"{'array':26}{'shape':>16}{'sum':>14}{'sum of |x|':>14}")
    rows = {}
    for name, array in found.items():
        rows[name] = {"shape": array.shape, "sum": float(array.sum())}
        print(f"{name:26}{array.shape!s:>16}{array.sum():14.6f}{np.abs(array).sum():14.6f}")
    summary = {"checkpoint": pathlib.Path(options.checkpoint).name, "arrays": rows}
    target = ROOT / "benchmarks/results/golden_tf1.json"
    files.write_text(target, json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

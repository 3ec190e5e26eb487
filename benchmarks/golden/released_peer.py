"""Runs a checkpoint in the graph of google-research/bert, in an interpreter of its own.

    python -m benchmarks.golden.released_peer RELEASED_CODE CHECKPOINT EXCHANGE.npz

Run by `benchmarks/checkpoints/checkpoint_libraries.py`. The released files are unmodified; see
`benchmarks/golden/golden_tf1.py` for what is stood in for. Their `saver.restore` is total for the
graph: a variable that the checkpoint lacks is an error. Writes the answers to
EXCHANGE.npz.answers.npz.
"""

import json
import os
import sys

import numpy as np

from benchmarks.golden import golden_tf1

SCRIPTS = ("modeling", "run_pretraining", "run_classifier", "run_squad")


def exact_gelu(x):
    """The form that the released code does not have; its config takes any function."""
    import tensorflow.compat.v1 as tf

    return 0.5 * x * (1.0 + tf.math.erf(x / np.sqrt(2.0).astype(np.float32)))


def graph(released_code, config_file, exchange):
    """Builds the graph: dict from the name of an output to a tensor."""
    import tensorflow.compat.v1 as tf

    modeling, pretraining, classifier, squad = golden_tf1.released_modules(released_code, SCRIPTS)
    with open(config_file) as file:
        values = json.load(file)
    config = modeling.BertConfig.from_dict(values)
    if values["hidden_act"] == "gelu_erf":
        config.hidden_act = exact_gelu
    made = []

    class Recorded(modeling.BertModel):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    modeling.BertModel = Recorded
    names = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = [tf.constant(exchange[name]) for name in names]
    kind, found = str(exchange["kind"]), {}
    rows, length = exchange["input_mask"].shape
    if kind in ("classify", "regress", "choice"):
        labels, number = tf.zeros(rows, tf.int32), int(exchange["num_outputs"])
        answer = classifier.create_model(config, False, *inputs, labels, number, False)
        found["logits"] = answer[2]
    elif kind == "span":
        start, end = squad.create_model(config, False, *inputs, False)
        found = {"start_logits": start, "end_logits": end}
    else:
        modeling.BertModel(config, False, *inputs)
    (model,) = made
    if kind == "pretrain":
        positions = tf.tile(tf.range(length)[None], [rows, 1])
        filler = tf.zeros_like(positions), tf.ones([rows, length])
        hidden, table = model.get_sequence_output(), model.get_embedding_table()
        log_probs = pretraining.get_masked_lm_output(config, hidden, table, positions, *filler)[2]
        found["masked_lm_log_probs"] = tf.reshape(log_probs, [rows, length, -1])
        labels = tf.zeros(rows, tf.int32)
        pooled = model.get_pooled_output()
        found["next_sentence_log_probs"] = pretraining.get_next_sentence_output(
            config, pooled, labels
        )[2]
    found["sequence_output"] = model.get_sequence_output()
    found["pooled_output"] = model.get_pooled_output()
    return found


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_tensorshape()
    released_code, path, exchange_file = sys.argv[1:]
    exchange = np.load(exchange_file)
    with tf.Graph().as_default(), tf.Session() as session:
        found = graph(released_code, os.path.join(path, "bert_config.json"), exchange)
        tf.train.Saver().restore(session, os.path.join(path, "bert_model.ckpt"))
        number = len(tf.global_variables())
        np.savez(exchange_file + ".answers.npz", **session.run(found))
    print(json.dumps({"variables restored": number}))


if __name__ == "__main__":
    main()

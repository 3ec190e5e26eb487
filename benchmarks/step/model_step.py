"""How much of a training step of the model is matrix products.

    python -m benchmarks.step.model_step [--batch_size=32] [--seq_length=24] [--compiled]

Times forward and backward of a classifier (no optimizer) against its dense products alone, in
CPU seconds, which other programs on the machine disturb less than wall-clock time.
"""

import dataclasses
import json
import pathlib
import time

from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results"
VOCAB_SIZE = 30522


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    num_layers: int = option(6, "L.")
    hidden_size: int = option(384, "H; I is 4H and D is 32.")
    batch_size: int = option(32, "B.")
    seq_length: int = option(24, "T.")
    dropout: float = option(0.1, "Rate of every dropout.")
    hidden_act: str = option("gelu", "Activation.")
    compiled: bool = option(False, "Compile the step with XLA.")
    num_repeats: int = option(8, "The best of so many is reported.")


def cpu_seconds(function, num_repeats):
    """The least CPU time of one call."""
    function()
    best = float("inf")
    for _ in range(num_repeats):
        start = time.process_time()
        for _ in range(3):
            function()
        best = min(best, (time.process_time() - start) / 3)
    return best


def model_functions(options):
    """(forward, step): callables without arguments."""
    import tensorflow as tf

    from bert_tf.modeling import dropout, losses, models

    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_layers,
        num_attention_heads=options.hidden_size // 32,
        intermediate_size=4 * options.hidden_size,
        hidden_act=options.hidden_act,
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.dropout,
    )
    model = models.ClassifierModel(config, num_classes=2)
    variables = [variable.value for variable in model.trainable_variables]
    shape = (options.batch_size, options.seq_length)
    batch = {
        "input_word_ids": tf.random.uniform(shape, 0, VOCAB_SIZE, tf.int32, seed=1),
        "input_mask": tf.ones(shape, tf.int32),
        "input_type_ids": tf.zeros(shape, tf.int32),
    }
    labels, seed = tf.zeros(options.batch_size, tf.int32), tf.constant([1, 2])
    open_shapes = {name: tf.TensorSpec([None, None], tf.int32) for name in batch}

    @tf.function(jit_compile=options.compiled)
    def forward(batch):
        return model(batch)["logits"]

    def step(batch):
        with tf.GradientTape() as tape, dropout.step_seed(seed):
            total, count = losses.classification(model(batch, training=True)["logits"], labels)
            loss = total / count
        return loss, tape.gradient(loss, variables)

    signature = None if options.compiled else [open_shapes]
    step = tf.function(step, jit_compile=options.compiled, input_signature=signature)
    return lambda: forward(batch), lambda: step(batch)


def products(options):
    """The dense products of the layers: once forward, twice backward."""
    import tensorflow as tf

    rows, hidden = options.batch_size * options.seq_length, options.hidden_size
    sizes = ((hidden, 3 * hidden), (hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden))
    cases = [
        (tf.random.normal([rows, i]), tf.random.normal([i, o]), tf.random.normal([rows, o]))
        for i, o in sizes
    ]

    def forward():
        for _ in range(options.num_layers):
            for inputs, kernel, _ in cases:
                tf.matmul(inputs, kernel)

    def backward():
        for _ in range(options.num_layers):
            for inputs, kernel, outputs in cases:
                tf.matmul(outputs, kernel, transpose_b=True)
                tf.matmul(inputs, outputs, transpose_a=True)

    return forward, backward


def main(options):
    product_forward, product_backward = products(options)
    forward, step = model_functions(options)
    seconds = {
        "products, forward": cpu_seconds(product_forward, options.num_repeats),
        "products, backward": cpu_seconds(product_backward, options.num_repeats),
        "model, forward": cpu_seconds(forward, options.num_repeats),
        "model, forward and backward": cpu_seconds(step, options.num_repeats),
    }
    share = (seconds["products, forward"] + seconds["products, backward"]) / seconds[
        "model, forward and backward"
    ]
    for name, value in seconds.items():
        print(f"{name:30}{value * 1e3:10.1f} ms of CPU")
    print(f"{'share of products in the step':30}{share:10.0%}")
    name = f"model_step{'_compiled' if options.compiled else ''}.json"
    summary = {"options": dataclasses.asdict(options), "cpu_seconds": seconds, "share": share}
    files.write_text(RESULTS / name, json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

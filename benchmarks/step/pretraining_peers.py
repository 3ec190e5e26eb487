"""Pre-training steps of other libraries on one thread; a child of `pretraining_step`.

    python -m benchmarks.step.pretraining_peers '{"peer": "hf_pt", "num_layers": 4, ...}'

transformers' `BertForPreTraining` (PyTorch) computes the logits of every position and the next
sentence loss; keras-hub's `BertMaskedLM` those of the predictions, and no next sentence loss.
All clip to a global norm of 1 and update with AdamW.
"""

import json
import sys

from benchmarks.turns import Turns


def batch(sizes):
    """Random full rows: dict of NumPy arrays."""
    import numpy as np

    rng = np.random.default_rng(3)
    rows, slots = (sizes["batch_size"], sizes["T"]), (sizes["batch_size"], sizes["P"])
    places = np.tile(np.arange(1, sizes["T"] - 1), (sizes["batch_size"], 1))
    return {
        "ids": rng.integers(5, sizes["V"], rows),
        "types": np.tile(np.arange(sizes["T"]) // (sizes["T"] // 2), (rows[0], 1)),
        "positions": np.sort(rng.permuted(places, axis=1)[:, : sizes["P"]], axis=1),
        "labels": rng.integers(5, sizes["V"], slots),
        "next": rng.integers(0, 2, rows[0]),
    }


def transformers_step(sizes):
    """(callable that makes an update, callable that multiplies)."""
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=sizes["V"],
        hidden_size=sizes["H"],
        num_hidden_layers=sizes["num_layers"],
        num_attention_heads=sizes["H"] // 64,
        intermediate_size=4 * sizes["H"],
    )
    model = transformers.BertForPreTraining(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    values = {name: torch.tensor(value) for name, value in batch(sizes).items()}
    labels = torch.full(values["ids"].shape, -100)
    labels.scatter_(1, values["positions"], values["labels"])
    factors = torch.randn(2, 2048, 2048)

    def step():
        loss = model(
            input_ids=values["ids"],
            attention_mask=torch.ones_like(values["ids"]),
            token_type_ids=values["types"],
            labels=labels,
            next_sentence_label=values["next"],
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    return step, lambda: torch.mm(factors[0], factors[1])


def keras_hub_step(sizes, compiled):
    """As `transformers_step`."""
    import keras
    import keras_hub
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=sizes["V"],
        num_layers=sizes["num_layers"],
        num_heads=sizes["H"] // 64,
        hidden_dim=sizes["H"],
        intermediate_dim=4 * sizes["H"],
    )
    model = keras_hub.models.BertMaskedLM(backbone)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=compiled,
    )
    values = {name: value.astype(np.int32) for name, value in batch(sizes).items()}
    inputs = {
        "token_ids": values["ids"],
        "segment_ids": values["types"],
        "padding_mask": np.ones_like(values["ids"]),
        "mask_positions": values["positions"],
    }
    factors = tf.random.normal([2, 2048, 2048])
    return (
        lambda: model.train_on_batch(inputs, values["labels"]),
        lambda: tf.matmul(factors[0], factors[1]),
    )


def main():
    sizes = json.loads(sys.argv[1])
    peer = sizes.pop("peer")
    if peer == "hf_pt":
        step, gemm = transformers_step(sizes)
    else:
        step, gemm = keras_hub_step(sizes, compiled=peer == "kh_jit")
    turns = Turns(gemm)
    while True:
        step()
        turns.advance(1)


if __name__ == "__main__":
    main()

"""keras-hub in an interpreter of its own; run by `golden_keras_hub.py`.

The one argument is a JSON object. `do` is "make": builds small random models, saves each as a
preset into `folder`/NAME/ and its answers to `folder`/inputs.npz into NAME/answers.npz. Or `do`
is "answer": loads the preset `checkpoint` with `from_preset` and writes its answers to `inputs`
into `output`.
"""

import json
import pathlib
import sys

import keras
import keras_hub
import numpy as np

SHARD = 1.2e-5  # of a gigabyte, so that a small model has several
CLASSES = {
    "pretrain": keras_hub.models.BertMaskedLM,
    "classify": keras_hub.models.BertTextClassifier,
    "regress": keras_hub.models.BertTextClassifier,
    "encoder": keras_hub.models.BertBackbone,
}


def backbone(config, layers, dtype="float32"):
    return keras_hub.models.BertBackbone(
        vocabulary_size=config["vocab_size"],
        num_layers=layers,
        num_heads=config["num_attention_heads"],
        hidden_dim=config["hidden_size"],
        intermediate_dim=config["intermediate_size"],
        max_sequence_length=config["max_position_embeddings"],
        num_segments=config["type_vocab_size"],
        dtype=dtype,
    )


def randomize(model, seed=3):
    """Gives every weight values far from the initial ones."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        centre = 1.0 if weight.path.endswith("gamma") else 0.0
        weight.assign(rng.normal(centre, 0.2, weight.shape))
    return model


def make(task):
    """Presets of every kind; one in shards, one in bfloat16, one after a step of training."""
    folder = pathlib.Path(task["folder"])
    config = json.loads((folder / "bert_config.json").read_text())
    tokenizer = keras_hub.models.BertTokenizer(str(folder / "vocab.txt"), lowercase=True)
    length = config["max_position_embeddings"]
    masked_lm = keras_hub.models.BertMaskedLM(
        backbone(config, layers=1),
        preprocessor=keras_hub.models.BertMaskedLMPreprocessor(tokenizer, sequence_length=length),
    )
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=length
    )

    def classifier(num_classes):
        return randomize(
            keras_hub.models.BertTextClassifier(
                backbone(config, layers=2), num_classes=num_classes, preprocessor=preprocessor
            )
        )

    trained = classifier(5)
    trained.fit(x=["a b c", "d e"], y=np.array([1, 4]), verbose=0)
    for name, kind, model, shard in (
        ("masked-lm", "pretrain", randomize(masked_lm), 10),
        ("classifier", "classify", classifier(5), SHARD),
        ("regressor", "regress", classifier(1), 10),
        ("classifier-trained", "classify", trained, 10),
        ("encoder", "encoder", randomize(backbone(config, layers=3)), 10),
        ("encoder-bfloat16", "encoder", randomize(backbone(config, 3, "bfloat16")), 10),
    ):
        preset = folder / name
        model.save_to_preset(str(preset), max_shard_size=shard)
        if kind == "encoder":
            tokenizer.save_to_preset(str(preset))
        found = answers(preset, kind, dict(np.load(folder / "inputs.npz")))
        np.savez(preset / "answers.npz", **found)


def answers(preset, kind, batch):
    """What the preset answers in float32."""
    model = CLASSES[kind].from_preset(str(preset), dtype="float32")
    inputs = {
        "token_ids": batch["input_word_ids"],
        "segment_ids": batch["input_type_ids"],
        "padding_mask": batch["input_mask"],
    }
    encoder = model if kind == "encoder" else model.backbone
    found = dict(encoder(inputs))
    if kind == "pretrain":
        positions = {"mask_positions": batch["masked_lm_positions"]}
        found["masked_lm"] = model(inputs | positions)
    elif kind != "encoder":
        found["logits"] = model(inputs)
    return {name: keras.ops.convert_to_numpy(array) for name, array in found.items()}


def tokens(preset, text):
    """Its tokenizer's ids of a text."""
    tokenizer = keras_hub.models.BertTokenizer.from_preset(str(preset))
    return [int(one) for one in tokenizer(text)]


def main(task):
    if task["do"] == "make":
        make(task)
        return
    batch = dict(np.load(task["inputs"]))
    found = answers(task["checkpoint"], task["kind"], batch)
    np.savez(task["output"], **found)
    print(json.dumps({"tokens": tokens(task["checkpoint"], task["text"])}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

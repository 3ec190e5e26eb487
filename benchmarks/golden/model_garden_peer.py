"""TF Model Garden in an interpreter of its own; run by `golden_model_garden.py`.

The one argument is a JSON object. `do` is "make": builds each model small and random, saves it
into `folder`/NAME/ and its answers to `folder`/inputs.npz into NAME/answers.npz. Or `do` is
"answer": restores `checkpoint` into the same models of the bert_config.json beside it, as Model
Garden's own code does, and writes their answers to `inputs` into `output`. Or `do` is "convert":
runs Model Garden's converter on the TensorFlow 1 `checkpoint`, with each of its tables.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras
from official.legacy.bert import configs
from official.modeling import tf_utils
from official.nlp.modeling import layers, models, networks
from official.nlp.tools import tf1_bert_checkpoint_converter_lib as converter

# The exact form has no name in bert_config.json; Keras knows it under this one.
EXACT = {"gelu_erf": "gelu"}


class Maker:
    """Models of Model Garden for a bert_config.json."""

    def __init__(self, config_file):
        self.config = configs.BertConfig.from_json_file(str(config_file))
        act = self.config.hidden_act
        self._act = tf_keras.activations.get(EXACT.get(act) or tf_utils.get_activation(act))

    def encoder(self, kind=networks.BertEncoder):
        config = self.config
        encoder = kind(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            num_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            max_sequence_length=config.max_position_embeddings,
            type_vocab_size=config.type_vocab_size,
            inner_dim=config.intermediate_size,
            inner_activation=self._act,
            dict_outputs=True,
        )
        encoder(encoder.inputs)
        return encoder

    def pretrainer(self, kind=networks.BertEncoder, has_next_sentence=True):
        head = layers.ClassificationHead(self.config.hidden_size, 2, name="next_sentence")
        heads = [head] if has_next_sentence else []
        made = models.BertPretrainerV2(
            self.encoder(kind), mlm_activation=self._act, classification_heads=heads
        )
        made(made.inputs)
        return made

    def classifier(self, kind=networks.BertEncoder, num_classes=3, use_encoder_pooler=True):
        return models.BertClassifier(
            self.encoder(kind), num_classes, use_encoder_pooler=use_encoder_pooler
        )

    def span(self, kind=networks.BertEncoder):
        return models.BertSpanLabeler(self.encoder(kind))

    def tag(self, kind=networks.BertEncoder, num_classes=3):
        return models.BertTokenClassifier(self.encoder(kind), num_classes)


def randomize(model, seed):
    """Gives every variable values that show where they went: none is a constant."""
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        values = rng.normal(0.0, 0.25, variable.shape)
        variable.assign(values + ("gamma" in variable.name))


def answers(model, batch):
    """What a model of any kind answers: dict of arrays."""
    inputs = {name: tf.constant(batch[name]) for name in batch}
    encoder_inputs = {name: inputs[name] for name in inputs if name.startswith("input_")}
    if isinstance(model, models.BertPretrainerV2):
        found = model(inputs)
        kept = {"sequence_output": found["sequence_output"], "masked_lm": found["mlm_logits"]}
        if model.classification_heads:
            kept["next_sentence"] = found["next_sentence"]
        return as_arrays(kept)
    found = model(encoder_inputs)
    if isinstance(model, models.BertSpanLabeler):
        return as_arrays(dict(zip(("start", "end"), found, strict=True)))
    if isinstance(found, dict):
        found.pop("encoder_outputs", None)
        return as_arrays(found)
    return as_arrays({"logits": found})


def as_arrays(tensors):
    return {name: np.asarray(tensor) for name, tensor in tensors.items()}


def train(model):
    """One step of an optimizer, whose slots then are in what is saved."""
    optimizer = tf_keras.optimizers.legacy.Adam(1e-6)
    ids = tf.ones((1, 5), tf.int32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model([ids, ids, ids]))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return optimizer


def makes(maker):
    """Name, model and what its checkpoint holds, of everything that is saved."""
    for version, kind in (("v1", networks.BertEncoder), ("v2", networks.BertEncoderV2)):
        encoder = maker.encoder(kind)
        yield f"encoder-{version}", encoder, {"encoder": encoder}
        encoder = maker.encoder(kind)
        yield f"encoder-as-model-{version}", encoder, {"model": encoder}
        pretrainer = maker.pretrainer(kind)
        items = {"model": pretrainer, **pretrainer.checkpoint_items}
        yield f"pretrainer-{version}", pretrainer, items
        pretrainer = maker.pretrainer(kind)
        yield f"pretrainer-as-model-{version}", pretrainer, {"model": pretrainer}
        for pooler in (True, False):
            classifier = maker.classifier(kind, use_encoder_pooler=pooler)
            items = classifier.checkpoint_items if not pooler else {"encoder": classifier._network}
            name = f"classifier-{'shared' if pooler else 'own'}-pooler-{version}"
            yield name, classifier, {"model": classifier, **items}
        for name in ("span", "tag"):
            model = getattr(maker, name)(kind)
            yield f"{name}-{version}", model, {"model": model, **model.checkpoint_items}
    pretrainer = maker.pretrainer(has_next_sentence=False)
    yield "pretrainer-items-only", pretrainer, pretrainer.checkpoint_items
    classifier = maker.classifier()
    yield "classifier-trained", classifier, {"model": classifier, "optimizer": None}


def make(task):
    folder = pathlib.Path(task["folder"])
    maker = Maker(folder / "bert_config.json")
    batch = dict(np.load(folder / "inputs.npz"))
    for seed, (name, model, items) in enumerate(makes(maker)):
        randomize(model, seed)
        if "optimizer" in items:
            items["optimizer"] = train(model)
        target = folder / name
        target.mkdir()
        with tempfile.TemporaryDirectory() as temporary:
            saved = tf.train.Checkpoint(**items).save(f"{temporary}/ckpt")
            for path in pathlib.Path(temporary).glob(f"{pathlib.Path(saved).name}.*"):
                shutil.copy(path, target / path.name.replace("ckpt-1", "bert_model.ckpt"))
        shutil.copy(folder / "bert_config.json", target)
        np.savez_compressed(target / "answers.npz", **answers(model, batch))


def restored(task):
    """The model that a checkpoint is restored into, and every way that it was."""
    checkpoint, kind = pathlib.Path(task["checkpoint"]), task["kind"]
    maker, path = Maker(checkpoint / "bert_config.json"), str(checkpoint / "bert_model.ckpt")
    done = []

    def restore(how, check="assert_consumed", **items):
        getattr(tf.train.Checkpoint(**items).restore(path), check)()
        done.append(f"{how}: {check}")

    for encoder_kind in (networks.BertEncoderV2, networks.BertEncoder):
        check = "assert_consumed" if kind == "encoder" else "assert_existing_objects_matched"
        for root in ("encoder", "model") if kind == "encoder" else ("encoder",):
            encoder = maker.encoder(encoder_kind)
            restore(f"{root}={encoder_kind.__name__}", check, **{root: encoder})
        if kind == "encoder":
            model = encoder
        elif kind == "pretrain":
            model = maker.pretrainer(encoder_kind)
            items = model.checkpoint_items
            restore("BertPretrainerV2.checkpoint_items", "assert_existing_objects_matched", **items)
            model = maker.pretrainer(encoder_kind)
            restore(f"model=BertPretrainerV2({encoder_kind.__name__})", model=model)
        elif kind == "classify":
            model = maker.classifier(encoder_kind, task["num_outputs"], use_encoder_pooler=False)
            restore("BertClassifier, own pooler", model=model)
            model = maker.classifier(encoder_kind, task["num_outputs"])
            restore("BertClassifier", "assert_existing_objects_matched", model=model)
        elif kind == "tag":
            model = maker.tag(encoder_kind, task["num_outputs"])
            restore("BertTokenClassifier", model=model)
        else:
            model = maker.span(encoder_kind)
            restore("BertSpanLabeler", model=model)
    return model, done


def restored_by_name(task):
    """The same for a name-based checkpoint, through Model Garden's own converter to today's."""
    checkpoint = pathlib.Path(task["checkpoint"])
    maker = Maker(checkpoint / "bert_config.json")
    # None of its pre-training models has both heads under the names of the converter.
    has_heads = task["kind"] == "pretrain"
    model = maker.pretrainer(has_next_sentence=False) if has_heads else maker.encoder()
    with tempfile.TemporaryDirectory() as temporary:
        path = str(checkpoint / "bert_model.ckpt")
        converter.create_v2_checkpoint(model, path, f"{temporary}/ckpt", "model")
    return model, ["load_weights: assert_existing_objects_matched"]


def convert(task):
    checkpoint, folder = pathlib.Path(task["checkpoint"]), pathlib.Path(task["folder"])
    config = json.loads((checkpoint / "bert_config.json").read_text())
    tables = {
        "converted": (converter.BERT_V2_NAME_REPLACEMENTS, converter.BERT_V2_PERMUTATIONS, True),
        "converted-2019": (converter.BERT_NAME_REPLACEMENTS, converter.BERT_PERMUTATIONS, False),
    }
    for name, (replacements, permutations, has_heads) in tables.items():
        converter.convert(
            str(checkpoint / "bert_model.ckpt"),
            str(folder / name / "bert_model.ckpt"),
            config["num_attention_heads"] if has_heads else -1,
            replacements,
            permutations,
            ["adam", "Adam"],
        )
        shutil.copy(checkpoint / "bert_config.json", folder / name)


def main():
    task = json.loads(sys.argv[1])
    if task["do"] != "answer":
        {"make": make, "convert": convert}[task["do"]](task)
        return
    batch = dict(np.load(task["inputs"]))
    model, done = (restored_by_name if task["by_name"] else restored)(task)
    np.savez_compressed(task["output"], **answers(model, batch))
    print(json.dumps(done))


if __name__ == "__main__":
    main()

"""The owners of TensorFlow Hub's formats in an interpreter; run by `golden_tf_hub.py`.

The one argument is a JSON object. Exports small random encoders into `folder`/NAME/ and what the
exports answer to `folder`/inputs.npz into NAME.npz: SavedModels with Model Garden's
`export_tfhub_lib`, modules of TensorFlow 1 with the released code over the TensorFlow 1 interface
and with tensorflow-hub.
"""

import json
import pathlib
import sys
import types

import numpy as np
import tensorflow as tf

from benchmarks.golden import golden_tf1

SIGNATURES = {
    "input_word_ids": "input_ids",
    "input_mask": "input_mask",
    "input_type_ids": "segment_ids",
}


def randomize(variables, seed=3):
    """Gives every variable values far from the initial ones."""
    rng = np.random.default_rng(seed)
    for variable in variables:
        centre = 1.0 if "gamma" in variable.name else 0.0
        yield variable, rng.normal(centre, 0.2, variable.shape).astype(np.float32)


def export_encoders(folder, values, batch):
    """A SavedModel with a masked LM, one without, and one with ReLU."""
    from official.legacy.bert import configs
    from official.nlp.tools import export_tfhub_lib as exporter

    for name, with_mlm, changes in (
        ("with-mlm", True, {"num_hidden_layers": 1}),
        ("encoder", False, {}),
        ("relu", False, {"hidden_act": "relu"}),
    ):
        config = configs.BertConfig.from_dict(values | changes)
        _, model = exporter._create_model(bert_config=config, with_mlm=with_mlm)
        for variable, value in randomize(model.variables):
            variable.assign(value)
        items = model.checkpoint_items if with_mlm else {"encoder": model, "model": model}
        saved = tf.train.Checkpoint(**items).save(str(folder / f"{name}.checkpoint/saved"))
        exporter.export_model(
            str(folder / name),
            bert_config=config,
            model_checkpoint_path=saved,
            with_mlm=with_mlm,
            vocab_file=str(folder / "vocab.txt"),
            do_lower_case=name == "encoder",
        )
        loaded = tf.saved_model.load(str(folder / name))
        inputs = {key: tf.constant(array) for key, array in batch.items()}
        positions = inputs.pop("masked_lm_positions")
        outputs = loaded(inputs)
        if with_mlm:
            outputs["masked_lm"] = loaded.mlm(inputs | {"masked_lm_positions": positions})[
                "mlm_logits"
            ]
        keep = ("sequence_output", "pooled_output", "masked_lm")
        found = {key: outputs[key].numpy() for key in keep if key in outputs}
        np.savez(folder / f"{name}.npz", **found)


def import_hub():
    """tensorflow_hub, whose 0.15 wants two classes of estimators that TensorFlow lost."""
    estimator = types.ModuleType("tensorflow.compat.v1.estimator")
    estimator.Exporter = estimator.LatestExporter = object
    sys.modules[estimator.__name__] = estimator
    tf.compat.v1.estimator = tf._api.v2.compat.v1.estimator = estimator
    import tensorflow_hub

    return tensorflow_hub


def export_module(folder, released_code, values, batch):
    """A module of TensorFlow 1 with the signatures of the released ones, and a masked LM."""
    hub, v1 = import_hub(), tf.compat.v1
    modeling, run_pretraining = golden_tf1.released_modules(released_code)
    config = modeling.BertConfig.from_dict(values)

    def module():
        inputs = {
            theirs: v1.placeholder(tf.int32, [None, None], theirs) for theirs in SIGNATURES.values()
        }
        model = modeling.BertModel(
            config,
            is_training=False,
            input_ids=inputs["input_ids"],
            input_mask=inputs["input_mask"],
            token_type_ids=inputs["segment_ids"],
        )
        outputs = {
            "sequence_output": model.get_sequence_output(),
            "pooled_output": model.get_pooled_output(),
        }
        positions = v1.placeholder(tf.int32, [None, None], "mlm_positions")
        _, _, log_probs = run_pretraining.get_masked_lm_output(
            config,
            model.get_sequence_output(),
            model.get_embedding_table(),
            positions,
            tf.zeros_like(positions),
            tf.ones_like(positions, tf.float32),
        )
        hub.add_signature("tokens", inputs, outputs)
        masked = inputs | {"mlm_positions": positions}
        hub.add_signature("mlm", masked, outputs | {"mlm_log_probs": log_probs})
        file = v1.constant(str(folder / "vocab.txt"), name="vocab_file")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, file)
        told = {"vocab_file": file, "do_lower_case": v1.constant(True)}
        hub.add_signature("tokenization_info", {}, told)

    target = str(folder / "module")
    with v1.Graph().as_default(), v1.Session() as session:
        made = hub.Module(hub.create_module_spec(module))
        for variable, value in randomize(v1.global_variables()):
            variable.load(value, session)
        made.export(target, session)
    with v1.Graph().as_default(), v1.Session() as session:
        inputs = {theirs: tf.constant(batch[ours]) for ours, theirs in SIGNATURES.items()}
        inputs["mlm_positions"] = tf.constant(batch["masked_lm_positions"])
        outputs = hub.Module(target)(inputs, signature="mlm", as_dict=True)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        np.savez(folder / "module.npz", **session.run(outputs))


def main(task):
    folder = pathlib.Path(task["folder"])
    values = json.loads((folder / "bert_config.json").read_text())
    batch = dict(np.load(folder / "inputs.npz"))
    export_encoders(folder, values, batch)
    export_module(folder, task["released_code"], values, batch)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

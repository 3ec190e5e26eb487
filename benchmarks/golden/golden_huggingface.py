"""Records what Hugging Face transformers computes with every head that BERT has there.

    python -m benchmarks.golden.golden_huggingface

Needs torch and transformers, and none of our requirements. One small encoder of random weights
serves all classes; each is saved by transformers itself, and what it saved (names, weights,
config.json) goes into the file beside its inputs and outputs. The golden test writes the
checkpoints anew from it, loads them and compares.
"""

import argparse
import json
import pathlib
import tempfile

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).parents[2]
LENGTHS = (13, 11, 7, 2)  # real tokens of each row; the rest is padding
NUM_CHOICES = 2
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")

SIZES = {
    "vocab_size": 101,
    "hidden_size": 21,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 37,
    "max_position_embeddings": 17,
}
LABELLED = {"id2label": dict(enumerate(LABELS)), "label2id": {x: i for i, x in enumerate(LABELS)}}

# Name of the case, class, what its config has beside the sizes, outputs by our names.
CASES = (
    ("encoder", "BertModel", {}, {}),
    ("encoder_tanh_gelu", "BertModel", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5}, {}),
    (
        "pretraining",
        "BertForPreTraining",
        {},
        {
            "masked_lm_logits": "prediction_logits",
            "next_sentence_logits": "seq_relationship_logits",
        },
    ),
    ("masked_lm", "BertForMaskedLM", {}, {"masked_lm_logits": "logits"}),
    ("left_to_right", "BertLMHeadModel", {"is_decoder": True}, {"masked_lm_logits": "logits"}),
    ("next_sentence", "BertForNextSentencePrediction", {}, {"next_sentence_logits": "logits"}),
    ("classify", "BertForSequenceClassification", LABELLED, {"logits": "logits"}),
    (
        "regress",
        "BertForSequenceClassification",
        {"num_labels": 1, "problem_type": "regression"},
        {"logits": "logits"},
    ),
    ("tag", "BertForTokenClassification", LABELLED, {"logits": "logits"}),
    (
        "span",
        "BertForQuestionAnswering",
        {},
        {"start_logits": "start_logits", "end_logits": "end_logits"},
    ),
    ("choice", "BertForMultipleChoice", {}, {"logits": "logits"}),
)


def inputs(seed):
    """A batch with padding and both types, under our names."""
    rng = np.random.default_rng(seed)
    shape = (len(LENGTHS), max(LENGTHS))
    mask = (np.arange(shape[1]) < np.array(LENGTHS)[:, None]).astype(np.int64)
    return {
        "input_word_ids": rng.integers(1, SIZES["vocab_size"], shape) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, 2, shape) * mask,
    }


def randomized(model, pool):
    """Gives a model the weights of `pool`, which gets those that it lacks."""
    for name, value in model.state_dict(keep_vars=True).items():
        if not isinstance(value, torch.nn.Parameter):
            continue
        name = name if name.startswith(("bert.", "cls.")) else f"{type(model).__name__}:{name}"
        name = name.replace("BertModel:", "bert.").replace("decoder.bias", "bias")
        key = (name, tuple(value.shape))
        if key not in pool:
            generator = torch.Generator().manual_seed(len(pool))
            centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            pool[key] = torch.randn(value.shape, generator=generator) * 0.2 + centre
        with torch.no_grad():
            value.copy_(pool[key])
    model.tie_weights()
    return model.eval()


def answers(case, batch, pool):
    """(dict of arrays for the file, outputs that were recorded)."""
    name, class_name, changes, outputs = case
    config = transformers.BertConfig(**SIZES, **changes)
    model = randomized(getattr(transformers, class_name)(config), pool)
    tensors = {
        "input_ids": torch.tensor(batch["input_word_ids"]),
        "attention_mask": torch.tensor(batch["input_mask"]),
        "token_type_ids": torch.tensor(batch["input_type_ids"]),
    }
    base = getattr(model, "bert", model)
    with torch.no_grad():
        encoded = base(**tensors)
        found = {"sequence_output": encoded.last_hidden_state}
        if base.pooler is not None:
            found["pooled_output"] = encoded.pooler_output
        if name == "choice":
            tensors = {n: x.view(-1, NUM_CHOICES, x.shape[1]) for n, x in tensors.items()}
        answer = model(**tensors)
    found |= {ours: getattr(answer, theirs) for ours, theirs in outputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        weights = load_file(pathlib.Path(folder) / "model.safetensors")
        text = (pathlib.Path(folder) / "config.json").read_text()
    recorded = {f"{name}/outputs/{n}": value.numpy() for n, value in found.items()}
    return recorded, weights, text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default=ROOT / "tests/golden/huggingface.npz")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    batch, pool, arrays, described, stored = inputs(arguments.seed), {}, {}, {}, {}
    for case in CASES:
        recorded, weights, text = answers(case, batch, pool)
        arrays |= recorded
        places = {}
        for name, array in weights.items():  # each array once, whichever cases have it
            key = next((k for k, x in stored.items() if np.array_equal(x, array)), None)
            if key is None:
                key = f"weights/{len(stored)}"
                stored[key] = array
            places[name] = key
        described[case[0]] = {"config": json.loads(text), "weights": places}
        print(f"{case[0]:20}{case[1]:32}{len(weights):4} arrays")
    text = np.array(json.dumps(described))
    np.savez_compressed(arguments.output, described=text, **batch, **arrays, **stored)
    size = pathlib.Path(arguments.output).stat().st_size
    summary = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "bytes": size,
        "cases": {name: len(d["weights"]) for name, d in described.items()},
    }
    target = ROOT / "benchmarks/results/golden_huggingface.json"
    target.write_text(json.dumps(summary, indent=2) + "\n")
    print(f"{size} bytes, transformers {transformers.__version__}")


if __name__ == "__main__":
    main()

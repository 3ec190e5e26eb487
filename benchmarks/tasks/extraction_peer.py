"""What benchmarks/tasks/extraction.py compares us with: vectors of texts by transformers.

Runs in an interpreter with torch and transformers. Flags and output are extract_features.py's.
"""

import argparse
import pathlib

import numpy as np
import torch
import transformers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("input_file", "output_file", "init_checkpoint", "layers", "pooling"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--batch_size", type=int, required=True)
    parser.add_argument("--max_seq_length", type=int, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.BertTokenizerFast.from_pretrained(arguments.init_checkpoint)
    model = transformers.BertModel.from_pretrained(arguments.init_checkpoint).eval()
    texts = pathlib.Path(arguments.input_file).read_text(encoding="utf-8").splitlines()
    rows = tokenizer(texts, truncation=True, max_length=arguments.max_seq_length)["input_ids"]
    layers = [int(layer) for layer in arguments.layers.split(",")]
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    vectors = [None] * len(rows)
    for start in range(0, len(order), arguments.batch_size):
        indices = order[start : start + arguments.batch_size]
        for index, found in zip(
            indices,
            extract(model, [rows[i] for i in indices], layers, arguments.pooling),
            strict=True,
        ):
            vectors[index] = found
    join = np.stack if arguments.pooling == "mean" else np.concatenate
    np.savez(arguments.output_file, values=join(vectors))


@torch.inference_mode()
def extract(model, rows, layers, pooling):
    """For each row [T N H], or [N H]."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    outputs = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    chosen = torch.stack([outputs.hidden_states[layer] for layer in layers], dim=2)  # [B T N H]
    if pooling == "mean":
        real = mask[:, :, None, None].float()
        return ((chosen * real).sum(dim=1) / real.sum(dim=1)).numpy()
    return [x[: len(row)].numpy() for x, row in zip(chosen, rows, strict=True)]


if __name__ == "__main__":
    main()

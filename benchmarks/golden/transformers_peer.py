"""Runs a checkpoint in Hugging Face transformers, in an interpreter of its own.

    python benchmarks/golden/transformers_peer.py CHECKPOINT EXCHANGE.npz

Run by `benchmarks/checkpoints/checkpoint_libraries.py`. Writes what the model answers to
EXCHANGE.npz.answers and prints what was missing or unexpected in the checkpoint, and the ids of
the texts, as JSON.
"""

import json
import sys

import numpy as np
import torch
import transformers

OUTPUTS = {
    "BertForPreTraining": {
        "masked_lm_logits": "prediction_logits",
        "next_sentence_logits": "seq_relationship_logits",
    },
    "BertForMaskedLM": {"masked_lm_logits": "logits"},
    "BertForQuestionAnswering": {"start_logits": "start_logits", "end_logits": "end_logits"},
    "BertModel": {},
}


def main():
    transformers.logging.set_verbosity_error()
    path, exchange = sys.argv[1:]
    batch = np.load(exchange)
    name = transformers.AutoConfig.from_pretrained(path).architectures[0]
    model, info = getattr(transformers, name).from_pretrained(path, output_loading_info=True)
    model.eval()
    tensors = {
        "input_ids": torch.tensor(batch["input_word_ids"].astype(np.int64)),
        "attention_mask": torch.tensor(batch["input_mask"].astype(np.int64)),
        "token_type_ids": torch.tensor(batch["input_type_ids"].astype(np.int64)),
    }
    base = getattr(model, "bert", model)
    with torch.no_grad():
        encoded = base(**tensors)
        found = {"sequence_output": encoded.last_hidden_state}
        if base.pooler is not None:
            found["pooled_output"] = encoded.pooler_output
        if name == "BertForMultipleChoice":
            tensors = {key: value[None] for key, value in tensors.items()}
        answer = model(**tensors)
    for ours, theirs in OUTPUTS.get(name, {"logits": "logits"}).items():
        found[ours] = getattr(answer, theirs)
    np.savez(exchange + ".answers.npz", **{key: value.numpy() for key, value in found.items()})
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    texts = json.loads(str(batch["texts"]))
    report = {
        "class": name,
        "missing": sorted(info["missing_keys"]),
        "unexpected": sorted(info["unexpected_keys"]),
        "mismatched": sorted(info["mismatched_keys"]),
        "tokenizer": type(tokenizer).__name__,
        "ids": [tokenizer(text, add_special_tokens=False).input_ids for text in texts],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

"""The peer of run_classifier.py on SST-2: transformers with the same weights, rows and settings.

Runs in an environment of its own (torch and transformers, requirements-benchmarks.txt):

    python benchmarks/tasks/finetune_transformers.py --model=DIR --data_dir=SST-2 --seed=1

Batches are cut into length-sorted micro-batches of equal size, which spares the peer most padding;
bert_tf chooses where to cut and spares a little more. Speed counts the training steps alone.
"""

import argparse
import csv
import json
import pathlib
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="Hugging Face directory")
    parser.add_argument("--data_dir", required=True, help="holds train.tsv and dev.tsv of SST-2")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--micro_batches", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", default="benchmarks/results/finetune_transformers.jsonl")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForSequenceClassification.from_pretrained(arguments.model, num_labels=2)
    train_set = read(pathlib.Path(arguments.data_dir, "train.tsv"), tokenizer)[: arguments.rows]
    dev_set = read(pathlib.Path(arguments.data_dir, "dev.tsv"), tokenizer)
    started, cpu = time.perf_counter(), time.process_time()
    train(model, train_set, arguments)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    result = vars(arguments) | {
        "model": pathlib.Path(arguments.model).name,
        "data_dir": pathlib.Path(arguments.data_dir).name,
        "accuracy": accuracy(model, dev_set),
        "examples_per_second": len(train_set) / seconds,
        "examples_per_cpu_second": len(train_set) / cpu_seconds,
    }
    result.pop("results")
    print(json.dumps(result, indent=1))
    with open(arguments.results, "a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def read(path, tokenizer):
    """list of (ids, label)."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = [row["sentence"] for row in rows]
    ids = tokenizer(texts, truncation=True, max_length=128)["input_ids"]
    return list(zip(ids, (int(row["label"]) for row in rows), strict=True))


def train(model, rows, arguments):
    """One epoch; AdamW without decay of vectors, warm-up over a tenth, linear decay, clip 1."""
    steps = -(-len(rows) // arguments.batch_size)
    warmup = int(0.1 * steps)
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": 0.01},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=arguments.learning_rate, eps=1e-6)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / warmup, (steps - n) / (steps + 1 - warmup))
    )
    model.train()
    order = torch.randperm(len(rows)).tolist()
    for first in range(0, len(order), arguments.batch_size):
        batch = order[first : first + arguments.batch_size]
        by_length = sorted(batch, key=lambda i: len(rows[i][0]))
        size = -(-len(by_length) // arguments.micro_batches)
        for start in range(0, len(by_length), size):
            micro_batch = [rows[i] for i in by_length[start : start + size]]
            inputs, labels = padded(micro_batch)
            loss = model(**inputs, labels=labels).loss * len(micro_batch) / len(batch)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def padded(rows):
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in rows])
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in rows])
    return {"input_ids": ids, "attention_mask": mask}, torch.tensor([label for _, label in rows])


@torch.no_grad()
def accuracy(model, rows):
    model.eval()
    rows = sorted(rows, key=lambda row: len(row[0]))
    hits = 0
    for start in range(0, len(rows), 32):
        inputs, labels = padded(rows[start : start + 32])
        hits += int((model(**inputs).logits.argmax(-1) == labels).sum())
    return hits / len(rows)


if __name__ == "__main__":
    main()

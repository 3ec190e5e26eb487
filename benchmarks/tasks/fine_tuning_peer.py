"""The peer of benchmarks/tasks: transformers fine-tunes and answers the dev set.

Runs in an interpreter with torch and transformers (requirements-benchmarks.txt), on one thread,
with AdamW, warm-up over a tenth, linear decay to 0, clip 1.0 and dropout 0.1. A batch is cut into
micro-batches of examples of similar length, whose gradients are summed, which spares the peer
padding.

--data_dir holds train.jsonl and dev.jsonl, each line with "label" and either "text_a" and perhaps
"text_b", or "context" and "choices". --output_file gets the logits of the dev set, in its order.
"""

import argparse
import json
import pathlib

import torch
import transformers

MODELS = {
    "sentences": transformers.AutoModelForSequenceClassification,
    "choices": transformers.AutoModelForMultipleChoice,
}
EVAL_BATCH_SIZE = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", required=True, choices=MODELS)
    for name in ("data_dir", "init_checkpoint", "output_file"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("random_seed", "num_train_epochs", "train_batch_size", "max_seq_length"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--num_labels", type=int, default=2, help="1: regression")
    parser.add_argument("--num_micro_batches", type=int, default=4)
    parser.add_argument("--max_train_examples", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.random_seed)
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.init_checkpoint)
    labels = {"num_labels": arguments.num_labels} if arguments.kind == "sentences" else {}
    model = MODELS[arguments.kind].from_pretrained(arguments.init_checkpoint, **labels)
    folder = pathlib.Path(arguments.data_dir)
    examples = read(folder / "train.jsonl", tokenizer, arguments)
    train(model, examples[: arguments.max_train_examples], arguments)
    logits = answers(model, read(folder / "dev.jsonl", tokenizer, arguments), arguments)
    pathlib.Path(arguments.output_file).write_text(json.dumps(logits))


def read(path, tokenizer, arguments):
    """list of (rows, label); an example has one row, or one for each of its choices."""
    examples = []
    for line in path.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        choices = example.get("choices", [example.get("text_b")])
        firsts = [example.get("context", example.get("text_a"))] * len(choices)
        rows = tokenizer(
            firsts,
            None if choices == [None] else choices,
            truncation="longest_first",
            max_length=arguments.max_seq_length,
        )
        rows = list(zip(rows["input_ids"], rows["token_type_ids"], strict=True))
        examples.append((rows, example["label"]))
    return examples


def train(model, examples, arguments):
    """AdamW without decay of vectors."""
    size = arguments.train_batch_size
    steps = -(-len(examples) // size) * arguments.num_train_epochs
    warmup = max(1, int(0.1 * steps))
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
    for _ in range(arguments.num_train_epochs):
        order = torch.randperm(len(examples)).tolist()
        for first in range(0, len(order), size):
            backward(model, [examples[i] for i in order[first : first + size]], arguments)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


def backward(model, batch, arguments):
    """Adds the gradients of the mean loss."""
    batch = sorted(batch, key=longest)
    size = -(-len(batch) // arguments.num_micro_batches)
    for start in range(0, len(batch), size):
        inputs, labels = padded(batch[start : start + size], arguments)
        loss = model(**inputs, labels=labels).loss * len(labels) / len(batch)
        loss.backward()


def longest(example):
    return max(len(ids) for ids, _ in example[0])


def padded(examples, arguments):
    """Tensors [examples T] or [examples choices T], and the labels."""
    length = max(map(longest, examples))
    inputs = {
        name: torch.tensor(
            [[values(row) + [0] * (length - len(row[0])) for row in rows] for rows, _ in examples]
        )
        for name, values in {
            "input_ids": lambda row: row[0],
            "token_type_ids": lambda row: row[1],
            "attention_mask": lambda row: [1] * len(row[0]),
        }.items()
    }
    if arguments.kind == "sentences":
        inputs = {name: values[:, 0] for name, values in inputs.items()}
    is_regression = arguments.num_labels == 1
    labels = [label for _, label in examples]
    return inputs, torch.tensor(labels, dtype=torch.float32 if is_regression else torch.int64)


@torch.inference_mode()
def answers(model, examples, arguments):
    """Logits of each example."""
    model.eval()
    order = sorted(range(len(examples)), key=lambda number: longest(examples[number]))
    logits = [[]] * len(examples)
    for start in range(0, len(order), EVAL_BATCH_SIZE):
        numbers = order[start : start + EVAL_BATCH_SIZE]
        inputs, _ = padded([examples[number] for number in numbers], arguments)
        for number, row in zip(numbers, model(**inputs).logits.tolist(), strict=True):
            logits[number] = row
    return logits


if __name__ == "__main__":
    main()

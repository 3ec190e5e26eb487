"""The peer of benchmarks/tasks/multiple_choice.py: AutoModelForMultipleChoice of transformers.

Runs in an interpreter with torch and transformers. A batch is cut into micro-batches of questions
of similar length, whose gradients are summed, which spares the peer padding.
"""

import argparse
import json
import pathlib

import torch
import transformers

MICRO_BATCHES = 4
EVAL_BATCH_SIZE = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data_dir", "init_checkpoint", "output_file"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("random_seed", "num_train_epochs", "train_batch_size", "max_seq_length"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--max_train_examples", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.random_seed)
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.init_checkpoint)
    model = transformers.AutoModelForMultipleChoice.from_pretrained(arguments.init_checkpoint)
    folder = pathlib.Path(arguments.data_dir)
    questions = read(folder / "train.jsonl", tokenizer, arguments.max_seq_length)
    train(model, questions[: arguments.max_train_examples], arguments)
    dev = read(folder / "dev.jsonl", tokenizer, arguments.max_seq_length)
    pathlib.Path(arguments.output_file).write_text(json.dumps(evaluate(model, dev)))


def read(path, tokenizer, max_seq_length):
    """list of (rows, label); the rows of a question are its choices behind the context."""
    questions = []
    for line in path.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        contexts = [question["context"]] * len(question["choices"])
        rows = tokenizer(
            contexts, question["choices"], truncation="longest_first", max_length=max_seq_length
        )
        rows = list(zip(rows["input_ids"], rows["token_type_ids"], strict=True))
        questions.append((rows, question["label"]))
    return questions


def train(model, questions, arguments):
    """AdamW without decay of vectors, warm-up over a tenth, linear decay, clip 1."""
    size = arguments.train_batch_size
    steps = -(-len(questions) // size) * arguments.num_train_epochs
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
        order = torch.randperm(len(questions)).tolist()
        for first in range(0, len(order), size):
            backward(model, [questions[i] for i in order[first : first + size]])
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


def backward(model, batch):
    """Adds the gradients of the mean loss."""
    batch = sorted(batch, key=longest)
    size = -(-len(batch) // MICRO_BATCHES)
    for start in range(0, len(batch), size):
        inputs, labels = padded(batch[start : start + size])
        loss = model(**inputs, labels=labels).loss * len(labels) / len(batch)
        loss.backward()


def longest(question):
    return max(len(ids) for ids, _ in question[0])


def padded(questions):
    """Tensors [questions choices T], and the labels."""
    length = max(map(longest, questions))
    ids, types, mask = (
        torch.tensor(
            [[values(row) + [0] * (length - len(row[0])) for row in rows] for rows, _ in questions]
        )
        for values in (lambda row: row[0], lambda row: row[1], lambda row: [1] * len(row[0]))
    )
    labels = torch.tensor([label for _, label in questions])
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}, labels


@torch.inference_mode()
def evaluate(model, questions):
    """Accuracy and mean loss, under the names of eval_results.txt."""
    model.eval()
    questions = sorted(questions, key=longest)
    hits, losses = 0, 0.0
    for start in range(0, len(questions), EVAL_BATCH_SIZE):
        inputs, labels = padded(questions[start : start + EVAL_BATCH_SIZE])
        outputs = model(**inputs, labels=labels)
        hits += int((outputs.logits.argmax(-1) == labels).sum())
        losses += float(outputs.loss) * len(labels)
    return {"eval_accuracy": hits / len(questions), "eval_loss": losses / len(questions)}


if __name__ == "__main__":
    main()

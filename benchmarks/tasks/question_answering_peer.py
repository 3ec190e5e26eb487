"""The peer of run_squad.py: transformers learns from a SQuAD file, and answers one.

Runs in an interpreter with torch and transformers (requirements-benchmarks.txt), on one thread,
with AdamW, warm-up over a tenth, linear decay to 0, clip 1.0 and dropout 0.1. Windows, labels and
answers are those of transformers' example run_qa: windows overlap by --doc_stride tokens, those
without the answer are labelled [CLS] and kept, and the best starts are combined with the best ends
of each window.

--padding says what a batch is padded to: "max_length", as run_qa does by default; its longest
window, "batch"; or the longest of each of four micro-batches of similar length, whose gradients are
summed. With --train_file the weights go to --output_dir; with --predict_file they come from there,
and predictions.json, nbest_predictions.json and null_odds.json go there, whose names and meaning
are those of run_squad.py.
"""

import argparse
import itertools
import json
import pathlib

import numpy as np
import torch
import transformers

PADDINGS = {"max_length": 1, "batch": 1, "micro_batches": 4}  # and parts of a batch
COUNTS = {  # flags and their defaults
    "random_seed": 1,
    "num_train_epochs": 2,
    "train_batch_size": 16,
    "predict_batch_size": 16,
    "max_seq_length": 384,
    "doc_stride": 128,
    "n_best_size": 20,
    "max_answer_length": 30,
}
NO_SPAN = {"text": "empty", "score": 0.0}  # what run_qa answers where no span may


def main():
    arguments = parsed(None)
    torch.set_num_threads(1)
    torch.manual_seed(arguments.random_seed)
    transformers.logging.set_verbosity_error()
    if arguments.train_file:
        tokenizer, model = start(arguments.init_checkpoint)
        windows = list(cut(read(arguments.train_file), tokenizer, arguments))
        for _ in updates(model, windows, arguments):
            pass
        for each in (model, tokenizer):
            each.save_pretrained(arguments.output_dir)
    if arguments.predict_file:
        answer(*start(arguments.output_dir), arguments)


def parsed(given):
    """The flags, from the command line for None."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("init_checkpoint", "output_dir", "train_file", "predict_file"):
        parser.add_argument(f"--{name}")
    for name, default in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    parser.add_argument("--padding", choices=PADDINGS, default="max_length")
    parser.add_argument("--version_2_with_negative", choices=("true", "false"), default="false")
    return parser.parse_args(given)


def start(directory):
    """(tokenizer, model); the weights of the output are random if the directory has none."""
    return (
        transformers.AutoTokenizer.from_pretrained(directory),
        transformers.AutoModelForQuestionAnswering.from_pretrained(directory),
    )


def read(path):
    """A dict for each question; its first answer as (start, end) in the context, or None."""
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    paragraphs = itertools.chain(*(article["paragraphs"] for article in document["data"]))
    examples = []
    for paragraph in paragraphs:
        for question in paragraph["qas"]:
            spans = [
                (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                for answer in question.get("answers", ())
            ]
            examples.append(
                {
                    "id": question["id"],
                    "question": question["question"].lstrip(),
                    "context": paragraph["context"],
                    "answer": spans[0] if spans else None,
                }
            )
    return examples


def cut(examples, tokenizer, arguments):
    """Yields a dict for each window; its offsets are None where a token is not of the context."""
    encoded = tokenizer(
        [example["question"] for example in examples],
        [example["context"] for example in examples],
        truncation="only_second",
        max_length=arguments.max_seq_length,
        stride=arguments.doc_stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    for number, index in enumerate(encoded["overflow_to_sample_mapping"]):
        pairs = zip(encoded["offset_mapping"][number], encoded.sequence_ids(number), strict=True)
        offsets = [pair if text == 1 else None for pair, text in pairs]
        yield {
            "example": index,
            "ids": encoded["input_ids"][number],
            "types": encoded["token_type_ids"][number],
            "offsets": offsets,
            "labels": labels(offsets, examples[index]["answer"]),
        }


def labels(offsets, answer):
    """Positions of the answer's first and last token; (0, 0) if the window lacks some of it."""
    tokens = [position for position, pair in enumerate(offsets) if pair]
    if not answer or not tokens:
        return 0, 0
    start, end = answer
    if offsets[tokens[0]][0] > start or offsets[tokens[-1]][1] < end:
        return 0, 0
    first = max(position for position in tokens if offsets[position][0] <= start)
    last = min(position for position in tokens if offsets[position][1] >= end)
    return first, last


def updates(model, windows, arguments):
    """Trains; yields the real tokens and the computed positions of each update."""
    size = arguments.train_batch_size
    steps = -(-len(windows) // size) * arguments.num_train_epochs
    warmup = max(1, int(0.1 * steps))
    parameters = list(model.parameters())
    groups = [  # vectors do not decay
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": 0.01},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=arguments.learning_rate, eps=1e-6, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / warmup, (steps - n) / (steps + 1 - warmup))
    )
    model.train()
    for _ in range(arguments.num_train_epochs):
        order = torch.randperm(len(windows)).tolist()
        for first in range(0, len(order), size):
            batch = [windows[number] for number in order[first : first + size]]
            num_positions = backward(model, batch, arguments)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            yield sum(map(length, batch)), num_positions


def backward(model, batch, arguments):
    """Adds the gradients of the mean loss; the number of positions computed."""
    batch = sorted(batch, key=length)
    size = -(-len(batch) // PADDINGS[arguments.padding])
    num_positions = 0
    for first in range(0, len(batch), size):
        part = batch[first : first + size]
        inputs = padded(part, arguments)
        starts, ends = torch.tensor([window["labels"] for window in part]).T
        loss = model(**inputs, start_positions=starts, end_positions=ends).loss
        (loss * len(part) / len(batch)).backward()
        num_positions += inputs["input_ids"].numel()
    return num_positions


def length(window):
    return len(window["ids"])


def padded(windows, arguments):
    """Tensors [W T]."""
    longest = max(map(length, windows))
    size = arguments.max_seq_length if arguments.padding == "max_length" else longest
    rows = {
        "input_ids": [window["ids"] for window in windows],
        "token_type_ids": [window["types"] for window in windows],
        "attention_mask": [[1] * length(window) for window in windows],
    }
    return {
        name: torch.tensor([row + [0] * (size - len(row)) for row in of_name])
        for name, of_name in rows.items()
    }


def answer(tokenizer, model, arguments):
    """Writes the prediction files."""
    examples = read(arguments.predict_file)
    windows = list(cut(examples, tokenizer, arguments))
    run(model, windows, arguments)
    by_example = [[] for _ in examples]
    for window in windows:
        by_example[window["example"]].append(window)
    is_v2 = arguments.version_2_with_negative == "true"
    written = {"predictions": {}, "nbest_predictions": {}, "null_odds": {}}
    for example, its_windows in zip(examples, by_example, strict=True):
        spans = best_spans(example["context"], its_windows, arguments)
        null_score = min(window["start"][0] + window["end"][0] for window in its_windows)
        odds = float(null_score) - spans[0]["score"]
        written["predictions"][example["id"]] = "" if is_v2 and odds > 0 else spans[0]["text"]
        written["nbest_predictions"][example["id"]] = spans
        written["null_odds"][example["id"]] = odds
    for name, content in written.items():
        text = json.dumps(content, indent=1)
        pathlib.Path(arguments.output_dir, f"{name}.json").write_text(text, encoding="utf-8")


@torch.inference_mode()
def run(model, windows, arguments):
    """Gives each window its logits, "start" and "end", those of its padding too."""
    model.eval()
    by_length = sorted(windows, key=length)
    for first in range(0, len(by_length), arguments.predict_batch_size):
        part = by_length[first : first + arguments.predict_batch_size]
        outputs = model(**padded(part, arguments))
        for row, window in enumerate(part):
            window["start"] = outputs.start_logits[row].numpy()
            window["end"] = outputs.end_logits[row].numpy()


def best_spans(context, windows, arguments):
    """The texts and scores of the best spans of all windows, best first."""
    found = []
    for window in windows:
        # What is not of the context takes its place among the best, and is left out then.
        best = [
            np.argsort(-window[name])[: arguments.n_best_size].tolist() for name in ("start", "end")
        ]
        for first, last in itertools.product(*best):
            pairs = span(window["offsets"], first, last, arguments.max_answer_length)
            if pairs:
                text = context[pairs[0][0] : pairs[1][1]]
                score = float(window["start"][first] + window["end"][last])
                found.append({"text": text, "score": score})
    found.sort(key=lambda each: -each["score"])
    return found[: arguments.n_best_size] or [NO_SPAN]


def span(offsets, first, last, max_answer_length):
    """The offsets of the first and the last token, or None if these are no answer."""
    if not first <= last < min(first + max_answer_length, len(offsets)):
        return None
    pairs = offsets[first], offsets[last]
    return pairs if all(pairs) else None


if __name__ == "__main__":
    main()

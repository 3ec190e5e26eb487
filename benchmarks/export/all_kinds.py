"""Exports of every kind of model against the Python path, on text of every vocabulary.

    python -m benchmarks.export.all_kinds --data_dir=../shared/data

For each vocabulary and each kind a small model with random weights is exported. Texts in four
languages and generated ones, of every kind a tokenizer can trip over, are answered alone, in
batches of 7 and in batches of 64, in an order drawn at random, so that each has other neighbours.
Counted are rows with the decisions of the Python path (labels, answers, tokens, choices) and with
numbers within 1e-5 of its own; given are the largest differences, also between the batches.
"""

import dataclasses
import json
import pathlib
import random
import tempfile

import numpy as np

from benchmarks.text import tokenizer_data
from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.examples import readers
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab
from tests.reference import text_samples

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "all_kinds.json"
VOCABULARIES = {"uncased": True, "cased": False, "chinese": True, "multi_cased": False}
LANGUAGES = ("en", "de", "es", "zh")
BATCH_SIZES = (1, 7, 64)
LABELS = ("one", "two", "three")
WINDOWS = {
    "long_texts": "windows",
    "max_windows": 3,
    "window_stride": 17,
    "window_pooling": "mean",
}
SPANS = {
    "doc_stride": 17,
    "max_query_length": 13,
    "n_best_size": 5,
    "max_answer_length": 11,
    "null_score_diff_threshold": 0.0,
}
MAX_SEQ_LENGTH = 47


@dataclasses.dataclass(frozen=True)
class Case:
    """A kind of model, as its metadata says it."""

    kind: str
    num_texts: int = 1
    labels: tuple[str, ...] = ()
    settings: dict = dataclasses.field(default_factory=dict)
    num_members: int = 1
    signature: str = "serving_default"
    task: str = "any"


CASES = {
    "classify": Case("classify", labels=LABELS),
    "classify pairs": Case("classify", 2, LABELS),
    "several labels": Case("multi_label", labels=LABELS),
    "regress": Case("regress"),
    "long texts": Case("classify", labels=LABELS, settings=WINDOWS),
    "long pairs": Case("classify", 2, LABELS, WINDOWS),
    "ensemble": Case("classify", labels=LABELS, num_members=3),
    "tag": Case("tag", labels=("O", "B-PER", "I-PER", "B-LOC", "I-LOC")),
    "choice": Case("choice", 2),
    "questions": Case("span", 2, settings=SPANS, task="squad-2.0"),
    "fill-mask": Case("pretrain"),
    "vectors": Case("encoder"),
    "vectors of tokens": Case("encoder", signature="encode"),
    "tf.Example": Case("classify", 2, LABELS, signature="classify"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    data_dir: str = option(REQUIRED, "Folder with vocab/ and squad_format/xquad.*.", is_path=True)
    cases: str = option(",".join(CASES), "Which, separated by commas.")
    num_texts: int = option(128, "Texts of each case.")
    results: str = option(str(RESULTS), "File to write.", is_path=True)


def main(options):
    texts = make_texts(options)
    found = {}
    print(f"{'vocabulary':12}{'kind':19}{'identical':>10}{'difference':>12}{'of batches':>12}")
    for name, do_lower_case in VOCABULARIES.items():
        for case in options.cases.split(","):
            figures = measure(options, CASES[case], name, do_lower_case, texts)
            found.setdefault(name, {})[case] = figures
            print(
                f"{name:12}{case:19}{figures['identical rows']:>10.4f}"
                f"{figures['largest difference']:>12.1e}{figures['between batches']:>12.1e}",
                flush=True,
            )
            for problem in figures["problems"]:
                print(f"    {problem}")
    summary = {"texts": len(texts), "batch_sizes": BATCH_SIZES, "vocabularies": found}
    files.write_text(options.results, json.dumps(summary, indent=2) + "\n")


def make_texts(options):
    """Real passages and generated strings, by turns."""
    passages = []
    for language in LANGUAGES:
        path = f"{options.data_dir}/squad_format/xquad.{language}.json.gz"
        data = json.loads(readers.read_text(path))["data"]
        contexts = [each["context"] for article in data for each in article["paragraphs"]]
        passages.append(contexts[:: len(contexts) // 16][:16])
    rng = random.Random(13)
    real = [text[: rng.randint(5, 400)] for row in zip(*passages, strict=True) for text in row]
    count = options.num_texts - options.num_texts // 2
    generated = list(text_samples.strings(rng, count))
    return real[: options.num_texts // 2] + generated


def measure(options, case, vocabulary, do_lower_case, texts):
    """The figures of one case with one vocabulary."""
    import keras
    import tensorflow as tf

    from bert_tf.checkpoints import kinds, model_directory
    from bert_tf.modeling.ensemble import EnsembleModel
    from export.kinds import checks, table
    from export.kinds.module import Served
    from export.version import write

    keras.utils.set_random_seed(17)
    vocab_file = tokenizer_data.vocab_file(options.data_dir, vocabulary)
    config = BertConfig(
        vocab_size=len(vocab.from_file(vocab_file)),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=96,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    metadata = model_directory.ModelMetadata(
        kind=case.kind,
        task=case.task,
        labels=case.labels,
        num_texts=case.num_texts,
        do_lower_case=do_lower_case,
        max_seq_length=MAX_SEQ_LENGTH,
        settings=case.settings,
    )
    with tempfile.TemporaryDirectory() as folder:
        directory = model_directory.create(f"{folder}/run", config, vocab_file, metadata)
        members = [model_directory.new_model(config, metadata) for _ in range(case.num_members)]
        model = members[0]
        if len(members) > 1:
            model = EnsembleModel(members, kinds.KINDS[case.kind].activation)
        served = Served(model=model, directory=directory, max_seq_length=MAX_SEQ_LENGTH)
        written = write.write(served, f"{folder}/models", [case.signature])
        module = table.make(served)
        signature = module.signatures([case.signature])[case.signature]
        ask = tf.saved_model.load(written.path).signatures[case.signature]
        rows = [row_of(tuple(module.inputs), texts, number) for number in range(len(texts))]
        answers = {size: answer(ask, signature, rows, size) for size in BATCH_SIZES}

    differences, problems = [], []
    for number, row in enumerate(rows):
        for size in BATCH_SIZES:
            try:
                differences.append(signature.difference(answers[size][number], [row]))
            except checks.Mismatch as error:
                problems.append(f"batch of {size}, {row!r}: {error}"[:300])
    return {
        "identical rows": 1 - len(problems) / (len(rows) * len(BATCH_SIZES)),
        "largest difference": max(differences),
        "between batches": max(
            largest_change(answers[1][number], answers[size][number])
            for number in range(len(rows))
            for size in BATCH_SIZES
        ),
        "problems": problems[:5],
    }


def row_of(names, texts, number):
    """What is asked about a text, whatever the inputs of the signature are."""
    text, other, third = (texts[(number + step) % len(texts)] for step in (0, 31, 57))
    if "choices" in names:
        return text, tuple(each or "-" for each in (other, third))
    if len(names) == 2:
        return text, other
    middle = len(text) // 2
    return (f"{text[:middle]} [MASK] {text[middle:]}",)


def answer(ask, signature, rows, batch_size):
    """The outputs [1 ...] for each row, asked in batches of rows that are drawn at random."""
    order = np.random.default_rng(batch_size).permutation(len(rows))
    found = [None] * len(rows)
    for first in range(0, len(rows), batch_size):
        chosen = order[first : first + batch_size]
        outputs = ask(**to_tensors(signature.feeds([rows[i] for i in chosen])))
        for place, number in enumerate(chosen):
            found[number] = {name: x[place : place + 1].numpy() for name, x in outputs.items()}
    return found


def to_tensors(feeds):
    import tensorflow as tf

    return {name: tf.constant(value) for name, value in feeds.items()}


def largest_change(one, other):
    """The largest difference of a number between two answers; padding of longer ones aside."""
    largest = 0.0
    for name, first in one.items():
        second = other[name][tuple(slice(size) for size in np.shape(first))]
        if np.issubdtype(np.asarray(first).dtype, np.floating):
            difference = np.abs(np.asarray(first, np.float64) - second)
            largest = max(largest, float(difference.max(initial=0.0)))
    return largest


if __name__ == "__main__":
    flagging.run(main, Options)

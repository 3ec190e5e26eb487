"""MB of English text per CPU second: both forms of the tokenizer and three peers.

python -m benchmarks.text.tokenizer_speed --reference_tokenization_py=tokenization.py
    [--peer_python=../peers/venv/bin/python] [--data_dir=../shared/data]

One thread and process CPU time; the contenders take turns, and the median round counts. Each
round of the Python form starts with nothing remembered. Of each contender it is also said in
how many lines its ids are not those of google-research/bert, the reference.
"""

import dataclasses
import json
import pathlib
import random
import statistics
import subprocess
import time

from benchmarks.text import tokenizer_data
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "tokenizer_speed.json"
PEER = pathlib.Path(__file__).parent / "tokenizer_peer.py"
LINES_PER_BATCH = 1000
SHORT_TEXT = "The quick brown fox jumps over the lazy dog, twice."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    reference_tokenization_py: str = option(REQUIRED, "tokenization.py of google-research/bert.")
    peer_python: str = option("../peers/venv/bin/python", "An interpreter that has tokenizers.")
    data_dir: str = option("../shared/data", "Holds vocab/ and pretrain/.")
    num_batches: int = option(60, "Stretches of 1000 lines, from all over the books and articles.")
    num_rounds: int = option(5, "Turns of each contender.")
    seed: int = option(1, "Of the choice of lines.")


def choose_batches(options):
    """Lists of consecutive lines, as str."""
    lines = tokenizer_data.english_lines(options.data_dir)
    starts = range(0, len(lines), LINES_PER_BATCH)
    chosen = random.Random(options.seed).sample(starts, options.num_batches)
    return [[line.decode() for line in lines[at : at + LINES_PER_BATCH]] for at in sorted(chosen)]


class Local:
    """A contender in this process: `make()` gives a fresh function from a batch to ids."""

    def __init__(self, make, batches):
        self._make, self._batches = make, batches

    def ids(self):
        encode = self._make()
        return [ids for batch in self._batches for ids in _as_lists(encode(batch))]

    def cpu_seconds(self):
        encode = self._make()
        start = time.process_time()
        for batch in self._batches:
            encode(batch)
        return time.process_time() - start


class Peer:
    """A contender in a process of its own, see `tokenizer_peer.py`."""

    def __init__(self, python, vocab_file, do_lower_case, batches):
        self._process = subprocess.Popen(
            [python, str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        task = {"vocab_file": vocab_file, "do_lower_case": do_lower_case, "batches": batches}
        self._ids = self._ask(json.dumps(task))

    def ids(self):
        return self._ids

    def cpu_seconds(self):
        return self._ask("")

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _as_lists(rows):
    """The ids of each row, of a ragged tensor or of a list that may also have offsets."""
    rows = rows if isinstance(rows, list) else rows.to_list()
    return [row[0] if isinstance(row, tuple) else row for row in rows]


def make_contenders(options, name, do_lower_case, batches):
    """Name -> contender; the first is the reference."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    from bert_tf.text.graph import GraphTokenizer

    vocab_file = tokenizer_data.vocab_file(options.data_dir, name)
    vocabulary = vocab.from_file(vocab_file)
    reference = tokenizer_data.released_tokenizer(
        options.reference_tokenization_py, vocab_file, do_lower_case
    )
    fast_bert = tf_text.FastBertTokenizer(
        list(vocabulary.tokens), token_out_type=tf.int32, lower_case_nfd_strip_accents=do_lower_case
    )
    fast_bert = tf.function(fast_bert.tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
    graph = GraphTokenizer(vocabulary, do_lower_case)
    tensors = [tf.constant(batch) for batch in batches]

    def python_form(method):
        def make():
            encode = getattr(WordPieceTokenizer(vocabulary, do_lower_case), method)
            return lambda batch: [encode(text) for text in batch]

        return make

    return {
        "google-research/bert": Local(lambda: lambda texts: list(map(reference, texts)), batches),
        "Hugging Face tokenizers": Peer(options.peer_python, vocab_file, do_lower_case, batches),
        "tf-text FastBertTokenizer": Local(lambda: fast_bert, tensors),
        "bert_tf, graph": Local(lambda: graph, tensors),
        "bert_tf, Python": Local(python_form("encode"), batches),
        "bert_tf, Python, offsets": Local(python_form("encode_with_offsets"), batches),
    }


def latency_ms(encode, num_calls=1000):
    """Median wall-clock milliseconds of one call with one short text."""
    seconds = []
    for _ in range(num_calls):
        start = time.perf_counter()
        encode()
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)


def short_text_latencies(options):
    import tensorflow as tf

    from bert_tf.text.graph import GraphTokenizer

    vocabulary = vocab.from_file(tokenizer_data.vocab_file(options.data_dir, "uncased"))
    graph = GraphTokenizer(vocabulary, do_lower_case=True)
    python = WordPieceTokenizer(vocabulary, do_lower_case=True)
    text = tf.constant([SHORT_TEXT])
    return {
        "graph": latency_ms(lambda: graph(text)),
        "python": latency_ms(lambda: python.encode(SHORT_TEXT)),
    }


def race(options, name, do_lower_case, batches):
    """Rows of the table for one vocabulary."""
    contenders = make_contenders(options, name, do_lower_case, batches)
    megabytes = sum(len(line.encode()) + 1 for batch in batches for line in batch) / 1e6
    reference, *others = [contender.ids() for contender in contenders.values()]
    num_unlike = [0] + [sum(a != b for a, b in zip(reference, x, strict=True)) for x in others]
    seconds = {contender: [] for contender in contenders}
    for _ in range(options.num_rounds):
        for contender, rounds in seconds.items():
            rounds.append(contenders[contender].cpu_seconds())
    for contender, unlike in zip(contenders, num_unlike, strict=True):
        speeds = sorted(megabytes / s for s in seconds[contender])
        row = {"vocabulary": name, "do_lower_case": do_lower_case, "tokenizer": contender}
        row |= {"mb_per_cpu_second": statistics.median(speeds), "slowest": speeds[0]}
        yield row | {"fastest": speeds[-1], "lines": len(reference), "lines_unlike": unlike}


def main(options):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    batches = choose_batches(options)
    rows = []
    for name, do_lower_case in (("uncased", True), ("cased", False)):
        print(f"{name + ', MB per CPU second':35s} median (slowest to fastest)  lines unlike")
        for row in race(options, name, do_lower_case, batches):
            rows.append(row)
            spread = f"({row['slowest']:.2f} to {row['fastest']:.2f})"
            unlike = f"{row['lines_unlike']} of {row['lines']}"
            print(f"{row['tokenizer']:35s} {row['mb_per_cpu_second']:6.2f} {spread:20s}  {unlike}")
    latencies = short_text_latencies(options)
    print("One short text, ms a call: " + ", ".join(f"{k} {v:.3f}" for k, v in latencies.items()))
    results = tokenizer_data.conditions(options) | {"rows": rows, "latency_ms": latencies}
    files.write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

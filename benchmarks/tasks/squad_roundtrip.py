"""Gold answers of SQuAD files recovered from the labels of their windows, and why some are not.

python -m benchmarks.tasks.squad_roundtrip [--data_dir=../shared/data]

Every distinct gold answer becomes the label of its windows; the characters under the label are
cut out of the context, which every window that holds the answer must do alike, and compared with
the answer. Why some differ: an answer begins or ends inside a token, as "8" does in "18", so the
whole token is recovered; or it has characters at its edge that are in no token, white space or
those that the tokenizer deletes.

Also counted: the answers that decoding could give, if the window of the first token (as bert_tf
does) or of the first and the last one must show it with most context.
"""

import collections
import dataclasses
import json
import pathlib
import time

from bert_tf import files, flagging
from bert_tf.examples import readers, spans
from bert_tf.flagging import option
from bert_tf.tasks import squad_metrics
from bert_tf.text import vocab
from bert_tf.text.wordpiece import WordPieceTokenizer

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "squad_roundtrip.json"
NO_WINDOW = "no window holds it whole"

# File, vocabulary, whether it is lower-cased.
FILES = (
    ("squad/dev-v1.1.json.gz", "uncased", True),
    ("squad/dev-v2.0.json.gz", "uncased", True),
    ("squad_format/tydiqa.goldp.en.train.json.gz", "uncased", True),
    ("squad_format/mlqa-dev-context-en-question-en.json.gz", "uncased", True),
    ("squad_format/xquad.en.json.gz", "uncased", True),
    ("squad_format/xquad.en.json.gz", "multi_cased", False),
    ("squad_format/xquad.de.json.gz", "multi_cased", False),
    ("squad_format/xquad.es.json.gz", "multi_cased", False),
    ("squad_format/xquad.zh.json.gz", "multi_cased", False),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    data_dir: str = option("../shared/data", "Holds squad/, squad_format/ and vocab/.")
    max_seq_length: int = option(384, "Tokens of a window.")
    doc_stride: int = option(128, "Tokens between two windows.")
    max_query_length: int = option(64, "Tokens of a question.")
    max_answer_length: int = option(30, "Tokens of a predicted answer.")


def one_answer_each(examples):
    """An example per distinct gold answer, so that each of them is a label once."""
    for example in examples:
        for answer in dict.fromkeys(example.answers):
            yield dataclasses.replace(example, answers=(answer,))


def reason(context, answer, windows):
    """(why the answer is not recovered or "exact", text recovered or None)."""
    if context[answer.start : answer.end] != answer.text:
        return "the file's answer is not at its place", None
    recovered = {labelled_characters(window) for window in windows if window.has_answer}
    if not recovered:
        return NO_WINDOW, None
    if len(recovered) > 1:
        return "its windows are labelled differently", None
    ((start, end),) = recovered
    parts = []
    if start < answer.start:
        parts.append("begins inside a token")
    if end > answer.end:
        parts.append("ends inside a token")
    left_over = context[answer.start : max(start, answer.start)]
    left_over += context[min(end, answer.end) : answer.end]
    if left_over:
        parts.append("white space at its edge" if not left_over.strip() else "deleted characters")
    return ", ".join(parts) or "exact", context[start:end]


def labelled_characters(window):
    """First character under the label, and the one after the last."""
    first, last = (
        position - window.context_position
        for position in (window.start_position, window.end_position)
    )
    return int(window.offsets[first][0]), int(window.offsets[last][1])


def can_be_predicted(windows, max_answer_length, both_ends):
    """Whether a window that holds the answer may also give it."""
    for window in windows:
        first = window.start_position - window.context_position
        last = window.end_position - window.context_position
        if window.has_answer and last - first < max_answer_length and window.is_max_context[first]:
            if not both_ends or window.is_max_context[last]:
                return True
    return False


def measure(path, vocabulary, do_lower_case, options):
    examples = readers.SquadLayout(version_2_with_negative=True).read(path)
    labelled = list(one_answer_each(examples))
    began = time.process_time()
    windows = collections.defaultdict(list)
    for window in spans.make_windows(
        labelled,
        WordPieceTokenizer(vocabulary, do_lower_case),
        vocabulary,
        max_seq_length=options.max_seq_length,
        doc_stride=options.doc_stride,
        max_query_length=options.max_query_length,
    ):
        windows[window.example_index].append(window)
    seconds = time.process_time() - began
    reasons, shown, same = collections.Counter(), collections.defaultdict(list), 0
    for index, example in enumerate(labelled):
        gold = example.answers[0]
        why, text = reason(example.context, gold, windows[index])
        reasons[why] += 1
        same += text is not None and bool(squad_metrics.exact_match(text, gold.text))
        if why != "exact" and len(shown[why]) < 3:
            shown[why].append([gold.text[:60], text and text[:60]])
    limits = {"first token": False, "first and last token": True}
    return {
        "questions": len(examples),
        "answers": len(labelled),
        "windows": sum(map(len, windows.values())),
        "exact": reasons.pop("exact"),
        "equal by the official rule": same,
        "missed": dict(reasons.most_common()),
        "gold and recovered": dict(shown),
        "can be predicted by the window of": {
            name: sum(
                can_be_predicted(windows[i], options.max_answer_length, both_ends)
                for i in range(len(labelled))
            )
            for name, both_ends in limits.items()
        },
        "cpu_seconds": round(seconds, 2),
    }


def total(results):
    """Of all files, those that are read with two vocabularies twice."""
    missed = collections.Counter()
    for row in results:
        missed.update(row["missed"])
    num_answers = sum(row["answers"] for row in results)
    return {
        "answers": num_answers,
        "answers that fit a window": num_answers - missed[NO_WINDOW],
        "exact": sum(row["exact"] for row in results),
        "missed": dict(missed.most_common()),
    }


def main(options):
    data = pathlib.Path(options.data_dir)
    results = []
    print(f"{'file':40}{'vocabulary':13}{'answers':>8}{'exact':>8}{'%':>8}{'rule %':>8}  missed")
    for name, vocabulary_name, do_lower_case in FILES:
        vocabulary = vocab.from_file(str(data / "vocab" / vocabulary_name / "vocab.txt"))
        row = measure(str(data / name), vocabulary, do_lower_case, options)
        results.append({"file": name, "vocabulary": vocabulary_name, **row})
        percent = [
            100 * row[key] / row["answers"] for key in ("exact", "equal by the official rule")
        ]
        print(
            f"{pathlib.Path(name).name[:38]:40}{vocabulary_name:13}{row['answers']:8}"
            f"{row['exact']:8}{percent[0]:8.2f}{percent[1]:8.2f}  {row['missed']}"
        )
        limits = row["can be predicted by the window of"]
        print(f"{'':40}can be predicted by the window of {limits}")
    sums = total(results)
    print(f"all: {sums}")
    summary = {"options": dataclasses.asdict(options), "all files": sums, "files": results}
    summary["options"].pop("data_dir")
    files.write_text(RESULTS, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)

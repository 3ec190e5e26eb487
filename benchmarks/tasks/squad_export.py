"""An exported model of run_squad.py against offline predictions, and a passage of 100,000 words.

    python -m benchmarks.tasks.squad_export --model_dir=MODEL --predict_file=dev-v1.1.json.gz \
        --work_dir=exported

MODEL is the --output_dir of a training; its prediction files are written again. Both answer all
questions on one thread, the SavedModel in a process without bert_tf and --batch_size questions at a
time. Compared are the answers; that the characters from `start` to `end` of the passage are the
answer; and the answers of a question alone with those in a batch. Windows per CPU second are those
of all questions but the first ones, over the CPU time of a process with all less that of one with
the first. The peak memory is that of a process which answers one question about a passage, short or
of --num_words words.
"""

import collections
import dataclasses
import itertools
import json
import pathlib
import sys

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks import registry
from bert_tf.text.wordpiece import WordPieceTokenizer
from serving.models import versions

ROOT = pathlib.Path(__file__).parents[2]
ANSWERS = ROOT / "benchmarks/tasks/squad_export_answers.py"
NUM_FIRST = 32  # questions whose cost counts as that of the start
NUM_SHOWN = 10  # answers that differ


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    model_dir: str = option(REQUIRED, "Model directory of a run of run_squad.py.", is_path=True)
    predict_file: str = option(REQUIRED, "SQuAD JSON to answer.", is_path=True)
    work_dir: str = option(REQUIRED, "For the exported model and its answers.", is_path=True)
    max_predict_examples: int | None = option(None, "Questions to answer; none: all.")
    batch_size: int = option(32, "Questions of a request.")
    num_alone: int = option(200, "Questions that are asked alone, too.")
    num_words: int = option(100_000, "Words of the long passage.")
    results: str = option(
        str(ROOT / "benchmarks/results/squad_export.json"), "File to write.", is_path=True
    )


def main(options):
    work = pathlib.Path(options.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    directory = ModelDirectory.open(options.model_dir)
    task = registry.of_model(directory.metadata)
    examples = task.layout.read(options.predict_file)[: options.max_predict_examples]
    rows = [{"question": each.question, "context": each.context} for each in examples]
    seconds = {"offline": offline(directory, len(examples), options)}
    wanted = offline_answers(directory)
    exported = export(options.model_dir, work / "model")
    found, cost = served(exported, rows, work, options.batch_size)
    _, first_cost = served(exported, rows[:NUM_FIRST], work, options.batch_size)
    seconds["exported"] = cost.cpu_seconds - first_cost.cpu_seconds
    alone, _ = served(exported, rows[: options.num_alone], work, 1)
    counts = num_windows(task, examples, directory)
    timed = sum(counts[NUM_FIRST:])
    summary = {
        "data": pathlib.Path(options.predict_file).name,
        "questions": len(examples),
        "windows": sum(counts),
        **compared(examples, found, wanted),
        "alone and in a batch": compared_alone(alone, found),
        "windows_per_cpu_second": {who: round(timed / x, 2) for who, x in seconds.items()},
        "long passage": long_passage(exported, rows, work, options.num_words),
    }
    text = json.dumps(summary, indent=1, ensure_ascii=False)
    files.write_text(options.results, text + "\n")
    print(text)


def offline(directory, num_questions, options):
    """Writes the prediction files; the CPU seconds of all questions less those of the first."""
    flags = {
        "output_dir": directory.path,
        "bert_config_file": pathlib.Path(directory.path, "bert_config.json"),
        "vocab_file": pathlib.Path(directory.path, "vocab.txt"),
        "do_lower_case": str(directory.metadata.do_lower_case).lower(),
        "max_seq_length": directory.metadata.max_seq_length,
        "predict_file": options.predict_file,
    }
    command = [sys.executable, "run_squad.py", "--do_predict"]
    command += [f"--{name}={value}" for name, value in flags.items()]
    first, whole = (
        fine_tunings.run([*command, f"--max_predict_examples={count}"]).cpu_seconds
        for count in (NUM_FIRST, num_questions)
    )
    return whole - first


def offline_answers(directory):
    """Dict with the content of each prediction file; null_odds is empty for SQuAD 1.1."""
    contents = {}
    for name in ("predictions", "nbest_predictions", "null_odds"):
        path = pathlib.Path(directory.path, f"{name}.json")
        contents[name] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return contents


def export(model_dir, base_path):
    """Path of the new version."""
    flags = [f"--model_dir={model_dir}", f"--export_dir={base_path}"]
    fine_tunings.run([sys.executable, "-m", "export.savedmodel", *flags])
    return versions.largest(str(base_path))[1]


def served(exported, rows, work, batch_size):
    """The exported model's answers, list of dict, and the `Cost` of their process."""
    questions, answers = work / "questions.jsonl", work / "answers.jsonl"
    fine_tunings.write_json_lines(questions, rows)
    cost = fine_tunings.run([sys.executable, ANSWERS, exported, questions, answers, batch_size])
    lines = answers.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line], cost


def num_windows(task, examples, directory):
    """Windows of each question."""
    metadata = directory.metadata
    tokenizer = WordPieceTokenizer(directory.vocabulary, metadata.do_lower_case)
    rows = task.encode(examples, tokenizer, metadata.max_seq_length)
    counts = collections.Counter(window.example_index for window in rows.windows)
    return [counts[index] for index in range(len(examples))]


def compared(examples, found, wanted):
    """How often the exported model gives the offline answers, and what its offsets cut out.

    Args:
      examples: the questions.
      found: the exported model's answers to them.
      wanted: the content of the prediction files.
    """
    same, same_lists, differing, null_odds = 0, 0, [], []
    for example, answer in zip(examples, found, strict=True):
        key, text = example.question_id, answer["answer"]
        same += text == wanted["predictions"][key]
        if text != wanted["predictions"][key]:
            differing.append({"offline": wanted["predictions"][key], "exported": text})
        n_best = [each["text"] for each in wanted["nbest_predictions"][key]]
        same_lists += answer["n_best_answers"][: len(n_best)] == n_best
        if key in wanted["null_odds"]:
            null_odds.append(abs(answer["null_odds"] - wanted["null_odds"][key]))
    answered = [
        (example.context[answer["start"] : answer["end"]], answer["answer"])
        for example, answer in zip(examples, found, strict=True)
        if answer["has_answer"]
    ]
    n_best = [
        pair
        for example, answer in zip(examples, found, strict=True)
        for pair in cut_out(example.context, answer)
    ]
    return {
        "identical answers": same,
        "fraction of identical answers": same / len(examples),
        "differing": differing[:NUM_SHOWN],
        "identical n best": same_lists,
        "answered": len(answered),
        "answers cut out by their offsets": sum(cut == text for cut, text in answered),
        "n best texts": len(n_best),
        "n best texts cut out by their offsets": sum(cut == text for cut, text in n_best),
        "largest difference of null odds": max(null_odds, default=None),
    }


def cut_out(context, answer):
    """(characters of the context, text) for each of the n best, but not for no answer."""
    columns = (answer[f"n_best_{name}"] for name in ("answers", "starts", "ends"))
    for text, start, end in zip(*columns, strict=True):
        if text:
            yield context[start:end], text


def compared_alone(alone, found):
    """Questions asked alone, and how many got the answer that they got in a batch."""
    pairs = list(zip(alone, found, strict=False))
    return {
        "questions": len(pairs),
        "identical answers": sum(one["answer"] == other["answer"] for one, other in pairs),
        "largest difference of a score": max(abs(x["score"] - y["score"]) for x, y in pairs),
    }


def long_passage(exported, rows, work, num_words):
    """The passages of all questions one after the other, again and again, as one passage."""
    contexts = dict.fromkeys(row["context"] for row in rows)
    words = itertools.chain.from_iterable(map(str.split, itertools.cycle(contexts)))
    context = " ".join(itertools.islice(words, num_words))
    (answer,), cost = served(exported, [rows[0] | {"context": context}], work, 1)
    _, short = served(exported, rows[:1], work, 1)
    n_best = list(cut_out(context, answer))
    return {
        "words": num_words,
        "characters": len(context),
        "n best texts": len(n_best),
        "n best texts cut out by their offsets": sum(cut == text for cut, text in n_best),
        "peak_mb": round(cost.peak_kib * 1024 / 1e6),
        "peak_mb of a short passage": round(short.peak_kib * 1024 / 1e6),
        "cpu_seconds": round(cost.cpu_seconds - short.cpu_seconds, 1),
    }


if __name__ == "__main__":
    flagging.run(main, Options)

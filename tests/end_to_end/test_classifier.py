"""run_classifier.py in process: files, metrics, other weights, replicas."""

import dataclasses

import numpy as np
import pytest

from bert_tf.training.finetuning import classifier_data

WORDS = "who wrote this book when did she live it was about love and pride".split()


def sentences(number):
    rng = np.random.default_rng(number)
    return [" ".join(rng.choice(WORDS, rng.integers(2, 11))) for _ in range(number)]


@pytest.fixture(scope="module")
def sts_b(tmp_path_factory):
    """An STS-B of 13 training, 5 dev and 3 test rows in the official layout."""
    folder = tmp_path_factory.mktemp("sts-b")
    columns = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
    for split, number in (("train", 13), ("dev", 5), ("test", 3)):
        rows = [columns if split == "test" else f"{columns}\tscore"]
        for i, (a, b) in enumerate(zip(sentences(number), sentences(number)[::-1], strict=True)):
            row = f"{i}\tg\tf\ty\t{i}\ts\ts\t{a}\t{b}"
            rows.append(row if split == "test" else f"{row}\t{i % 6}.0")
        (folder / f"{split}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def make_options(classifier_options):
    """`classifier_options` of a short run that is evaluated."""

    def make(data, **changes):
        values = {
            "task_name": "sts-b",
            "do_eval": True,
            "train_batch_size": 4,
            "num_train_epochs": 2.0,
            "learning_rate": 1e-3,
            "max_seq_length": 23,
        }
        return classifier_options(data, **values | changes)

    return make


def results(directory):
    lines = (directory / "eval_results.txt").read_text().splitlines()
    return {name: float(value) for name, value in (line.split(" = ") for line in lines)}


def table(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(make_options, sts_b):
    """The options of a run on STS-B, which has been made."""
    given = make_options(sts_b, do_predict=True)
    classifier_data.main(given)
    return given


def test_files_of_a_regression(trained, make_options, sts_b):
    found = results(sts_b / "out")
    assert found["global_step"] == 8  # two epochs of ceil(13 / 4) updates
    assert {"eval_pearson", "eval_spearman", "eval_loss"} <= found.keys()
    assert found["best_eval_spearman"] >= found["eval_spearman"]
    assert "Pearson" in (sts_b / "out/report.html").read_text()
    scores = table(sts_b / "out/test_results.tsv")
    assert [len(row) for row in scores] == [1, 1, 1]
    named = table(sts_b / "out/predictions.tsv")
    assert named[0] == ["index", "prediction", "text_a", "text_b"]
    assert [row[2] for row in named[1:]] == sentences(3)
    assert [row[0] for row in named[1:]] == ["0", "1", "2"]
    assert [float(row[1]) for row in named[1:]] == [float(row[0]) for row in scores]

    # Evaluated later, the same weights have the same scores under the same names.
    trained = (sts_b / "out/eval_results.txt").read_text()
    (sts_b / "out/eval_results.txt").unlink()
    classifier_data.main(make_options(sts_b, do_train=False))
    assert (sts_b / "out/eval_results.txt").read_text() == trained


def test_prediction_from_a_fine_tuned_checkpoint_elsewhere(trained, sts_b):
    classifier_data.main(
        dataclasses.replace(
            trained,
            do_train=False,
            do_eval=False,
            init_checkpoint=f"{sts_b}/out/best/bert_model.ckpt",
            output_dir=f"{sts_b}/elsewhere",
        )
    )
    expected = (sts_b / "out/test_results.tsv").read_bytes()
    assert (sts_b / "elsewhere/test_results.tsv").read_bytes() == expected


def test_both_dev_sets_of_mnli(make_options, tmp_path):
    names = ["index", "promptID", "pairID", "genre", "sentence1_binary_parse"]
    names += ["sentence2_binary_parse", "sentence1_parse", "sentence2_parse", "sentence1"]
    names += ["sentence2", "label1", "gold_label"]
    labels = ("neutral", "entailment", "contradiction")
    for name in ("train", "dev_matched", "dev_mismatched"):
        rows = ["\t".join(names)]
        for i, (text, label) in enumerate(zip(sentences(3), labels, strict=True)):
            rows.append("\t".join([str(i), *["x"] * 7, text, text, label, label]))
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    classifier_data.main(make_options(tmp_path, task_name="mnli"))
    found = results(tmp_path / "out")
    assert found["eval_accuracy"] == found["eval_accuracy_mismatched"]  # the same rows
    assert {"eval_loss", "eval_loss_mismatched"} <= found.keys()

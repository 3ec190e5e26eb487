"""From a task file to predictions."""

import csv
import json

from bert_tf.training.finetuning import classifier_data

REVIEWS = 'Nr;Text;Sterne\nr1;"Gut; auch der Preis";5\nr2;Nie wieder.;1\nr3;Sehr gut;5\n'
STARS = """
kind = "classify"
train = "reviews.csv"
test = "new.csv"
test_has_labels = true
delimiter = ";"
text = "Text"
label = "Sterne"
id = "Nr"
metrics = ["macro_f1", "accuracy"]
class_weights = "balanced"
"""


def test_german_reviews(classifier_options, tmp_path):
    (tmp_path / "reviews.csv").write_text(REVIEWS, encoding="utf-8")
    (tmp_path / "new.csv").write_text("Nr;Text;Sterne\nn7;Schön.;5\nn9;;1\n", encoding="utf-8")
    (tmp_path / "stars.toml").write_text(STARS)
    flags = {"task_name": None, "data_dir": None, "task_file": str(tmp_path / "stars.toml")}
    flags |= {"do_predict": True, "max_seq_length": 13}
    flags |= {"num_train_epochs": 1.0, "num_micro_batches": 1}
    classifier_data.main(classifier_options(tmp_path, **flags))
    with open(tmp_path / "out" / "predictions.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [(row["index"], row["text_a"]) for row in rows] == [("n7", "Schön."), ("n9", "")]
    scores = (tmp_path / "out" / "test_scores.txt").read_text()
    assert [line.split()[0] for line in scores.splitlines()] == [
        *("test_accuracy", "test_loss", "test_macro_f1")
    ]
    model = json.loads((tmp_path / "out" / "model.json").read_text())
    assert (model["kind"], model["task"], model["labels"]) == ("classify", "stars", ["1", "5"])

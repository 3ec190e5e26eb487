"""Prediction files take part in an ensemble together with models."""

import types

import numpy as np
import pytest
from scipy import special

from bert_tf.errors import InputError
from bert_tf.tasks import registry
from bert_tf.training.finetuning import ensembles

LOGITS = [np.array([1.0, -2.0]), np.array([0.5, 3.0]), np.array([0.0, 0.0])]
FILE = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


@pytest.fixture
def options(tmp_path):
    """Of two models and a directory with predictions."""
    for name in ("one/best", "two/last", "files"):
        (tmp_path / name).mkdir(parents=True)
    np.savetxt(tmp_path / "files" / "test_results.tsv", FILE, delimiter="\t")
    (tmp_path / "one" / "test_results.tsv").touch()  # it has weights, so nobody reads this
    members = tuple(str(tmp_path / name) for name in ("one", "two", "files"))
    return types.SimpleNamespace(ensemble="...", ensemble_members=members, do_eval=False)


@pytest.mark.parametrize(
    ("task", "answers"),
    [
        (registry.REGISTRY["cola"], lambda logits: special.softmax(logits, axis=-1)),
        (registry.REGISTRY["sts-b"], np.asarray),
    ],
    ids=["probabilities", "numbers"],
)
def test_each_model_and_each_file_counts_as_one(options, task, answers):
    assert ensembles.has_predictions(options)
    found = ensembles.with_predictions(options, task, "", LOGITS)
    wanted = (2 * answers(np.array(LOGITS)) + FILE) / 3
    np.testing.assert_allclose(answers(np.array(found)), wanted, rtol=1e-9)


def test_without_files_the_logits_stay(options):
    options.ensemble_members = options.ensemble_members[:2]
    assert ensembles.with_predictions(options, registry.REGISTRY["cola"], "", LOGITS) is LOGITS


def test_what_cannot_be_averaged_is_refused(options):
    task = registry.REGISTRY["cola"]
    with pytest.raises(InputError, match="has 3 rows of 2 numbers; 2 rows of 2 were wanted"):
        ensembles.with_predictions(options, task, "", LOGITS[:2])
    with pytest.raises(InputError, match="cannot be read as predictions"):
        ensembles.with_predictions(options, task, "_mismatched", LOGITS)
    options.do_eval = True
    with pytest.raises(InputError, match="leave out --do_eval"):
        ensembles.has_predictions(options)
    options.ensemble_members = options.ensemble_members[::-1]
    with pytest.raises(InputError, match="the first directory must hold a model"):
        ensembles.has_predictions(options)

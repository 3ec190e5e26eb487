import keras
import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.errors import InputError
from bert_tf.library.masked_lm import MaskedLM
from bert_tf.modeling.models import PretrainingModel

TEXTS = ["paris is the [MASK] of france .", "[MASK] rain [MASK]", "a [MASK]"]


@pytest.fixture(scope="module")
def model(bert):
    return MaskedLM.from_preset(bert)


def by_hand(bert, model, text, top_k):
    """Candidates for each [MASK], from the pre-training model on one row without padding."""
    vocabulary = model.tokenizer.vocabulary
    reference = PretrainingModel(model.config)
    checkpoints.load(reference, checkpoints.open_checkpoint(bert))
    ids = [[vocabulary.ids[token] for token in ["[CLS]", *text.split(), "[SEP]"]]]
    batch = {"input_word_ids": ids, "input_mask": np.ones_like(ids)}
    batch["input_type_ids"] = np.zeros_like(ids)
    logits = np.asarray(reference({k: np.array(v) for k, v in batch.items()})["masked_lm_logits"])
    probabilities = np.exp(logits[0]) / np.exp(logits[0]).sum(axis=-1, keepdims=True)
    for position in np.flatnonzero(np.array(ids[0]) == vocabulary.mask_id):
        best = np.argsort(-probabilities[position])[:top_k]
        yield [(vocabulary.tokens[i], probabilities[position, i]) for i in best]


def test_candidates_are_those_of_the_pretraining_model(model, bert):
    filled = model.fill(TEXTS, top_k=3)
    assert [len(masks) for masks in filled] == [1, 2, 1]
    for text, masks in zip(TEXTS, filled, strict=True):
        for got, wanted in zip(masks, by_hand(bert, model, text, 3), strict=True):
            assert [candidate.token for candidate in got] == [token for token, _ in wanted]
            np.testing.assert_allclose(
                [candidate.probability for candidate in got], [p for _, p in wanted], rtol=1e-5
            )


def test_one_string_gives_its_own_masks(model):
    (candidates,) = model(TEXTS[0])
    assert len(candidates) == 5
    assert [token for token, _ in candidates] == [token for token, _ in model.fill(TEXTS)[0][0]]


def test_a_file_gives_the_same_model(model, tmp_path):
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").fill(TEXTS) == model.fill(TEXTS)


def test_wrong_texts_and_models(model, topics, released):
    with pytest.raises(ValueError, match=r"texts\[1\] has no \[MASK\]: 'b \[mask\]'"):
        model.fill(["a [MASK]", "b [mask]"])
    with pytest.raises(ValueError, match=r"has 103 tokens.*the 61 that the model takes"):
        model.fill("a " * 100 + "[MASK]")
    with pytest.raises(TypeError, match="takes single texts"):
        model.fill(("a [MASK]", "b"))
    with pytest.raises(InputError, match="has no masked LM head, so it cannot fill a"):
        MaskedLM.from_preset(topics.path)
    with pytest.raises(InputError, match="left-to-right language model"):
        MaskedLM.from_preset(released(is_causal=True))

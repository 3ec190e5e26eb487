"""Long texts to rows of windows, and what a model directory remembers of it."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.tasks import registry
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

CLS, SEP, A, B = 2, 3, 5, 6
TOKENIZER = WordPieceTokenizer(
    Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]), do_lower_case=True
)
SETTINGS = {
    "long_texts": "windows",
    "max_windows": 2,
    "window_stride": 2,
    "window_pooling": "max",
}
EXAMPLES = [TextExample("0", "a", None, "0"), TextExample("1", "a b b a b a a b", None, "1")]


def test_a_long_text_is_a_row_of_windows(capsys):
    rows = registry.REGISTRY["cola"].with_settings(SETTINGS).encode(EXAMPLES, TOKENIZER, 5)
    assert rows.word_ids == [[CLS, A, SEP], [CLS, A, B, B, SEP], [CLS, B, A, B, SEP]]
    assert rows.group_sizes.tolist() == [1, 2]
    assert rows.labels["label_ids"].tolist() == [0, 1]
    batch = rows.batch(np.arange(2))
    assert batch["input_word_ids"].shape == (2, 2, 5)
    assert batch["input_mask"].sum(axis=-1).tolist() == [[3, 0], [5, 5]]
    assert "1 of 2 examples are longer than a row; 3 windows in all. 1 need more" in (
        capsys.readouterr().out
    )


def test_without_windows_a_long_text_is_cut():
    rows = registry.REGISTRY["cola"].encode(EXAMPLES, TOKENIZER, 5)
    assert rows.word_ids == [[CLS, A, SEP], [CLS, A, B, B, SEP]]
    assert rows.group_sizes is None


def test_a_model_directory_remembers_windows():
    task = registry.REGISTRY["mrpc"].with_settings(SETTINGS)
    metadata = task.metadata(do_lower_case=True, max_seq_length=5)
    assert metadata.settings == SETTINGS
    assert registry.of_model(metadata).windows == task.windows
    assert registry.REGISTRY["mrpc"].metadata(do_lower_case=True, max_seq_length=5).settings == {}


@pytest.mark.parametrize(
    ("task", "settings", "wanted"),
    [
        ("cola", {"document_context": True}, "--document_context=true is not for task 'cola'"),
        ("conll-2003", SETTINGS, "is not for task 'conll-2003', which is of kind 'Tagging'"),
        ("swag", SETTINGS, "is not for task 'swag', which is of kind 'Multiple choice'"),
    ],
)
def test_settings_of_another_kind_are_refused(task, settings, wanted):
    with pytest.raises(InputError) as refused:
        registry.get(task).with_settings(settings)
    assert wanted in str(refused.value)

import os
import random
import subprocess
import sys

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.vocab import Vocabulary
from tests.reference import full_tokenizer, text_samples

BOTH_CASINGS = pytest.mark.parametrize("do_lower_case", [True, False])
TEXTS = ["ΑΣ. naïve", "", "un\u00adaffable fox!", "x" * 201 + " 北", "\u302e\u0301\u1b44a"]


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def tokenizer(request):
    return GraphTokenizer(Vocabulary(text_samples.vocabulary(request.param)), request.param)


def reference_ids(texts, tokenizer):
    ids = tokenizer.vocabulary.ids
    return [
        [ids[token] for token in full_tokenizer.tokenize(text, ids, tokenizer.do_lower_case)]
        for text in texts
    ]


def assert_equal_to_reference(texts, tokenizer):
    expected = reference_ids(texts, tokenizer)
    for text, got, wanted in zip(texts, tokenizer(texts).to_list(), expected, strict=True):
        assert got == wanted, ascii(text)


def test_equals_the_reference_on_generated_texts(tokenizer):
    assert_equal_to_reference(list(text_samples.strings(random.Random(17), 4001)), tokenizer)


def test_equals_the_reference_on_bytes_that_are_not_utf8(tokenizer):
    assert_equal_to_reference(list(text_samples.invalid_utf8(random.Random(19), 2003)), tokenizer)


@BOTH_CASINGS
def test_equals_the_reference_on_every_kind_of_character(do_lower_case):
    texts = [text_samples.in_three_contexts(c) for c in text_samples.varied_characters()]
    words = [full_tokenizer.split_into_words(text, do_lower_case) for text in texts]
    tokens = text_samples.spelling_vocabulary("".join(parts) for parts in words)
    tokenizer = GraphTokenizer(Vocabulary(tokens), do_lower_case)
    ids = tokenizer.vocabulary.ids
    for text, parts, got in zip(texts, words, tokenizer(texts).to_list(), strict=True):
        assert got == [ids[t] for word in parts for t in full_tokenizer.cut(word, ids)], ascii(text)


def test_gives_int32_rows_whatever_the_batch(tokenizer):
    expected = reference_ids(TEXTS, tokenizer)
    for num_texts in (0, 1, len(TEXTS)):
        ids = tokenizer(tf.constant(TEXTS[:num_texts], tf.string))
        assert ids.dtype == tf.int32
        assert ids.shape.as_list() == [num_texts, None]
        assert ids.to_list() == expected[:num_texts]
    assert tokenizer([""]).to_list() == [[]]


def test_an_answer_does_not_depend_on_its_neighbours(tokenizer):
    texts = list(text_samples.strings(random.Random(23), 101))
    together = tokenizer(texts).to_list()
    assert [tokenizer([text]).to_list()[0] for text in texts] == together


def test_runs_in_tf_data(tokenizer):
    batches = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(tokenizer)
    rows = [row for batch in batches for row in batch.to_list()]
    assert rows == reference_ids(TEXTS, tokenizer)


def test_runs_in_a_function_that_does_not_know_the_batch_size(tokenizer):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def padded(texts):
        return tokenizer(texts).to_tensor(default_value=-1)

    for num_texts in (0, 2, len(TEXTS)):
        rows = [[i for i in row if i >= 0] for row in padded(TEXTS[:num_texts]).numpy()]
        assert rows == reference_ids(TEXTS[:num_texts], tokenizer)


LOAD = """
import sys
import tensorflow as tf
import tensorflow_text
loaded = tf.saved_model.load(sys.argv[1])
for texts in ([], sys.argv[2:3], sys.argv[2:]):
    print(loaded(tf.constant(texts, tf.string)).to_list())
"""


def test_runs_from_a_saved_model_in_a_fresh_process(tmp_path):
    tokenizer = GraphTokenizer(Vocabulary(text_samples.vocabulary(True)), do_lower_case=True)
    tf.saved_model.save(tokenizer, str(tmp_path))
    answer = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path), *TEXTS],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [reference_ids(texts, tokenizer) for texts in ([], TEXTS[:1], TEXTS)]
    assert answer.stdout.splitlines() == [str(rows) for rows in expected]


def test_uses_no_op_that_a_serving_image_lacks(tokenizer):
    graph = tokenizer.__call__.get_concrete_function().graph.as_graph_def()
    ops = {node.op for node in graph.node}
    ops |= {node.op for function in graph.library.function for node in function.node_def}
    assert {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets"} <= ops
    text_ops = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets", "NormalizeUTF8"}
    assert all(hasattr(tf.raw_ops, op) for op in ops - text_ops)


def test_a_token_may_hold_the_character_that_stands_for_the_unknown():
    last, next_to_last = "\U0010ffff", "\U0010fffe"
    tokens = [*text_samples.SPECIAL_TOKENS, last, f"##{last}", "a", "##a", f"{next_to_last}b"]
    tokenizer = GraphTokenizer(Vocabulary(tokens), do_lower_case=True)
    texts = [f"{last}a{last}", f"{next_to_last}b {next_to_last}", last * 201, "a" * 201, "a\u0378"]
    assert_equal_to_reference(texts, tokenizer)


def test_tokens_up_to_the_limit_of_the_op():
    longest = "ж" * 128
    tokens = [*text_samples.SPECIAL_TOKENS, longest, "##" + longest[1:], "a" * 300]
    tokenizer = GraphTokenizer(Vocabulary(tokens), do_lower_case=True)
    assert_equal_to_reference([longest, longest + longest[1:], "a" * 300], tokenizer)
    with pytest.raises(InputError, match="258 bytes"):
        GraphTokenizer(Vocabulary([*tokens, longest + "ж"]), do_lower_case=True)

import pytest

from bert_tf.checkpoints import check_vocabulary
from bert_tf.config import BertConfig
from bert_tf.errors import InputError


def check(num_tokens, num_rows):
    return check_vocabulary(BertConfig(vocab_size=num_rows), range(num_tokens))


def test_as_many_tokens_as_rows():
    assert check(30522, 30522) == ""


@pytest.mark.parametrize("num_tokens", [30521, 30395])
def test_padding_is_a_warning(num_tokens):
    assert f"{num_tokens} tokens, the config vocab_size=30522" in check(num_tokens, 30522)


def test_a_token_without_a_row():
    with pytest.raises(InputError, match="ids 30522 to 30527 would have no embedding"):
        check(30528, 30522)


@pytest.mark.parametrize("num_tokens", [30394, 21128])
def test_another_vocabulary(num_tokens):
    with pytest.raises(InputError, match="embeddings would have no token"):
        check(num_tokens, 30522)

import numpy as np
import pytest

from bert_tf.modeling import pooling
from tests.modeling import harness

B, T, H = harness.B, harness.T, harness.H


def of_row(vectors, how):
    """The vector of a text, from those of its tokens [T H], in float64."""
    vectors = vectors.astype(np.float64)
    return {"cls": vectors[0], "mean": vectors.mean(axis=0), "max": vectors.max(axis=0)}[how]


@pytest.mark.parametrize("how", ["cls", "mean", "max"])
def test_only_real_tokens_count(how):
    sequence = harness.hidden().reshape(B, T, H) - 5.0  # zeros would win a maximum
    wanted = [of_row(x[:n], how) for x, n in zip(sequence, harness.LENGTHS, strict=True)]
    found = pooling.pool(sequence, harness.mask(), how)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)
    half = pooling.pool(sequence.astype(np.float16), harness.mask(), how)
    assert half.dtype == "float32"
    np.testing.assert_allclose(half, wanted, rtol=0, atol=0.005)


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="pooling is 'sum'; wanted cls, mean or max"):
        pooling.pool(harness.hidden().reshape(B, T, H), harness.mask(), "sum")

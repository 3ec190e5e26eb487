"""Numbers and names on paper; the template engine is loaded for the first page only."""

import subprocess
import sys

import jinja2
import pytest

from bert_tf.training.report import rendering


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (4.21678, "4.217"),
        (0.5, "0.5"),
        (1000, "1,000"),
        (12345, "12.35 k"),
        (900000, "900 k"),
        (28.5e6, "28.5 M"),
        (3.1e12, "3.1 T"),
        (1e-4, "1e-4"),
        (-2.5e-5, "-2.5e-5"),
        (0.00123, "0.00123"),
    ],
)
def test_numbers(value, text):
    assert rendering.number(value) == text


def test_a_share_is_per_cent():
    assert rendering.number(0.4321, is_share=True) == "43.2 %"


def test_digits_that_tell_values_apart():
    assert rendering.digits_to_tell_apart([1.0, 2.0]) == 4
    assert rendering.digits_to_tell_apart([44.2001, 44.2002, 44.2003]) == 6
    assert rendering.digits_to_tell_apart([0.5, 0.5]) == 4


def test_values_say_what_they_mean():
    assert rendering.meaning("masked_lm_loss").startswith("Cross-entropy per masked token")
    assert rendering.meaning("gradient_norm") == "Size of the gradient before it is clipped."
    assert rendering.meaning("loss").startswith("What training minimises")
    assert rendering.meaning("odd") == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("masked_lm_loss", "Masked LM loss"),
        ("tokens_per_second", "Tokens per second"),
        ("mfu", "Model FLOP utilisation"),
        ("loss", "Loss"),
    ],
)
def test_words(name, words):
    assert rendering.words(name) == words


def test_a_value_that_a_template_misses_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="readings"):
        rendering.render("curve.svg", title="a")


def test_the_template_engine_is_imported_for_the_first_page_only():
    program = "import sys, bert_tf.training.report.page; sys.exit('jinja2' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)

"""The check by hand: what is printed, exit statuses, and wrong input."""

import re

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf import flagging
from bert_tf.errors import InputError
from export import compatibility
from export.images import table
from export.options import Compatibility


@pytest.fixture(scope="module")
def trimming(tmp_path_factory):
    """Path of a SavedModel with an operation that the TensorFlow Text of image 2.19 lacks."""
    path = str(tmp_path_factory.mktemp("trimming") / "model")
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def trim(x):
        ragged = tf.RaggedTensor.from_uniform_row_length(x, 1)
        return tf_text.RoundRobinTrimmer(3).trim([ragged, ragged])[0].to_tensor()

    module.trim = trim
    tf.saved_model.save(module, path)
    return path


def checked(path, **options):
    compatibility.main(flagging.make(Compatibility, options), [path])


def test_images_that_can_and_cannot_run_a_model_are_told(trimming, capsys):
    checked(trimming)
    head, *rest = capsys.readouterr().out.splitlines()
    assert re.match(
        rf"{trimming}: SavedModel of TensorFlow {tf.__version__} with \d+ operations; "
        "of TensorFlow Text: TFText>RoundRobinTrim$",
        head,
    )
    assert rest == [
        "  images 2.12 to 2.19 cannot run it:",
        "    TFText>RoundRobinTrim is first in image 2.20",
        f"  images 2.20 to {table.newest()} can run it",
    ]


@pytest.mark.parametrize("image", ["2.15", "2.15.1"])
def test_an_image_that_cannot_run_it_is_a_failure(trimming, image, capsys):
    with pytest.raises(SystemExit) as stopped:
        checked(trimming, image=image)
    assert stopped.value.code == 1
    assert capsys.readouterr().out.endswith(
        "  image 2.15 cannot run it:\n    TFText>RoundRobinTrim is first in image 2.20\n"
    )


def test_an_image_that_can_run_it_is_none(trimming, capsys):
    checked(trimming, image="2.20")
    assert capsys.readouterr().out.endswith("\n  image 2.20 can run it\n")


def test_an_export_runs_on_every_image(cases, capsys):
    checked(cases["classify", 1].exported.path)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"  images 2.12 to {table.newest()} can run it"


def test_an_unknown_image_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="--image=1.15 is not known. Known are 2.12, 2.13, "):
        checked("nowhere", image="1.15")


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_one_path_is_wanted(arguments):
    with pytest.raises(InputError, match="The path of one SavedModel was wanted"):
        compatibility.main(Compatibility(), arguments)


def test_a_path_without_a_saved_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a SavedModel: it has no saved_model.pb"):
        checked(str(tmp_path))

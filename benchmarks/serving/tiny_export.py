"""A SavedModel that costs next to nothing and whose answers are known beforehand."""

import os
import pathlib


def write(path, version):
    """Writes a version; it appears under its number when it is complete.

    The signature `serving_default` takes `text` and answers `upper`, `length` and `version`;
    a text without letters is refused by the graph. `pairs` takes `x` and `y`, float32 [B].

    Args:
      path: of the version's directory.
      version: int, part of each answer.
    """
    import tensorflow as tf

    text = tf.TensorSpec([None], tf.string, name="text")
    number = {name: tf.TensorSpec([None], tf.float32, name=name) for name in ("x", "y")}

    @tf.function(input_signature=[text])
    def answer(text):
        has_letters = tf.strings.regex_full_match(text, "(?s).*[A-Za-z].*")
        check = tf.debugging.Assert(tf.reduce_all(has_letters), ["A text has no letters:", text])
        with tf.control_dependencies([check]):
            upper = tf.strings.upper(text)
        return {
            "upper": upper,
            "length": tf.strings.length(text),
            "version": tf.fill(tf.shape(text), version),
        }

    @tf.function(input_signature=[number["x"], number["y"]])
    def pairs(x, y):
        return {"sum": x + y}

    target = pathlib.Path(path)
    temporary = target.with_name(f"unfinished-{target.name}")
    signatures = {"serving_default": answer, "pairs": pairs}
    tf.saved_model.save(tf.Module(), str(temporary), signatures=signatures)
    # As an export of this product has them.
    (temporary / "batching_params.pbtxt").write_text(
        "max_batch_size { value: 64 }\nbatch_timeout_micros { value: 2000 }\n"
        "max_enqueued_batches { value: 100 }\n"
    )
    os.replace(temporary, target)


def write_broken(path):
    """Writes a version that cannot be loaded."""
    target = pathlib.Path(path)
    temporary = target.with_name(f"unfinished-{target.name}")
    temporary.mkdir(parents=True)
    (temporary / "saved_model.pb").write_bytes(b"this is no SavedModel" * 100)
    os.replace(temporary, target)


def expected(text):
    """What every version answers for a text, its number aside."""
    return {"upper": text.upper(), "length": len(text)}

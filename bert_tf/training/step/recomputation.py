"""Computing the layers' insides anew in the backward pass, so that they need not be kept."""

import keras
import tensorflow as tf


def set_up(encoder, *, recompute, is_compiled):
    """Has an encoder compute its layers' insides anew in the backward pass, or not.

    Args:
      encoder: `modeling.encoder.Encoder`.
      recompute: bool.
      is_compiled: bool, whether XLA compiles what the encoder is trained in.
    """
    encoder.recompute = recompute
    encoder.remat = compiled_remat if is_compiled else keras.remat


def compiled_remat(function):
    """`keras.remat` for what XLA compiles, of one argument and one result.

    Args:
      function: callable from a float tensor to a float [N M] of at least one element.

    Returns:
      callable, the same function, which keeps its argument alone for the backward pass.
    """

    @tf.custom_gradient
    def call(x):
        def gradient(upstream, variables=()):
            # The same operations on the same input XLA makes once, and keeps their results. So the
            # input gets a zero added that hangs on the gradient. `keras.remat` does that too, but
            # the compiler for TPUs sees through its zero, and the one for CPUs drops optimization
            # barriers. This zero is a one where the gradient is NaN, which none can rule out.
            again = x + tf.cast(tf.math.is_nan(upstream[0, 0]), x.dtype)
            with tf.GradientTape() as tape:
                tape.watch([again, *variables])
                result = function(again)
            found = tape.gradient(result, [again, *variables], output_gradients=upstream)
            return found[0], found[1:]

        return function(x), gradient

    return call

"""Recomputation of the layers' activations in the backward pass, which saves their memory."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from bert_tf.modeling.encoder import Encoder

Function = Callable[[tf.Tensor], tf.Tensor]


def set_up(encoder: Encoder, *, recompute: bool, is_compiled: bool) -> None:
    """Makes an encoder recompute its layers' activations in the backward pass, or keep them.

    Args:
      is_compiled: whether XLA compiles what the encoder is trained in.
    """
    encoder.recompute = recompute
    encoder.remat = compiled_remat if is_compiled else keras.remat


def compiled_remat(function: Function) -> Function:
    """`keras.remat` for what XLA compiles, for a function of one argument.

    Args:
      function: from a float tensor to a float [N M] of at least one element.

    Returns:
      the same function, which keeps only its argument for the backward pass.
    """

    @tf.custom_gradient
    def call(x: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        def gradient(
            upstream: tf.Tensor, variables: Sequence[tf.Variable] = ()
        ) -> tuple[tf.Tensor, list[tf.Tensor]]:
            # XLA would compute the same operations on the same input once, and keep their results.
            # So a zero that depends on the gradient is added to the input. `keras.remat` does that
            # too, but the compiler for TPUs sees through its zero, and the one for CPUs drops
            # optimization barriers. This zero is a one where the gradient is NaN, which no
            # compiler can rule out.
            again = x + tf.cast(tf.math.is_nan(upstream[0, 0]), x.dtype)
            with tf.GradientTape() as tape:
                tape.watch([again, *variables])
                result = function(again)
            of_x, *of_variables = tape.gradient(
                result, [again, *variables], output_gradients=upstream
            )
            return of_x, of_variables

        return function(x), gradient

    return call

"""Batches to encoder to heads to loss: Keras layers that import keras and nothing else."""

from typing import TypeAlias

import keras

# A tensor of the Keras backend. Where one is an input, a NumPy array will do.
Tensor: TypeAlias = keras.KerasTensor

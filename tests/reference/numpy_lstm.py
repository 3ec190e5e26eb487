"""A bidirectional LSTM in NumPy, one row and one token at a time, in float64.

Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; Schuster and Paliwal 1997
for the two directions. Weights are a dict by the paths of a direction's cell: `kernel` [I 4U],
`recurrent_kernel` [U 4U] and `bias` [4U], with the gates in the order input, forget, cell, output.
"""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def direction(weights, inputs):
    """The outputs [T U] for a row [T I], read from its start."""
    num_units = len(weights["recurrent_kernel"])
    output, cell, outputs = np.zeros(num_units), np.zeros(num_units), []
    for vector in inputs:
        gates = vector @ weights["kernel"] + output @ weights["recurrent_kernel"] + weights["bias"]
        into, forget, new, out = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        output = sigmoid(out) * np.tanh(cell)
        outputs.append(output)
    return np.array(outputs)


def bidirectional(forward, backward, inputs):
    """The outputs of both directions for a row [T I], one after the other: [T 2U]."""
    return np.hstack([direction(forward, inputs), direction(backward, inputs[::-1])[::-1]])

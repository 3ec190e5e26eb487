"""A run that is nothing but its state, to save, damage and restore."""

import os
import pathlib

import numpy as np
import tensorflow as tf

from bert_tf.training.resume.state import State

INDEX, DATA, MANIFEST = "state.index", "state.data-00000-of-00001", "state.json"
FILES = (INDEX, DATA, MANIFEST)


class Moments(tf.Module):
    """An optimizer's state."""

    def __init__(self, shapes):
        super().__init__()
        self.first = [tf.Variable(tf.zeros(shape), trainable=False) for shape in shapes]


class Run:
    """A run whose variables are a function of the step, so that a mixture of two shows."""

    shapes = {"encoder/kernel": (5, 11), "encoder/bias": (3,)}

    def __init__(self, directory, strategy=None, **arguments):
        strategy = strategy or tf.distribute.OneDeviceStrategy("/cpu:0")
        self.directory = pathlib.Path(directory)
        with strategy.scope():
            self.weights = {name: tf.Variable(tf.zeros(s)) for name, s in self.shapes.items()}
            self.moments = Moments(self.shapes.values())
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        parts = {"weights": self.weights, "optimizer": self.moments}
        self.state = State(str(directory), parts, self.step, strategy, **arguments)

    def variables(self):
        return [*self.weights.values(), *self.moments.first]

    def at(self, step):
        """Sets the variables to those of a step."""
        self.step.assign(step)
        for index, variable in enumerate(self.variables()):
            variable.assign(tf.fill(variable.shape, step + index / 8))
        return self

    def save(self, *steps, **arguments):
        return [self.at(step).state.save(**arguments) for step in steps][-1]

    def assert_at(self, step):
        assert int(self.step.numpy()) == step
        for index, variable in enumerate(self.variables()):
            np.testing.assert_array_equal(variable, np.full(variable.shape, step + index / 8))


def assert_restores(directory, step):
    run = Run(directory)
    assert run.state.restore() == step
    run.assert_at(step)


def names(directory):
    return sorted(os.listdir(directory))

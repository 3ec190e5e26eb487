"""BERT in TensorFlow 2 and Keras, from raw text to a served answer."""

__version__ = "0.2.0.dev0"

"""BERT in TensorFlow 2 and Keras, from raw text to a served answer."""

from bert_tf import quiet

__version__ = "0.2.0.dev0"

quiet.install()  # here, since whatever imports TensorFlow later may be any module or the user

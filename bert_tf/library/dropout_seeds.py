"""Seeds of dropout where Keras trains: each layer draws them from a generator of its own.

The global generator of Keras cannot be drawn from on several replicas.
"""

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf

from bert_tf.modeling import dropout


@contextlib.contextmanager
def drawn_from(generator: keras.random.SeedGenerator) -> Iterator[None]:
    """Dropout inside draws its masks from a new seed; each replica has its own."""
    seed = keras.random.randint((2,), 0, 2**31 - 1, seed=generator)
    replica = tf.distribute.get_replica_context()
    number = tf.cast(replica.replica_id_in_sync_group if replica else 0, seed.dtype)
    with dropout.step_seed(seed + tf.stack([0, number])):
        yield

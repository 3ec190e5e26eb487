"""Makes TensorFlow know the operations of TensorFlow Text.

They are in its shared libraries. Importing the package loads these too, but also makes Keras layers
and a wrapper in Python for each operation, which a graph that is loaded does not need.
"""

import glob
import importlib.util
import os

import tensorflow as tf


def register() -> None:
    """Loads all of them; again, it does nothing."""
    for path in libraries():
        tf.load_library(path)


def libraries() -> list[str]:
    """Paths of the shared libraries that hold operations; none without the package."""
    spec = importlib.util.find_spec("tensorflow_text")  # finds it and does not import it
    folders = spec.submodule_search_locations if spec else None
    pattern = os.path.join("python", "ops", "*.so")
    return sorted(path for folder in folders or () for path in glob.glob(f"{folder}/{pattern}"))

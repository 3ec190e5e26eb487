"""Makes TensorFlow know the operations of TensorFlow Text.

Its shared libraries register them. Importing the package does that too, but makes Python modules,
Keras layers and a wrapper for each operation as well, which a graph that is loaded does not need.
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

"""Files with which stock TensorFlow Serving serves exported models."""

"""Which stock TensorFlow Serving image can run a graph."""

"""Clients of any server that speaks TensorFlow Serving's contract."""

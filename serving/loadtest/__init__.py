"""Load test of any server that speaks TensorFlow Serving's contract (docs/clients.md)."""

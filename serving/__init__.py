"""An embedded server that speaks TensorFlow Serving's REST contract, and a client."""

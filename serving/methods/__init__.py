"""TensorFlow Serving's methods, whichever transport they are called by."""

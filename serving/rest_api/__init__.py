"""TensorFlow Serving's REST API as an ASGI application."""

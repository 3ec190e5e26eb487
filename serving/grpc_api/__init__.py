"""TensorFlow Serving's gRPC API: services on the event loop of the REST API."""

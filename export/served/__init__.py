"""Forms of a model for serving: the same answers for less time, or for less memory."""

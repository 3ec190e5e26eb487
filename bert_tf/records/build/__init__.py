"""Builds pre-training TFRecords from text: worker processes, scratch directory, resume."""

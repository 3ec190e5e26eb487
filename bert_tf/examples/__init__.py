"""Ids to examples: sentence pairs, masking, windows, packing. Pure functions; no TensorFlow."""

"""Checkpoint formats: the files of each, and the names of the variables in them."""

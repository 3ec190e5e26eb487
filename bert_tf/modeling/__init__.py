"""Batches to encoder to heads to loss: Keras layers that import keras and nothing else."""

"""Reads TFRecords back as global batches, or as one worker's share of each."""

"""Rows of a fine-tuning in TFRecord files, for data sets larger than memory."""

"""Examples to TFRecord files, and TFRecord files to batches."""

"""Several runs of a fine-tuning, over options and seeds, of which the best one is kept."""

"""Pre-training: run_pretraining.py."""

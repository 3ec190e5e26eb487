"""Fine-tuning: run_classifier.py and run_squad.py."""

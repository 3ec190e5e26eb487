"""What pre-training will need: memory, FLOPs, hours, before it runs."""

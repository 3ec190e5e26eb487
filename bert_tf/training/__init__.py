"""Strategy, optimizer, loop; pre-training, fine-tuning, prediction."""

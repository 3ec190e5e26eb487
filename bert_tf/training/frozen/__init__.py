"""What a frozen encoder gives: for files of vectors, and for models trained on them."""

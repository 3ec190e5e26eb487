"""Name tables and total loaders and writers for every checkpoint format; the model directory."""

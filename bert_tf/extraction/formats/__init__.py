"""One class for each layout of the output file."""

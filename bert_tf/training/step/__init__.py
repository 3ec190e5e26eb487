"""One update, and the loop that repeats it."""

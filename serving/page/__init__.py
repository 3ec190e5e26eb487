"""The page at `/`, where the loaded models can be tried in a browser."""

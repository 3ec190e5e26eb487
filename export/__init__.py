"""SavedModels from a model directory: strings in, answers out."""

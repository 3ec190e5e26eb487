"""What is served: models, their versions on disk and in memory, and a SavedModel in a session."""

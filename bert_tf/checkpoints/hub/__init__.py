"""Released models by name: where they are fetched from, checked and kept."""

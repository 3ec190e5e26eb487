"""Shows what pre-training records hold, as text, tables and a picture."""

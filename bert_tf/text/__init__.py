"""Text to ids: vocabulary, and one WordPiece algorithm in two forms (Python and TF graph)."""

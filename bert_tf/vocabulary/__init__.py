"""Learns a WordPiece vocabulary from a corpus, or extends a released one."""

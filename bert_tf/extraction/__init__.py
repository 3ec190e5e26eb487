"""Texts to the vectors of a frozen encoder, in files (BERT section 5.3): `extract_features.py`."""

"""Files of raw text to documents: formats, Wikipedia's markup, sentences."""

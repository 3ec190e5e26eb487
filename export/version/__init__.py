"""A version of an exported model: written, checked, described."""

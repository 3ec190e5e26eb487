"""Comparison of a server's answers with recorded ones (docs/clients.md)."""

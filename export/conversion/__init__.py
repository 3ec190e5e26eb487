"""Converts a checkpoint of one format to another, and checks the result."""

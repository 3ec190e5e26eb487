"""Saves the state of a run and restores it."""

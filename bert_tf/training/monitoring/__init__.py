"""Logs, speed, scores, and the checks that stop a run that goes wrong."""

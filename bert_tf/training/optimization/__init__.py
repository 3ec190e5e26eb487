"""Optimizers, learning-rate schedules, parameter groups and loss scaling."""

"""Figures of strings: they read a run's data, live or loaded, never a model."""

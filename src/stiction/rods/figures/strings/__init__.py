"""Figures of strings, drawn from the data of a run, computed or loaded."""

"""Closed forms and published numbers; NumPy only, nothing of this package."""

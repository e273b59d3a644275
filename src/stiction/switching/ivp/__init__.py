"""Flows by the signature that SciPy made usual."""

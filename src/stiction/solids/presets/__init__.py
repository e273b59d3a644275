"""Solids of the literature, ready to be solved."""

"""Touches of a surface: how far they are from a split of futures."""

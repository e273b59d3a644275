"""Blocks of a study: many pairs of strings in one call of compiled code."""

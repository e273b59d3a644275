"""Blocks of strings: many members of a study in one call of compiled code."""

"""Comparison with the four source papers: each figure, table and statement beside our result.

`stiction reproduce` solves the built-in scenarios of a figure, tabulates the paper's values beside
the computed ones, and draws the figure. `verdicts` holds a verdict on each item.
"""

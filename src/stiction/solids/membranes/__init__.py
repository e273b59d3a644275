"""Membranes in space: sheets that carry tension and do not bend; their face may be in contact."""

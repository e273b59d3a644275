"""Membranes in three dimensions: thin sheets without bending stiffness, which may be in contact."""

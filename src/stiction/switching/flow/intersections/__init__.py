"""Intersections of two discontinuity surfaces: exit directions, and codimension-2 sliding."""

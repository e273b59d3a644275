"""Codimension-2 intersections: exit directions, and sliding on both surfaces."""

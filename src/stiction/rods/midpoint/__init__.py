"""The implicit midpoint rule for very slender rods."""

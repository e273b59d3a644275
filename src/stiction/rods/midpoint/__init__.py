"""The implicit midpoint rule, for slender rods whose explicit step limit is too small."""

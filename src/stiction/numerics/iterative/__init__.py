"""Linear systems solved by iteration, for problems too large for factors."""

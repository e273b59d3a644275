"""Factors of sparse matrices by SuperLU and by PARDISO; chosen in `linear_solvers`."""

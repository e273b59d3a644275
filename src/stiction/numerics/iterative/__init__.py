"""Sparse linear systems solved by GMRES, for problems too large to factorise each matrix."""

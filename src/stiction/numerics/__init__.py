"""Numerical methods that several systems share, and the compilation of kernels."""

"""Compiling kernels and keeping them; imported when something is compiled or loaded."""

"""Compilation and cache of kernels; imported when something is compiled or loaded."""

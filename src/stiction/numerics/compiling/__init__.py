"""Compilation of kernels and their cache on disk; imported when a kernel is compiled or loaded."""

"""Closed forms and published numbers with which tests compare the methods of this package.

The modules import NumPy or Python's standard library only, so that no check is circular.
"""

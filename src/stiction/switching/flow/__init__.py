"""Kernels of the event-driven flow; private to `stiction.switching`."""

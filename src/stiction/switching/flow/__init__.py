"""Kernels of the event-driven integration of Filippov flows; private to `stiction.switching`."""

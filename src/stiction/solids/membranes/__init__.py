"""Membranes: bodies without thickness of their own in space, whose one surface also touches."""

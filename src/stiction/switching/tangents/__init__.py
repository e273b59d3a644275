"""Derivatives of a flow with respect to its start and parameters; `kernels` has the equations."""

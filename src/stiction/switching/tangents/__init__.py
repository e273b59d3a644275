"""Derivatives of runs of a flow by initial state and parameters; `kernels` has the equations."""

"""First derivatives of runs of chains with respect to initial state and parameters.

Between events they obey the variational equation, at events they jump by saltation matrices.
`run` integrates forward in time, `adjoint` backward; `steps` differentiates the theta scheme.
"""

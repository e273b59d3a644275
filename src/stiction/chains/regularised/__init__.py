"""Chains whose contacts never stick: creep, presliding, rate and state, by an implicit method.

`run` says what came out. `equation_kernels` are the equations of a chain with their derivatives,
`collocation_kernels` one step of Radau's method, `theta_kernels` go from kink to kink, and
`accounting_kernels` count energies and creep. `steps` is the theta scheme for the same equations.
"""

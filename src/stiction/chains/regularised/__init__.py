"""Chains with regularised friction: laws without stick, such as presliding and rate and state.

Friction is a function of the slip rate and of contact states, so the motion solves an ordinary
differential equation. `equation_kernels` evaluate it and its Jacobian. `collocation_kernels` make
one Radau step; `step_kernels` control the error and locate changes of sign at which a law is not
smooth; `accounting_kernels` integrate energies and creep; `radau` is the loop over these steps.
`theta` is the theta scheme for the same equations. `run` returns the results.
"""

"""Theta schemes with set-valued or regularised friction: kernels of a step, and the integrator.

`step_kernels` states the scheme; `exact_kernels` solve a step with set-valued friction,
`smooth_kernels` with regularised friction. `ThetaStepper` and `RegularizedTheta` call `run`.
"""

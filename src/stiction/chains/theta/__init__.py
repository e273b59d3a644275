"""Theta schemes with set-valued or regularised friction: kernels of a step, and the integrator."""

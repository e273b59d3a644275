"""Chains whose contacts never stick: creep, presliding, rate and state, by an implicit method.

`method` is what a user writes, `run` marches and keeps, `motion` the equations of a chain with their
derivatives, `collocation` one step of Radau's method.
"""

"""Chains whose contacts never stick: creep, presliding, rate and state, by an implicit method.

`method` is what a user writes, `run` says what came out, `march` goes from kink to kink, `motion`
is the equations of a chain with their derivatives, `collocation` one step of Radau's method.
"""

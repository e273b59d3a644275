"""Rods in contact along arcs, with bodies and each other: implicit steps, exact Coulomb friction.

`stepper` takes the steps of the methods `Quasistatic` and `ImplicitEuler`, `problem` solves each,
`contact` has the laws, `pairs` and `curves` the geometry, `outcome` makes the run.
"""

__all__: list[str] = []

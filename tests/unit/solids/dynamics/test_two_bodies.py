"""Two bodies that meet by virtual work in motion: what is out of balance there is inertia."""

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    Fixed,
    GeneralisedAlpha,
    MovingSolid,
    NeoHookean,
    rectangle,
)


def thrown():
    """A block thrown on another one, with friction."""
    law = LennardJones.from_strength(0.05, 1e-3, adhesive=False)
    low = rectangle(2.0, 0.5, (5, 1), (-1.0, -0.5))
    high = rectangle(1.0, 0.5, (3, 1), (-0.5, 1.5 * law.gap_eq))
    solid = st.Solid(
        [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3)) for mesh in (low, high)],
        [Contact(Boundary(1, "bottom"), Boundary(0, "top"), law, EA(0.3), passes="mortar")],
        [Fixed(Boundary(0, "bottom"))],
        dimensionless=True,
    )
    return MovingSolid(solid, velocity=[(0.0, 0.0), (0.03, -0.1)])


def test_the_ledger_closes_as_the_block_comes_to_the_other():
    run = st.solve(thrown(), GeneralisedAlpha(0.8, steps=24, tolerance=None), (0.0, 1.2))
    kinetic = run.energy.columns()["kinetic"]
    # most of the motion has gone into the bodies, so that forces at the ends of steps are large
    assert kinetic.min() < 0.5 * kinetic[0]
    assert run.energy.imbalance_rel < 1e-6

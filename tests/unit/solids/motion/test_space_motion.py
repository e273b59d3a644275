"""A body in space in motion: what falls, and a pillar that lets go."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Boundary,
    Contact,
    GeneralisedAlpha,
    MovingSolid,
    NeoHookean,
    RigidPlane,
    Solid,
    SweptBody,
    rectangle,
)


def test_a_block_in_space_flies_and_bounces():
    """Momentum and energy: thrown along three axes, it meets a plane without adhesion."""
    law = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    section = rectangle(1.0, 0.5, (2, 2), (0.0, law.gap_eq))
    body = SweptBody(section, (0.0, 0.5, 1.0), Q1(), NeoHookean(1.0, 0.3))
    plane = RigidPlane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    solid = Solid([body], [Contact(Boundary(0, "bottom"), plane, law)], dimensionless=True)
    thrown = np.array([[0.01, -0.05, 0.02]])
    moving = MovingSolid(solid, 2.0, velocity=thrown)
    run = st.solve(moving, GeneralisedAlpha(steps=40, stability=False), (0.0, 4.0))
    told = run.energy.columns()
    # half of the mass of half a cube of density 2, times the square of the velocity
    assert told["kinetic"][0] == pytest.approx(0.5 * float((thrown**2).sum()), rel=1e-12)
    assert run.energy.imbalance_rel < 1e-6
    # it came back up: what is left of the kinetic energy includes motion along the plane
    assert told["kinetic"][-1] > 0.5 * (0.01**2 + 0.02**2)
    assert (np.diff(told["kinetic"]) > 0.0).any()

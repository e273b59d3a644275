"""Small solids in space for tests."""

import numpy as np

from stiction.laws import DI, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    Dome,
    Driven,
    Fixed,
    NearlyIncompressible,
    Program,
    Readings,
    RigidPlane,
    Solid,
    SweptBody,
    rectangle,
)

LAW = LennardJones.from_strength(0.3, 0.02)
BREAKS = (0.0, 0.3, 1.0)


def section(cells=(5, 3), depth=0.05, origin=0.0):
    """Return a rectangle a little inside the wall of the law on the plane y = 0."""
    return rectangle(1.5, 0.6, cells, (origin, (1.0 - depth) * LAW.gap_eq))


def on_plane(space, friction, material=None):
    """Return a block on a rigid plane, pressed and then sheared, in the plane or swept."""
    material = material or NearlyIncompressible(1.0, 0.45)
    element = Q1N2(reduced=True)
    top = Boundary(0, "top")
    conditions = [
        Driven(top, 1, Program((0, 1, 2), (0.0, -0.03, -0.03))),
        Driven(top, 0, Program((0, 1, 2), (0.0, 0.0, 0.3))),
    ]
    plane = RigidPlane()
    if space:
        body = SweptBody(section(), BREAKS, element, material)
        conditions += [Fixed(Boundary(0, end), (2,)) for end in ("back", "front")]
        plane = RigidPlane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    else:
        body = Body(section(), element, material)
    contact = Contact(Boundary(0, "bottom"), plane, LAW, friction)
    readings = Readings(displacement=1)
    return Solid([body], [contact], conditions, readings=readings, dimensionless=True)


def two_blocks(space, friction):
    """Return a block that slides on another one of a finer mesh, in the plane or swept."""
    lower = rectangle(2.4, 0.5, (7, 2), (-0.3, -0.5))
    meshes = [section((4, 2)), lower]
    element, soft = Q1N2(reduced=True), NearlyIncompressible(1.0, 0.4)
    top = Boundary(0, "top")
    conditions = [
        Driven(top, 1, Program((0, 1, 2), (0.0, -0.02, -0.02))),
        Driven(top, 0, Program((0, 1, 2), (0.0, 0.0, 0.2))),
        Fixed(Boundary(1, "bottom"), (0, 1)),
    ]
    if space:
        bodies = [SweptBody(mesh, BREAKS, element, soft) for mesh in meshes]
        for k in (0, 1):
            conditions += [Fixed(Boundary(k, end), (2,)) for end in ("back", "front")]
    else:
        bodies = [Body(mesh, element, soft) for mesh in meshes]
    law = LennardJones.from_strength(0.3, 0.02, adhesive=False)
    contact = Contact(Boundary(0, "bottom"), Boundary(1, "top"), law, friction, penalty=5.0)
    readings = Readings(displacement=1)
    return Solid(bodies, [contact], conditions, readings=readings, dimensionless=True)


def small_cap(along=0, length=1.0, stress=1.0, cells=4, shear=0.06):
    """Return a square cap whose plate is driven down and then along the first or third axis.

    Parameters
    ----------
    along : component of the motion
    length, stress : units in which the same cap is written
    """
    side = length * 0.8
    mesh = rectangle(2.0 * side, 0.7 * length, (cells, 2), (-side, 0.0))
    breaks = np.linspace(-side, side, cells + 1)
    dome = Dome((0.0, 0.7 * length, 0.0), 2.5 * length)
    body = SweptBody(
        mesh, breaks, Q1N2(reduced=True, contact_points=3), NearlyIncompressible(stress, 0.4), dome
    )
    law = LennardJones.from_strength(0.3 * stress, 0.02 * stress * length, adhesive=False)
    plate = RigidPlane((0.0, 0.7 * length + 0.95 * law.gap_eq, 0.0), (0.0, -1.0, 0.0))
    contact = Contact(Boundary(0, "top"), plate, law, DI(mu=0.5))
    held = [Fixed(Boundary(0, "bottom"), (0, 1, 2))]
    held += [
        Driven(rigid(), 1, Program((0, 1), (0.0, -0.08 * length))),
        Driven(rigid(), along, Program((0, 1, 2), (0.0, 0.0, shear * length))),
    ]
    held.append(Fixed(rigid(), (2 - along,)))
    readings = Readings(displacement=2)
    return Solid([body], [contact], held, readings=readings, dimensionless=True)


def rigid():
    """Return the rigid partner of the first contact."""
    from stiction.solids import Rigid

    return Rigid(0)

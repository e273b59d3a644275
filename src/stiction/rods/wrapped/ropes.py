"""Ready systems of rods in contact with each other: a rope of helical strands.

The strands are helices at equal angles around an empty middle, at the radius at which neighbours
just touch (`exact.rods.rope_radius`), corrected for the discrete axes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.exact.rods import rope_radius
from stiction.numerics.checks import number, whole
from stiction.rods.centreline import Helix
from stiction.rods.rod import BYTES_OF_ELEMENT, Clamped, CosseratRod, Driven
from stiction.rods.section import Section
from stiction.rods.wrapped.checks import MOST_TURN
from stiction.rods.wrapped.curves import axis_points, closest

__all__ = ["laid_rope"]

Floats = npt.NDArray[np.float64]

# largest lay angle [rad]
_MOST_LAY = 0.6
# gap between strands at the start over twice their radius: open without load
_GAP = 1e-6


def laid_rope(
    section: Section,
    *,
    strands: int = 3,
    lay: float = 0.2,
    turns: float = 1.0,
    elements: int = 40,
    strain: float = 0.0,
    twist: float = 0.0,
) -> tuple[CosseratRod, ...]:
    """Return the strands of a rope along z: unloaded helices that touch, for `Quasistatic`.

    Both ends of each strand are clamped. From 0 to 1 s the upper ends move along z and about it, so
    that the rope has a strain and a twist. They move along straight lines, so the whole angle of
    the twist should be small.

    Parameters
    ----------
    section : of each strand, with a radius
    strands : their number, at least 2, around an empty middle
    lay : angle between a strand and the rope, up to 0.6 [rad]
    turns : number of turns of a strand about the rope [1]
    elements : of each strand
    strain : at 1 s [1]
    twist : at 1 s [rad/m]; positive closes the rope

    Raises
    ------
    ModelError : for numbers outside these bounds.

    Verified by: tests/exact/test_ropes.py::test_rope_under_tension_and_twist

    Examples
    --------
    >>> import stiction as st
    >>> from stiction.rods.wrapped.ropes import laid_rope
    >>> wire = st.rods.CircularSection(0.001, 1e9)
    >>> len(laid_rope(wire, strands=3, lay=0.2, strain=1e-3))
    3
    """
    _check_rope(section, strands, lay, turns, elements)
    why, try_ = "the drive prescribes the motion of one end of every strand.", "give 0.0."
    number("laid_rope.strain", strain, why=why, try_=try_)
    number("laid_rope.twist", twist, unit="rad/m", why=why, try_=try_)
    a = section.radius
    radius = a * rope_radius(strands, lay)[0]

    def lines(radius: float) -> list[Helix]:
        """Return the axes of the strands at a distance `radius` from that of the rope."""
        pitch, each = 2.0 * np.pi * radius / np.tan(lay), 2.0 * np.pi / strands
        return [
            Helix([0, 0, 0], [0, 0, 1], radius=radius, pitch=pitch, turns=turns, phase=each * k)
            for k in range(strands)
        ]

    # the axes between nodes are cubics, whose distance differs from that of helices
    for _ in range(4):
        first, *others = (line.points(elements + 1) for line in lines(radius))
        apart = min(_distance(first, other) for other in others)
        radius *= 2.0 * a * (1.0 + _GAP) / apart
    rods = []
    for line in lines(radius):
        end = line.points(elements + 1)[-1]
        angle = twist * end[2]
        velocity = [-angle * end[1], angle * end[0], strain * end[2]]
        moved = Driven(velocity=velocity, angular_velocity=[0.0, 0.0, angle])
        # the unloaded shape is the given one: no other natural curvature
        rods.append(CosseratRod(section, line, None, elements, Clamped(), moved, None))
    return tuple(rods)


def _check_rope(section: Section, strands: int, lay: float, turns: float, elements: int) -> None:
    """Raise ModelError for arguments of `laid_rope` outside their bounds."""
    why, try_ = "each strand touches its neighbours in the rope.", "give 3."
    whole("laid_rope.strands", strands, least=2, most=100, why=why, try_=try_)
    why, try_ = "each strand is divided into elements.", "give 40."
    whole("laid_rope.elements", elements, least=4, each=BYTES_OF_ELEMENT, why=why, try_=try_)
    why, try_ = "at larger angles a strand touches its neighbours at several places.", "give 0.2."
    number("laid_rope.lay", lay, unit="rad", rule="positive", why=why, try_=try_)
    if lay > _MOST_LAY:
        raise ModelError(
            "laid_rope.lay", f"{lay:.6g} rad", f"an angle up to {_MOST_LAY:g} rad", why, try_
        )
    why, try_ = "strands turn about the rope.", "give 1.0."
    number("laid_rope.turns", turns, rule="positive", why=why, try_=try_)
    if not getattr(section, "radius", 0.0) > 0.0:
        got, needs = f"a {type(section).__name__} without a radius", "a section with a radius"
        why, try_ = "strands touch at their surfaces.", "give CircularSection(radius, young)."
        raise ModelError("laid_rope.section", got, needs, why, try_)
    fewest = math.ceil(2.0 * np.pi * turns * np.sin(lay) / MOST_TURN)
    if elements < fewest:
        why = (
            "the axis of a strand turns by "
            + f"{MOST_TURN:g} rad at most from one element to the next."
        )
        raise ModelError(
            "laid_rope.elements", elements, f"at least {fewest}", why, f"give {fewest}."
        )


def _distance(points: Floats, axis: Floats) -> float:
    """Return the smallest distance of points (k, 3) from an axis with nodes (n + 1, 3)."""
    place, _ = closest(points, axis, np.zeros(len(points), dtype=np.int64))
    return float(np.linalg.norm(points - axis_points(axis, place), axis=1).min())

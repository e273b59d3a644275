"""Ready systems of rods in contact with themselves: overhand knots, plectonemes.

Each function returns one rod that is straight without load, laid on a given curve, from which
`Quasistatic` finds equilibria.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number, whole
from stiction.rods.centreline import Curve
from stiction.rods.presets import resample, rounded
from stiction.rods.rod import BYTES_OF_ELEMENT, Clamped, CosseratRod, Driven
from stiction.rods.section import Section

__all__ = ["overhand_knot", "plectoneme"]

Floats = npt.NDArray[np.float64]

# distance of the strands of the braid from its middle, and width of the smoothing, over the radius
# of the rod. Chosen: the given curve must not touch itself
_BRAID, _SMOOTH = 1.35, 1.0
# half lengths of the first and of each further turn of the braid, over the square root of the
# product of the radii of rod and loop. Chosen; pi over the wave number of the double helix in
# equilibrium
_FIRST_TURN, _HALF_TURN = 2.0, np.pi * 12.0**0.25
# least radius of the loop over that of the rod. Chosen
_LEAST_LOOP = 6.0
# radius and lay angle of the given strands of a plectoneme, over the radius of the rod, and rad.
# Chosen: they must not touch; tension decides about the angle
_PLY, _LAY = 1.2, 0.4
_TURNS = 0.5, 100.0
# least radius of the loop at its end, over that of the rod. Chosen
_LEAST_END_LOOP = 2.0
# points of the curve before it is divided into elements
_POINTS = 8000


def overhand_knot(
    section: Section,
    *,
    turns: int = 1,
    loop: float | None = None,
    tail: float | None = None,
    elements: int = 200,
    pull: float = 0.0,
) -> CosseratRod:
    """Return a straight rod tied into a loose overhand knot along x, for `Quasistatic`.

    The given curve is a braid of two strands that cross 2 `turns` + 1 times, a loop and two tails.
    The braid is about as long as in equilibrium.
    The rod is straight without load, so that `Quasistatic` with self-contact first finds the
    equilibrium of the knot between its clamped ends, without friction; then the right end moves.

    Parameters
    ----------
    section : of the rod, with a radius
    turns : the trefoil knot has 1, the cinquefoil knot 2
    loop : radius of the given loop beside the braid [m]; None for 12 radii of the rod
    tail : length of each tail [m]; None for six times `loop`, where clamps do not affect the knot
    elements : of the rod
    pull : velocity of the right end, outwards [m/s]

    Raises
    ------
    ModelError : for numbers outside these bounds.

    Source: Audoly, Clauvelin, Neukirch 2007, Phys. Rev. Lett. 99, 164301.
    Verified by: tests/exact/test_knots.py::test_loose_trefoil_without_friction

    Examples
    --------
    >>> import stiction as st
    >>> wire = st.rods.CircularSection(1e-3, 1e9)
    >>> st.rods.overhand_knot(wire, pull=0.01).elements
    200
    """
    why, try_ = "the braid has this many turns.", "give 1."
    whole("overhand_knot.turns", turns, least=1, most=100, why=why, try_=try_)
    a, loop, tail = _lengths("overhand_knot", section, elements, (loop, 12.0), tail, _LEAST_LOOP)
    why, try_ = "an end is pulled at this velocity.", "give 0.0."
    pull = number("overhand_knot.pull", pull, unit="m/s", why=why, try_=try_)
    nodes = resample(_knot(a, turns, loop, tail), elements + 1)
    right = Driven(velocity=[pull, 0.0, 0.0])
    return CosseratRod(section, Curve(nodes), elements=elements, left=Clamped(), right=right)


def plectoneme(
    section: Section,
    *,
    turns: float = 3.0,
    loop: float | None = None,
    tail: float | None = None,
    elements: int = 200,
    twist: float = 0.0,
) -> CosseratRod:
    """Return a straight rod that winds around itself between two tails along x, for `Quasistatic`.

    The given curve is a double helix along y that ends in a loop, and two tails. The rod is
    straight and without twist if it is not loaded; `Quasistatic` with self-contact first
    finds its equilibrium between clamped ends; then the right end rotates about x. The distance of
    the ends is constant, so that its force follows from the twist.

    Parameters
    ----------
    section : of the rod, with a radius
    turns : of the double helix, at the start
    loop : radius of the given loop at its end [m]; None for 3 radii of the rod
    tail : length of each tail [m]; None for six times `loop`
    elements : of the rod
    twist : angular velocity of the right end about x; a positive one winds up the rod [rad/s]

    Raises
    ------
    ModelError : for numbers outside these bounds.

    Source: Clauvelin, Audoly, Neukirch 2008, Macromolecules 41, 4479.
    Verified by: tests/exact/test_knots.py::test_plectoneme

    Examples
    --------
    >>> import stiction as st
    >>> wire = st.rods.CircularSection(1e-3, 1e9)
    >>> st.rods.plectoneme(wire, turns=2.0, twist=0.1).elements
    200
    """
    where, why, try_ = (
        "plectoneme.turns",
        "the rod winds around itself this many times.",
        "give 3.0.",
    )
    turns = number(where, turns, rule="positive", why=why, try_=try_)
    if not _TURNS[0] <= turns <= _TURNS[1]:
        raise ModelError(where, f"{turns:g}", "between {:g} and {:g}".format(*_TURNS), why, try_)
    a, loop, tail = _lengths("plectoneme", section, elements, (loop, 3.0), tail, _LEAST_END_LOOP)
    why, try_ = "an end is turned at this rate.", "give 0.0."
    twist = number("plectoneme.twist", twist, unit="rad/s", why=why, try_=try_)
    nodes = resample(_double_helix(a, turns, loop, tail), elements + 1)
    right = Driven(angular_velocity=[twist, 0.0, 0.0])
    return CosseratRod(section, Curve(nodes), elements=elements, left=Clamped(), right=right)


def _lengths(
    what: str,
    section: Section,
    elements: int,
    loop: tuple[float | None, float],
    tail: float | None,
    least: float,
) -> tuple[float, float, float]:
    """Return the radius of the rod, and the checked or default loop and tail [m].

    Parameters
    ----------
    what : name of the ready system
    loop : as given, and the default over the radius of the rod
    least : least loop over the radius of the rod
    """
    why, try_ = "the rod is divided into elements.", "give 200."
    whole(f"{what}.elements", elements, least=20, each=BYTES_OF_ELEMENT, why=why, try_=try_)
    a = getattr(section, "radius", 0.0)
    if not a > 0.0:
        got, needs = f"a {type(section).__name__} without a radius", "a section with a radius"
        why = "the rod touches itself at its surface."
        try_ = "give CircularSection(radius, young)."
        raise ModelError(f"{what}.section", got, needs, why, try_)
    given = loop[1] * a if loop[0] is None else loop[0]
    why, try_ = "the given curve must not touch itself.", f"give {loop[1] * a:.6g}."
    radius = number(f"{what}.loop", given, unit="m", rule="positive", why=why, try_=try_)
    if radius < least * a:
        raise ModelError(
            f"{what}.loop", f"{radius:.6g} m", f"at least {least * a:.6g} m", why, try_
        )
    tail = 6.0 * radius if tail is None else tail
    why, try_ = "each straight end of the rod has this length.", f"give {6.0 * radius:.6g}."
    return a, radius, number(f"{what}.tail", tail, unit="m", rule="positive", why=why, try_=try_)


def _knot(a: float, turns: int, loop: float, tail: float) -> Floats:
    """Return points of the knot at equal arclengths, smoothed."""
    crossings, beside = 2 * turns + 1, _BRAID * a
    half = (_FIRST_TURN + _HALF_TURN * (turns - 1)) * np.sqrt(loop * a)
    x = np.linspace(-half, half, 20 * crossings)
    angle = 0.5 * np.pi * (crossings * (x / half + 1.0) - 1.0)
    strand = np.column_stack([x, beside * np.sin(angle), beside * np.cos(angle)])
    quarter = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 60)
    arc = np.column_stack([loop * np.cos(quarter), loop * np.sin(quarter), 0.0 * quarter])
    right = arc + np.array([half, beside + loop, 0.0])
    end = np.array([[-tail - half, -beside, 0.0]])
    # both strands of the braid begin on the left; the second is the first turned by half a turn
    parts = [end, strand, right, (right * [-1.0, 1.0, 1.0])[::-1], strand * [1.0, -1.0, -1.0]]
    return _smooth([*parts, end * [-1.0, 1.0, 1.0]], a)


def _double_helix(a: float, turns: float, loop: float, tail: float) -> Floats:
    """Return points of the plectoneme at equal arclengths, smoothed."""
    radius = _PLY * a
    angle = np.linspace(0.0, 2.0 * np.pi * turns, round(60 * turns) + 2)
    height = radius * angle / np.tan(_LAY)
    strand = np.column_stack([-radius * np.cos(angle), height, -radius * np.sin(angle)])
    # the loop lies in the plane of the axis and of both strands at their upper end
    across = strand[-1] * [1.0, 0.0, 1.0] / radius
    gap = np.arcsin(radius / loop)
    around = np.linspace(gap, 2.0 * np.pi - gap, 200)[1:-1, None]
    end = loop * (np.sin(around) * across + (np.cos(gap) - np.cos(around)) * [0.0, 1.0, 0.0])
    end[:, 1] += height[-1]
    left = np.array([[-tail - radius, 0.0, 0.0]])
    return _smooth([left, strand[1:], end, strand[:0:-1] * [-1.0, 1.0, -1.0], -left], a)


def _smooth(parts: list[Floats], a: float) -> Floats:
    """Return points at equal arclengths on the line through all parts, smoothed over a radius."""
    points = resample(np.vstack(parts), _POINTS)
    spacing = float(np.linalg.norm(points[1] - points[0]))
    return rounded(points, max(1, round(_SMOOTH * a / spacing)))

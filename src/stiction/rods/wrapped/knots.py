"""Ready systems of rods in contact with themselves: overhand knots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number, whole
from stiction.rods.centreline import Curve
from stiction.rods.presets import resample, rounded
from stiction.rods.rod import BYTES_OF_ELEMENT, Clamped, CosseratRod, Driven
from stiction.rods.section import Section

__all__ = ["overhand_knot"]

Floats = npt.NDArray[np.float64]

# distance of the strands of the braid from its middle, and width of the smoothing, over the radius
# of the rod. Chosen: the given curve must not touch itself
_BRAID, _SMOOTH = 1.35, 1.0
# least radius of the loop over that of the rod. Chosen
_LEAST_LOOP = 6.0
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
    """Return a straight rod tied into a loose overhand knot along x, for `wrapped_path`.

    The given curve is a braid of two strands that cross 2 `turns` + 1 times, a loop and two tails.
    The rod is straight without load, so that `wrapped_path(..., self_contact=True)` first finds the
    equilibrium of the knot between its clamped ends, without friction; then the right end moves.

    Parameters
    ----------
    section : of the rod, with a radius
    turns : the trefoil knot has 1, the cinquefoil knot 2
    loop : radius of the given loop [m]; None for 12 radii of the rod
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
    why, try_ = "it is the number of turns of the braid.", "give 1."
    whole("overhand_knot.turns", turns, least=1, most=100, why=why, try_=try_)
    why, try_ = "the rod has so many elements.", "give 200."
    whole("overhand_knot.elements", elements, least=20, each=BYTES_OF_ELEMENT, why=why, try_=try_)
    a = getattr(section, "radius", 0.0)
    if not a > 0.0:
        got, needs = f"a {type(section).__name__} without a radius", "a section with a radius"
        why, try_ = (
            "the knot touches itself at its surface.",
            "give CircularSection(radius, young).",
        )
        raise ModelError("overhand_knot.section", got, needs, why, try_)
    loop = 12.0 * a if loop is None else loop
    why, try_ = "the given curve must not touch itself.", f"give {12.0 * a:.6g}."
    loop = number("overhand_knot.loop", loop, unit="m", rule="positive", why=why, try_=try_)
    if loop < _LEAST_LOOP * a:
        needs = f"at least {_LEAST_LOOP * a:.6g} m"
        raise ModelError("overhand_knot.loop", f"{loop:.6g} m", needs, why, try_)
    tail = 6.0 * loop if tail is None else tail
    why, try_ = "the ends of the rod hold the knot.", f"give {6.0 * loop:.6g}."
    tail = number("overhand_knot.tail", tail, unit="m", rule="positive", why=why, try_=try_)
    why, try_ = "it is the velocity of an end.", "give 0.0."
    pull = number("overhand_knot.pull", pull, unit="m/s", why=why, try_=try_)
    nodes = resample(_curve(a, turns, loop, tail), elements + 1)
    right = Driven(velocity=[pull, 0.0, 0.0])
    return CosseratRod(section, Curve(nodes), elements=elements, left=Clamped(), right=right)


def _curve(a: float, turns: int, loop: float, tail: float) -> Floats:
    """Return points of the knot at equal arclengths, smoothed."""
    crossings, beside = 2 * turns + 1, _BRAID * a
    half = (2.0 / 3.0) * crossings * np.sqrt(loop * a)
    x = np.linspace(-half, half, 20 * crossings)
    angle = 0.5 * np.pi * (crossings * (x / half + 1.0) - 1.0)
    strand = np.column_stack([x, beside * np.sin(angle), beside * np.cos(angle)])
    quarter = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 60)
    arc = np.column_stack([loop * np.cos(quarter), loop * np.sin(quarter), 0.0 * quarter])
    right = arc + np.array([half, beside + loop, 0.0])
    end = np.array([[-tail - half, -beside, 0.0]])
    # both strands of the braid begin on the left; the second is the first turned by half a turn
    parts = [end, strand, right, (right * [-1.0, 1.0, 1.0])[::-1], strand * [1.0, -1.0, -1.0]]
    points = resample(np.vstack([*parts, end * [-1.0, 1.0, 1.0]]), _POINTS)
    spacing = float(np.linalg.norm(points[1] - points[0]))
    return rounded(points, max(1, round(_SMOOTH * a / spacing)))

"""Ready systems of a rod tied to a cylinder: half hitch and clove hitch.

`hitch` returns the rod on a given curve, for `Quasistatic`: helical turns around the post at fixed
places along it, raised in half circles where one turn passes over another, and two straight ends.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number, whole
from stiction.rods.centreline import Curve
from stiction.rods.contact.partners import CylinderPartner
from stiction.rods.presets import resample, rounded
from stiction.rods.rod import BYTES_OF_ELEMENT, CosseratRod, Driven, Free, PointForce
from stiction.rods.section import Section

__all__ = ["hitch"]

Floats = npt.NDArray[np.float64]

# places of the turns along the post, from the slack end on, where they come to its front; and the
# crossings there: the turn that goes over, and the turn beneath
_PLACES = {1: (1, 0), 2: (1, 0, 2)}
_CROSSINGS = {1: ((1, 0),), 2: ((1, 0), (1, 2))}
# spacing of places over the diameter of the rod, distance of the rod from the post and width of the
# smoothing over its radius. Chosen: the given curve must not touch itself or the post
_SPACING, _CLEAR, _SMOOTH = 1.35, 0.15, 1.0
# angle from the front at which each end leaves the post [rad]
_LEAVES = 0.5 * np.pi
# least radius of the post over that of the rod: both crossings are between the ends. Chosen
_LEAST_POST = 7.0
# points of the curve before it is divided into elements
_POINTS = 8000


def hitch(
    section: Section,
    post: CylinderPartner,
    *,
    load: float,
    crossings: int = 1,
    slack: float = 0.0,
    tail: float | None = None,
    elements: int = 200,
) -> CosseratRod:
    """Return a straight rod tied loosely to a post by a half hitch or clove hitch.

    In a half hitch the loaded end crosses over the slack end after one turn. In a clove hitch the
    rod makes two turns, and the part that joins them crosses over both ends. The ends are parallel.
    The last end bears a dead load, and the first moves towards the post, so that its tension falls
    until the rod slips. The rod is straight without load.

    `Quasistatic` needs friction, self-contact, `settle=False` because friction holds the
    hitch together, and `turn` = 2 pi times the distance of the axis of the rod from that of the
    post, since between the turns of a clove hitch a node touches two of them.

    Parameters
    ----------
    section : of the rod, with a radius
    post : cylinder around which the rod is tied, at least 7 times as thick as the rod
    load : on the last end, outwards [N]
    crossings : the half hitch has 1, the clove hitch 2
    slack : velocity of the first end towards the post [m/s]
    tail : length of each straight end [m]; None for the radius of the post
    elements : of the rod

    Raises
    ------
    ModelError : for a rod that is not tied, and for numbers outside these bounds.

    Source: Bayman 1977, Am. J. Phys. 45, 185; docs/decisions/41-wrapped-rods.md.
    Verified by: tests/exact/test_hitches.py::test_half_hitch

    Examples
    --------
    >>> import stiction as st
    >>> rope = st.rods.CircularSection(0.005, 1e7)
    >>> post = st.rods.CylinderPartner([0, 0, -0.2], [0, 0, 0.2], 0.05)
    >>> st.rods.hitch(rope, post, load=20.0, slack=0.01).elements
    200
    """
    a = getattr(section, "radius", 0.0)
    _check(a, post, crossings, elements, type(section).__name__)
    why, try_ = "the load draws the hitch tight.", "give 10.0."
    load = number("hitch.load", load, unit="N", rule="positive", why=why, try_=try_)
    why, try_ = "an end is pulled at this velocity.", "give 0.0."
    slack = number("hitch.slack", slack, unit="m/s", why=why, try_=try_)
    tail = post.radius if tail is None else tail
    why, try_ = "each straight end has this length.", f"give {post.radius:.6g}."
    tail = number("hitch.tail", tail, unit="m", rule="positive", why=why, try_=try_)
    start, axis = np.asarray(post.start, dtype=float), np.subtract(post.end, post.start)
    length = float(np.linalg.norm(axis))
    axis = axis / length
    front = np.eye(3)[np.argmin(np.abs(axis))]
    front = front - (front @ axis) * axis
    front /= np.linalg.norm(front)
    frame = np.stack([front, np.cross(axis, front), axis])
    # the curve in axes of the post: front, across, along
    points = _curve(a, post.radius, crossings, tail)
    needs = 2.0 * float(np.abs(points[:, 2]).max()) + 2.0 * a
    if length < needs:
        got, why = (
            f"a post that is {length:.6g} m long",
            "the turns lie beside each other on the post.",
        )
        raise ModelError(
            "hitch.post", got, f"at least {needs:.6g} m", why, "give a post that is longer."
        )
    nodes = start + 0.5 * length * axis + resample(points, elements + 1) @ frame
    # both ends leave the post away from its front
    left = Driven(velocity=(slack * front).tolist())
    force = PointForce((-load * front).tolist(), 1.0)
    return CosseratRod(
        section, Curve(nodes), elements=elements, left=left, right=Free(), loads=[force]
    )


def _check(a: float, post: object, crossings: int, elements: int, section: str) -> None:
    """Raise ModelError for a rod of radius `a` that cannot be tied to the post."""
    why, try_ = "the rod is divided into elements.", "give 200."
    whole("hitch.elements", elements, least=40, each=BYTES_OF_ELEMENT, why=why, try_=try_)
    if not a > 0.0:
        got, needs = f"a {section} without a radius", "a section with a radius"
        why, try_ = "the rod touches at its surface.", "give CircularSection(radius, young)."
        raise ModelError("hitch.section", got, needs, why, try_)
    why = "without a crossing the rod is a capstan, and is not tied to the post."
    whole("hitch.crossings", crossings, least=1, most=2, why=why, try_="give 1, or a Helix.")
    if not isinstance(post, CylinderPartner):
        why, try_ = "the rod is tied to the post.", "give CylinderPartner(start, end, radius)."
        raise ModelError("hitch.post", type(post).__name__, "a CylinderPartner", why, try_)
    if post.radius < _LEAST_POST * a:
        got, needs = f"radius {post.radius:.6g} m", f"at least {_LEAST_POST * a:.6g} m"
        why = "on a thinner post the crossings would reach the ends."
        raise ModelError("hitch.post", got, needs, why, "give a thicker post, or a thinner rod.")


def _curve(a: float, radius: float, crossings: int, tail: float) -> Floats:
    """Return points at equal arclengths, smoothed; the front is along x, the post along z."""
    places, turns = np.array(_PLACES[crossings], dtype=float), crossings + 1
    angle = np.linspace(-_LEAVES, 2.0 * np.pi * (turns - 1) + _LEAVES, 2000 * turns)
    turn = np.clip(np.floor(angle / (2.0 * np.pi) + 0.5).astype(int), 0, turns - 1)
    front, place, lift = angle - 2.0 * np.pi * turn, places[turn], np.zeros_like(angle)
    # where a flexible rod would leave the post to pass over itself
    half = 2.0 * np.sqrt(a / radius)
    for k, (over, under) in enumerate(_CROSSINGS[crossings]):
        # two turns exchange their places; one goes in half a circle over the other
        where = np.clip(front / half - (2 * k - crossings + 1), -1.0, 1.0)
        change = (places[under] - places[over]) * (0.5 + 0.5 * np.sin(0.5 * np.pi * where))
        place = place + np.where(turn == over, change, np.where(turn == under, -change, 0.0))
        lift = np.where(turn == over, np.maximum(lift, np.cos(0.5 * np.pi * where)), lift)
        places[[over, under]] = places[[under, over]]
    width = 2.0 * _SPACING * a
    far = radius + (1.0 + _CLEAR) * a + width * lift
    height = width * (place - 0.5 * crossings)
    arc = np.column_stack([far * np.cos(angle), far * np.sin(angle), height])
    ends = [arc[[k]] - [[tail, 0.0, 0.0]] for k in (0, -1)]
    points = resample(np.vstack([ends[0], arc, ends[1]]), _POINTS)
    spacing = float(np.linalg.norm(points[1] - points[0]))
    return rounded(points, max(1, round(_SMOOTH * a / spacing)))

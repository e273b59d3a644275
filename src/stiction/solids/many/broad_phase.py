"""One contact among many bodies: pairs found by their boxes, at the start and on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, NonNegative, Parts
from stiction.errors import ModelError
from stiction.laws.adhesion import Adhesion, LennardJones
from stiction.laws.adhesive_friction import AdhesiveFriction, Frictionless
from stiction.solids.arrays import Surface
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.unilateral import Signorini

__all__ = ["Among", "Near", "Strays", "near_boxes", "reach_of_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# part of T_max below which what bodies do to each other is left out
_FAINT = 1e-4
# part of the diagonal of the smallest box that bodies may come nearer to each other
_MOVES = 0.5
# of the length of a piece: how far a curve may go beyond the box of its nodes
_BULGE = 0.25

_WHY_SIDES = "it is a contact among several bodies."
_SIDES = Parts(_WHY_SIDES, "give a list of Boundary, one of each body.")
_REACH = NonNegative("m", "boxes farther apart at the start are no pair.", "leave it out.")


class Near(NamedTuple):
    """What is watched of a contact among many: boundaries, the pairs it has, and the cut-off.

    Parameters
    ----------
    boundaries : in the order given
    pairs : numbers (i, j) of boundaries in it, i < j
    cutoff : gap beyond which what bodies do to each other is left out [m]
    reach : boxes that are farther apart at the start are no pair [m]
    like : the contact of the first two, as that of any pair
    """

    boundaries: tuple[Boundary, ...]
    pairs: frozenset[tuple[int, int]]
    cutoff: float
    reach: float
    like: Contact

    @property
    def joins(self) -> float:
        """How near the boxes of two bodies come before they are a pair [m]."""
        return min(self.cutoff, self.reach)


@dataclass(frozen=True, eq=False, repr=False)
class Among(Declared):
    """A contact among many bodies, each pair of which may touch; it stands for one contact a pair.

    Pairs are the boundaries whose boxes, along the axes, begin within `reach` of each other, or the
    nearest ones if there are none. The contacts they stand for are counted after those that are
    named, in the order of `boundaries`; the one that comes first is the contact's own, over which
    virtual work is integrated.

    Where boxes come within the reach of the law, or within `reach` if that is less, in a load step
    or a step of time, the pair joins: the step is taken again with it. Such pairs are counted after
    all others, as they are found; before, their gaps are infinite. What comes near on the arcs of
    `Continuation`, or beyond a `reach` that is less than that of the law, is felt by none, and the
    audit tells it (`every_pair_found`).

    Parameters
    ----------
    boundaries : one of each body, all around it where anything may touch
    adhesion, friction, penalty, stretch, stick_ratio, friction_from, passes : of every pair, as in
        `Contact`
    reach : how far apart boxes of a pair may begin [m]; None takes the reach of the law, the gap at
        which its traction has fallen to 1e-4 of the largest, and half the diagonal of the smallest
        box for the way

    Notes
    -----
    Finding the pairs takes a sort along one axis and a look at those that overlap there.

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_pairs_as_if_named,
    tests/unit/solids/many/test_pair_activation.py::test_pairs_found_on_the_way

    Examples
    --------
    >>> import stiction as st
    >>> disc = st.solids.disc(1.0, (4, 2), 2)
    >>> bodies = [st.solids.Body(disc.moved((2.1 * k, 0.0))) for k in range(5)]
    >>> touch = st.solids.Among(
    ...     [st.solids.Boundary(k, "rim") for k in range(5)],
    ...     st.LennardJones.from_strength(0.05, 1e-3, adhesive=False),
    ...     reach=0.5,
    ... )
    >>> row = st.Solid(bodies, [touch])
    >>> [(c.boundary.body, c.partner.body) for c in row.assembled().contacts]
    [(0, 1), (1, 2), (2, 3), (3, 4)]
    """

    boundaries: Annotated[Sequence[Boundary], _SIDES] = ()
    adhesion: Adhesion = field(default_factory=lambda: LennardJones(1e-19, 4e-10))
    friction: AdhesiveFriction = field(default_factory=Frictionless)
    penalty: float | None = None
    stretch: bool = True
    stick_ratio: float = 1.0
    friction_from: float = 0.0
    passes: str = "half"
    reach: Annotated[float | None, _REACH] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.boundaries)
        if count < 2:
            got = f"{count} boundaries" if count != 1 else "one boundary"
            more = "name more; one that touches itself is Contact(side, side, passes='mortar')."
            raise ModelError("Among.boundaries", got, "two or more", _WHY_SIDES, more)
        seen: dict[int, str] = {}
        for boundary in self.boundaries:
            if boundary.body in seen:
                _refuse_body(boundary, seen[boundary.body])
            seen[boundary.body] = boundary.name
        if isinstance(self.adhesion, Signorini):
            got, needs = "Signorini", "a law with a stiffness, such as LennardJones"
            why = "pairs come and go, and multipliers are unknowns of a pair from the start."
            raise ModelError("Among.adhesion", got, needs, why, "name each pair in a Contact.")
        # whatever is wrong with the laws is wrong with the contact of the first pair
        made = self.between(0, 1)
        object.__setattr__(self, "penalty", made.penalty)

    def between(self, i: int, j: int) -> Contact:
        """Return the contact of a pair, by the numbers of its boundaries."""
        mine = {f.name for f in fields(self)} - {"boundaries", "reach"}
        laws = {name: getattr(self, name) for name in sorted(mine)}
        return Contact(boundary=self.boundaries[i], partner=self.boundaries[j], **laws)

    def found(self, places: Sequence[Floats]) -> tuple[list[Contact], Near]:
        """Return the contacts of pairs near enough, and what is watched of the others.

        Parameters
        ----------
        places : (k, d) of each boundary at the start [m]
        """
        boxes = boxes_of(places)
        cutoff = reach_of_law(self.adhesion)
        size = float(np.sqrt(((boxes[:, 1] - boxes[:, 0]) ** 2).sum(axis=1)).min())
        reach = cutoff + _MOVES * size if self.reach is None else float(self.reach)
        pairs, far = near_boxes(boxes, reach), reach
        while not pairs.size:
            far = 2.0 * far + size
            pairs = _nearest(boxes, near_boxes(boxes, far))
        kept = frozenset((int(i), int(j)) for i, j in pairs)
        watched = Near(tuple(self.boundaries), kept, cutoff, reach, self.between(0, 1))
        return [self.between(i, j) for i, j in sorted(kept)], watched


def _nearest(boxes: Floats, pairs: Ints) -> Ints:
    """Return the first of the nearest of some pairs of boxes, (1, 2), or none of none."""
    one, other = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    apart = np.maximum(one[:, 0] - other[:, 1], other[:, 0] - one[:, 1]).max(axis=1)
    return np.asarray(pairs[np.lexsort((*pairs.T[::-1], apart))[:1]])


class Strays:
    """Looks for boundaries that are no pair and come near enough to feel each other.

    Parameters
    ----------
    near : what is watched
    surfaces : of its boundaries, in the global numbering
    """

    def __init__(self, near: Near, surfaces: Sequence[Surface]) -> None:
        self.near = near
        self._nodes = [np.unique(s.nodes) for s in surfaces]
        # control points stand no farther from their curve than a piece is long
        self._piece = max(float(s.areas.sum(axis=1).max()) for s in surfaces)

    def join(self, before: Floats, after: Floats) -> list[tuple[int, int]]:
        """Return the boundaries that are no pair, and whose boxes meet on the way.

        Boxes are those around a boundary at both ends of the way.

        Parameters
        ----------
        before, after : (nodes, d) places at the ends of a step [m]
        """
        if not np.isfinite(after).all():
            return []
        both = [np.concatenate([before[n], after[n]]) for n in self._nodes]
        found = near_boxes(boxes_of(both), self.near.joins + _BULGE * self._piece)
        pairs = sorted((int(i), int(j)) for i, j in found)
        return [pair for pair in pairs if pair not in self.near.pairs]

    def nearest(self, x: Floats) -> tuple[float, int, int]:
        """Return how far beyond the cut-off the nearest of them lie [m], and their numbers.

        Infinity stands for none of which the boxes are near. The distance of nodes is told less
        two pieces, which is never more than that of the curves.

        Parameters
        ----------
        x : (nodes, d) places [m]
        """
        from scipy.spatial import cKDTree

        places = [x[n] for n in self._nodes]
        if not np.isfinite(x).all():
            return np.inf, -1, -1
        best = (np.inf, -1, -1)
        for i, j in near_boxes(boxes_of(places), self.near.cutoff):
            if (int(i), int(j)) in self.near.pairs:
                continue
            away, _ = cKDTree(places[i]).query(places[j])
            clear = float(np.min(away)) - 2.0 * self._piece - self.near.cutoff
            best = min(best, (clear, int(i), int(j)))
        return best


def _refuse_body(boundary: Boundary, other: str) -> None:
    if other == boundary.name:
        got = f"boundary {boundary.name!r} of body {boundary.body} twice"
        why, try_ = "each pair of bodies touches once.", "leave one out."
    else:
        got = f"boundaries {other!r} and {boundary.name!r} of body {boundary.body}"
        why = "where they meet, another body would be loaded by both."
        try_ = "name one that goes around the body: Mesh.outlined."
    raise ModelError("Among.boundaries", got, "one boundary of each body", why, try_)


def reach_of_law(law: Adhesion) -> float:
    """Return the gap at which the traction of a law has fallen to 1e-4 of its largest [m].

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_how_far_a_law_reaches
    """
    faint = _FAINT * law.max_tension

    def pulls(gap: float) -> bool:
        return abs(float(np.asarray(law.traction(gap)))) > faint

    # the wall itself reaches to the gap at which tension would begin
    low = high = float(law.gap_eq) * (1.0 + 1e-9)
    if not pulls(float(law.gap_max)):
        return low
    high = float(law.gap_max)
    while pulls(high):
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if pulls(middle) else (low, middle)
    return high


def boxes_of(places: Sequence[Floats]) -> Floats:
    """Return least and largest coordinates of sets of places, (n, 2, d)."""
    return np.array([[p.min(axis=0), p.max(axis=0)] for p in places])


def near_boxes(boxes: Floats, reach: float) -> Ints:
    """Return the pairs (k, 2), i < j, of boxes whose distance along each axis is at most `reach`.

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_boxes_against_all_pairs
    """
    # along the axis on which they lie farthest apart, few overlap
    middle = boxes.mean(axis=1)
    axis = int(np.argmax(np.ptp(middle, axis=0)))
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    low = boxes[order, 0, axis]
    last = np.searchsorted(low, boxes[order, 1, axis] + reach, side="right")
    own = np.arange(order.size)
    count = np.maximum(last - own - 1, 0)
    first = np.repeat(own, count)
    start = np.cumsum(count) - count
    second = np.arange(first.size) - np.repeat(start, count) + first + 1
    one, other = order[first], order[second]
    apart = np.maximum(boxes[one, 0] - boxes[other, 1], boxes[other, 0] - boxes[one, 1])
    close = (apart <= reach).all(axis=1)
    pairs = np.stack([one[close], other[close]], axis=1)
    return np.asarray(np.sort(pairs, axis=1), dtype=np.int64)

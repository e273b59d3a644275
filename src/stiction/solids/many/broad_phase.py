"""Contact among many bodies: the broad phase, which finds pairs by axis-aligned bounding boxes.

`ContactAmong` describes the contact and finds the initial pairs; `BroadPhase` finds further pairs
during a run. Boxes are sorted along one axis, and only boxes that overlap along it are compared
(sweep and prune; Ericson 2005, section 7.5). `pairs` calls `ContactAmong.initial_pairs` when a
solid is described; `pair_activation` and the recorder call `BroadPhase` during a run.
"""

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

__all__ = ["BroadPhase", "ContactAmong", "PairSearch", "near_boxes", "reach_of_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# fraction of the largest tension T_max below which tractions between bodies are neglected
_NEGLIGIBLE = 1e-4
# margin of the initial pairs for later motion, over the diagonal of the smallest box
_MARGIN = 0.5
# largest distance of a curve from the box of its nodes, over the length of an element
_CURVE_MARGIN = 0.25

_WHY_SIDES = "ContactAmong is a contact among several bodies."
_SIDES = Parts(_WHY_SIDES, "give a list of Boundary objects, one of each body.")
_REACH = NonNegative(
    "m", "pairs of boxes within this distance at the start are active.", "leave this value out."
)


class PairSearch(NamedTuple):
    """The boundaries of a `ContactAmong`, its active pairs, and the distances of the search.

    Parameters
    ----------
    boundaries : in the order given
    pairs : numbers (i, j) of the boundaries of active pairs, i < j
    cutoff : gap beyond which tractions between bodies are neglected [m]
    reach : largest distance of the boxes of an initial pair [m]
    template : the contact of boundaries 0 and 1; those of other pairs differ by their boundaries
    """

    boundaries: tuple[Boundary, ...]
    pairs: frozenset[tuple[int, int]]
    cutoff: float
    reach: float
    template: Contact

    @property
    def activation_distance(self) -> float:
        """Distance of the boxes of two bodies at which their pair is activated [m]."""
        return min(self.cutoff, self.reach)


@dataclass(frozen=True, eq=False, repr=False)
class ContactAmong(Declared):
    """Contact among many bodies, any two of which may touch: one `Contact` for each active pair.

    Initial pairs are boundaries whose bounding boxes are at most `reach` apart at the start, or the
    nearest two boundaries if there are none. Their contacts are numbered after the named ones, in
    the order of `boundaries`. Virtual work is integrated over the first boundary of a pair.

    A further pair is activated if its boxes come within the range of the law, or within `reach` if
    that is smaller, in a load step or time step; the step is repeated with this pair. Activated
    pairs are numbered after all others, in the order of activation, and their earlier gaps are
    infinite. Two kinds of pairs are not activated and have no tractions: those that come near in
    arclength steps of `Continuation`, and those within the range of the law but not within `reach`.
    The audit reports both (`every_pair_found`).

    Parameters
    ----------
    boundaries : one of each body, with all points that may touch another body
    adhesion, friction, penalty, stretch, stick_ratio, friction_from, passes : of every pair, as in
        `Contact`
    reach : largest distance of the boxes of an initial pair [m]. None takes the range of the law,
        the gap at which its traction has decreased to 1e-4 of its maximum, plus half the diagonal
        of the smallest box as a margin for motion

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_pairs_as_if_named,
    tests/unit/solids/many/test_pair_activation.py::test_pairs_are_activated_in_a_run

    Examples
    --------
    >>> import stiction as st
    >>> disc = st.solids.disc(1.0, (4, 2), 2)
    >>> bodies = [st.solids.Body(disc.moved((2.1 * k, 0.0))) for k in range(5)]
    >>> touch = st.solids.ContactAmong(
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
    friction_from: float | None = None
    passes: str = "two-half-pass"
    reach: Annotated[float | None, _REACH] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.boundaries)
        if count < 2:
            got = f"{count} boundaries" if count != 1 else "one boundary"
            more = "give more boundaries; self-contact is Contact(side, side, passes='mortar')."
            raise ModelError(
                "ContactAmong.boundaries", got, "two boundaries or more", _WHY_SIDES, more
            )
        seen: dict[int, str] = {}
        for boundary in self.boundaries:
            if boundary.body in seen:
                _refuse_second_boundary(boundary, seen[boundary.body])
            seen[boundary.body] = boundary.name
        if isinstance(self.adhesion, Signorini):
            got, needs = "Signorini", "a law with a stiffness, such as LennardJones"
            why = "Signorini's multipliers are unknowns, and a new pair would add unknowns."
            raise ModelError(
                "ContactAmong.adhesion", got, needs, why, "name each pair in a Contact."
            )
        # constructing the contact of one pair checks the laws
        first = self.between(0, 1)
        object.__setattr__(self, "penalty", first.penalty)

    def between(self, i: int, j: int) -> Contact:
        """Return the contact of boundaries number `i` and `j`."""
        mine = {f.name for f in fields(self)} - {"boundaries", "reach"}
        laws = {name: getattr(self, name) for name in sorted(mine)}
        return Contact(boundary=self.boundaries[i], partner=self.boundaries[j], **laws)

    def initial_pairs(self, places: Sequence[Floats]) -> tuple[list[Contact], PairSearch]:
        """Return the contacts of the initial pairs, and the search for further ones.

        Parameters
        ----------
        places : (k, d) initial nodal positions of each boundary [m]
        """
        boxes = boxes_of(places)
        cutoff = reach_of_law(self.adhesion)
        size = float(np.sqrt(((boxes[:, 1] - boxes[:, 0]) ** 2).sum(axis=1)).min())
        reach = cutoff + _MARGIN * size if self.reach is None else float(self.reach)
        pairs, far = near_boxes(boxes, reach), reach
        while not pairs.size:
            far = 2.0 * far + size
            pairs = _nearest(boxes, near_boxes(boxes, far))
        numbers = frozenset((int(i), int(j)) for i, j in pairs)
        search = PairSearch(tuple(self.boundaries), numbers, cutoff, reach, self.between(0, 1))
        return [self.between(i, j) for i, j in sorted(numbers)], search


def _nearest(boxes: Floats, pairs: Ints) -> Ints:
    """Return the pair of boxes with the smallest distance, (1, 2), or (0, 2) without pairs."""
    one, other = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    distance = np.maximum(one[:, 0] - other[:, 1], other[:, 0] - one[:, 1]).max(axis=1)
    return np.asarray(pairs[np.lexsort((*pairs.T[::-1], distance))[:1]])


class BroadPhase:
    """Search for inactive pairs whose bounding boxes come within reach of the contact law.

    Parameters
    ----------
    search : boundaries, active pairs and distances
    surfaces : arrays of the boundaries, with global node numbers
    """

    def __init__(self, search: PairSearch, surfaces: Sequence[Surface]) -> None:
        self.search = search
        self._nodes = [np.unique(s.nodes) for s in surfaces]
        # control points are no farther from their curve than the length of an element
        self._element_length = max(float(s.areas.sum(axis=1).max()) for s in surfaces)

    def activated_pairs(self, before: Floats, after: Floats) -> list[tuple[int, int]]:
        """Return the inactive pairs (i, j) whose boxes come within reach of each other in a step.

        Each box contains its boundary at both ends of the step.

        Parameters
        ----------
        before, after : (nodes, d) positions at the ends of a step [m]
        """
        if not np.isfinite(after).all():
            return []
        swept = [np.concatenate([before[n], after[n]]) for n in self._nodes]
        near_pairs = near_boxes(
            boxes_of(swept), self.search.activation_distance + _CURVE_MARGIN * self._element_length
        )
        pairs = sorted((int(i), int(j)) for i, j in near_pairs)
        return [pair for pair in pairs if pair not in self.search.pairs]

    def nearest(self, x: Floats) -> tuple[float, int, int]:
        """Return a lower bound of the distance of inactive pairs minus the cut-off [m], and (i, j).

        The bound is the smallest distance of nodes minus two element lengths. It is infinite, with
        numbers -1, if no boxes are near.

        Parameters
        ----------
        x : (nodes, d) positions [m]
        """
        from scipy.spatial import cKDTree

        places = [x[n] for n in self._nodes]
        if not np.isfinite(x).all():
            return np.inf, -1, -1
        best = (np.inf, -1, -1)
        for i, j in near_boxes(boxes_of(places), self.search.cutoff):
            if (int(i), int(j)) in self.search.pairs:
                continue
            distances, _ = cKDTree(places[i]).query(places[j])
            clear = float(np.min(distances)) - 2.0 * self._element_length - self.search.cutoff
            best = min(best, (clear, int(i), int(j)))
        return best


def _refuse_second_boundary(boundary: Boundary, other: str) -> None:
    """Raise the error of a second boundary of a body; `other` is the name of the first one."""
    if other == boundary.name:
        got = f"boundary {boundary.name!r} of body {boundary.body} twice"
        why, try_ = "two bodies have one contact.", "name this boundary once."
    else:
        got = f"boundaries {other!r} and {boundary.name!r} of body {boundary.body}"
        why = "a body near their common end would get contact forces from both."
        try_ = "name the whole outline of the body: Mesh.outlined."
    raise ModelError("ContactAmong.boundaries", got, "one boundary of each body", why, try_)


def reach_of_law(law: Adhesion) -> float:
    """Return the gap at which the traction of a law has decreased to 1e-4 of its maximum [m].

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_reach_of_a_law
    """
    faint = _NEGLIGIBLE * law.max_tension

    def acts(gap: float) -> bool:
        return abs(float(np.asarray(law.traction(gap)))) > faint

    # repulsion ends at the equilibrium gap
    low = float(law.gap_eq) * (1.0 + 1e-9)
    if not acts(float(law.gap_max)):
        return low
    high = float(law.gap_max)
    while acts(high):
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if acts(middle) else (low, middle)
    return high


def boxes_of(places: Sequence[Floats]) -> Floats:
    """Return the bounding boxes (n, 2, d) of n sets of points: smallest and largest coordinates."""
    return np.array([[p.min(axis=0), p.max(axis=0)] for p in places])


def near_boxes(boxes: Floats, reach: float) -> Ints:
    """Return the pairs (k, 2), i < j, of boxes (n, 2, d) at most `reach` apart along each axis.

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_boxes_against_all_pairs
    """
    # sort along the axis on which the centres spread most: fewest boxes overlap there
    middle = boxes.mean(axis=1)
    axis = int(np.argmax(np.ptp(middle, axis=0)))
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    low = boxes[order, 0, axis]
    last = np.searchsorted(low, boxes[order, 1, axis] + reach, side="right")
    # box `own` of the sorted ones is compared with the `count` boxes behind it
    own = np.arange(order.size)
    count = np.maximum(last - own - 1, 0)
    first = np.repeat(own, count)
    start = np.cumsum(count) - count
    second = np.arange(first.size) - np.repeat(start, count) + first + 1
    one, other = order[first], order[second]
    distance = np.maximum(boxes[one, 0] - boxes[other, 1], boxes[other, 0] - boxes[one, 1])
    close = (distance <= reach).all(axis=1)
    pairs = np.stack([one[close], other[close]], axis=1)
    return np.asarray(np.sort(pairs, axis=1), dtype=np.int64)

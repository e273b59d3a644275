"""Continuation of two-folds in a parameter, and of the boundaries between their cases in two.

In three states h = L+ = L- = 0 has isolated solutions; with one parameter they form a curve, which
is followed by pseudo-arclength continuation (`numerics.continuation`) through its turning points.
Here h is the switching function, L+- are its rates along the fields of both sides, and the numbers
K_ab classify the two-fold (`local_flow`). Where one of `BOUNDARIES` is zero on the curve, the case
of the two-fold changes; with a second parameter this boundary is a curve too.

Source: Keller 1977; boundaries of the formulas sheet, section 5.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError, explain, nearest
from stiction.numerics.checks import Record, number, numbers, shape_of, whole
from stiction.numerics.continuation import Dense, corrected, located, place_at, solved_nearby, trace
from stiction.switching.model import SwitchingSystem
from stiction.switching.two_folds.finding import TwoFold, checked_system, described, two_fold
from stiction.switching.two_folds.newton import Probe, Search, search

__all__ = [
    "BOUNDARIES",
    "BoundaryCurve",
    "CaseChange",
    "TwoFoldCurve",
    "continue_boundary",
    "continue_two_fold",
]

Floats = npt.NDArray[np.float64]

# for each boundary the function that is zero on it: a polynomial of the (2, 2) array K of a
# `TwoFold`, [[K++, K+-], [K-+, K--]]
BOUNDARIES: dict[str, Callable[[Floats], float]] = {
    "J1 J2 = 1": lambda k: float(k[1, 0] * k[0, 1] - k[0, 0] * k[1, 1]),
    "J1 = 0": lambda k: float(k[1, 0]),
    "J2 = 0": lambda k: float(k[0, 1]),
    "J1 + J2 = 0": lambda k: float(k[1, 0] - k[0, 1]),
    "K++ = 0": lambda k: float(k[0, 0]),
    "K-- = 0": lambda k: float(k[1, 1]),
}
_SQUARES = ("J1 J2 = 1",)
_FOR_INVISIBLE = ("J1 J2 = 1", "J1 = 0", "J2 = 0", "J1 + J2 = 0")

# step of the central differences for the Jacobian, over the scale: near the cube root of the
# rounding 2e-16, which minimises their error; a power of two, so that x + d is exact for most x
_STEP = 2.0**-17
# largest number of cached systems. Chosen
_MOST_CACHED = 64
# a correction that is longer than this, over the scale, leads to another two-fold. Chosen: points
# of the curve are solved to 1e-12, and distinct two-folds are farther apart
_POLISH = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class CaseChange(Record):
    """A point of a curve of two-folds where one of `BOUNDARIES` is crossed.

    Parameters
    ----------
    boundary : key of `BOUNDARIES`
    parameter : value of the parameter
    x : (n,) the two-fold
    before, after : case, or kind where there is no case, on both sides along the curve
    """

    boundary: str
    parameter: float
    x: Floats
    before: int | str
    after: int | str


@dataclass(frozen=True, eq=False, repr=False)
class TwoFoldCurve(Record):
    """A curve of two-folds along one parameter, through its turning points.

    Parameters
    ----------
    parameter : (k,) values of the parameter, one for each two-fold
    points : the two-folds, in order along the curve
    changes : points at which the case changes, in the same order
    ended : reason of the first and of the last end of the curve
    """

    parameter: Floats
    points: tuple[TwoFold, ...]
    changes: tuple[CaseChange, ...]
    ended: tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryCurve(Record):
    """A boundary between cases in the plane of two parameters.

    Parameters
    ----------
    boundary : key of `BOUNDARIES`
    parameters : (k, 2) points of the curve, in order
    x : (k, n) the two-fold at each
    ended : reason of the first and of the last end of the curve
    """

    boundary: str
    parameters: Floats
    x: Floats
    ended: tuple[str, str]


class _Family:
    """The equations G(u) = (h, L+, L-, boundary function) = 0 with the unknowns u = (x, p).

    It is a `VectorProblem` of `numerics.continuation`; p are one or two parameters.

    Parameters
    ----------
    start, at : a two-fold, and (1,) or (2,) parameters there
    spans : (1, 2) or (2, 2) lowest and highest values of the parameters
    boundary : key of `BOUNDARIES`; None for h = L+ = L- = 0 alone

    Attributes
    ----------
    scale : (n + 1,) or (n + 2,) sizes of the unknowns
    limits : (number of the unknown, low, high, name) of each parameter
    """

    def __init__(
        self,
        make_system: Callable[..., SwitchingSystem],
        start: TwoFold,
        at: Floats,
        spans: Floats,
        boundary: str | None,
    ) -> None:
        self._make, self._start, self._boundary = make_system, start, boundary
        self._probes: dict[tuple[float, ...], Probe] = {}
        self.n = start.x.size
        probe = self.probe(at)
        self.scale = np.concatenate([probe.scale, spans[:, 1] - spans[:, 0]])
        names = ["the parameter"] if len(spans) == 1 else ["parameter 1", "parameter 2"]
        self.limits = tuple(
            (self.n + i, float(low), float(high), names[i]) for i, (low, high) in enumerate(spans)
        )
        self._sizes = probe.sizes(start.x)
        size = float(np.abs(start.K).max())
        self._size = size**2 if boundary in _SQUARES else size

    def probe(self, p: Floats) -> Probe:
        """Return h, L+ and L- of the system at p; ModelError if there is no system."""
        key = tuple(float(value) for value in p)
        if key not in self._probes:
            system = self._make(*key)
            checked_system("make_system", system, self._start.surface)
            if len(self._probes) >= _MOST_CACHED:
                self._probes.clear()
            self._probes[key] = Probe(system, self._start.surface, self._start.signs)
        return self._probes[key]

    def split(self, u: Floats) -> tuple[Probe, Floats]:
        """Return the system at u and its state."""
        return self.probe(u[self.n :]), u[: self.n]

    def residual(self, u: Floats) -> Floats:
        """Return G(u) over the scales of its components."""
        probe, x = self.split(u)
        values = probe.values(x[None, :])[0] / self._sizes
        if self._boundary is None:
            return np.asarray(values)
        return np.append(values, self.test(u, self._boundary) / self._size)

    def test(self, u: Floats, boundary: str) -> float:
        """Return the function that is zero on a boundary."""
        probe, x = self.split(u)
        return BOUNDARIES[boundary](probe.lie_derivatives(x)[0])

    def tolerance(self, _u: Floats) -> float:
        """Return 0: Newton's method continues until its increments are zero within rounding."""
        return 0.0

    def moved(self, u: Floats, step: Floats) -> Floats:
        """Return u after a scaled step."""
        return u + self.scale * step

    def linearised(self, u: Floats) -> Dense:
        """Return dG/du with respect to the scaled unknowns, by central differences."""
        columns = []
        for i, size in enumerate(self.scale):
            d = _STEP * size
            up, down = u.copy(), u.copy()
            up[i], down[i] = u[i] + d, u[i] - d
            columns.append((self.residual(up) - self.residual(down)) / (up[i] - down[i]) * size)
        jacobian = np.stack(columns, axis=1)
        if not np.isfinite(jacobian).all():
            raise np.linalg.LinAlgError
        return Dense(jacobian)

    def two_fold(self, u: Floats) -> TwoFold:
        """Return the two-fold at u; SolveError if u is not a two-fold."""
        probe, x = self.split(u)
        # converge fully, because K is sensitive to x where fields vary fast across the surface
        polished = search(probe, x)
        if polished.solved and (np.abs(polished.x - x) <= _POLISH * probe.scale).all():
            return described(probe, polished)
        residual = probe.values(x[None, :])[0] / probe.sizes(x)
        return described(probe, Search(x.copy(), residual, True, 0))


def continue_two_fold(
    make_system: Callable[[float], SwitchingSystem],
    guess: Sequence[float] | Floats,
    *,
    start: float,
    span: tuple[float, float],
    step: float = 0.05,
    max_points: int = 400,
    surface: int = 0,
) -> TwoFoldCurve:
    """Return the curve of two-folds through the one near `guess`, in both directions.

    Parameters
    ----------
    make_system : make_system(p) returns a system of three states. New functions for a
        `PiecewiseSmooth` are compiled for each p; use its `with_parameters` instead
    guess : (3,) a state near the two-fold at p = start
    start, span : initial value of the parameter, and its range
    step : longest step along the curve, in units of the width of the span and of the scales of the
        states
    max_points : largest number of points in each direction
    surface : index of the switching function, from 0

    Raises
    ------
    ModelError : if an argument is not valid.
    SolveError : if there is no two-fold at `start`.

    Source: pseudo-arclength continuation (Keller 1977) of h = L+ = L- = 0.
    Verified by: tests/unit/switching/two_folds/test_curves.py::test_changes_on_the_normal_form

    Examples
    --------
    >>> import stiction as st
    >>> curve = st.switching.continue_two_fold(
    ...     lambda J1: st.switching.NormalForm(J1, -1.5),
    ...     guess=[0.1, 0.1, 0.1],
    ...     start=-1.0,
    ...     span=(-1.0, -0.5),
    ...     step=0.5,
    ... )
    >>> [(change.boundary, round(change.parameter, 6)) for change in curve.changes]
    [('J1 J2 = 1', -0.666667)]
    """
    where = "continue_two_fold"
    _check_steps(where, make_system, step, max_points)
    spans = _spans(where, (span,), (start,), 1)
    at = np.array([float(start)])
    results = _first_two_fold(where, make_system, at, guess, surface)
    family = _Family(make_system, results, at, spans, None)
    us, ended = _both_directions(family, np.append(results.x, at), step, max_points)
    points: list[TwoFold] = []
    accepted: list[Floats] = []
    for u in us:
        try:
            points.append(family.two_fold(u))
        except SolveError:
            # an equilibrium or a kink on the curve: leave this point out
            continue
        accepted.append(u)
    changes = _changes(family, accepted, points)
    parameter = np.array([u[-1] for u in accepted])
    return TwoFoldCurve(parameter, tuple(points), tuple(changes), ended)


def continue_boundary(
    make_system: Callable[[float, float], SwitchingSystem],
    boundary: str,
    guess: Sequence[float] | Floats,
    *,
    start: tuple[float, float],
    spans: tuple[tuple[float, float], tuple[float, float]],
    step: float = 0.05,
    max_points: int = 400,
    surface: int = 0,
) -> BoundaryCurve:
    """Return the boundary curve in the plane of two parameters.

    Its points satisfy h = L+ = L- = 0 and the equation of the boundary at once, so that the curve
    also continues through turning points of the two-fold.

    Parameters
    ----------
    make_system : make_system(p1, p2) returns a system of three states
    boundary : key of `BOUNDARIES`
    guess : (3,) a state near the two-fold at the start
    start : parameters near the boundary, for example from `TwoFoldCurve.changes`
    spans : ranges of both parameters
    step, max_points, surface : as in `continue_two_fold`

    Raises
    ------
    ModelError : if an argument is not valid.
    SolveError : if there is no two-fold at `start`, or Newton's method finds no boundary from it.

    Source: pseudo-arclength continuation (Keller 1977); boundaries of the formulas sheet,
    section 5.
    Verified by: tests/unit/switching/two_folds/test_curves.py::test_boundaries_of_the_wheel

    Examples
    --------
    >>> import stiction as st
    >>> curve = st.switching.continue_boundary(
    ...     st.switching.NormalForm,
    ...     "J1 = 0",
    ...     guess=[0.1, 0.1, 0.1],
    ...     start=(0.01, -1.0),
    ...     spans=((-0.1, 0.1), (-1.05, -0.95)),
    ...     step=0.5,
    ... )
    >>> bool(abs(curve.parameters[:, 0]).max() < 1e-9)
    True
    """
    where = "continue_boundary"
    _check_steps(where, make_system, step, max_points)
    if boundary not in list(BOUNDARIES):
        needs = "one of " + ", ".join(map(repr, BOUNDARIES))
        why = "the cases of two-folds have these boundaries."
        try_ = nearest(str(boundary), BOUNDARIES)
        raise ModelError(f"{where}.boundary", repr(boundary), needs, why, try_)
    box = _spans(where, spans, start, 2)
    at = np.array(start, dtype=np.float64)
    results = _first_two_fold(where, make_system, at, guess, surface)
    family = _Family(make_system, results, at, box, boundary)
    first = solved_nearby(family, np.append(results.x, at))
    if first is None or not _inside(first[-2:], box):
        got = "no zero within the spans" if first is None else f"{first[-2:].tolist()}"
        why = "Newton's method from the start did not end inside the spans."
        try_ = "start at one of the `changes` that `continue_two_fold` returns."
        needs = f"a start near {boundary}"
        raise SolveError(explain(f"{where}.start", got, needs, why, try_))
    us, ended = _both_directions(family, first, step, max_points)
    curve_points = np.array(us)
    return BoundaryCurve(boundary, curve_points[:, -2:].copy(), curve_points[:, :-2].copy(), ended)


def _both_directions(
    family: _Family, first: Floats, step: float, most: int
) -> tuple[list[Floats], tuple[str, str]]:
    """Return the points u = (x, p) of a curve through `first`, and the reasons of both ends."""
    forward, end = trace(family, first, 1.0, step=step, most=most)
    if end == "the curve is closed":
        return forward, (end, end)
    backward, begin = trace(family, first, -1.0, step=step, most=most)
    # at an end of a span the curve has one direction only
    back, ahead = (
        [u for u in part[1:] if (np.abs(u - first) > _POLISH * family.scale).any()]
        for part in (backward, forward)
    )
    return [*back[::-1], first, *ahead], (begin, end)


def _changes(family: _Family, us: list[Floats], points: list[TwoFold]) -> list[CaseChange]:
    """Return the boundaries on a curve, in order.

    A point on a boundary is passed over: the change is sought between its neighbours.
    """
    results: list[tuple[float, str, Floats]] = []
    for name, test in BOUNDARIES.items():
        known = [i for i, point in enumerate(points) if not _lost(name, point)]
        for i, j in itertools.pairwise(known):
            if test(points[i].K) * test(points[j].K) < 0.0:
                root = _root(family, name, us[i], us[j], test(points[i].K))
                if root is not None:
                    results.append((i + root[0] * (j - i), name, root[1]))
    results.sort(key=lambda result: result[0])
    ends = [0.0, *(at for at, _, _ in results), len(points) - 1.0]
    changes = []
    for k, (at, name, u) in enumerate(results):
        before = _case_between(family, us, points, at, ends[k])
        after = _case_between(family, us, points, at, ends[k + 2])
        changes.append(CaseChange(name, float(u[-1]), family.split(u)[1].copy(), before, after))
    return changes


def _root(
    family: _Family, name: str, u: Floats, new: Floats, low: float
) -> tuple[float, Floats] | None:
    """Return where a boundary is between two points of a curve: fraction, and solution there.

    Parameters
    ----------
    low : value of the boundary function at u
    """
    step = (new - u) / family.scale
    at = functools.partial(family.test, boundary=name)
    root = located(family, place_at(family, u, step), step, at, (low, family.test(new, name)))
    if root is None:
        return None
    probe, x = family.split(root[1])
    k = probe.lie_derivatives(x)[0]
    # J1 and J2 are not defined where a fold is visible
    return None if name in _FOR_INVISIBLE and not k[0, 0] < 0.0 < k[1, 1] else root


def _case_between(
    family: _Family, us: list[Floats], points: list[TwoFold], at: float, end: float
) -> int | str:
    """Return the case, or the kind where there is no case, beside a place on a curve.

    It is that of the first point between `at` and `end`, or that halfway if there is none between.

    Parameters
    ----------
    at, end : places, as numbers of points
    """
    first = math.floor(at) + 1 if end > at else math.ceil(at) - 1
    last = math.ceil(end) if end > at else math.floor(end)
    numbers_between = range(first, last, 1 if end > at else -1)
    for i in [*numbers_between, *([last] if last in (0, len(points) - 1) else [])]:
        if not any(_lost(name, points[i]) for name in BOUNDARIES):
            return _case(points[i])
    halfway = 0.5 * (at + end)
    i = min(int(halfway), len(us) - 2)
    step = (us[i + 1] - us[i]) / family.scale
    place = place_at(family, us[i], step)
    found = corrected(family, place, place.tangent, (halfway - i) * step)
    try:
        return _case(points[i] if found is None else family.two_fold(found.u))
    except SolveError:
        return _case(points[i])


def _case(point: TwoFold) -> int | str:
    """Return the case of a two-fold, or its kind where there is no case."""
    return point.kind if point.case is None else point.case


def _lost(boundary: str, point: TwoFold) -> bool:
    """Return whether the boundary function is smaller than its error."""
    doubt = 2.0 * float(point.K_doubt.max())
    if boundary in _SQUARES:
        doubt *= 2.0 * float(np.abs(point.K).max())
    return abs(BOUNDARIES[boundary](point.K)) <= doubt


def _first_two_fold(
    where: str,
    make_system: Callable[..., SwitchingSystem],
    at: Floats,
    guess: Sequence[float] | Floats,
    surface: int,
) -> TwoFold:
    """Return the two-fold near `guess` at the parameters `at`; ModelError without three states."""
    system = make_system(*(float(value) for value in at))
    checked_system(where, system, surface)
    if system.compiled.n != 3:
        got, needs = f"a system of {system.compiled.n} states", "3 states"
        why = "with more states, two-folds are not isolated, and one parameter gives no curve."
        raise ModelError(where, got, needs, why, "make a system of three states.")
    return two_fold(system, guess, surface=surface)


def _check_steps(where: str, make_system: object, step: float, max_points: int) -> None:
    """Refuse arguments of a continuation that are not admissible."""
    if not callable(make_system):
        needs, why = (
            "a function of the parameters",
            "the function makes the system for values of the parameters.",
        )
        try_ = "for example lambda p: NormalForm(p, -1.5)."
        raise ModelError(f"{where}.make_system", repr(make_system), needs, why, try_)
    why, try_ = "neighbouring points of the curve are at this distance.", "for example 0.05."
    number(f"{where}.step", step, rule="positive", why=why, try_=try_)
    why, try_ = "this number bounds the work.", "for example 400."
    whole(f"{where}.max_points", max_points, least=2, most=10_000_000, why=why, try_=try_)


def _spans(where: str, spans: Sequence[object], start: Sequence[object], count: int) -> Floats:
    """Return (count, 2) lower and upper ends of the parameters; the start must lie inside."""
    why, try_ = "the curve ends where a parameter leaves its span.", "for example (-2.0, 0.0)."
    for name, given, shape in (("spans", spans, (count, 2)), ("start", start, (count,))):
        if count == 2 and shape_of(given) != shape:
            each = "a pair (low, high)" if name == "spans" else "a number"
            needs = f"{each} for each of the 2 parameters"
            raise ModelError(f"{where}.{name}", repr(given), needs, why, try_)
    ends = [numbers(f"{where}.span", s, size=2, per="end", why=why, try_=try_) for s in spans]
    at = numbers(
        f"{where}.start", start, size=len(ends), per="parameter", why="the curve begins at these "
        "parameters.",
        try_="give one number per parameter.",
    )  # fmt: skip
    box = np.stack(ends)
    if not (box[:, 0] < box[:, 1]).all():
        got, needs = f"{box.tolist()}", "a lower end below the upper one"
        raise ModelError(f"{where}.span", got, needs, why, try_)
    if not _inside(at, box):
        got, needs = f"{at.tolist()}", f"values inside {box.tolist()}"
        try_ = "take another start, or a wider span."
        raise ModelError(f"{where}.start", got, needs, why, try_)
    return box


def _inside(p: Floats, box: Floats) -> bool:
    """Return whether the parameters p (k,) lie within their ranges `box` (k, 2)."""
    return bool(((p >= box[:, 0]) & (p <= box[:, 1])).all())

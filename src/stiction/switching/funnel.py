"""The funnel of a two-fold: all its futures, parametrised by the exits from its escaping region.

A two-fold is of case 1 if sliding orbits reach it in finite time (formulas sheet, section 5). A
state that slides into it continues in the escaping region and may leave the surface at any point
p there, to either side. Backward integration from p to the two-fold gives the dwell time in the
escaping region; forward from p the future is unique up to the next loss of determinism. `futures`
computes this for a polar grid of exits around the two-fold and returns a `Funnel`.

Source: formulas sheet of the paper on switching, section 5 (funnel).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.method import SharedName
from stiction.errors import ModelError
from stiction.numerics.checks import Record, fits, number, numbers, whole
from stiction.switching.flow import records as r
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.model import SwitchingSystem, sides_at
from stiction.switching.nonuniqueness.exits import EscapingWedge, Exit, dwell_time

__all__ = ["Funnel", "futures"]

Floats = npt.NDArray[np.float64]

# a two-fold: largest |h| over |grad h| times the states, and largest |L| / (|grad h| |f|). Chosen
_ON_SURFACE, _TANGENT = 1e-8, 1e-6
_METHOD = EventDriven(rtol=1e-10)
# largest number of steps of one future; a future that needs more ends as `failed`
_STEPS = 50_000
_ENDS = {
    r.DONE: "horizon",
    r.TWO_FOLD_HIT: "two_fold",
    r.LINE_HIT: "codim2_line",
    r.SPLIT: "fold",
    r.UNDECIDED: "undecided",
    r.EVENTS_ACCUMULATE: "accumulation",
    r.ESCAPES: "escaping_start",
}


@dataclass(frozen=True, eq=False, repr=False)
class Funnel(Record):
    """The futures of a two-fold on a grid of exits; times count from the two-fold.

    Parameters
    ----------
    x_star : (n,) the two-fold
    names : names of the states
    units : units of the states, and of the time as the last one
    horizon : end time of the futures [time unit]
    exits : (f, n) points at which the futures leave the surface; for a future that still slides at
        the horizon, its state then
    dwell : (f,) times of the exits [time unit]
    angle, ray : (f,) direction of the exit as seen from the two-fold [rad], and number of its ray
    cell : (f, 2) interval of dwell times that the exit represents on its ray [time unit]
    side : (f,) 1 or -1 for the side to which the future leaves, 0 if it slides to the horizon
    time : (t,) grid of times [time unit]
    states : (f, t, n) states; NaN after the end of a future
    end_kind, end_time : (f,) how and when each future ends: `horizon`, or the next loss of
        determinism (`codim2_line`, `two_fold`, `fold`, `undecided`, `escaping_start`), or
        `accumulation` of events, or `failed`
    edge : (e, n) boundary of the region of exits, a closed polyline through the two-fold
    """

    x_star: Floats
    names: tuple[str, ...]
    units: tuple[str, ...]
    horizon: float
    exits: Floats
    dwell: Floats
    angle: Floats
    ray: npt.NDArray[np.int64]
    cell: Floats
    side: Floats
    time: Floats
    states: Floats
    end_kind: tuple[str, ...]
    end_time: Floats
    edge: Floats

    def __str__(self) -> str:
        """Return a few lines: number, dwell times and ends of the futures."""
        kinds = sorted(set(self.end_kind))
        ends = ", ".join(f"{self.end_kind.count(kind)} at {kind}" for kind in kinds)
        where = ", ".join(f"{n} = {v:.6g}" for n, v in zip(self.names, self.x_star, strict=True))
        return (
            f"Funnel of {len(self)} futures from the two-fold {where}, up to {self.horizon:g}\n"
            f"dwell    {self.dwell.min():.6g} ... {self.dwell.max():.6g} on "
            f"{np.unique(self.ray).size} rays, to both sides\n"
            f"ends     {ends}"
        )

    def __len__(self) -> int:
        return int(self.dwell.size)

    def boundary(self) -> Floats:
        """Return (e, n) the boundary of the exits: outermost rays, and farthest exits."""
        return self.edge.copy()

    def at(self, t: float) -> Floats:
        """Return (f, n) the states at time t, between grid times by linear interpolation."""
        i, fraction = self._interval_of(t)
        if fraction == 0.0:
            return self.states[:, i].copy()
        states: Floats = (1.0 - fraction) * self.states[:, i] + fraction * self.states[:, i + 1]
        return states

    def bounds(self, t: float) -> tuple[Floats, Floats, Floats]:
        """Return lower and upper ends of every state over the futures that still run at t.

        A future with a loss of determinism before t is a set of states and is left out; `running`
        gives the probability of the others.

        Returns
        -------
        low, high : (n,) [state units]
        doubt : (n,) change of these ends if every second ray is omitted [state units], an estimate
            of the error that comes from the grid of exits

        Verified by: tests/unit/switching/test_funnel.py::test_bounds_settle_as_the_grid_grows
        """
        states = self.at(t)
        running = np.isfinite(states).all(axis=1)
        if not running.any():
            empty = np.full(len(self.names), np.nan)
            return empty, empty.copy(), empty.copy()
        low, high = states[running].min(axis=0), states[running].max(axis=0)
        half = running & (self.ray % 2 == 0)
        part = states[half] if half.any() else states[running]
        doubt = np.maximum(part.min(axis=0) - low, high - part.max(axis=0))
        return low, high, doubt

    def running(self, t: float, hazard: float) -> float:
        """Return the probability that determinism has not been lost again before time t."""
        alive = self.end_time >= t
        return float(self.weights(hazard)[alive].sum())

    def hull(self, t: float, axes: tuple[int, int] = (0, 1)) -> Floats:
        """Return (k, 2) the convex hull of the futures that still run at t, in a plane."""
        from scipy.spatial import ConvexHull

        points = self.at(t)[:, list(axes)]
        points = points[np.isfinite(points).all(axis=1)]
        return np.asarray(points[ConvexHull(points).vertices])

    def weights(self, hazard: float) -> Floats:
        """Return (f,) probabilities of the futures for random exits.

        Directions and sides are equally likely, and the dwell time is exponential with rate
        `hazard` [1 / time unit], truncated at the end of a ray.

        Verified by: tests/unit/switching/test_funnel.py::test_weights_are_a_probability
        """
        number(
            "Funnel.weights",
            hazard,
            rule="positive",
            why="orbits leave the escaping region at this rate, per time unit.",
            try_="give 1 over the mean dwell time that you expect.",
        )
        mass = np.exp(-hazard * self.cell[:, 0]) - np.exp(-hazard * self.cell[:, 1])
        mass = np.where(self.side == 0.0, mass, 0.5 * mass)
        total = np.zeros(int(self.ray.max()) + 1)
        np.add.at(total, self.ray, mass)
        weights: Floats = mass / total[self.ray] / np.unique(self.ray).size
        return weights

    def mean(self, t: float, hazard: float) -> Floats:
        """Return (n,) the mean state at time t of the futures that still run."""
        states, weights = self.at(t), self.weights(hazard)
        running = np.isfinite(states).all(axis=1)
        return np.asarray(weights[running] @ states[running] / weights[running].sum())

    def quantiles(self, t: float, hazard: float, q: Sequence[float]) -> Floats:
        """Return (q, n) quantiles of every state at time t of the futures that still run."""
        states, weights = self.at(t), self.weights(hazard)
        running = np.isfinite(states).all(axis=1)
        result = np.empty((len(q), len(self.names)))
        for j in range(len(self.names)):
            order = np.argsort(states[running, j])
            cumulative = np.cumsum(weights[running][order])
            positions = np.searchsorted(cumulative, np.asarray(q) * cumulative[-1])
            result[:, j] = states[running, j][order][np.minimum(positions, order.size - 1)]
        return result

    def return_times(self, kind: str, hazard: float) -> tuple[Floats, Floats]:
        """Return the end times of the futures that end in `kind`, and their probabilities."""
        if kind not in (*_ENDS.values(), "failed"):
            raise ModelError(
                "Funnel.return_times",
                repr(kind),
                "one of " + ", ".join((*_ENDS.values(), "failed")),
                "a future has one of these ends.",
                "see `end_kind`.",
            )
        chosen = np.array([end == kind for end in self.end_kind])
        return self.end_time[chosen], self.weights(hazard)[chosen]

    def plot(self) -> Any:
        """Return a figure: the region of exits, and the futures over time."""
        from stiction.switching.figures.futures import funnel_figure

        return funnel_figure(self)

    def _interval_of(self, t: float) -> tuple[int, float]:
        """Return the number of the interval of the grid with time t, and the fraction of it."""
        if not 0.0 <= t <= self.horizon:
            raise ModelError(
                "Funnel",
                f"t = {t}",
                f"a time between 0 and the horizon {self.horizon}",
                "the futures were computed up to the horizon only.",
                "take an earlier time, or call `futures` with a longer horizon.",
            )
        i = min(int(np.searchsorted(self.time, t, side="right")) - 1, self.time.size - 2)
        return i, float((t - self.time[i]) / (self.time[i + 1] - self.time[i]))


def futures(
    system: SwitchingSystem,
    x_star: Sequence[float] | Floats,
    horizon: float,
    *,
    angles: int = 16,
    distances: int = 16,
    times: int = 201,
    method: EventDriven | SharedName = _METHOD,
) -> Funnel:
    """Return the funnel: every exit of a two-fold on a grid, each to both sides.

    Parameters
    ----------
    system : the flow; the two-fold is one of its surface 1
    x_star : (n,) a two-fold of case 1, such as `two_fold(system, guess).x`
    horizon : time up to which futures are followed, from the two-fold [time unit]
    angles, distances : number of rays from the two-fold, and of exits on each ray, evenly spaced up
        to the farthest exit that a solution from the two-fold reaches within the horizon
    times : number of times in the grid

    Raises
    ------
    ModelError : if x_star is no two-fold, or no orbit passes it into an escaping region.

    Source: formulas sheet, section 5.
    Verified by: tests/unit/switching/test_funnel.py::test_futures_of_the_normal_form
    """
    method = event_driven(system, method)
    x = _checked(system, x_star, horizon)
    why, try_ = "a grid needs both of its ends.", "leave this value out."
    for name, value in (("angles", angles), ("distances", distances), ("times", times)):
        whole(f"futures.{name}", value, least=2, why=why, try_=try_)
    # memory: both futures of every exit at all times
    each = 2.0 * 8.0 * system.compiled.n
    fits("futures", angles * distances * times, each, "give a coarser grid.")
    tolerance = Tolerance(method.rtol, method.atol)
    wedge = EscapingWedge(system, x, tolerance)
    grid = np.linspace(0.0, horizon, times)
    records: list[dict[str, Any]] = []
    farthest: list[Floats] = []
    for ray, angle in enumerate((np.arange(angles) + 0.5) / angles * math.pi / 2):
        last = _last_exit(wedge, float(angle), horizon)
        if last is None:
            continue
        farthest.append(last.x)
        records += _ray(wedge, last, ray, distances, grid, horizon, tolerance)
    if not records:
        # raises the error of the wedge
        wedge.longest(math.pi / 4)
    return _funnel_of(system, x, horizon, grid, records, _edge(records, farthest, x))


def _checked(system: SwitchingSystem, x_star: Sequence[float] | Floats, horizon: float) -> Floats:
    """Return (n,) the two-fold; ModelError unless h, L+ and L- are zero there."""
    n = len(system.state_names)
    x = numbers(
        "futures.x_star",
        x_star,
        size=n,
        per="state",
        why="the futures start at this two-fold.",
        try_="give two_fold(system, guess).x.",
    )
    number(
        "futures.horizon",
        horizon,
        rule="positive",
        why="the futures end at this time.",
        try_="give a time such as 10.0.",
    )
    # in scaled states, so that the ratio does not depend on the units of the states
    scale, worst = np.asarray(system.compiled.scale), 0.0
    normal = system.gradient(x)[0] * scale
    for side in (1.0, -1.0):
        signs = sides_at(system, x)
        signs[0] = side
        rate = system.field(x, signs) / scale
        speed = float(np.linalg.norm(normal) * np.linalg.norm(rate))
        worst = max(worst, abs(float(normal @ rate)) / max(speed, 1e-300))
    distance = abs(float(system.surfaces_at(x)[0]))
    near = _ON_SURFACE * float(np.abs(normal) @ np.maximum(np.abs(x) / scale, 1.0))
    if not (worst <= _TANGENT and distance <= near):
        raise ModelError(
            "futures.x_star",
            f"{x.tolist()}, where |h| = {distance:.3g} and |L| / (|grad h| |f|) = {worst:.3g}",
            f"a two-fold: |h| up to {near:.3g}, and the ratio |L| / (|grad h| |f|) up to "
            f"{_TANGENT:g} on both sides",
            "the funnel is the set of futures that start at a two-fold, where the rates L = grad "
            "h . f of both fields f vanish.",
            "give two_fold(system, guess).x.",
        )
    return np.array(x)


def _last_exit(wedge: EscapingWedge, angle: float, horizon: float) -> Exit | None:
    """Return the farthest exit of a ray within the horizon; None if it has none."""
    try:
        last = wedge.longest(angle)
    except ModelError:
        return None
    return last if last.dwell <= horizon else wedge.exit_after(angle, horizon)


def _ray(
    wedge: EscapingWedge,
    last: Exit,
    ray: int,
    distances: int,
    grid: Floats,
    horizon: float,
    tolerance: Tolerance,
) -> list[dict[str, Any]]:
    """Return the futures whose exits lie on one ray.

    The ray is divided into `distances` cells; each has an exit in its middle.
    """
    records: list[dict[str, Any]] = []
    edges = [0.0]
    exits: list[Exit] = []
    for b in range(distances):
        middle = wedge.exit_at(last.angle, last.distance * (b + 0.5) / distances)
        end = last if b == distances - 1 else None
        end = end or wedge.exit_at(last.angle, last.distance * (b + 1.0) / distances)
        if middle is None or end is None:
            break
        exits.append(middle)
        edges.append(end.dwell)
    for b, exit_ in enumerate(exits):
        before = _before_exit(wedge, exit_, grid, tolerance)
        for side in (1.0, -1.0):
            states = before.copy()
            kind, t = _after_exit(wedge, exit_, side, grid, horizon, states, tolerance)
            cell = (edges[b], edges[b + 1])
            records.append(_record(exit_, ray, cell, side, states, kind, t))
    if last.dwell >= horizon * (1.0 - 1e-9):
        states = _before_exit(wedge, last, grid, tolerance)
        records.append(_record(last, ray, (last.dwell, math.inf), 0.0, states, "horizon", horizon))
    return records


def _record(
    exit_: Exit,
    ray: int,
    cell: tuple[float, float],
    side: float,
    states: Floats,
    kind: str,
    end: float,
) -> dict[str, Any]:
    """Return one future: the entries of `Funnel` by name, without the axis of futures."""
    return {
        "exits": exit_.x,
        "dwell": exit_.dwell,
        "angle": exit_.angle,
        "ray": ray,
        "cell": cell,
        "side": side,
        "states": states,
        "end_kind": kind,
        "end_time": end,
    }


def _before_exit(wedge: EscapingWedge, exit_: Exit, grid: Floats, tolerance: Tolerance) -> Floats:
    """Return (t, n) the states before the exit, by backward integration from it."""
    n = exit_.x.size
    states = np.full((grid.size, n), np.nan)
    # the horizon is a grid time, equal to the last exit up to rounding
    count = int(np.searchsorted(grid, exit_.dwell * (1.0 + 1e-9), side="right"))
    save = np.minimum(grid[:count] - exit_.dwell, 0.0)[::-1]
    back = dwell_time(wedge.system, exit_.x, tolerance, save=save)[2]
    count_saved = int(back.flow.progress.saves)
    states[count - count_saved : count] = back.flow.saved[:count_saved, 1 : n + 1][::-1]
    # before these times the state is at the two-fold, up to the end of the backward integration
    states[: count - count_saved] = wedge.x
    return states


def _after_exit(
    wedge: EscapingWedge,
    exit_: Exit,
    side: float,
    grid: Floats,
    horizon: float,
    states: Floats,
    tolerance: Tolerance,
) -> tuple[str, float]:
    """Fill the states after the exit; return kind and time of the end."""
    n = exit_.x.size
    first = int(np.searchsorted(grid, exit_.dwell * (1.0 + 1e-9), side="right"))
    path = Trajectory(wedge.system, tolerance, grid[first:])
    sides = sides_at(wedge.system, exit_.x)
    sides[0] = side
    path.place(exit_.dwell, exit_.x, sides)
    code = path.advance(horizon, _STEPS)
    count_saved = int(path.flow.progress.saves)
    states[first : first + count_saved] = path.flow.saved[:count_saved, 1 : n + 1]
    return _ENDS.get(code, "failed"), path.t


def _edge(records: list[dict[str, Any]], farthest: list[Floats], x: Floats) -> Floats:
    """Return the boundary of the exits: the first ray, the farthest exits, the last ray."""
    if not records:
        return x[None, :]
    rays = sorted({record["ray"] for record in records})
    first, last = (
        [record["exits"] for record in records if record["ray"] == k] for k in (rays[0], rays[-1])
    )
    return np.array([x, *first, *farthest, *last[::-1], x])


def _funnel_of(
    system: SwitchingSystem,
    x: Floats,
    horizon: float,
    grid: Floats,
    records: list[dict[str, Any]],
    edge: Floats,
) -> Funnel:
    """Return the futures of all rays, one record each, as arrays."""
    columns = {name: [record[name] for record in records] for name in records[0]}
    return Funnel(
        x_star=x,
        names=system.state_names,
        units=(*system.state_units, system.time_unit),
        horizon=float(horizon),
        exits=np.array(columns["exits"]),
        dwell=np.array(columns["dwell"]),
        angle=np.array(columns["angle"]),
        ray=np.array(columns["ray"], dtype=np.int64),
        cell=np.array(columns["cell"]),
        side=np.array(columns["side"]),
        time=grid,
        states=np.array(columns["states"]),
        end_kind=tuple(columns["end_kind"]),
        end_time=np.array(columns["end_time"]),
        edge=edge,
    )

"""Random points of the escaping region of the wheel, and those whose orbits start at a two-fold.

The escaping region is the part of h = 0 with L- < 0 < L+, the rates of h along the fields of both
sides. Each random point is integrated backward in time along the sliding field; if the orbit runs
into the two-fold, the point is a possible exit after the two-fold. `return_map` continues orbits
from such exits. A point is a state (r [m], v [m/s], omega [rad/s]).

Source: Szalai, Jeffrey 2014, (9), (18); formulas sheet, section 5 (funnel).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import SharedName
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED, number, whole
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.wheel.model import WheelOnTurntable

__all__ = ["Escapes", "escaping_points", "funnel_exits"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_METHOD = EventDriven(rtol=1e-10)
# |omega - omega0| of the first search, as a fraction of |omega0|, or of 1 rad/s if it is zero; and
# of the last one, over the larger of both. Chosen
_FIRST, _WIDEST = 0.5, 50.0


@dataclass(frozen=True, eq=False)
class Escapes:
    """Exits after a two-fold, as points of the escaping region.

    Parameters
    ----------
    x : (N, 3) the points, on the surface
    dwell : (N,) time from the two-fold to each along the surface [time unit]
    share : fraction of the random points whose orbits come from the two-fold
    """

    x: Floats
    dwell: Floats
    share: float

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return `count` random points (count, 3), sides +-1 and dwell times."""
        picked = rng.integers(len(self.x), size=count)
        side = np.where(rng.random(count) < 0.5, 1.0, -1.0)
        return self.x[picked], side, self.dwell[picked]


def escaping_points(
    wheel: WheelOnTurntable, count: int, r_low: float, r_high: float, *, seed: int = 0
) -> Floats:
    """Return random points of the escaping region, uniform in r and omega.

    Parameters
    ----------
    count : number of points
    r_low, r_high : the points have r_low <= r < r_high [m]
    seed : seed of the random numbers

    Raises
    ------
    ModelError : if there is no such region between r_low and r_high, or it is not bounded.

    Source: Szalai, Jeffrey 2014, (9), (18); formulas sheet, section 3.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_points_of_the_escaping_region

    Examples
    --------
    >>> import stiction as st
    >>> wheel = st.WheelOnTurntable.at_two_fold(0.1859, -1.037)
    >>> st.switching.escaping_points(wheel, 1, 0.152, 0.186).shape
    (1, 3)
    """
    wheel.only_for_the_paper_law("escaping_points")
    why = "the same seed repeats the random points."
    whole("escaping_points.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 0.")
    why = "the region is sampled by random points."
    whole("escaping_points.count", count, least=1, each=200.0, why=why, try_="1000.")
    for value in (r_low, r_high):
        number(
            "escaping_points.r",
            value,
            unit="m",
            why="the points lie between two values of r.",
            try_="give 0.152 and 0.186.",
        )
    if not r_low < r_high:
        got, needs = f"{r_low!r} and {r_high!r}", "r_low < r_high"
        raise ModelError(
            "escaping_points.r",
            got,
            needs,
            "the points lie between two values of r.",
            "exchange r_low and r_high.",
        )
    if abs(wheel.params[0].sin) < 1e-12:
        raise _none(r_low, r_high, "sin(gamma) = 0, where h = 0 does not determine v")
    r = np.linspace(r_low, r_high, 202)[:-1]
    widest, width = _WIDEST * max(abs(wheel.omega0), 1.0), _FIRST * (abs(wheel.omega0) or 1.0)
    while True:
        slip = np.linspace(-width, width, 2001)
        grid = np.array(np.meshgrid(r, slip, indexing="ij")).reshape(2, -1)
        inside = _escapes(wheel, _on_surface(wheel, *grid))
        cut = inside.reshape(r.size, -1)[:, [0, -1]].any()
        if inside.any() and not cut:
            break
        if width >= widest:
            what = "the region extends beyond" if cut else "no point has L- < 0 < L+ up to"
            raise _none(r_low, r_high, f"{what} abs(omega - omega0) = {width:.4g} rad/s")
        width = min(2.0 * width, widest)
    margin = slip[1] - slip[0]
    low, high = grid[1][inside].min() - margin, grid[1][inside].max() + margin
    rng, points, total = np.random.default_rng(seed), [], 0
    while total < count:
        trial = _on_surface(
            wheel, rng.uniform(r_low, r_high, 2 * count), rng.uniform(low, high, 2 * count)
        )
        points.append(trial[_escapes(wheel, trial)])
        total += len(points[-1])
    return np.concatenate(points)[:count]


def funnel_exits(
    wheel: WheelOnTurntable,
    count: int,
    r_low: float,
    r_high: float,
    *,
    seed: int = 0,
    method: EventDriven | SharedName = _METHOD,
) -> Escapes:
    """Return the exits whose orbits come from a two-fold, among `count` points of the region.

    Each point is integrated backward in time: there the two-fold attracts all these orbits.

    Parameters
    ----------
    r_low, r_high : range of r of the points [m]
    seed : seed of the random points

    Raises
    ------
    ModelError : if no point comes from a two-fold.

    Source: formulas sheet, section 5 (funnel).
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_funnel
    """
    method = event_driven(wheel, method)
    from stiction.switching.ensembles.blocks import Task, run_task
    from stiction.switching.ensembles.study import KINDS, result_of

    x = escaping_points(wheel, count, r_low, r_high, seed=seed)
    task = Task(
        system=wheel,
        x=x,
        sides=np.zeros((count, 1)),
        dwell=np.tile([np.inf, 0.0], (count, 1)),
        t_end=1e6,
        method=method,
        stop=np.zeros(len(KINDS), dtype=np.int64),
        backward=True,
    )
    ends = result_of(*run_task(task))
    from_two_fold = ends.ended("two_fold")
    if not from_two_fold.any():
        raise ModelError(
            "funnel_exits",
            f"none of {count} points comes from a two-fold, for r in [{r_low:.6g}, {r_high:.6g})",
            "points of an escaping region whose orbits come from a two-fold",
            "the exits are points of this kind.",
            "take more points, or r closer to that of a two-fold of case 1.",
        )
    return Escapes(x[from_two_fold].copy(), -ends.time[from_two_fold], float(from_two_fold.mean()))


def _on_surface(wheel: WheelOnTurntable, r: Floats, slip: Floats) -> Floats:
    """Return (k, 3) the states with h = 0 at r [m] and omega - omega0 = `slip` [rad/s], by (9)."""
    sin, cos = wheel.params[0].sin, wheel.params[0].cos
    return np.column_stack([r, slip * (wheel.d - r * cos / sin), wheel.omega0 + slip])


def _escapes(wheel: WheelOnTurntable, x: Floats) -> Flags:
    """Return (k,) whether L- < 0 < L+ at points of the surface."""
    from stiction.switching.wheel.return_kernels import surface_lie

    out = np.empty((len(x), 2))
    surface_lie(x, wheel.params, out)
    return np.asarray((out[:, 1] < 0.0) & (out[:, 0] > 0.0))


def _none(r_low: float, r_high: float, got: str) -> ModelError:
    """Return the error for a range of r without a bounded escaping region."""
    return ModelError(
        "escaping_points",
        f"{got}, for r in [{r_low:.6g}, {r_high:.6g})",
        "a range of r with a bounded escaping region",
        "exits are random points of this region.",
        "for the paper's wheel 0.152 <= r < 0.186.",
    )

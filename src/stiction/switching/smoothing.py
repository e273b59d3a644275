"""Regularised flows, compared with the set-valued flow for several widths of the regularisation.

The regularised flow is x' = (1 + s) f+(x) / 2 + (1 - s) f-(x) / 2, with a smooth function of h,
such as s = tanh(h / width), in place of sgn(h) (`smooth_kernels.smooth_rates`). If the field also
jumps with the sign of a kink function g, as the moment of the wheel does, sgn(g) is replaced too by
the function of the same width. Where the solution is unique, the regularised solution tends to it
as the width decreases. After a two-fold it follows one of the admissible solutions, which depends
on the width, the shape of the function and rounding errors; it does not show that there are others.
`smoothed_run` integrates one regularised flow by LSODA; `smoothing_study` compares several of them
with the run of `EventDriven`.

Source: Szalai, Jeffrey 2014, section VII, which mentions this regularisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Request, Run
from stiction.errors import ModelError, SolveError, explain
from stiction.laws.smoothed import SmoothSign, SquareRootSign, TanhSign
from stiction.numerics.checks import Record, number, numbers, whole
from stiction.switching.flow.state import Addresses
from stiction.switching.methods import EventDriven
from stiction.switching.model import SwitchingSystem

__all__ = ["SmoothingStudy", "smoothed_run", "smoothing_study"]

Floats = npt.NDArray[np.float64]

# errors are compared up to this fraction of the time of the loss of determinism
_BEFORE = 0.8
_SIGNS = (TanhSign(), SquareRootSign())
# largest number of evaluations of the field by LSODA in one run
_MOST_CALLS = 5_000_000


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingStudy(Record):
    """Regularised solutions for several widths, and the set-valued solution.

    Parameters
    ----------
    names : names of the states
    units : units of the states, and of the time as the last one
    shapes : (s,) names of the smooth signs
    widths : (w,) widths of the smooth signs [unit of h]
    time : (t,) saving times [time unit]
    states : (s, w, t, n) states of the regularised solutions
    exact : (t, n) states of the set-valued solution; NaN after the loss of determinism
    lost : time of the first loss of determinism; infinity if there is none
    error : (s, w) largest difference of a regularised and the set-valued state over the scale of
        the states, up to 0.8 of `lost`, or of the end time if determinism is not lost
    left, side : (s, w) time at which a regularised solution leaves the surface after `lost`, and
        its side; NaN and 0 if it does not leave
    spread : (s, w) final difference of two solutions over `perturbation`, that of their starts
    perturbation : difference of these starts, in units of the scale
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    shapes: tuple[str, ...]
    widths: Floats
    time: Floats
    states: Floats
    exact: Floats
    lost: float
    error: Floats
    left: Floats
    side: Floats
    spread: Floats
    perturbation: float

    @property
    def order(self) -> Floats:
        """(s,) order of convergence: exponent of the error as a power of the width.

        NaN for fewer than two different widths.
        """
        if np.unique(self.widths).size < 2:
            return np.full(len(self.shapes), np.nan)
        logs = np.log(self.widths)
        slopes = [np.polyfit(logs, np.log(row), 1)[0] for row in self.error]
        return np.array(slopes)

    def __str__(self) -> str:
        """Return one line for each shape and width."""
        lines = [f"determinism is lost at {self.lost:.6g}; errors are taken up to 0.8 of that"]
        for i, shape in enumerate(self.shapes):
            for j, width in enumerate(self.widths):
                side = {1.0: "+", -1.0: "-", 0.0: "nowhere"}[float(self.side[i, j])]
                lines.append(
                    f"{shape:<16} width {width:.1e}  error {self.error[i, j]:.1e}  leaves to "
                    f"{side} at {self.left[i, j]:.5g}  starts separate by {self.spread[i, j]:.1e}"
                )
        return "\n".join(lines)

    def plot(self) -> Any:
        """Return a figure: regularised solutions over the set-valued one."""
        from stiction.switching.figures.smoothing import smoothing_figure

        return smoothing_figure(self)


def smoothed_run(
    system: SwitchingSystem,
    sign: SmoothSign,
    width: float,
    time: Floats,
    *,
    x0: Sequence[float] | Floats | None = None,
    rtol: float = 1e-9,
) -> Floats:
    """Return (t, n) the states of the regularised flow, by SciPy's LSODA.

    Parameters
    ----------
    sign, width : the smooth sign and its width [unit of h]
    time : (t,) rising times, the first of them the start
    x0 : start; the system's own when left out

    Raises
    ------
    ModelError : for a system of several surfaces, a sign this package does not know, or another
        argument that is not valid.
    SolveError : if LSODA fails, or needs more than five million evaluations; if the field of the
        other side of h = 0, continued to a saved state, contributes as if it were near the surface.

    Verified by: tests/unit/switching/test_smoothing.py::test_sliding_is_approached

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> belt, sign = st.BeltOscillator(), st.laws.TanhSign()
    >>> states = st.switching.smoothed_run(belt, sign, 1e-3, np.linspace(0.0, 1.0, 5))
    >>> states.shape
    (5, 2)
    """
    from scipy.integrate import solve_ivp

    from stiction.switching.smooth_kernels import smooth_rates

    c = system.compiled
    time, x0 = _checked(system, sign, width, time, x0, rtol)
    tanh, work, out = isinstance(sign, TanhSign), np.zeros((3, c.n + c.m + c.k + 3)), np.empty(c.n)
    addresses = Addresses.of(c, system.smooth_field)
    calls = 0

    def rates(_t: float, x: Floats) -> Floats:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS:
            got, needs = f"no end after {_MOST_CALLS} evaluations", "a run up to the last time"
            why, try_ = "the number of evaluations is bounded.", "take a larger width or rtol."
            raise SolveError(explain("smoothed_run", got, needs, why, try_))
        smooth_rates(addresses, c.params, x, tanh, width, out, work)
        return out.copy()

    span = (float(time[0]), float(time[-1]))
    start = system.start_state(span[0]) if x0 is None else system.full_state(x0, span[0])
    answer = solve_ivp(
        rates, span, start, "LSODA", t_eval=time, rtol=rtol, atol=1e-3 * rtol * c.scale
    )
    if not answer.success:
        # times before the first saved one are not in the answer
        reached = max([span[0], *answer.t])
        got, needs = f"a run that failed after t = {reached:.6g}", "a run up to the last time"
        why, try_ = f"LSODA reports: {answer.message}", "take a larger width or rtol."
        raise SolveError(explain("smoothed_run", got, needs, why, try_))
    states = np.asarray(answer.y.T)
    _check_sides(system, answer.t, states, sign, width)
    return states


def _checked(
    system: SwitchingSystem,
    sign: SmoothSign,
    width: float,
    time: Floats,
    x0: Sequence[float] | Floats | None,
    rtol: float,
) -> tuple[Floats, Floats | None]:
    """Return the times and the start of `smoothed_run`; refuse arguments that are not valid."""
    c = system.compiled
    if c.m != 1 or not isinstance(sign, (TanhSign, SquareRootSign)):
        raise ModelError(
            "smoothed_run",
            f"{c.m} surfaces and {type(sign).__name__}",
            "one surface, and TanhSign or SquareRootSign",
            "only the sign of one switching function is regularised.",
            "take a system with one surface, and one of these two signs.",
        )
    why = "the regularised sign changes from -1 to 1 over this width."
    try_ = "give a small fraction of the usual size of h."
    number("smoothed_run.width", width, rule="positive", why=why, try_=try_)
    number(
        "smoothed_run.rtol",
        rtol,
        rule="positive",
        why="rtol bounds the errors of a step.",
        try_="give 1e-9.",
    )
    why, try_ = "states are returned at these times.", "for example np.linspace(0.0, 1.0, 5)."
    time = numbers("smoothed_run.time", time, per="time", why=why, try_=try_)
    if not (np.diff(time) > 0.0).all():
        raise ModelError("smoothed_run.time", "times that do not rise", "rising times", why, try_)
    if x0 is None:
        return time, None
    why, try_ = "the run starts at this state.", "leave this value out for the start of the system."
    # with the clock of a flow or without it
    size = c.n if np.size(x0) == c.n else len(system.start_names)
    return time, numbers("smoothed_run.x0", x0, size=size, per="state", why=why, try_=try_)


def _check_sides(
    system: SwitchingSystem, time: Floats, states: Floats, sign: SmoothSign, width: float
) -> None:
    """Raise SolveError if the field of the other side acts far from the surface."""
    for t, x in zip(time.tolist(), states, strict=True):
        if not np.isfinite(x).all() or _other_side_acts(system, x, sign, width):
            got = f"the field of the other side of h = 0 acting on the solution at t = {t:.6g}"
            needs = f"fields that grow less away from their side, where |h| > {width:.3g}"
            why = "away from h = 0 this field grows faster than its smoothed weight decreases."
            try_ = "take a smaller width, or TanhSign(), whose weight decreases exponentially."
            raise SolveError(explain("smoothed_run", got, needs, why, try_))


def _other_side_acts(system: SwitchingSystem, x: Floats, sign: SmoothSign, width: float) -> bool:
    """Return whether the field of the other side contributes much at a state far from h = 0.

    Its weight (1 - |s|) / 2 is below 0.05 there. Much is a quarter of the jump at the surface.
    """
    h, scale = float(system.surfaces_at(x)[0]), np.asarray(system.compiled.scale)
    s = abs(float(sign.sign(h, width)))
    if s < 0.9:
        return False

    def jump(at: Floats) -> tuple[float, float]:
        side = float(np.sign(h))
        own, other = (system.field(at, k) / scale for k in (side, -side))
        return float(np.abs(other - own).max()), float(np.abs(own).max())

    normal = system.gradient(x)[0] * scale
    nearest = x - scale * normal * (h / float(normal @ normal))
    apart, own = jump(x)
    acts = 0.5 * (1.0 - s) * apart
    return acts > max(0.25 * jump(nearest)[0], 0.01 * own)


def smoothing_study(
    system: SwitchingSystem,
    widths: Sequence[float],
    t_end: float,
    *,
    signs: Sequence[SmoothSign] = _SIGNS,
    saves: int = 401,
    away: float = 0.005,
    perturbation: float = 1e-12,
    rtol: float = 1e-9,
) -> SmoothingStudy:
    """Return regularised solutions for several widths, and the set-valued solution.

    Parameters
    ----------
    widths : widths of the smooth signs [unit of h]
    t_end : end of all runs [time unit]
    signs : shapes of the smooth sign
    saves : number of saving times
    away : a run has left the surface when |h| exceeds this fraction of the change of h that a
        change of each state by its scale causes
    perturbation : difference of the start of a second run, in units of the scale

    Verified by: tests/unit/switching/test_smoothing.py::test_error_falls_with_the_width
    """
    wide = numbers(
        "smoothing_study.widths",
        widths,
        per="width",
        rule="positive",
        why="the regularised sign changes from -1 to 1 over this width.",
        try_="for example [1e-2, 1e-3, 1e-4].",
    )
    why = "the runs start at 0."
    number("smoothing_study.t_end", t_end, rule="positive", why=why, try_="for example 2.5.")
    why = "a run leaves the surface at this |h|."
    number("smoothing_study.away", away, rule="positive", why=why, try_="give 0.005.")
    why, each = (
        "runs are compared at this many times.",
        8.0 * system.compiled.n * (2 + len(signs) * wide.size),
    )
    whole("smoothing_study.saves", saves, least=2, each=each, why=why, try_="401.")
    time = np.linspace(0.0, float(t_end), saves)
    run = _exact(system, time)
    lost = run.determinism.losses[0].time if run.determinism.losses else np.inf
    exact = np.full((time.size, system.compiled.n), np.nan)
    count = int(np.searchsorted(time, min(lost, t_end), side="right"))
    for j, name in enumerate(system.state_names):
        exact[:count, j] = np.interp(time[:count], run.time, run.variables[name].values)
    scale = np.asarray(system.compiled.scale)
    early = time <= _BEFORE * min(lost, t_end)
    reach = float((np.abs(system.gradient(system.start_state()))[0] * scale).sum())
    states, error, left, side, spread = [], [], [], [], []
    for sign in signs:
        for width in wide:
            x = smoothed_run(system, sign, float(width), time, rtol=rtol)
            start = system.start_state() + perturbation * scale
            other = smoothed_run(system, sign, float(width), time, x0=start, rtol=rtol)
            states.append(x)
            error.append(float(np.max(np.abs((x - exact) / scale)[early])))
            spread.append(float(np.max(np.abs((x - other) / scale)[-1])) / perturbation)
            when, where = _leaving(system, time, x, lost, away * reach)
            left.append(when)
            side.append(where)
    shape = (len(signs), wide.size)
    return SmoothingStudy(
        names=system.state_names,
        units=(*system.state_units, system.time_unit),
        shapes=tuple(type(sign).__name__ for sign in signs),
        widths=np.array(wide),
        time=time,
        states=np.array(states).reshape(*shape, time.size, -1),
        exact=exact,
        lost=float(lost),
        error=np.array(error).reshape(shape),
        left=np.array(left).reshape(shape),
        side=np.array(side).reshape(shape),
        spread=np.array(spread).reshape(shape),
        perturbation=perturbation,
    )


def _exact(system: SwitchingSystem, time: Floats) -> Run:
    """Return the set-valued run; refuse one that fails before its end or a loss of determinism."""
    run = EventDriven(rtol=1e-11).solve(system, Request(0.0, float(time[-1]), time))
    if not (run.status.ok or run.determinism.losses):
        got, needs = f"a set-valued run up to t = {run.t_end:.6g}", f"a run up to {time[-1]:.6g}"
        why, try_ = (
            f"errors are differences from the set-valued run, which ended early: {run.reason}.",
            "take an earlier t_end.",
        )
        raise SolveError(explain("smoothing_study", got, needs, why, try_))
    return run


def _leaving(
    system: SwitchingSystem, time: Floats, x: Floats, lost: float, away: float
) -> tuple[float, float]:
    """Return the first time after `lost` with |h| > `away`, and the sign of h then."""
    for row in np.flatnonzero(time > lost):
        h = float(system.surfaces_at(x[row])[0])
        if abs(h) > away:
            return float(time[row]), float(np.sign(h))
    return float("nan"), 0.0

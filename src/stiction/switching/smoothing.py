"""Regularised flows: accurate before a two-fold, one arbitrary solution after it.

sgn(h) is replaced by a smooth sign of h over a width, and so is sgn(g) where the field jumps with
the sign of a kink g too, as the wheel's moment does. Where the future is unique the
smooth flow tends to the set-valued one as the width falls. Behind a two-fold it follows one
future for each width, shape and rounding error, and says nothing of the others.

Source: Szalai, Jeffrey 2014, section VII (the smoothing they mention).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Request
from stiction.errors import ModelError, SolveError
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
_MOST_CALLS = 5_000_000


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingStudy(Record):
    """Regularised solutions at several widths, with the set-valued one.

    Parameters
    ----------
    names : names of the states
    units : of the states and, last, of time
    shapes : (s,) names of the smooth signs
    widths : (w,) of the smooth signs [unit of h]
    time : (t,) [time unit]
    states : (s, w, t, n) of the smooth runs
    exact : (t, n) of the set-valued run; NaN once its future is not unique
    lost : when that is; infinity if never
    error : (s, w) largest distance from the set-valued run over the scale, up to 0.8 of `lost`
    left, side : (s, w) when and to which side a smooth run leaves the surface after `lost`;
        NaN and 0 if it does not
    spread : (s, w) distance at the end between two starts that differ by `perturbation`, over it
    perturbation : that difference, in units of the scale
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
        """(s,) exponent of the error before the loss as a power of the width."""
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
                    f"{side} at {self.left[i, j]:.5g}  starts part by {self.spread[i, j]:.1e}"
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
    ModelError : for a system of several surfaces, or a sign this package does not know.
    SolveError : if LSODA gives up.

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
    if c.m != 1 or not isinstance(sign, (TanhSign, SquareRootSign)):
        raise ModelError(
            "smoothed_run",
            f"{c.m} surfaces and {type(sign).__name__}",
            "one surface, and TanhSign or SquareRootSign",
            "one sign is made smooth.",
            "take a system with one surface.",
        )
    number(
        "smoothed_run.width",
        width,
        rule="positive",
        why="the sign is smooth over it.",
        try_="give a small part of the usual size of h.",
    )
    tanh, work, out = isinstance(sign, TanhSign), np.zeros((3, c.n + c.m + c.k + 3)), np.empty(c.n)
    addresses = Addresses.of(c, system.smooth_field)
    calls = 0

    def rates(_t: float, x: Floats) -> Floats:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS:
            raise SolveError(f"smoothed_run: {_MOST_CALLS} evaluations were used up")
        smooth_rates(addresses, c.params, x, tanh, width, out, work)
        return out.copy()

    start = system.full_state(system.start_state() if x0 is None else x0, float(time[0]))
    span = (float(time[0]), float(time[-1]))
    answer = solve_ivp(
        rates, span, start, "LSODA", t_eval=time, rtol=rtol, atol=1e-3 * rtol * c.scale
    )
    if not answer.success:
        raise SolveError(f"smoothed_run: LSODA gave up: {answer.message}")
    return np.asarray(answer.y.T)


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
    """Return regularised solutions at several widths, with the set-valued one.

    Parameters
    ----------
    widths : of the smooth signs [unit of h]
    t_end : end of all runs [time unit]
    away : |h| over its size at the scale at which a run has left the surface
    perturbation : shift of the start of a second run, in units of the scale

    Verified by: tests/unit/switching/test_smoothing.py::test_error_falls_with_the_width
    """
    wide = numbers(
        "smoothing_study.widths",
        widths,
        per="width",
        rule="positive",
        why="the sign is smooth over it.",
        try_="for example [1e-2, 1e-3, 1e-4].",
    )
    number(
        "smoothing_study.t_end",
        t_end,
        rule="positive",
        why="the runs start at 0.",
        try_="give an end time such as 2.5.",
    )
    why, each = "runs are compared there.", 8.0 * system.compiled.n * (2 + len(signs) * wide.size)
    whole("smoothing_study.saves", saves, least=2, each=each, why=why, try_="401.")
    time = np.linspace(0.0, float(t_end), saves)
    run = EventDriven(rtol=1e-11).solve(system, Request(0.0, float(t_end), time))
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


def _leaving(
    system: SwitchingSystem, time: Floats, x: Floats, lost: float, away: float
) -> tuple[float, float]:
    """Return time and side of the exit of a run from the surface after `lost`."""
    for row in np.flatnonzero(time > lost):
        h = float(system.surfaces_at(x[row])[0])
        if abs(h) > away:
            return float(time[row]), float(np.sign(h))
    return float("nan"), 0.0

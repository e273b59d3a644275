"""`solve_ivp` with SciPy's signature, and Filippov sliding on given `surfaces`.

A script that calls SciPy's function changes only its import. Calls without surfaces are passed to
SciPy. With surfaces h_i(t, y) = 0 the equation is y' = fun(t, y, s) with s_i = sgn h_i. A
`PiecewiseSmooth` flow is made from these functions and solved by `EventDriven`: the solution slides
where the fields of both sides point to a surface, and the result reports where it is not unique.
Events of the user are the kinks of that flow; `_result` converts the run to SciPy's result.

Source: Filippov 1988.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import OptimizeResult

from stiction.core.determinism import Determinism
from stiction.core.run import Request, Run
from stiction.switching.event_driven import solve_event_driven
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.methods import EventDriven
from stiction.switching.model import PiecewiseSmooth

__all__ = ["solve_ivp"]

# Any, because SciPy's stubs have neither the added fields nor the added arguments
_scipy: Any = integrate.solve_ivp
_Result: Any = OptimizeResult

Floats = npt.NDArray[np.float64]
Function = Callable[..., Any]

_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
_STIFF = ("Radau", "BDF", "LSODA")
_DENSE_SAMPLES = 2001  # saved states from which a dense output interpolates
_DEFAULT_SAMPLES = 201  # saved states of a solution without `t_eval`
_LEAST_RTOL = 1e-13
# an event is assigned to every function that has a zero within this fraction of the time span
_NEAR = 1e-7


def solve_ivp(
    fun: Function,
    t_span: Sequence[float],
    y0: npt.ArrayLike,
    method: Any = "RK45",
    t_eval: npt.ArrayLike | None = None,
    dense_output: bool = False,
    events: Function | Sequence[Function] | None = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    surfaces: Function | Sequence[Function] | None = None,
    **options: Any,
) -> Any:
    """Solve an initial value problem with the signature and the result of SciPy's `solve_ivp`.

    Parameters
    ----------
    fun : ``fun(t, y, *args)``; with surfaces ``fun(t, y, sides, *args)``, sides[i] = +1 or
        -1 the side of each surface, smooth in t and y for fixed sides
    t_span, y0, t_eval, dense_output, events, args : as in SciPy
    method : as in SciPy; with surfaces, implicit methods select the stiff integrator, and all
        others the explicit one
    vectorized, options : as in SciPy; with surfaces only `rtol` (1e-9 if absent) and `max_step`
        are used, and all others are ignored
    surfaces : functions ``h(t, y, *args)``, one or several, at whose zeros `fun` jumps

    Returns
    -------
    SciPy's fields, and `determinism`: whether the solution was unique, and where not. With surfaces
    also `run`, with all events, and status -1 where determinism was lost.

    Raises
    ------
    ValueError : for arguments that SciPy refuses, with its messages.
    ModelError : for functions that do not define a flow.

    Notes
    -----
    Source: Filippov 1988 for sliding; SciPy's reference for everything else.
    Verified by: tests/unit/switching/test_ivp.py::test_events_are_those_of_scipy
    """
    if surfaces is None:
        solution = _scipy(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
        solution["determinism"] = Determinism()
        return solution
    t0, tf, start, times = _checked(t_span, y0, method, t_eval)
    given = tuple(args) if args is not None else ()
    asked = [events] if callable(events) else list(events or ())
    flow = PiecewiseSmooth(
        h=[_of_state(h, given) for h in ([surfaces] if callable(surfaces) else surfaces)],
        f=_of_sides(fun, given),
        kinks=[_of_state(g, given) for g in asked],
        x0=start.tolist(),
        stiff=method in _STIFF,
        names=[f"y{i}" for i in range(start.size)],
    )
    rtol = max(
        float(np.min(options.get("rtol", 1e-9))), _LEAST_RTOL if method not in _STIFF else 1e-10
    )
    step = float(options.get("max_step", np.inf))
    if not step > 0.0:
        raise ValueError("`max_step` must be positive.")
    how = EventDriven(rtol=rtol, max_step=None if np.isinf(step) else step)
    save = np.union1d(
        np.linspace(t0, tf, _DENSE_SAMPLES if dense_output else _DEFAULT_SAMPLES), times
    )
    run = solve_event_driven(flow, how, Request(t0, tf, save))
    return _result(run, flow, asked, given, None if t_eval is None else times, dense_output)


def _checked(
    t_span: Sequence[float], y0: npt.ArrayLike, method: Any, t_eval: npt.ArrayLike | None
) -> tuple[float, float, Floats, Floats]:
    """Return both ends of `t_span`, y0 and t_eval as floats; raise the errors of SciPy."""
    if method not in _METHODS:
        raise ValueError(f"`method` must be one of {_METHODS} if `surfaces` are given.")
    t0, tf = map(float, t_span)
    start = np.asarray(y0, dtype=np.float64)
    if start.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if not np.isfinite(start).all():
        raise ValueError("All components of the initial state `y0` must be finite.")
    if tf < t0:
        why = "integration backward is not unique, as many solutions lead to one sliding state."
        raise ValueError(f"`t_span` must increase if `surfaces` are given: {why}")
    if not np.isfinite([t0, tf]).all():
        raise ValueError(f"`t_span` must be finite if `surfaces` are given: it is ({t0}, {tf}).")
    if not tf > t0:
        raise ValueError(f"`t_span` must increase: it is ({t0}, {tf}).")
    times = np.zeros(0) if t_eval is None else np.asarray(t_eval, dtype=np.float64)
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    if times.size and (times.min() < t0 or times.max() > tf):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if (np.diff(times) <= 0.0).any():
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t0, tf, start, times


def _of_state(function: Function, given: tuple[Any, ...]) -> Function:
    """Return f(t, x, p) of the flow from SciPy's function (t, y, *args) with args = `given`."""
    if given:
        return lambda t, x, p: function(t, x, *given)
    return lambda t, x, p: function(t, x)


def _of_sides(function: Function, given: tuple[Any, ...]) -> Function:
    """Return f(t, x, s, p) of the flow from the function (t, y, sides, *args)."""
    if given:
        return lambda t, x, s, p: np.asarray(function(t, x, s, *given))
    return lambda t, x, s, p: np.asarray(function(t, x, s))


def _result(
    run: Run,
    flow: PiecewiseSmooth,
    asked: Sequence[Function],
    given: tuple[Any, ...],
    times: Floats | None,
    dense_output: bool,
) -> Any:
    """Return the run as an object with the fields of SciPy's result.

    Parameters
    ----------
    asked : event functions of the user
    given : further arguments `args` of all functions
    times : (k,) times of `t_eval`; None if the user gave none
    """
    n = len(flow.start_names)
    y = np.stack([run.variables[name].values for name in flow.start_names])
    t_events, y_events, end = _events(run, flow, asked, given)
    stop = min(end, run.t_end)
    reached = run.time <= stop
    dense = _dense(run, flow, y) if dense_output or stop < run.t_end else None
    t, shown = run.time[reached], y[:, reached]
    if times is not None:
        selected = np.isin(t, times)
        t, shown = t[selected], shown[:, selected]
    elif end <= run.t_end and dense is not None and t[-1] < end:
        last = np.concatenate([e for e in y_events if e.size])
        at = np.concatenate([e for e in t_events if e.size])
        state = last[int(np.argmin(np.abs(at - end)))]
        t, shown = np.append(t, end), np.column_stack([shown, state])
    lost = bool(run.determinism.losses)
    ended = end <= run.t_end
    status = 1 if ended else 0 if run.status.ok and not lost else -1
    words = {
        0: "The solver successfully reached the end of the integration interval.",
        1: "A termination event occurred.",
    }
    reason = run.reason or "the solution is not unique: see `determinism`."
    return _Result(
        t=t,
        y=shown.reshape(n, -1),
        sol=dense if dense_output else None,
        t_events=t_events if asked else None,
        y_events=y_events if asked else None,
        nfev=int(run.stats["steps"]) * 12,  # an estimate: evaluations are not counted
        njev=0,
        nlu=0,
        status=status,
        message=words.get(status, reason),
        success=status >= 0,
        determinism=run.determinism,
        run=run,
    )


def _events(
    run: Run, flow: PiecewiseSmooth, asked: Sequence[Function], given: tuple[Any, ...]
) -> tuple[list[Floats], list[Floats], float]:
    """Return times and states of the events of each function, and the time of a terminal event.

    The run has one kind of event for all functions, `kink`. An event belongs to each function that
    vanishes there and whose slope, by central differences along the solution, has its `direction`.
    """
    log = run.event_log
    states = np.stack([np.asarray(log.columns[f"{name}_after"]) for name in flow.start_names])
    span = max(abs(run.t_end - float(run.time[0])), 1e-300)
    solution: list[list[tuple[float, Floats]]] = [[] for _ in asked]
    end = np.inf
    saved = np.asarray(run.variables["multiplier"].values).reshape(run.time.size, -1)
    path = Trajectory(flow, Tolerance(_LEAST_RTOL), np.empty(0))
    for k in np.flatnonzero(np.array([kind == "kink" for kind in log.kind], dtype=bool)):
        time, at = float(log.time[k]), states[:, k]
        # the multipliers at the event itself, of the surfaces on which the state slides there
        signs = _signs(run, saved, time)
        path.place(time, flow.full_state(at, time), np.where(np.abs(signs) < 1.0, 0.0, signs))
        rate = _rate(flow, time, at, np.clip(path.multiplier(), -1.0, 1.0))
        for i, function in enumerate(asked):
            step = 1e-6 * span
            before, after = (
                float(function(time + s, at + s * rate, *given)) for s in (-step, step)
            )
            slope = (after - before) / (2.0 * step)
            zero = abs(float(function(time, at, *given))) <= _NEAR * span * max(abs(slope), 1e-300)
            direction = float(getattr(function, "direction", 0.0))
            if zero and time <= end and (direction == 0.0 or direction * slope > 0.0):
                solution[i].append((time, at))
                # terminal = n ends the solution at the n-th event; True equals 1
                most = int(getattr(function, "terminal", 0) or 0)
                if most and len(solution[i]) >= most:
                    end = time
    selected = [[(t, y) for t, y in one if t <= end] for one in solution]
    times = [np.array([t for t, _ in one]) for one in selected]
    return times, [np.array([y for _, y in one]) for one in selected], end


def _rate(flow: PiecewiseSmooth, time: float, y: Floats, signs: Floats) -> Floats:
    """Return y' for a multiplier in [-1, 1] per surface: a convex combination of all fields."""
    at = np.asarray(flow.full_state(y, time))
    total = np.zeros(flow.compiled.n)
    for signs_tried in itertools.product((-1.0, 1.0), repeat=signs.size):
        weight = float(np.prod(0.5 * (1.0 + np.array(signs_tried) * signs)))
        if weight > 0.0:
            total += weight * flow.field(at, signs_tried)
    return total[: y.size]


def _dense(run: Run, flow: PiecewiseSmooth, y: Floats) -> Function:
    """Return sol(t): a cubic Hermite interpolant between saved states and events.

    Parameters
    ----------
    y : (n, samples) saved states
    """
    log, m = run.event_log, flow.compiled.m
    states = np.stack([np.asarray(log.columns[f"{name}_after"]) for name in flow.start_names])
    time = np.concatenate([run.time, log.time])
    time, first = np.unique(time, return_index=True)
    every = np.concatenate([y, states], axis=1)[:, first]
    saved = np.asarray(run.variables["multiplier"].values).reshape(run.time.size, m)
    left, right = [], []
    for k in range(time.size - 1):
        inside = _signs(run, saved, time[k])
        left.append(_rate(flow, time[k], every[:, k], inside))
        then = np.where(np.abs(inside) < 1.0, _ending(run, saved, time[k + 1]), inside)
        right.append(_rate(flow, time[k + 1], every[:, k + 1], then))
    return functools.partial(_evaluated, time, every, np.array(left), np.array(right))


def _signs(run: Run, saved: Floats, time: float) -> Floats:
    """Return the multipliers just after a time: from the last saved state, and events since."""
    log, sample = run.event_log, int(np.searchsorted(run.time, time, side="right")) - 1
    signs = saved[sample].copy()
    for k in np.flatnonzero((log.time >= run.time[sample]) & (log.time <= time)).tolist():
        i = int(log.contact[k]) - 1
        if log.kind[k] != "kink" and 0 <= i < signs.size:
            signs[i] = float(log.columns["multiplier_after"][k])
    return np.asarray(np.clip(signs, -1.0, 1.0))


def _ending(run: Run, saved: Floats, time: float) -> Floats:
    """Return the multipliers just before the time of a saved state or an event."""
    log, sample = run.event_log, int(np.searchsorted(run.time, time, side="right")) - 1
    signs = saved[sample].copy()
    for k in np.flatnonzero(log.time == time)[::-1].tolist():
        i = int(log.contact[k]) - 1
        if log.kind[k] != "kink" and 0 <= i < signs.size:
            signs[i] = float(log.columns["multiplier"][k])
    return np.asarray(np.clip(signs, -1.0, 1.0))


def _evaluated(time: Floats, y: Floats, left: Floats, right: Floats, t: Any) -> Floats:
    """Return (n,) or (n, k) values of the cubic Hermite interpolant at one or k times `t`.

    Parameters
    ----------
    time, y : (p,) knots and (n, p) states there
    left, right : (p - 1, n) rates y' at the begin and at the end of each interval
    """
    wanted = np.asarray(t, dtype=np.float64)
    flat = np.atleast_1d(wanted)
    if time.size == 1:
        # determinism was lost at the start
        return np.asarray(y[:, 0] if wanted.ndim == 0 else np.repeat(y, flat.size, axis=1))
    at = np.clip(np.searchsorted(time, flat, side="right") - 1, 0, time.size - 2)
    made = np.empty((y.shape[0], flat.size))
    for k in np.unique(at):
        mine = at == k
        spline = CubicHermiteSpline(time[k : k + 2], y[:, k : k + 2].T, [left[k], right[k]])
        made[:, mine] = spline(flat[mine]).T
    return made[:, 0] if wanted.ndim == 0 else made

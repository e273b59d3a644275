"""The driver of a run: `drive` checks the arguments of `solve`, runs a method, sets the status.

`run_to_end` is the loop that methods of all systems share: it advances a method from pause to
pause, reports progress and saves checkpoints. The sequence is

    solve -> drive -> method.solve(system, request) -> run_to_end(loop of the method) -> Run.
"""

from __future__ import annotations

import dataclasses
import math
import time as clock
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import StateArray, pack
from stiction.core.method import SharedName, Solver, method_for
from stiction.core.provenance import provenance
from stiction.core.run import Checkpoint, Output, Request, Run, silent
from stiction.errors import ModelError, SolveError, Status
from stiction.numerics.checks import number, numbers, shape_of
from stiction.numerics.compiling.clock import spent

__all__ = ["Pause", "System", "drive", "keeps_steps", "run_to_end", "saved_times", "started"]

AnySystem = TypeVar("AnySystem")
Ended = TypeVar("Ended")

DEFAULT_SAVES = 1001
# numbers saved with every state: time, energies, losses
_LEDGER_NUMBERS = 16
_DEFAULT_BYTES = 256 << 20


class System(Protocol):
    """Anything that can be solved.

    A system or its method may also have `keeps_steps = True`: if no saved times are asked for, all
    steps are saved. The method then reads `Request.every_step`.
    """

    # name of the method used when none is given, a class in the namespace of the system
    default_method: ClassVar[str]

    @property
    def state_size(self) -> int:
        """Number of entries of a saved state; it bounds the memory of a run."""


def drive(
    system: System,
    method: Solver | SharedName | None = None,
    t_span: tuple[float, float] = (0.0, 1.0),
    *,
    save: int | Sequence[float] | npt.NDArray[np.float64] | None = None,
    throw: bool = True,
    progress: Callable[[float, str], None] | None = None,
    checkpoint: Checkpoint | None = None,
    x0: float | Sequence[float] | npt.NDArray[np.float64] | None = None,
    mode: str | None = None,
    output: Output | None = None,
) -> Run:
    """Return the run of a system by a method; see `stiction.solve`.

    Parameters
    ----------
    output : object that draws the run and writes it to a folder; None if the run needs neither
    """
    _check_system(system)
    system = started(system, x0=x0, mode=mode)
    solver = method_for(system, method)
    t_start, t_end = _span(t_span)
    # some systems save all steps by default, instead of given times
    steps = save is None and keeps_steps(system, solver)
    saves = saved_times(2 if steps else save, t_start, t_end, system.state_size)
    request = Request(t_start, t_end, saves, progress or silent, checkpoint, every_step=steps)
    begin, compiling = clock.perf_counter(), spent()
    # inf and NaN lead to a status, without warnings of NumPy
    with np.errstate(all="ignore"):
        answer: object = solver.solve(system, request)
    if not isinstance(answer, Run):
        where, why = f"{type(solver).__name__}.solve", "a method returns the run that it made."
        raise ModelError(where, repr(answer), "a Run", why, "end the method by return Run.of(...).")
    cost = provenance(clock.perf_counter() - begin, spent() - compiling)
    run = _with_final_status(answer.completed(cost, request.save, output))
    if throw and not run.status.ok:
        raise SolveError(_message(run, t_end), run)
    return run


def keeps_steps(system: object, method: object) -> bool:
    """Return whether a run saves all its steps if no saved times are asked for."""
    return any(getattr(one, "keeps_steps", False) for one in (system, method))


class Pause(NamedTuple):
    """A pause of a method, for progress, interrupts and checkpoints.

    Parameters
    ----------
    done : completed fraction of the time span [1]
    note : message, such as "12 events"
    state : returns the arrays of a checkpoint; None if the run cannot be resumed from here
    """

    done: float
    note: str
    state: Callable[[], Mapping[str, StateArray | npt.NDArray[Any]]] | None = None


def run_to_end(
    steps: Generator[Pause, None, Ended],
    progress: Callable[[float, str], None] = silent,
    checkpoint: Checkpoint | None = None,
) -> Ended:
    """Advance a method from pause to pause; return the return value of its generator.

    Parameters
    ----------
    steps : a generator that yields a pause several times a second
    progress : called at every pause
    checkpoint : saves the state at a pause if enough time has passed; None for no checkpoints

    Verified by: tests/unit/core/test_driver.py::test_pauses_report_and_keep
    """
    while True:
        try:
            done, note, state = next(steps)
        except StopIteration as end:
            ended: Ended = end.value
            return ended
        progress(done, note)
        if state is not None and checkpoint is not None and checkpoint.due():
            checkpoint.save(pack(state()))


def _message(run: Run, t_end: float) -> str:
    """Return the message of SolveError."""
    unit = "" if run.time_unit == "1" else f" {run.time_unit}"
    got, what = f"as far as t = {run.t_end:.9g}{unit}", "partial run"
    needs = f"to reach {t_end:.9g}{unit}"
    if run.status is Status.UNTRUSTED:
        got, what, needs = "an untrusted run", "run", "a run whose equations are solved"
    return (
        f"solve: got {got}; needs {needs}.\nWhy: {run.reason}\nTry: {run.advice}. "
        f"The {what} is in the `run` attribute of this error."
    )


def started(
    system: AnySystem,
    x0: float | Sequence[float] | npt.NDArray[np.float64] | None = None,
    mode: str | None = None,
) -> AnySystem:
    """Return `system` with another initial state; itself if none is given.

    Parameters
    ----------
    x0 : initial state, as the field `x0` of the system
    mode : initial mode, as its field `mode`

    Raises
    ------
    ModelError : if the system has no such field, or does not admit the value.

    Verified by: tests/unit/test_solve.py::test_a_run_may_start_elsewhere
    """
    given = {name: value for name, value in (("x0", x0), ("mode", mode)) if value is not None}
    if not given:
        return system
    fields = dataclasses.fields(system) if dataclasses.is_dataclass(system) else ()
    known = [f.name for f in fields if f.init]
    for name, value in given.items():
        if name not in known:
            raise ModelError(
                f"solve.{name}",
                repr(value),
                f"a system with a field {name!r}",
                f"{type(system).__name__} has {', '.join(known) or 'no fields'}.",
                f"leave {name} out, and give the initial state by the fields of the system.",
            )
    return dataclasses.replace(system, **given)  # type: ignore[type-var]


def _with_final_status(run: Run) -> Run:
    """Return the run with the status that its energies and its audit imply.

    A complete run with infinite energies is NOT_FINITE; one whose audit is untrusted is UNTRUSTED.

    Verified by: tests/unit/test_solve.py::test_untrusted_runs_raise
    """
    if not run.status.ok:
        return run
    if run.energy.defined and not math.isfinite(run.energy.imbalance_rel):
        reason = "an energy is not finite: a state, a load or a law overflows"
        return dataclasses.replace(run, status=Status.NOT_FINITE, reason=reason)
    why = run.audit.untrusted
    if not why:
        return run
    reason = f"{run.reason}; {why}" if run.status is Status.STOPPED else why
    return dataclasses.replace(run, status=Status.UNTRUSTED, reason=reason)


def _check_system(system: object) -> None:
    """Raise an error unless `system` is an object of a system."""
    if isinstance(system, type) or not hasattr(system, "default_method"):
        example = "for example solve(Chain(mass=[1.0], stiffness=20.0), t_span=(0.0, 8.0))."
        if hasattr(system, "system") or isinstance(system, str):
            # a scenario has its own method and time span
            example = "read_scenario(...).solve() solves a scenario."
        needs, why = "a system, such as Chain(...)", "the first argument is the system to solve."
        raise ModelError("solve.system", repr(system), needs, why, example)


def _span(t_span: tuple[float, float]) -> tuple[float, float]:
    """Return start and end as floats; ModelError for a span that cannot be resolved."""
    why, try_ = "a run goes from a start to a later end.", "for example t_span = (0.0, 8.0)."
    if shape_of(t_span) != (2,):
        raise ModelError("solve.t_span", repr(t_span), "two times [s]", why, try_)
    t_start, t_end = (number("solve.t_span", t, unit="s", why=why, try_=try_) for t in t_span)
    if not t_end > t_start:
        raise ModelError(
            "solve.t_span", f"({t_start}, {t_end})", "an end after the start", why, try_
        )
    if t_end - t_start < 1e-9 * max(abs(t_start), abs(t_end)):
        raise ModelError(
            "solve.t_span",
            f"({t_start!r}, {t_end!r})",
            "a span of at least 1e-9 of the times themselves",
            "floating-point numbers cannot resolve the times within a shorter span.",
            "shift the times so that the run starts near t = 0.",
        )
    return t_start, t_end


def saved_times(
    save: int | Sequence[float] | npt.NDArray[np.float64] | None,
    t_start: float,
    t_end: float,
    size: int,
) -> npt.NDArray[np.float64]:
    """Return the saved times of a run, first and last included.

    Parameters
    ----------
    save : as in `solve`
    size : numbers in one saved state
    """
    if save is None:
        count = min(DEFAULT_SAVES, max(2, _DEFAULT_BYTES // (8 * size)))
        return np.linspace(t_start, t_end, count)
    why = "the state is saved at the given times, first and last included."
    try_ = "give a count >= 2, or increasing times inside the time span."
    if shape_of(save) == ():
        if isinstance(save, bool) or not isinstance(save, (int, np.integer)) or save < 2:
            raise ModelError("solve.save", repr(save), "a count >= 2", why, try_)
        # a run holds its first and last state anyway, so that these two need no check of memory
        if save == 2:
            return np.array([t_start, t_end])
        _check_memory(int(save), size)
        return np.linspace(t_start, t_end, int(save))
    times = numbers("solve.save", save, unit="s", per="saved state", why=why, try_=try_)
    # a time such as 3 * 0.1 means the end 0.3
    for end in (t_start, t_end):
        rounding = 4.0 * np.finfo(float).eps * abs(end)
        times = np.where(np.abs(times - end) <= rounding, end, times)
    if times[0] < t_start or times[-1] > t_end or not (np.diff(times) > 0.0).all():
        got = f"{times.size} times from {times[0]} to {times[-1]}"
        if (falls := np.flatnonzero(np.diff(times) <= 0.0)).size:
            got = f"{times[falls[0] + 1]} after {times[falls[0]]}"
        needs = f"increasing times between {t_start} and {t_end} [s]"
        raise ModelError("solve.save", got, needs, why, try_)
    _check_memory(times.size, size)
    return np.unique(np.concatenate([[t_start], times, [t_end]]))


def _check_memory(count: int, size: int) -> None:
    """Refuse a number of saved states, of `size` numbers each, that exceeds the memory bound."""
    from stiction.numerics.checks import MOST_BYTES

    memory = 8 * count * (size + _LEDGER_NUMBERS)
    if memory > MOST_BYTES:
        raise ModelError(
            "solve.save",
            f"{count} states of {size} numbers ({memory / 2**30:.1f} GiB with their energies)",
            f"at most {MOST_BYTES >> 30} GiB of saved states",
            "all saved states stay in memory until the run is written.",
            "save fewer states; all events are saved in any case.",
        )

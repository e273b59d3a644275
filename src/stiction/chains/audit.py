"""Lines of the audit that the methods for chains share: energy, stick bound, direction of slip.

Each function compares a measured value with its limit and returns a line of `run.audit`, or several
lines. A `Line` has the name of the check, the value, the limit, a note and the time of the value.
The arguments belong to one run, or to many chains with a leading axis. The callers are
`chains.outcome`, `event_driven.losses`, `blocks`, and the `run` modules of the methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Kind, Line

__all__ = [
    "energy_lines",
    "mode_line",
    "rounding_of_steps",
    "slip_line",
    "step_lines",
    "stick_line",
    "stick_ratios",
]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# limits, chosen: energy imbalance of a run and of a step over the largest energy; excess of a
# friction force over its bound and of a slip rate against its mode, over their sizes
_CLOSES, _ROUNDING, _STEP_CLOSES = 1e-9, 1e-9, 1e-12
_FLOOR = np.finfo(float).tiny


def energy_lines(
    imbalance: Any, given: Any, scale: Any, *, time: float | None = None, seen: str = "all steps"
) -> tuple[Line, Line]:
    """Return the lines `ledger_closes` and `friction_dissipates`.

    Parameters
    ----------
    imbalance : largest energy imbalance of the ledger over the largest energy [1]
    given : energy that friction returned to the masses instead of dissipating it [J]
    scale : largest energy [J]
    time : first time at which friction returned energy [s]
    seen : name of the steps or states at which the friction heat is known
    """
    note = "largest energy imbalance over the largest energy, at the saved times"
    size = "all" if seen == "all steps" else "largest"
    heat = (
        f"{size} heat that friction returned {'in' if size == 'all' else 'between'} {seen} [J]; "
        "above 0 the law has a negative coefficient at slip rates of this run"
    )
    return (
        Line("ledger_closes", imbalance, _CLOSES, note),
        Line("friction_dissipates", given, _CLOSES * scale, heat, time),
    )


def stick_ratios(friction: Floats, mode: Array, bound: Floats) -> Floats:
    """Return (..., t, n) ratios of friction to its static bound in stick, and 0 in slip.

    Parameters
    ----------
    friction, mode : (..., t, n) friction force [N] and mode (0 in stick) of each mass
    bound : (..., n) or (..., t, n) static bound [N]
    """
    # a bound of 0 is replaced by the smallest positive number, to avoid 0 / 0
    with np.errstate(over="ignore"):
        return np.where(mode == 0, np.abs(friction) / np.maximum(bound, _FLOOR), 0.0)


def stick_line(ratio: Any, time: float | None = None) -> Line:
    """Return the line `stick_within_bound`, for the largest of `stick_ratios`."""
    note = "largest friction of a sticking mass divided by its static bound, at the saved times"
    return Line("stick_within_bound", ratio, 1.0 + _ROUNDING, note, time)


def slip_line(slip: Floats, mode: Array, least: Any = 0.0) -> Line:
    """Return the line `slip_against_friction`, from the saved times.

    Parameters
    ----------
    slip, mode : (..., t, n) slip rate [m/s], and mode -1, 0 or 1: the direction of slip
    least : slip rate that rounding can cause [m/s]; it raises the limit if it is above 1e-9 of the
        largest slip rate
    """
    size, axes = np.abs(slip), (-2, -1)
    wrong = np.where(mode == 0, size, -slip * mode).max(axis=axes, initial=0.0)
    note = "largest slip rate opposite to the direction of the slip mode, at the saved times [m/s]"
    limit = _slip_limit(size.max(axis=axes, initial=0.0))
    return Line("slip_against_friction", wrong, np.maximum(limit, least), note)


def mode_line(against: Any, largest: Any, time: float | None = None) -> Line:
    """Return the line `slip_against_friction`, from all steps of a theta scheme.

    Parameters
    ----------
    against, time : largest slip rate opposite to the direction of its mode [m/s], and its time [s]
    largest : largest slip rate at the saved times [m/s]
    """
    note = "largest slip rate of all steps opposite to the direction of the slip mode [m/s]"
    return Line("slip_against_friction", against, _slip_limit(largest), note, time)


def _slip_limit(largest: Any) -> Any:
    """Return the slip rate that rounding can cause [m/s], from the largest slip rate [m/s]."""
    return _ROUNDING * np.where(largest == 0.0, 1.0, largest)


def rounding_of_steps(springs: Any, reach: Any, load: Any, inertia: Any, speed: Any) -> Floats:
    """Return the rounding error of a force in a step of a theta scheme [N].

    Parameters
    ----------
    springs : largest stiffness of a link plus largest stiffness of a plate spring [N/m]
    reach, speed : largest displacement of a mass or the plate [m], and largest slip rate [m/s]
    load : largest load [N]
    inertia : largest mass over theta h, with the time step h [kg/s]
    """
    return np.asarray(1e-12 * (2.0 * springs * reach + load + inertia * speed))


def step_lines(
    worst: Any,
    missed: Any,
    *,
    worst_time: float | None = None,
    missed_time: float | None = None,
    residual: str = "",
) -> tuple[Line, Line]:
    """Return the lines `energy_of_each_step` and `steps_converged`.

    Parameters
    ----------
    worst, worst_time : largest energy imbalance of one step over the largest energy, and its time
        [s]
    missed, missed_time : number of steps that did not converge, and time of the first of them [s]
    residual : text on the residuals of these steps, appended to the note
    """
    closes = "largest imbalance of one step over the largest energy"
    missing = f"number of steps that did not converge; the time is that of the first one{residual}"
    return (
        Line("energy_of_each_step", worst, _STEP_CLOSES, closes, worst_time),
        Line("steps_converged", missed, 0.0, missing, missed_time, Kind.CONVERGENCE),
    )

"""Audit lines common to the methods of chains, for one run or, with a leading axis, for many."""

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

_CLOSES, _ROUNDING, _STEP_CLOSES = 1e-9, 1e-9, 1e-12
_FLOOR = np.finfo(float).tiny


def energy_lines(
    imbalance: Any, given: Any, scale: Any, *, time: float | None = None, seen: str = "all steps"
) -> tuple[Line, Line]:
    """Return whether the ledger closes, and whether friction dissipates.

    Parameters
    ----------
    imbalance : of the ledger, over the largest energy
    given : heat that friction returned [J]
    scale : largest energy [J]
    time : first time at which friction returned heat [s]
    seen : the steps or states at which heat is known
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
    """Return (..., t, n) friction of stuck masses over their bound (..., n) or (..., t, n)."""
    # without a normal force the bound is the smallest positive number
    with np.errstate(over="ignore"):
        return np.where(mode == 0, np.abs(friction) / np.maximum(bound, _FLOOR), 0.0)


def stick_line(ratio: Any, time: float | None = None) -> Line:
    """Return whether friction of stuck masses is within the static bound."""
    note = "friction of stuck masses over the static bound, at the saved times"
    return Line("stick_within_bound", ratio, 1.0 + _ROUNDING, note, time)


def slip_line(slip: Floats, mode: Array, least: Any = 0.0) -> Line:
    """Return whether friction opposes the slip rate (..., t, n) at the saved times.

    Parameters
    ----------
    least : slip rate of rounding [m/s], if above the relative limit
    """
    size, axes = np.abs(slip), (-2, -1)
    wrong = np.where(mode == 0, size, -slip * mode).max(axis=axes, initial=0.0)
    note = "slip rate against the direction of its mode, at the saved times [m/s]"
    limit = _slip_limit(size.max(axis=axes, initial=0.0))
    return Line("slip_against_friction", wrong, np.maximum(limit, least), note)


def mode_line(against: Any, largest: Any, time: float | None = None) -> Line:
    """Return whether slip had the direction of its mode in all steps of a theta scheme.

    Parameters
    ----------
    against, time : largest slip rate against a mode [m/s], and when [s]
    largest : slip rate at the saved times [m/s]
    """
    note = "largest slip rate of all steps against the direction of its mode [m/s]"
    return Line("slip_against_friction", against, _slip_limit(largest), note, time)


def _slip_limit(largest: Any) -> Any:
    """Return the limit of a slip rate by rounding, from the largest one [m/s]."""
    return _ROUNDING * np.where(largest == 0.0, 1.0, largest)


def rounding_of_steps(springs: Any, reach: Any, load: Any, inertia: Any, speed: Any) -> Floats:
    """Return the rounding error of a force in a step of a theta scheme [N].

    Parameters
    ----------
    springs : largest stiffness of a link and of a plate spring, together [N/m]
    reach, speed : largest displacement [m], plate included, and slip rate [m/s]
    load : [N]
    inertia : largest mass over theta h [kg/s]
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
    """Return whether the energies of each step close, and whether each step converged.

    Parameters
    ----------
    worst, worst_time : largest imbalance of a step over the largest energy, and when [s]
    missed, missed_time : steps that did not converge, and when the first did not [s]
    residual : text on the residuals of those
    """
    closes = "largest imbalance of one step over the largest energy"
    missing = f"steps that did not converge; the time is that of the first{residual}"
    return (
        Line("energy_of_each_step", worst, _STEP_CLOSES, closes, worst_time),
        Line("steps_converged", missed, 0.0, missing, missed_time, Kind.CONVERGENCE),
    )

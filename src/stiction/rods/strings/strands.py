"""Rolling strings by expansion in normal modes, with a contact averaged over a Gaussian (bump).

Strings u and v of wave speeds c touch at x = s1 and s2: V_1 = F V_2, s_i' = G_i V_i with averages
V_i of u_t and v_t over the Gaussian, and the contact force lam (`model`). This method checks
`Characteristics`, from which it is independent. `strand_motion` integrates the
modes; this module converts the result to a run with audit checks. `extrapolated` repeats the motion
with several widths of the bump, and extrapolates to width zero, the contact at a point. A strand is
a string in this method. All quantities are dimensionless.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet
(docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.run import Request, Run
from stiction.errors import ModelError, SolveError, Status
from stiction.numerics.checks import Record, number, numbers
from stiction.numerics.jit import quiet
from stiction.rods.strings.model import RollingStrings
from stiction.rods.strings.outcome import StringHistory, build_run, grid
from stiction.rods.strings.shapes import Shape
from stiction.rods.strings.strand_motion import different_widths, strand_motion, to_zero_width
from stiction.rods.strings.strand_state import LEAST_RATIO, TAIL, StrandMotion, StrandPair

if TYPE_CHECKING:
    from stiction.rods.methods import BumpStrands

__all__ = ["Extrapolated", "extrapolated", "strand_pair"]

Floats = npt.NDArray[np.float64]


def strand_pair(system: RollingStrings) -> StrandPair:
    """Return the parameters and initial data of two rolling strings for `strand_motion`."""
    ends, lengths = system.ends, system.lengths

    def function(shape: Shape | None, length: float) -> Callable[[Floats], Floats]:
        """Return a shape as a function of position; zero for None."""
        if shape is None:
            return lambda x: np.zeros(x.shape)
        return lambda x: shape.value(x, length, ends)

    return StrandPair(
        speed=system.speeds,
        length=lengths,
        mobility=(system.G1, system.G2),
        ratio=system.F,
        start=(system.s1, system.s2),
        periodic=ends == "periodic",
        drag=system.drag,
        resistance=system.rolling_resistance,
        shapes=(function(system.u0, lengths[0]), function(system.v0, lengths[1])),
        rates=(function(system.u_t0, lengths[0]), function(system.v_t0, lengths[1])),
    )


def solve_strands(system: RollingStrings, method: BumpStrands, request: Request) -> Run:
    """Return the run of `system`.

    Raises
    ------
    ModelError : if the bump does not fit between the contact and an end, or cells are too large.
    """
    motion = strand_motion(
        strand_pair(system),
        request.save,
        method.bump_width,
        cells=method.cells,
        step=method.step,
        lumped=method.lumped,
        progress=request.progress,
        checkpoint=request.checkpoint,
    )
    return build_run(system, method, _history(system, method, motion))


def _history(system: RollingStrings, method: BumpStrands, motion: StrandMotion) -> StringHistory:
    """Return the motion as a history of strings."""
    status, reason, event = _end(motion)
    lead = _lead(system)
    total = motion.kinetic + motion.stored
    lost = float(np.abs(motion.projected - motion.projected[0]).max())
    return StringHistory(
        time=motion.time,
        contact=motion.s,
        velocity=motion.mean[:, 1],
        force=motion.contact_force,
        harmonics=np.ascontiguousarray(motion.amplitude[:, :, lead]),
        fields=_fields(system, motion),
        energy=total,
        kinetic=motion.kinetic.sum(axis=1),
        shared=motion.shared if system.identical else None,
        friction_heat=motion.rolling_heat,
        viscous_heat=motion.drag_heat,
        event=event,
        checks=_checks(system, method, motion, lost / max(float(total.max()), 1e-290)),
        stats={"steps": motion.steps, "cells": motion.cells},
        status=status,
        reason=reason,
        # the time steps conserve energy up to an error of order step^4
        ledger_limit=max(1e-9, 1e-3 * method.step**4),
    )


def _end(motion: StrandMotion) -> tuple[Status, str, str]:
    """Return status, reason in one line, and kind of the last event."""
    from stiction.rods.strings import strand_kernels as kernels

    t = motion.t_end
    if motion.ended == kernels.FASTER_THAN_WAVES:
        reason = f"the contact reaches the speed of the waves at t = {t:.9g}; the model ends there"
        return Status.NO_CONTINUATION, reason, "breakdown"
    if motion.ended == kernels.NEAR_END:
        reason = f"the bump reaches an end of a strand at t = {t:.9g}"
        return Status.NO_CONTINUATION, reason, "end"
    if motion.ended == kernels.NOT_FINITE:
        return Status.NOT_FINITE, f"a mode is not finite at t = {t:.9g}", ""
    return Status.SOLVED, "", ""


def _checks(
    system: RollingStrings, method: BumpStrands, motion: StrandMotion, lost: float
) -> Sequence[Check]:
    """Return the audit checks of the method."""
    resolved = method.bump_width / (max(system.lengths) / motion.cells)
    fast = motion.fastest
    checks = [
        Check(
            "contact_subsonic",
            fast < 1.0,
            fast,
            1.0,
            motion.fastest_at,
            "largest contact speed over wave speed, |s'|/c",
        ),
        Check(
            "bump_resolved",
            resolved >= LEAST_RATIO * (1.0 - 1e-9),
            resolved,
            LEAST_RATIO,
            None,
            "cells in one width of the bump",
            kind=Kind.AT_LEAST,
        ),
        Check(
            "data_resolved",
            motion.unresolved <= 1e-3,
            motion.unresolved,
            1e-3,
            0.0,
            "fraction of the initial energy in modes that the expansion omits; more cells "
            "include more modes",
        ),
        Check(
            "start_rolls",
            bool(motion.projected[0] <= 1e-12 * max(motion.given, 1e-290)),
            float(motion.projected[0]),
            1e-12 * motion.given,
            0.0,
            "energy removed by the projection of the initial velocities onto rolling",
            # the limit is rounding of zero; the motion after a projection is valid too
            kind=Kind.CONDITION,
        ),
        Check(
            "rolling_constraint_satisfied",
            lost <= 1e-6,
            lost,
            1e-6,
            None,
            "energy removed to maintain rolling",
        ),
    ]
    if system.ends == "fixed":
        limit, room, when = TAIL * method.bump_width, motion.room, motion.room_at
        note = "smallest distance of the contact to an end; the bump extends over six of its widths"
        checks.append(
            Check(
                "contact_inside", room >= 0.0, limit + room, limit, when, note, kind=Kind.AT_LEAST
            )
        )
    return checks


def _fields(system: RollingStrings, motion: StrandMotion) -> tuple[Floats, Floats, Floats, Floats]:
    """Return u, v, u_t, v_t, each (t, nodes), on the grid of the system."""
    fields: list[Floats] = []
    for values in (motion.amplitude, motion.velocity):
        for i in range(2):
            shapes = mode_shapes(grid(system, i), system.lengths[i], values.shape[2], system.ends)
            fields.append(np.ascontiguousarray(values[:, i] @ shapes))
    u, v, u_t, v_t = fields
    return u, v, u_t, v_t


def mode_shapes(x: Floats, length: float, size: int, ends: str) -> Floats:
    """Return (size, x) modes at positions x: sines for fixed ends; 1, cos, sin, ... on a circle."""
    if ends == "fixed":
        return np.asarray(np.sin(np.outer(np.arange(1, size + 1) * np.pi / length, x)))
    angle = np.outer(np.arange(1, (size + 1) // 2) * 2.0 * np.pi / length, x)
    pairs = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([np.ones((1, x.size)), pairs.reshape(-1, x.size)])


@dataclass(frozen=True, eq=False, repr=False)
class Extrapolated(Record):
    """Motion of two rolling strings in the limit of width zero of the bump.

    Parameters
    ----------
    time : (t,) [1]
    s1, s2, contact_force, u1, v1 : (t,) limits of these variables of a run [1]
    doubt : (5, t) error estimate: change of each limit if the largest width is omitted [1]
    widths : (w,) widths of the bumps, in decreasing order [1]
    """

    time: Floats
    s1: Floats
    s2: Floats
    contact_force: Floats
    u1: Floats
    v1: Floats
    doubt: Floats
    widths: Floats


def extrapolated(
    system: RollingStrings,
    time: Sequence[float] | Floats,
    widths: Sequence[float] = (0.02, 0.015, 0.01, 0.0075),
    *,
    step: float = 0.2,
) -> Extrapolated:
    """Return the motion of two strings from bumps of several widths, extrapolated to width zero.

    Parameters
    ----------
    time : (t,) increasing times of the result; runs start at 0 [1]
    widths : widths of the bumps [1]; the polynomial in the width that interpolates all of them is
        evaluated at zero
    step : see `BumpStrands`

    Raises
    ------
    ModelError : if the widths are not admissible.
    SolveError : if a run ends before the last time.

    Notes
    -----
    The error of a run is a power series in the width, except near corners of the contact force in
    time: there it is of the order of the width. For `C_fixed_offset_weak`
    in tests/reference/rods.json the limits are within 4e-7 of the reference up to t = 20.

    Verified by: tests/convergence/test_strands.py::test_limit_of_width_zero
    """
    wanted = numbers(
        "extrapolated.time",
        time,
        per="time",
        rule="nonnegative",
        why=_WHEN,
        try_="give [1.0, 5.0].",
    )
    if np.any(np.diff(wanted) <= 0.0):
        got, needs = "times out of order", "increasing times"
        raise ModelError("extrapolated.time", got, needs, _ORDER, "sort the times.")
    times = wanted if wanted[0] == 0.0 else np.concatenate([[0.0], wanted])
    pair, lead = strand_pair(system), _lead(system)
    sizes, values = different_widths(widths), []
    step = number("extrapolated.step", step, rule="positive", why=_CROSSED, try_="give 0.2.")
    if step > 1.0:
        raise ModelError("extrapolated.step", step, "at most 1", _CROSSED, "give 0.2.")
    for width in sizes:
        with quiet():
            motion = strand_motion(pair, times, float(width), step=step)
        if motion.ended:
            raise SolveError(
                f"extrapolated: the run of bump width {width} ended at t = {motion.t_end:.6g}.\n"
                "Why: the contact reached an end or the wave speed, or a number is not finite.\n"
                "Try: narrower bumps, or an earlier time."
            )
        values.append(
            np.stack(
                [
                    motion.s[:, 0],
                    motion.s[:, 1],
                    motion.contact_force,
                    motion.amplitude[:, 0, lead],
                    motion.amplitude[:, 1, lead],
                ]
            )
        )
    limit, doubt = to_zero_width(sizes.tolist(), np.array(values))
    asked = slice(times.size - wanted.size, None)
    # rows of `limit` have the order of `values`
    s1, s2, contact_force, u1, v1 = limit[:, asked]
    return Extrapolated(
        time=wanted,
        s1=s1,
        s2=s2,
        contact_force=contact_force,
        u1=u1,
        v1=v1,
        doubt=doubt[:, asked],
        widths=np.sort(sizes)[::-1],
    )


_WHEN = "runs start at 0."
_CROSSED = "a step of 1 is the time in which the faster wave crosses the width of the bump."
_ORDER = "the runs save their states in this order."


def _lead(system: RollingStrings) -> int:
    """Return the index of the lead harmonic sin(2 pi x / l) among the modes."""
    return 2 if system.ends == "periodic" else 1

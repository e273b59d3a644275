"""Active set after an event of a quasistatic chain with constant friction.

A quasistatic chain obeys C v + K y + mu N Sgn(v) containing q: slip rates v, slips y, dampers C,
springs K, load q, friction mu N, and R = q - K y. At an event the forces are known. The slip rates
just after it, or their derivatives, are the v of a strictly convex quadratic program (`signed_qp`)

    min 1/2 v'H v - g'v    with  sigma_i v_i >= 0  at the bound,  v_i = 0  in stick below it,

so that a mass at its bound either slips in the direction sigma of the stick force, or sticks with a
decreasing stick force; v_i is free where slip continues. H is C + eps K in an implicit step of
length eps, and g follows from the rates of the forces just before. The dampers determine which
quantity is continuous at the event:

* C positive definite: slip rates are continuous; their derivatives solve the problem with C;
* C singular, but not zero: damper forces C v are continuous; an implicit step of length eps, with
  C + eps K, combines the conditions on rates and on their derivatives into one problem;
* no dampers: the same step with C = 0 gives the slip rates.

After a jump of the load, and at the start, a damped chain makes an implicit step with the full
set-valued law instead. The caller is `linear_slip`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import links_pull
from stiction.chains.quasistatic.slip_frame import Frame
from stiction.chains.signed_qp import signed_minimum

__all__ = ["ActiveSetSelection", "EventState", "tridiagonal_solver"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]
Multiply = Callable[[Floats], Floats]
Solve = Callable[[Index, Floats], Floats]

# a stuck mass is at its bound if its reserve is below this fraction of its forces
_AT_BOUND = 1e-12


@dataclass(frozen=True, eq=False)
class EventState:
    """State at an event.

    Parameters
    ----------
    drive : (n,) R = q - K y [N]
    mode : (n,) before the event
    ended : (n,) 1 for masses whose mode ends here
    jumped : whether the load may jump here, so that rates and forces are unknown
    rate, force : (n,) slip rates [m/s] and r = R - C v [N] just before
    push : (n, 2) first two coefficients of the series of q over a time `h` from here
    h : [s]
    noise : size below which `push` is rounding [N]
    """

    drive: Floats
    mode: Signs
    ended: Signs
    jumped: bool
    rate: Floats
    force: Floats
    push: Floats
    h: float
    noise: float


class ActiveSetSelection:
    """Selection of the active set of a chain.

    Parameters
    ----------
    frame : the chain
    time_constants : (m,) relaxation times [s] that the dampers give; m = n when every
        shape is damped
    """

    def __init__(self, frame: Frame, time_constants: Floats) -> None:
        self.frame = frame
        self.damped = time_constants.size > 0
        self.all_damped = time_constants.size == frame.n
        self.shortest = float(np.min(time_constants, initial=np.inf))

    def next_modes(self, m: EventState) -> Signs | None:
        """Return the modes just after the event; None if only a jump of x could continue.

        Masses without friction have the mode 1.
        """
        frame = self.frame
        if self.damped and m.jumped:
            sign = self._set_valued_step(m)
        elif self.all_damped:
            sign = self._damped(m)
        else:
            over = np.abs(m.drive) - frame.bound
            # chosen: far above the rounding of the forces, 1e-16, and of located events
            most = 1e-9 * float(np.max(frame.bound + np.abs(m.drive)))
            if not self.damped and (over > most).any():
                return None
            sign = self._partly_damped(m)
        return None if sign is None else np.where(frame.free, 1, sign).astype(np.int8)

    # ---- the cases

    def _damped(self, m: EventState) -> Signs:
        """Return the modes if C is positive definite: signs of the rates of v at the event."""
        frame = self.frame
        # length of an implicit step, here and in the next two methods chosen near the root of the
        # rounding error, 1e-8: the error of a step is of order eps, and rounding is divided by eps
        eps = 1e-7 * min(self.shortest, m.h)
        # rates of the load at the end of the implicit step
        later = m.push[:, 0] + 2.0 * eps / m.h * m.push[:, 1]
        load_rate = later / m.h - frame.stiff(m.rate)
        ends = (m.ended != 0) | ((m.mode == 0) & self._at_bound(m, m.force))
        ready = ends & ~frame.free
        fixed = (m.mode != 0) & ~ready
        side = np.where(ready, np.where(m.mode != 0, m.mode, np.sign(m.force)), 0)
        sign = np.where(fixed, m.mode, 0)
        links, plate = frame.c + eps * frame.k, eps * frame.plate
        return self._one_sided(links, plate, load_rate, side.astype(np.int8), sign, fixed)

    def _partly_damped(self, m: EventState) -> Signs:
        """Return the modes if C is singular or zero: signs of v after an implicit step."""
        frame = self.frame
        force = m.force if self.damped else m.drive
        eps = 1e-6 * min(self.shortest, m.h)
        # at an extremum of the load its rate at the end of the implicit step decides
        later = m.push[:, 0] + 2.0 * eps / m.h * m.push[:, 1]
        later = later if float(np.max(np.abs(later))) > m.noise else 0.0 * later
        load_rate = frame.damp(m.rate) + eps / m.h * later
        # after a jump of the load a slipping mass may be within its bound, and then sticks
        slips = (m.mode != 0) & (not m.jumped)
        ready = ~frame.free & (self._at_bound(m, force) | slips)
        side = np.where(slips, m.mode, np.sign(force))
        side = np.where(ready, side, 0).astype(np.int8)
        links, plate = frame.c + eps * frame.k, eps * frame.plate
        start = np.where(m.mode != 0, side, 0)
        return self._one_sided(links, plate, load_rate, side, start, frame.free)

    def _set_valued_step(self, m: EventState) -> Signs | None:
        """Return the modes after a jump of the load; None if x jumps too.

        An implicit step of length eps solves q - K y in (C + eps K) v + mu N Sgn(v).
        """
        frame, r = self.frame, m.drive
        eps = 1e-8 * min(self.shortest, m.h)
        multiply = _multiplier(frame.c + eps * frame.k, eps * frame.plate)
        solve = tridiagonal_solver(frame.c + eps * frame.k, eps * frame.plate)
        # the second coefficient decides where the first is zero, at an extremum of the load
        rho = r + eps / m.h * (m.push[:, 0] + 1e-7 * m.push[:, 1])
        v, sign = signed_minimum(multiply, solve, rho, frame.bound, m.mode, frame.free)
        moved = eps * float(np.max(np.abs(frame.stiff(v))))
        size = float(np.max(frame.bound + np.abs(r)))
        # forces of springs change by some eps over the shortest time constant, 1e-8, if v is
        # bounded, and by their own size in a jump. Chosen between both
        return None if not self.all_damped and moved > 1e-3 * size else sign

    # ---- shared parts

    def _at_bound(self, m: EventState, force: Floats) -> Flags:
        """Return which masses are at their static bound within rounding, or end their mode."""
        reserve = self.frame.bound - np.abs(force)
        size = self.frame.bound + np.abs(m.drive)
        return np.asarray((reserve <= _AT_BOUND * size) | (m.ended != 0))

    def _one_sided(
        self,
        link: Floats,
        plate: Floats,
        load_rate: Floats,
        side: Signs,
        start: Signs,
        fixed: Flags,
    ) -> Signs:
        """Return the signs of v in min 1/2 v'Hv - load_rate'v with side_i v_i >= 0.

        H = D' diag(link) D + diag(plate) with the differences D across links; `start` are first
        guesses of the signs. Masses with side 0 stick, except that `fixed` ones slip with any sign
        of v.
        """
        fixed = fixed & (side == 0)
        stuck = (side == 0) & ~fixed
        start = np.where(self.frame.free & fixed, 1, start).astype(np.int8)
        multiply, solve = _multiplier(link, plate), tridiagonal_solver(link, plate)
        _, sign = signed_minimum(
            multiply, solve, load_rate, np.zeros(load_rate.size), start, fixed, stuck, side
        )
        return sign


def _multiplier(link: Floats, plate: Floats) -> Multiply:
    def multiply(v: Floats) -> Floats:
        return np.asarray(links_pull(link, v) + plate * v)

    return multiply


def tridiagonal_solver(link: Floats, plate: Floats) -> Solve:
    """Return a solver of D' diag(link) D + diag(plate) restricted to some masses, O(n).

    link, plate : (n + 1,), (n,) coefficients; D takes differences across links, walls included
    """
    from scipy.linalg import solveh_banded

    diagonal, beside = link[:-1] + link[1:] + plate, link[1:-1]

    def solve(a: Index, rhs: Floats) -> Floats:
        """Return the solution for the masses `a`; others are zero."""
        if a.size == 1:
            return np.asarray(rhs / diagonal[a[0]])
        bands = np.zeros((2, a.size))
        bands[1] = diagonal[a]
        adjacent = np.flatnonzero(np.diff(a) == 1)
        bands[0, adjacent + 1] = -beside[a[adjacent]]
        return np.asarray(solveh_banded(bands, rhs))

    return solve

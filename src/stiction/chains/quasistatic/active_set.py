"""Who moves next in a quasistatic chain with constant friction.

At an event the forces are known and the rates are not. They solve a strictly convex
problem with one-sided conditions: a mass at its friction bound may slip in the direction
of the force that friction holds, or rest with that force falling. The cases differ in
what is continuous:

* a damper on every shape: the slip rates; their derivatives solve the problem with C;
* dampers on some shapes only: the damper forces C v; an implicit step of length eps, with
  C + eps K, turns the conditions on rates and on their derivatives into one problem;
* no dampers: the same with C = 0, whose solution are the slip rates.

After a jump of the load, and at the start, a damped chain takes the implicit step with
the full set-valued law instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import links_pull
from stiction.chains.quasistatic.slip_frame import Frame
from stiction.chains.signed_qp import signed_minimum

__all__ = ["Decider", "Moment", "tridiagonal_solver"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]
Multiply = Callable[[Floats], Floats]
Solve = Callable[[Index, Floats], Floats]

# a stuck mass with less than this share of its forces in reserve is at its bound
_AT_BOUND = 1e-12


@dataclass(frozen=True, eq=False)
class Moment:
    """What is known at an event.

    Parameters
    ----------
    drive : (n,) R = q - K y [N]
    mode : (n,) before the event
    gone : (n,) 1 for masses whose mode ends here
    jumped : whether the load may have jumped, so that rates and forces are not known
    rate, force : (n,) slip rates [m/s] and r = R - C v [N] just before
    push : (n, 2) first two coefficients of the series of q over a time `h` from here
    h : [s]
    noise : size below which `push` is rounding [N]
    """

    drive: Floats
    mode: Signs
    gone: Signs
    jumped: bool
    rate: Floats
    force: Floats
    push: Floats
    h: float
    noise: float


class Decider:
    """Decides the next modes of a chain.

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

    def next_modes(self, m: Moment) -> Signs | None:
        """Return the modes just after, None if the chain would have to jump.

        Masses without friction always have the mode 1: they follow the others.
        """
        frame = self.frame
        if self.damped and m.jumped:
            sign = self._with_the_full_law(m)
        elif self.all_damped:
            sign = self._damped(m)
        else:
            over = np.abs(m.drive) - frame.bound
            most = 1e-9 * float(np.max(frame.bound + np.abs(m.drive)))
            if not self.damped and (over > most).any():
                return None
            sign = self._partly_damped(m)
        return None if sign is None else np.where(frame.free, 1, sign).astype(np.int8)

    # ---- the cases

    def _damped(self, m: Moment) -> Signs:
        frame = self.frame
        eps = 1e-7 * min(self.shortest, m.h)
        # rates of the load one eps later, which the implicit step asks for
        later = m.push[:, 0] + 2.0 * eps / m.h * m.push[:, 1]
        way = later / m.h - frame.stiff(m.rate)
        ends = (m.gone != 0) | ((m.mode == 0) & self._at_bound(m, m.force))
        ready = ends & ~frame.free
        kept = (m.mode != 0) & ~ready
        side = np.where(ready, np.where(m.mode != 0, m.mode, np.sign(m.force)), 0)
        sign = np.where(kept, m.mode, 0)
        links, plate = frame.c + eps * frame.k, eps * frame.plate
        return self._one_sided(links, plate, way, side.astype(np.int8), sign, kept)

    def _partly_damped(self, m: Moment) -> Signs:
        frame = self.frame
        force = m.force if self.damped else m.drive
        eps = 1e-6 * min(self.shortest, m.h)
        # where the load turns, its rate one eps later says where it goes
        later = m.push[:, 0] + 2.0 * eps / m.h * m.push[:, 1]
        later = later if float(np.max(np.abs(later))) > m.noise else 0.0 * later
        way = frame.damp(m.rate) + eps / m.h * later
        # where the load jumps back, who slipped is within its bound and sticks
        slips = (m.mode != 0) & (not m.jumped)
        ready = ~frame.free & (self._at_bound(m, force) | slips)
        side = np.where(slips, m.mode, np.sign(force))
        side = np.where(ready, side, 0).astype(np.int8)
        links, plate = frame.c + eps * frame.k, eps * frame.plate
        start = np.where(m.mode != 0, side, 0)
        return self._one_sided(links, plate, way, side, start, frame.free)

    def _with_the_full_law(self, m: Moment) -> Signs | None:
        frame, r = self.frame, m.drive
        eps = 1e-8 * min(self.shortest, m.h)
        multiply = _multiplier(frame.c + eps * frame.k, eps * frame.plate)
        solve = tridiagonal_solver(frame.c + eps * frame.k, eps * frame.plate)
        rho = r + eps / m.h * (m.push[:, 0] + 1e-7 * m.push[:, 1])
        v, sign = signed_minimum(multiply, solve, rho, frame.bound, m.mode, frame.free)
        moved = eps * float(np.max(np.abs(frame.stiff(v))))
        size = float(np.max(frame.bound + np.abs(r)))
        return None if not self.all_damped and moved > 1e-3 * size else sign

    # ---- shared parts

    def _at_bound(self, m: Moment, force: Floats) -> Flags:
        reserve = self.frame.bound - np.abs(force)
        size = self.frame.bound + np.abs(m.drive)
        return np.asarray((reserve <= _AT_BOUND * size) | (m.gone != 0))

    def _one_sided(
        self, link: Floats, plate: Floats, way: Floats, side: Signs, start: Signs, kept: Flags
    ) -> Signs:
        """Return the signs of v in min 1/2 v'Hv - way'v with side_i v_i >= 0.

        Masses with side 0 rest, or are `kept` moving whatever the sign of v.
        """
        kept = kept & (side == 0)
        held = (side == 0) & ~kept
        start = np.where(self.frame.free & kept, 1, start).astype(np.int8)
        multiply, solve = _multiplier(link, plate), tridiagonal_solver(link, plate)
        _, sign = signed_minimum(multiply, solve, way, np.zeros(way.size), start, kept, held, side)
        return sign


def _multiplier(link: Floats, plate: Floats) -> Multiply:
    def multiply(v: Floats) -> Floats:
        return np.asarray(links_pull(link, v) + plate * v)

    return multiply


def tridiagonal_solver(link: Floats, plate: Floats) -> Solve:
    """Return a solver of D' diag(link) D + diag(plate) restricted to some masses, O(n)."""
    from scipy.linalg import solveh_banded

    diagonal, beside = link[:-1] + link[1:] + plate, link[1:-1]

    def solve(a: Index, rhs: Floats) -> Floats:
        if a.size == 1:
            return np.asarray(rhs / diagonal[a[0]])
        bands = np.zeros((2, a.size))
        bands[1] = diagonal[a]
        next_door = np.flatnonzero(np.diff(a) == 1)
        bands[0, next_door + 1] = -beside[a[next_door]]
        return np.asarray(solveh_banded(bands, rhs))

    return solve

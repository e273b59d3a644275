"""Forces on the masses of a chain in many states at once, for the replay.

Arrays are (n, s): one column per state of the n masses. The force on mass i is
k_{i+1} (x_{i+1} - x_i) - k_i (x_i - x_{i-1}), the same with dampers c and velocities, plus the
plate spring k_p (V_p t - x_i), the load b_i f(t) and friction, as in `chains.model`. Everything
comes from the model, nothing from the methods, so that the replay is independent of them. `linear`,
`smooth` and `compare` call them.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain

__all__ = ["Forces", "Intervals", "forces_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# number of masses up to which a dense matrix takes less time than its three diagonals
MOST_DENSE = 8


@dataclass(frozen=True, eq=False)
class Intervals:
    """Time intervals of a run in which no mass changes its mode.

    Parameters
    ----------
    t0, t1 : (s,) start and end [s]
    x, v : (n, s) displacements [m] and velocities [m/s] at the start
    mode : (n, s) -1 slip-, 0 stick, 1 slip+
    segment : (s,) segment of the load
    """

    t0: Floats
    t1: Floats
    x: Floats
    v: Floats
    mode: Floats
    segment: Ints

    def part(self, columns: npt.NDArray[np.bool_] | Ints) -> Intervals:
        """Return the selected intervals."""
        x, v, mode = self.x[:, columns], self.v[:, columns], self.mode[:, columns]
        return Intervals(self.t0[columns], self.t1[columns], x, v, mode, self.segment[columns])


class Forces:
    """The right-hand side of a chain, for many states at once.

    Parameters
    ----------
    chain : the model
    """

    def __init__(self, chain: Chain) -> None:
        n, table, column = chain.n_mass, chain.friction, (slice(None), None)
        self.n, self.mass = n, chain.masses[column]
        self.link_k, self.link_c = chain.link_stiffness[column], chain.link_damping[column]
        self.load_vector, self.plate_k = chain.load_weights[column], chain.plate_springs[column]
        self.normal, self.bound = chain.normal_forces[column], chain.stick_bound[column]
        self.belt, self.plate_speed = chain.belt_speed, chain.plate_speed
        self.damped, self.plate = bool(self.link_c.any()), bool(self.plate_k.any())
        self.law = chain.law
        self._p = [row[column] for row in table.parameters]
        self._z = [row[column] for row in table.start]
        self.kinetic = self.normal * table.mu_kinetic[column]
        self.segments = chain.load.segments()
        # the stiffest spring at each mass, |b|, and whether every mass has friction
        self.stiffest = np.maximum(self.link_k[1:], self.link_k[:-1])
        self.load_size, self.all_bounded = np.abs(self.load_vector), bool(self.bound.all())
        k, c = chain.link_stiffness, chain.link_damping
        stiff = (2.0 * (k[:-1] + k[1:]) + chain.plate_springs) / chain.masses
        # bound of all eigenvalues of the motion [1/s], by Gershgorin's circles
        self.rate = float(np.sqrt(stiff.max()))
        if self.damped:
            self.rate += float(np.max(2.0 * (c[:-1] + c[1:]) / chain.masses))
        p = self.segments
        self.steady = not (p.rate.any() or p.amplitude.size) and p.function is None
        self.steady = self.steady and p.time.size == 1
        # whether the load may jump where a segment begins
        gaps = np.abs(p.offset[:-1] + p.rate[:-1] * np.diff(p.time) - p.offset[1:])
        jumps = bool((gaps > 1e-9 * np.abs(p.offset).max()).any())
        self.may_jump = p.time.size > 1 and (jumps or p.function is not None)

    @functools.cached_property
    def dense(self) -> tuple[Floats, Floats] | None:
        """(n, n) -K with the plate springs [N/m], and -C [N s/m], of few masses; None of many."""
        if self.n > MOST_DENSE:
            return None
        k, c = (_tridiagonal(link[:, 0]) for link in (self.link_k, self.link_c))
        return k - np.diag(self.plate_k[:, 0]), c

    def segment_at(self, t: Floats) -> Ints:
        """Return the index of the load segment at each time."""
        if self.segments.time.size == 1:
            return np.zeros(t.size, np.int64)
        found = np.searchsorted(self.segments.time, t, side="right") - 1
        return np.maximum(found, 0)

    def straight(self, t: Floats, segment: Ints) -> Floats:
        """Return the linear part of the load [N], (s,)."""
        p = self.segments
        if p.time.size == 1:
            return np.asarray(p.offset[0] + p.rate[0] * (t - p.time[0]))
        return np.asarray(p.offset[segment] + p.rate[segment] * (t - p.time[segment]))

    def load(self, t: Floats, segment: Ints) -> Floats:
        """Return the load [N], (s,)."""
        p, f = self.segments, self.straight(t, segment)
        for size, w, phase in zip(p.amplitude, p.angular_frequency, p.phase, strict=True):
            f = f + size * np.sin(w * t + phase)
        if p.function is not None:
            f = f + np.array([float(p.function(one)) for one in t.tolist()])
        return f

    def pull(self, x: Floats, v: Floats | None, out: Floats) -> None:
        """Write the force of links, and of plate springs with the plate at zero, to `out` [N].

        x, v, out : (n, s) displacements [m], velocities [m/s] (None: without dampers), forces
        """
        if self.dense is not None:
            np.matmul(self.dense[0], x, out=out)
            if self.damped and v is not None:
                out += self.dense[1] @ v
            return
        tension = np.empty((x.shape[0] + 1, x.shape[1]))
        _elongations(x, tension)
        tension *= self.link_k
        if self.damped and v is not None:
            speed = np.empty_like(tension)
            _elongations(v, speed)
            speed *= self.link_c
            tension += speed
        np.subtract(tension[1:], tension[:-1], out=out)
        if self.plate:
            out -= self.plate_k * x

    def push(self, t: Floats, load: Floats) -> Floats:
        """Return the force of the load and of the plate displacement [N], (n, s)."""
        force = self.load_vector * load
        if self.plate and self.plate_speed != 0.0:
            force += self.plate_k * (self.plate_speed * t)
        return np.asarray(force)

    def friction(self, speed: Floats) -> Floats:
        """Return the magnitude of kinetic friction [N] at (n, s) slip speeds."""
        if self.law.constant:
            return self.kinetic
        if not self.law.convex:
            # rounding may make a speed negative; only a convex law has a formula there
            speed = np.maximum(speed, 0.0)
        return np.asarray(self.normal * self.law.formulas.mu(speed, self._z, self._p))

    @functools.cached_property
    def numbers(self) -> tuple[Any, ...]:
        """The arguments of `inclusion_kernels.Model`, in order."""
        p, none = self.segments, np.zeros((self.n, 1))
        zero = self.kinetic if self.law.constant else self.friction(none)
        columns = self.link_k, self.link_c, self.load_vector, self.plate_k, zero
        k, c, load_vector, plate, law = (np.array(column).reshape(-1) for column in columns)
        load = p.time, p.offset, p.rate, p.amplitude, p.angular_frequency, p.phase
        return k, c, load_vector, plate, self.plate_speed, self.belt, law, *map(np.array, load)

    @functools.cached_property
    def steepness(self) -> float:
        """Largest growth rate of a perturbation of slip by velocity weakening, L N / m [1/s]."""
        if not self.law.convex:
            return 0.0
        slope = self.law.formulas.slope(np.zeros((self.n, 1)), self._z, self._p)
        return float(np.max(np.abs(slope) * self.normal / self.mass, initial=0.0))


# cache of the last chain and its forces: often one chain is solved repeatedly
_last: tuple[weakref.ref[Chain], Forces] | None = None


def forces_of(chain: Chain) -> Forces:
    """Return the forces of a chain."""
    global _last
    known = _last
    if known is None or known[0]() is not chain:
        _last = known = weakref.ref(chain), Forces(chain)
    return known[1]


def _tridiagonal(link: Floats) -> Floats:
    """Return the matrix that maps displacements to forces of (n + 1,) links."""
    return np.diag(link[1:-1], 1) + np.diag(link[1:-1], -1) - np.diag(link[:-1] + link[1:])


def _elongations(x: Floats, out: Floats) -> None:
    """Write the elongations of all links, including those to the walls."""
    out[0] = x[0]
    np.subtract(x[1:], x[:-1], out=out[1:-1])
    np.negative(x[-1], out=out[-1])

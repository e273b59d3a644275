"""The equations of a chain whose contacts never stick, and their derivatives.

    x' = v,   m v' = T - T + b f(t) + plate - N phi(v - V, z),   z' = rate(v - V, z)

A state holds x, the slip w = v - V and z of mass after mass, so that the derivative is a band, and
slip far below the speed of the belt keeps its digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.laws.friction import ForceLaw, Response

__all__ = ["Motion", "Powers"]

Floats = npt.NDArray[np.float64]

# over a run a cycle may miss whole turns of a sine by this part of a turn
_TURN = 1e-2
_MOST_TURNS = 1_000


class Powers(NamedTuple):
    """Rates of energy at some times, (m,) each, heat and slip (m, n).

    `storing` is that of what the law's states hold.
    """

    work: Floats
    viscous: Floats
    heat: Floats
    plastic: Floats
    storing: Floats


class Motion:
    """A chain as y' = f(t, y), with the signs of its law frozen.

    Attributes
    ----------
    width : numbers per mass; y is (n * width,), mass after mass
    sides : (n_switch, n) signs that the law is read with
    """

    def __init__(self, chain: Chain, law: ForceLaw) -> None:
        self.chain, self.law = chain, law
        n, s = chain.n_mass, law.n_state
        self.n, self.width = n, 2 + s
        self.p = chain.friction.parameters
        self.normal, self.mass = chain.normal_forces, chain.masses
        self.k, self.c = chain.link_stiffness, chain.link_damping
        self.shares, self.plate = chain.load_shares, chain.plate_springs
        self.load = chain.load.pieces()
        self.sides = np.ones((1, n))
        # shortest time of a mass on its springs [s], from which a speed is made of a length
        self.quickest = float(np.min(np.sqrt(self.mass / (self.k[:-1] + self.k[1:] + self.plate))))
        self._rows, self._columns = self._pattern()

    def start(self) -> Floats:
        """Return y at the start."""
        y = np.empty((self.n, self.width))
        y[:, 0], y[:, 1] = self.chain.x_start, self.chain.v_start - self.chain.belt_speed
        y[:, 2:] = self.chain.friction.start.T
        return y.ravel()

    def cycle(self, start: float, end: float) -> float:
        """Return the period of what drives the chain from `start` to `end` [s].

        0 where it has no cycles, infinity where no two of them end within the run.

        Verified by: tests/unit/chains/creep/test_creep_told.py::test_cycles_of_the_drive
        """
        load = self.load
        speeds = np.abs(load.angular_frequency)[load.amplitude != 0.0]
        speeds = speeds[speeds > 0.0]
        first = np.searchsorted(load.time, start, side="right")
        last = np.searchsorted(load.time, end, side="left")
        offset, rate = (row[max(first - 1, 0) : max(last, 1)] for row in (load.offset, load.rate))
        level = not rate.any() and (offset == offset[0]).all()
        moved = self.chain.belt_speed != 0.0 or (self.chain.plate_speed * self.plate).any()
        if not speeds.size or load.function is not None or not level or moved:
            return 0.0
        slowest = float(speeds.min())
        count = slowest * (end - start) / (2.0 * np.pi)
        turns = np.arange(1, min(int(0.5 * count + 1e-9), _MOST_TURNS) + 1)
        each = np.multiply.outer(turns, speeds / slowest)
        missed = np.abs(each - np.rint(each)).max(axis=1) * count / turns
        whole = turns[missed <= _TURN]
        return 2.0 * np.pi * float(whole[0]) / slowest if whole.size else np.inf

    def parts(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x, the slip w and the states (n_state, ..., n) of (..., size) y."""
        table = y.reshape(*y.shape[:-1], self.n, self.width)
        return table[..., 0], table[..., 1], np.moveaxis(table[..., 2:], -1, 0)

    def answer(self, y: Floats) -> Response:
        """Return what the contacts answer at (..., size) y."""
        _, w, z = self.parts(y)
        return self.law.response(w, z, self.sides, self.p)

    def switches(self, y: Floats) -> Floats:
        """Return (n_switch, ..., n) functions whose signs select the piece of the law."""
        _, w, z = self.parts(y)
        return self.law.switches(w, z, self.p)

    def rates(self, t: Floats, y: Floats) -> Floats:
        """Return f at (m,) times and (m, size) states."""
        x, w, _ = self.parts(y)
        v, answer = w + self.chain.belt_speed, self.answer(y)
        out = np.empty((*y.shape[:-1], self.n, self.width))
        plate = self.plate * (self.chain.plate_speed * t[:, None] - x)
        drive = np.diff(self._tension(x, v), axis=-1) + plate
        drive = drive + np.multiply.outer(self.load.at(t), self.shares)
        out[..., 0], out[..., 1] = v, (drive - self.normal * answer.coefficient) / self.mass
        out[..., 2:] = np.moveaxis(answer.rate, 0, -1)
        return out.reshape(y.shape)

    def derivative(self, y: Floats) -> Any:
        """Return df/dy (size, size) at one y, sparse."""
        from scipy import sparse

        answer, s = self.answer(y), self.law.n_state
        m, load = self.mass, self.normal / self.mass
        ones = np.ones(self.n)
        k, c = self.k, self.c
        values = [
            ones,
            -(k[:-1] + k[1:] + self.plate) / m,
            -(c[:-1] + c[1:]) / m - load * answer.by_speed,
            *(-load * answer.by_state[j] for j in range(s)),
            k[1:-1] / m[:-1],
            k[1:-1] / m[1:],
            c[1:-1] / m[:-1],
            c[1:-1] / m[1:],
            *(answer.rate_by_speed[j] for j in range(s)),
            *(answer.rate_by_state[j, k] for j in range(s) for k in range(s)),
        ]
        size = self.n * self.width
        shape, at = (size, size), (self._rows, self._columns)
        return sparse.coo_array((np.concatenate(values), at), shape=shape).tocsc()

    def friction(self, y: Floats) -> Floats:
        """Return (..., n) friction forces on the masses [N]."""
        return np.asarray(-self.normal * self.answer(y).coefficient)

    def powers(self, t: Floats, y: Floats) -> Powers:
        """Return the rates of energy [W] and of plastic slip [m/s] at (m,) times."""
        x, w, z = self.parts(y)
        v, answer = w + self.chain.belt_speed, self.answer(y)
        pull = self.plate * (self.chain.plate_speed * t[:, None] - x)
        force = self.normal * answer.coefficient
        work = self.load.at(t) * (v @ self.shares) + pull.sum(axis=-1) * self.chain.plate_speed
        work = work - force.sum(axis=-1) * self.chain.belt_speed
        edge = np.zeros((*v.shape[:-1], 1))
        stretching = np.diff(np.concatenate([edge, v, edge], axis=-1), axis=-1)
        storing = self.normal * self.law.storing(z, answer, self.p)
        return Powers(
            work=np.asarray(work),
            viscous=np.asarray((stretching**2) @ self.c),
            heat=np.asarray(force * w - storing),
            plastic=self.law.plastic_rate(w, answer),
            storing=np.asarray(storing.sum(axis=-1)),
        )

    def energies(self, t: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy [J] at (m,) times."""
        x, w, z = self.parts(y)
        kinetic = np.asarray(0.5 * ((w + self.chain.belt_speed) ** 2) @ self.mass)
        stored = self._springs(x, self.chain.plate_speed * t[:, None] - x)
        return kinetic, np.asarray(stored + self.law.stored(z, self.p) @ self.normal)

    def energies_of_change(self, dx: Floats, dw: Floats, h: float) -> float:
        """Return the kinetic and elastic energy [J] of the change (1, n) of a step alone."""
        elastic = self._springs(dx, self.chain.plate_speed * h - dx)
        return float((0.5 * (dw**2) @ self.mass + elastic)[0])

    def _springs(self, x: Floats, pulled: Floats) -> Floats:
        """Return the energy (m,) of springs and plate springs [J]."""
        edge = np.zeros((*x.shape[:-1], 1))
        stretch = np.diff(np.concatenate([edge, x, edge], axis=-1), axis=-1)
        return np.asarray(0.5 * ((stretch**2) @ self.k + (pulled**2) @ self.plate))

    def _tension(self, x: Floats, v: Floats) -> Floats:
        edge = np.zeros((*x.shape[:-1], 1))
        stretch = np.diff(np.concatenate([edge, x, edge], axis=-1), axis=-1)
        speed = np.diff(np.concatenate([edge, v, edge], axis=-1), axis=-1)
        return np.asarray(self.k * stretch + self.c * speed)

    def _pattern(self) -> tuple[Any, Any]:
        """Return the rows and columns of the entries of `derivative`, in its order."""
        s, width = self.law.n_state, self.width
        at = width * np.arange(self.n)
        left, right = at[:-1], at[1:]
        states = range(2, 2 + s)
        pairs = [
            (at, at + 1),
            (at + 1, at),
            (at + 1, at + 1),
            *((at + 1, at + j) for j in states),
            (left + 1, right),
            (right + 1, left),
            (left + 1, right + 1),
            (right + 1, left + 1),
            *((at + j, at + 1) for j in states),
            *((at + j, at + k) for j in states for k in states),
        ]
        return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])

"""A chain whose contacts never stick, for Python: what `motion_kernels` compute of a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.creep import motion_kernels as mk
from stiction.chains.creep.state import WIDTH, Model
from stiction.chains.model import Chain
from stiction.laws.compiled import addresses
from stiction.laws.friction import ForceLaw
from stiction.numerics.callback import Callback

__all__ = ["Motion", "Powers"]

Floats = npt.NDArray[np.float64]

# over a run a cycle may miss whole turns of a sine by this part of a turn
_TURN = 1e-2
_MOST_TURNS = 1_000


class Powers(NamedTuple):
    """Rates of energy at a time; heat and plastic slip (n,).

    `storing` is that of what the law's states hold.
    """

    work: float
    viscous: float
    storing: float
    heat: Floats
    plastic: Floats


class Motion:
    """A chain as y' = f(t, y), with the signs of its law frozen.

    Attributes
    ----------
    model : what kernels read
    sides : (n, n_switch) signs that the law is read with
    load_call : a user's load, which kernels call
    """

    def __init__(self, chain: Chain, law: ForceLaw) -> None:
        self.chain, self.law, self.n = chain, law, chain.n_mass
        self.p, self.load = chain.friction.parameters, chain.load.pieces()
        self.load_call = Callback(self.load.function, "UserLoad.function")
        self._kept, (answer, switches) = addresses(law.formulas.answer, law.formulas.switches)
        load = self.load
        self.model = Model(
            chain.masses,
            chain.normal_forces,
            chain.load_shares,
            chain.plate_springs,
            chain.link_stiffness,
            chain.link_damping,
            float(chain.belt_speed),
            float(chain.plate_speed),
            np.stack(self.p, axis=1),
            answer,
            switches,
            *(load.time, load.offset, load.rate),
            *(load.amplitude, load.angular_frequency, load.phase),
            self.load_call.address,
        )
        self.sides = np.ones((self.n, law.n_switch))
        m = self.model
        # shortest time of a mass on its springs [s], from which a speed is made of a length
        springs = m.stiffness[:-1] + m.stiffness[1:] + m.plate
        self.quickest = float(np.min(np.sqrt(m.mass / springs)))
        self._answer, self._switch = np.zeros(mk.ANSWERS), np.zeros(law.n_switch)

    def start(self) -> Floats:
        """Return y at the start."""
        y = np.empty((self.n, WIDTH))
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
        moved = self.chain.belt_speed != 0.0 or (self.chain.plate_speed * self.model.plate).any()
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
        """Return x, the slip w and the states of (..., size) y, (..., n) each."""
        table = y.reshape(*y.shape[:-1], self.n, WIDTH)
        return table[..., 0], table[..., 1], table[..., 2]

    def read(self, y: Floats) -> None:
        """Read the law on the piece on which (size,) y lies."""
        mk.read_sides(self.model, y[None], 0, self.sides, self._switch)

    def rates(self, t: float, y: Floats) -> Floats:
        """Return f at a time and (size,) state."""
        out = np.empty((1, y.size))
        mk.rates(self.model, self.sides, t, y[None], 0, out, self._answer)
        self.load_call.check()
        return out[0]

    def derivative(self, y: Floats) -> Floats:
        """Return df/dy at one y: (n, WIDTH, 3 WIDTH), as `motion_kernels.jacobian`."""
        jac = np.empty((self.n, WIDTH, 3 * WIDTH))
        mk.jacobian(self.model, self.sides, y[None], 0, jac, self._answer)
        return jac

    def coefficient(self, y: Floats) -> Floats:
        """Return (n,) friction coefficients at a (size,) state."""
        out = np.empty(self.n)
        mk.friction(self.model, self.sides, y[None], 0, out, self._answer)
        return out

    def powers(self, t: float, y: Floats) -> Powers:
        """Return the rates of energy [W] and of plastic slip [m/s] at a time."""
        heat, plastic = np.empty((2, 1, self.n))
        found = mk.powers(self.model, self.sides, t, y[None], 0, heat, plastic, self._answer)
        return Powers(*found, heat[0], plastic[0])

    def energies(self, t: float, y: Floats) -> tuple[float, float, float]:
        """Return kinetic and stored energy, and the part that the law's states hold [J]."""
        return mk.energies(self.model, self.sides, t, y[None], 0, self._answer)

    def energies_of_change(self, dx: Floats, dw: Floats, h: float) -> float:
        """Return the kinetic and elastic energy [J] of the change (n,) of a step alone."""
        m = self.model
        stretch, pulled = np.diff(np.pad(dx, 1)), m.plate_speed * h - dx
        return float(0.5 * (dw**2 @ m.mass + stretch**2 @ m.stiffness + pulled**2 @ m.plate))

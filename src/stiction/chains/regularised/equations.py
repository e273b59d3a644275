"""Equations of motion y' = f(t, y) of a chain under a law without stick, as a Python object.

y has the displacement x_i, the slip rate w_i = v_i - V (V is the belt speed) and the contact state
z_i of each mass: x_i' = v_i, m_i v_i' = R_i - N_i phi(w_i, z_i), z_i' = rate(w_i, z_i), with the
forces R_i of links, plate and load, normal force N_i, friction coefficient phi. A switching
function of the law changes sign where phi or rate is not smooth. `equation_kernels` has the
formulas; `radau` and `theta` integrate the equations. Arrays y have size = 3 n entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.regularised import equation_kernels as mk
from stiction.chains.regularised.state import WIDTH, Mass, Model, Numbers
from stiction.core.run import Request
from stiction.laws.compiled import addresses
from stiction.laws.friction import ForceLaw
from stiction.numerics.callback import Callback

__all__ = ["ALMOST", "Equations"]

Floats = npt.NDArray[np.float64]

# gross slip: friction above this fraction of steady-state friction
ALMOST = 0.99
# a cycle of the load holds whole periods of every sine; over a run it may deviate from them by this
# fraction of a period
_TURN = 1e-2
_MOST_TURNS = 1_000


class Equations:
    """A chain as y' = f(t, y), with fixed signs of the switching functions of its law.

    Attributes
    ----------
    model : arguments of kernels; a method sets its tolerance and bounds
    sides : (n, n_switch) signs of the switching functions
    load_call : a user's load, which kernels call
    """

    def __init__(self, chain: Chain, law: ForceLaw, request: Request) -> None:
        self.chain, self.law, self.n = chain, law, chain.n_mass
        self.p, self.load = chain.friction.parameters, chain.load.segments()
        self.load_call = Callback(self.load.function, "UserLoad.function")
        self._compiled, (answer, switches) = addresses(law.formulas.answer, law.formulas.switches)
        # parameters of masses and contacts
        n, load, masses, numbers = self.n, self.load, Mass.table(self.n + 1), Numbers.table()
        narrow = law.range_of_fall(n)
        of_masses = {
            "mass": chain.masses,
            "normal": chain.normal_forces,
            "load_vector": chain.load_weights,
            "plate": chain.plate_springs,
            "least": law.least_speed(self.p),
            "scale": law.state_scale(self.p),
            "narrow": 0.0 if narrow is None else narrow,
            "full": ALMOST * chain.friction.mu_kinetic,
        }
        for name, values in of_masses.items():
            masses[name][:n] = values
        masses["stiffness"], masses["damping"] = chain.link_stiffness, chain.link_damping
        # parameters of the chain and of the run; `small / quickest` is a scale of slip rates
        run = numbers[0]
        run.belt, run.plate_speed = chain.belt_speed, chain.plate_speed
        run.answer, run.switches, run.load = answer, switches, self.load_call.address
        run.t_start, run.t_end = request.t_start, request.t_end
        run.cycle = self.cycle(request.t_start, request.t_end)
        run.small = float(np.min(law.slip_scale(self.p)))
        springs = chain.link_stiffness[:-1] + chain.link_stiffness[1:] + chain.plate_springs
        run.quickest = float(np.min(np.sqrt(chain.masses / springs)))
        self.model = Model(
            masses,
            numbers,
            np.stack(self.p, axis=1),
            np.stack([load.time, load.offset, load.rate], axis=1),
            np.stack([load.amplitude, load.angular_frequency, load.phase], axis=1),
        )
        self.sides, self._answer = np.ones((n, law.n_switch)), np.zeros(mk.ANSWERS)

    def start(self) -> Floats:
        """Return y at the start."""
        y = np.empty((self.n, WIDTH))
        y[:, 0], y[:, 1] = self.chain.x_start, self.chain.v_start - self.chain.belt_speed
        y[:, 2:] = self.chain.friction.start.T
        return y.ravel()

    def cycle(self, start: float, end: float) -> float:
        """Return the period of the load from `start` to `end` [s].

        0 for a load without cycles, infinity if no two cycles end within the run. A load has cycles
        if it is a constant plus sines, and neither belt nor plate moves. The period is the least
        number of periods of the slowest sine that holds whole periods of all others.

        Verified by: tests/unit/chains/regularised/test_creep_reported.py::test_cycles_of_the_drive
        """
        load = self.load
        speeds = np.abs(load.angular_frequency)[load.amplitude != 0.0]
        speeds = speeds[speeds > 0.0]
        first = np.searchsorted(load.time, start, side="right")
        last = np.searchsorted(load.time, end, side="left")
        offset, rate = (row[max(first - 1, 0) : max(last, 1)] for row in (load.offset, load.rate))
        # whether the linear part of the load is constant within the run
        level = not rate.any() and (offset == offset[0]).all()
        moved = (
            self.chain.belt_speed != 0.0
            or (self.chain.plate_speed * self.chain.plate_springs).any()
        )
        if not speeds.size or load.function is not None or not level or moved:
            return 0.0
        slowest = float(speeds.min())
        count = slowest * (end - start) / (2.0 * np.pi)
        # numbers of periods of the slowest sine to try. Over the run such cycles deviate from the
        # other sines by at most `missed` of their periods
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
        """Set the signs of the switching functions at (size,) y."""
        mk.read_sides(self.model, y[None], 0, self.sides, self._answer)

    def rates(self, t: float, y: Floats) -> Floats:
        """Return f at a time and (size,) state."""
        out = np.empty((1, y.size))
        mk.rates(self.model, self.sides, t, y[None], 0, out, self._answer)
        self.load_call.check()
        return np.asarray(out[0])

    def derivative(self, y: Floats) -> Floats:
        """Return df/dy at one y: (n, WIDTH, 3 WIDTH), as `equation_kernels.jacobian`."""
        jac = np.empty((self.n, WIDTH, 3 * WIDTH))
        mk.jacobian(self.model, self.sides, y[None], 0, jac, self._answer)
        return jac

    def coefficients(self, y: Floats) -> Floats:
        """Return (n,) friction coefficients at a (size,) state."""
        m, each = self.model, range(self.n)
        return np.array([mk.friction(m, self.sides, y[None], 0, i, self._answer) for i in each])

    def friction(self, y: Floats) -> Floats:
        """Return (n,) friction forces on the masses [N]."""
        return np.asarray(-self.chain.normal_forces * self.coefficients(y))

    def powers(self, t: float, y: Floats) -> tuple[Floats, Floats, float]:
        """Return (n + 2,) powers [W], (n,) plastic slip rates [m/s], and the stored power [W].

        Powers are the friction power of each mass, the external power and that of the dampers. The
        stored power goes into the states of the law.
        """
        power, plastic = np.empty((1, self.n + 2)), np.empty((1, self.n))
        storing = mk.powers(self.model, self.sides, t, y[None], 0, power, plastic, self._answer)
        return power[0], plastic[0], storing

    def energies(self, t: float, y: Floats) -> tuple[float, float, float]:
        """Return kinetic and stored energy, and the part stored in the states of the law [J]."""
        return mk.energies(self.model, self.sides, t, y[None], 0, self._answer)

    def energies_of_change(self, dx: Floats, dw: Floats, h: float) -> float:
        """Return the kinetic and elastic energy [J] of the change (n,) of a step alone."""
        chain, elongation = self.chain, np.diff(np.pad(dx, 1))
        pulled = chain.plate_speed * h - dx
        elastic = elongation**2 @ chain.link_stiffness + pulled**2 @ chain.plate_springs
        return float(0.5 * (dw**2 @ chain.masses + elastic))

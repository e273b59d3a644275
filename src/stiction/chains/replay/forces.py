"""Forces on the masses of a chain in many states at once, from the model and nothing else.

Arrays are (n, s): one column per state. Nothing here is shared with the methods that solve.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain

__all__ = ["Forces", "Stretches"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Stretches:
    """Pieces of a run in which nobody changes mode, from a state at t0 to one at t1.

    Parameters
    ----------
    t0, t1 : (s,) [s]
    x0, v0, x1, v1 : (n, s) displacements [m] and velocities [m/s] at both ends
    mode : (n, s) -1 slip-, 0 stick, 1 slip+
    piece : (s,) piece of the load
    """

    def __init__(
        self, time: tuple[Floats, Floats], start: tuple[Floats, Floats], end: tuple[Floats, Floats],
        mode: npt.NDArray[np.int8], piece: Ints,
    ) -> None:  # fmt: skip
        self.t0, self.t1 = time
        self.x0, self.v0 = start
        self.x1, self.v1 = end
        self.mode, self.piece = mode, piece

    def part(self, columns: npt.NDArray[np.bool_] | Ints | slice) -> Stretches:
        """Return some of them."""
        return Stretches(
            (self.t0[columns], self.t1[columns]),
            (self.x0[:, columns], self.v0[:, columns]),
            (self.x1[:, columns], self.v1[:, columns]),
            self.mode[:, columns],
            self.piece[columns],
        )


class Forces:
    """The right-hand side of a chain, for many states at once.

    Parameters
    ----------
    chain : the model
    """

    def __init__(self, chain: Chain) -> None:
        def column(values: Floats) -> Floats:
            return values[:, None]

        self.mass, self.normal = column(chain.masses), column(chain.normal_forces)
        self.link_k, self.link_c = column(chain.link_stiffness), column(chain.link_damping)
        self.share, self.plate_k = column(chain.load_shares), column(chain.plate_springs)
        self.bound = column(chain.stick_bound)
        self.belt, self.plate_speed = chain.belt_speed, chain.plate_speed
        self.damped, self.plate = bool(self.link_c.any()), bool(self.plate_k.any())
        self.law, table = chain.law, chain.friction
        self._p = [column(row) for row in table.parameters]
        self._z = [column(row) for row in table.start]
        self.kinetic = self.normal * column(table.mu_kinetic)
        self.pieces = chain.load.pieces()
        k, c = chain.link_stiffness, chain.link_damping
        stiff = (2.0 * (k[:-1] + k[1:]) + chain.plate_springs) / chain.masses
        damp = 2.0 * (c[:-1] + c[1:]) / chain.masses
        # no eigenvalue of the motion is larger [1/s]: Gershgorin's circles
        self.rate = float(np.sqrt(stiff.max()) + damp.max())

    def piece_at(self, t: Floats) -> Ints:
        """Return the piece of the load that begins at or before each time."""
        found = np.searchsorted(self.pieces.time, t, side="right") - 1
        return np.maximum(found, 0)

    def straight(self, t: Floats, piece: Ints) -> Floats:
        """Return the load [N] without its sines, (s,)."""
        p = self.pieces
        if p.time.size == 1:
            return np.asarray(p.offset[0] + p.rate[0] * (t - p.time[0]))
        return np.asarray(p.offset[piece] + p.rate[piece] * (t - p.time[piece]))

    def load(self, t: Floats, piece: Ints) -> Floats:
        """Return the load [N], (s,)."""
        p, f = self.pieces, self.straight(t, piece)
        for size, w, phase in zip(p.amplitude, p.angular_frequency, p.phase, strict=True):
            f = f + size * np.sin(w * t + phase)
        if p.function is not None:
            f = f + np.array([float(p.function(one)) for one in t.tolist()])
        return f

    def drive(self, x: Floats, v: Floats, t: Floats, load: Floats) -> Floats:
        """Return the force on each mass without friction [N], (n, s)."""
        force = np.empty((x.shape[0] + 1, x.shape[1]))
        _stretch(x, force)
        force *= self.link_k
        if self.damped:
            rate = np.empty_like(force)
            _stretch(v, rate)
            rate *= self.link_c
            force += rate
        out = force[1:] - force[:-1]
        out += self.share * load
        if self.plate:
            out += self.plate_k * (self.plate_speed * t - x)
        return np.asarray(out)

    def friction(self, speed: Floats) -> Floats:
        """Return the size of the friction force [N] of masses that slip at (n, s) speeds."""
        if self.law.constant:
            return self.kinetic
        mu = self.law.formulas.mu
        if self._p and self.law.convex:
            # rounding may leave a speed a little below zero; the formula goes on there
            return np.asarray(self.normal * mu(speed, self._z, self._p))
        return np.asarray(self.normal * mu(np.maximum(speed, 0.0), self._z, self._p))

    def steepness(self, speed: Floats) -> Floats:
        """Return how fast friction changes the speed of a mass by itself, (s,) [1/s]."""
        slope = self.law.formulas.slope(np.maximum(speed, 0.0), self._z, self._p)
        return np.max(np.abs(slope) * self.normal / self.mass, axis=0, initial=0.0)


def _stretch(x: Floats, out: Floats) -> None:
    """Write the elongations of all links, those to the walls included."""
    out[0] = x[0]
    np.subtract(x[1:], x[:-1], out=out[1:-1])
    np.negative(x[-1], out=out[-1])

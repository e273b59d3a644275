"""One branch of a quasistatic chain under friction that depends on the slip speed.

On it, C v + sigma N mu(|v|) = q(t) - K y for the masses that slip. The derivative in time
is H v' = q' - K v with H = C + diag(N mu'), and the branch ends where H becomes singular.
In the parameter s with dt = det(H) ds everything stays smooth up to there:

    dv/ds = adj(H) (q' - K v),      dt/ds = det(H),

so the end is reached without loss of digits; the places follow from the balance itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from stiction.chains.quasistatic.sliding import Slide

__all__ = ["Arc", "Dense", "SlipBranch"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Dense = Callable[[Floats], Floats]


@dataclass(eq=False)
class SlipBranch:
    """The masses that slip, in which direction, and what belongs to them."""

    slide: Slide
    a: npt.NDArray[np.intp]
    mode: Signs
    y: Floats
    over: float = 0.0

    def __post_init__(self) -> None:
        slide = self.slide
        self.c = slide.damping[np.ix_(self.a, self.a)]
        self.k = slide.stiffness[np.ix_(self.a, self.a)]
        self.sizes = np.linalg.eigvalsh(self.c + np.diag(slide.weak.bends[self.a]))
        self.sign = self.mode[self.a]

    def full(self, part: Floats) -> Floats:
        """Return velocities of all masses from those of the slipping ones."""
        v = np.zeros((self.slide.frame.n, *part.shape[1:]))
        v[self.a] = part
        return v

    def slopes(self, part: Floats) -> Floats:
        """Return d(mu N)/d|v| of the slipping masses."""
        return np.asarray(self.slide.weak.slope(self.full(part))[self.a])

    def rates(self, _: float, z: Floats) -> Floats:
        """Return d(v, t)/ds."""
        v, t = z[:-1], float(z[-1])
        asked = self.slide.drift(t)[self.a] - self.k @ v
        if v.size == 1:
            only = np.append(asked, self.c[0, 0] + self.slopes(v)[0])
            return np.asarray(only / self.sizes[0])
        eigen, shapes = np.linalg.eigh(self.c + np.diag(self.slopes(v)))
        share = eigen / self.sizes
        others = np.array([np.prod(np.delete(share, i)) for i in range(share.size)])
        dv = shapes @ (others / self.sizes * (shapes.T @ asked))
        return np.append(dv, np.prod(share))

    def time_rate(self, part: Floats) -> Floats:
        """Return dt/ds for (len(a), m) velocities."""
        slopes = self.slopes(part)
        if self.a.size == 1:
            return np.asarray((self.c[0, 0] + slopes[0]) / self.sizes[0])
        h = self.c + np.einsum("im,ij->mij", slopes, np.eye(self.a.size))
        return np.asarray(np.prod(np.linalg.eigvalsh(h) / self.sizes, axis=1))

    def places(self, part: Floats, t: Floats) -> Floats:
        """Return (n, m) places: stuck masses where they are, the others from the balance."""
        frame, weak = self.slide.frame, self.slide.weak
        y = np.repeat(self.y[:, None], t.size, axis=1)
        y[self.a] = 0.0
        v = self.full(part)
        q = np.multiply.outer(frame.share, self.slide.load(t))
        q += frame.q0[:, None] + np.multiply.outer(frame.q1, t)
        carried = q - frame.stiff(y) - frame.damp(v) - self.mode[:, None] * weak.force(v)
        y[self.a] = np.linalg.solve(self.k, carried[self.a])
        return y

    def friction(self, part: Floats, y: Floats, t: Floats) -> Floats:
        """Return (n, m) friction on the masses."""
        frame, v = self.slide.frame, self.full(part)
        q = np.multiply.outer(frame.share, self.slide.load(t))
        q += frame.q0[:, None] + np.multiply.outer(frame.q1, t)
        slid = -self.mode[:, None] * self.slide.weak.force(v)
        held = -(q - frame.stiff(y) - frame.damp(v))
        return np.where(self.mode[:, None] != 0, slid, held)


@dataclass(eq=False)
class Arc:
    """One step of the integrator along a branch."""

    branch: SlipBranch
    dense: Dense
    u: tuple[float, float]
    nodes: int = 10

    def parameter(self, t: Floats) -> Floats:
        """Return the parameter of the piece at the times `t` [s]."""
        low, high = np.full(t.size, self.u[0]), np.full(t.size, self.u[1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            early = self.dense(middle)[-1] < t
            low, high = np.where(early, middle, low), np.where(early, high, middle)
        return np.asarray(0.5 * (low + high))

    def state(self, u: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return times [s], dt/du, places [m], velocities [m/s] and friction [N] at `u`."""
        z = self.dense(u)
        v, t = z[:-1], z[-1]
        y = self.branch.places(v, t)
        friction = self.branch.friction(v, y, t)
        return t, self.branch.time_rate(v), y, self.branch.full(v), friction

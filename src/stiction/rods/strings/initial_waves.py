"""The waves that leave the contact before the start: what the initial data send towards it."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from stiction.rods.strings.model import RollingStrings

__all__ = ["Piece", "initial_pieces", "mode_start", "parts"]

Floats = npt.NDArray[np.float64]
# points (4, n) on a characteristic, values (4, n) of the wave
Piece = tuple[Floats, Floats]

_THIRDS = np.array([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0])[:, None]


def initial_pieces(system: RollingStrings, i: int, step: float) -> list[list[Piece]]:
    """Return smooth pieces of the waves R and L of string i, in order, ready for cubics.

    On fixed ends the waves go on beyond the ends with the opposite sign, so that all that will
    come in has been stored, as if the contact had sent it out.
    """
    c, length, s = system.speeds[i], system.lengths[i], (system.s1, system.s2)[i]
    cuts = parts(system, i)
    if system.ends == "periodic":
        # R(xi) at x = -c xi, from s + length down to s; L(eta) at x = c eta, from s - length up
        right = _pieces(system, i, -1, -s - length, -s, np.concatenate([-cuts, -cuts - length]))
        left = _pieces(system, i, 1, s - length, s, np.concatenate([cuts, cuts - length]))
    else:
        mirror = np.concatenate([-cuts, cuts - 2.0 * length])
        right = _pieces(system, i, -1, s - 2.0 * length, -s, mirror)
        left = _pieces(system, i, 1, -s, s, np.concatenate([cuts, -cuts]))
    per_step = max(step, length / c / 1e7)
    return [[_sampled(piece, c, per_step) for piece in side] for side in (right, left)]


def parts(system: RollingStrings, i: int) -> Floats:
    """Return both ends of string i and the corners of its data between them."""
    length = system.lengths[i]
    shapes = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
    found = [shape.corners(length, system.ends) for shape in shapes if shape is not None]
    inner = np.concatenate([np.empty(0), *found])
    inner = inner[(inner > 0.0) & (inner < length)]
    return np.unique(np.concatenate([[0.0, length], inner]))


class _Wave:
    """One smooth piece of a wave between two places a < b on its characteristic, times c."""

    def __init__(self, system: RollingStrings, i: int, sign: int, a: float, b: float) -> None:
        self.system, self.i, self.sign, self.a, self.b = system, i, sign, a, b

    def __call__(self, z: Floats) -> Floats:
        """Return the wave at places z on the characteristic, seen from inside the piece."""
        length = self.system.lengths[self.i]
        near = 1e-14 * length
        z = np.clip(z, self.a + near, self.b - near)
        if self.system.ends == "periodic":
            x = np.mod(self.sign * z, length)
            return self._data(x, self.sign)
        if self.sign > 0:
            return np.where(z < 0.0, -self._data(np.abs(z), -1), self._data(np.abs(z), 1))
        beyond = z < -length
        x = np.where(beyond, 2.0 * length + z, -z)
        return np.where(beyond, -self._data(x, 1), self._data(x, -1))

    def _data(self, x: Floats, sign: int) -> Floats:
        """Return u_t + sign c u_x at the start: L for +1, R for -1."""
        system, i = self.system, self.i
        c, length, ends = system.speeds[i], system.lengths[i], system.ends
        shape, velocity = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
        x = np.clip(x, 0.0, length)
        y = np.zeros(x.shape)
        if velocity is not None:
            y = y + velocity.value(x, length, ends)
        if shape is not None:
            y = y + sign * c * shape.slope(x, length, ends)
        return y


def _pieces(
    system: RollingStrings, i: int, sign: int, a: float, b: float, cuts: Floats
) -> list[_Wave]:
    inner = cuts[(cuts > a) & (cuts < b)]
    edges = np.unique(np.concatenate([[a, b], inner]))
    # cuts that differ by rounding alone are one
    keep = np.append(np.diff(edges) > 1e-12 * system.lengths[i], True)
    edges = edges[keep]
    edges[0] = a
    return [_Wave(system, i, sign, lo, hi) for lo, hi in itertools.pairwise(edges.tolist())]


def _sampled(piece: _Wave, c: float, step: float) -> Piece:
    count = max(1, int(np.ceil((piece.b - piece.a) / (c * step))))
    edges = np.linspace(piece.a, piece.b, count + 1)
    z = edges[:-1] + _THIRDS * np.diff(edges)
    return z / c, piece(z)


def mode_start(system: RollingStrings, i: int) -> tuple[float, float]:
    """Return (2/l) times the integrals of shape and velocity with sin(2 pi x / l), at the start."""
    length = system.lengths[i]
    shape, velocity = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    cuts = parts(system, i)
    panels = [np.linspace(a, b, 65)[:-1] for a, b in itertools.pairwise(cuts)]
    edges = np.concatenate([*panels, cuts[-1:]])
    half = 0.5 * np.diff(edges)
    x = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    weight = (2.0 / length) * half[:, None] * weights * np.sin(2.0 * np.pi * x / length)
    found = []
    for one in (shape, velocity):
        y = np.zeros(x.size) if one is None else one.value(x.ravel(), length, system.ends)
        found.append(float(np.sum(weight * y.reshape(x.shape))))
    return found[0], found[1]

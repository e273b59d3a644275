"""Newton's method for two-folds h = L+ = L- = 0, and derivatives of h, L+, L- to rounding accuracy.

`Probe` evaluates the three functions of one surface. Their derivatives along a direction come from
Chebyshev interpolation on intervals of many radii: the last Chebyshev coefficients are large by
truncation if the radius is too large, and by rounding if it is too small, so that the radius with
the smallest ones is best. `search` is a damped Newton method; its steps have least norm, because
there may be more states than equations. `finding` and `curves` call both. Here h is the switching
function of one surface and L+- = grad h . f+- are its rates along the fields of both sides. In
arrays the three functions have the order h, L+, L-.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.switching.flow.state import Addresses
from stiction.switching.model import SwitchingSystem

__all__ = ["Probe", "Search", "search"]

Floats = npt.NDArray[np.float64]

# number of Chebyshev nodes. Chosen: rounding errors of the coefficients fall by its square root
_NODES = 65
# radii over the scale of the states; the small ones are for points close to a kink
_RADII = np.concatenate([0.5 ** (0.5 * np.arange(2, 25)), 0.5 ** np.arange(13, 22)])
_ANGLES = np.pi * (np.arange(_NODES) + 0.5) / _NODES
_POINTS = np.cos(_ANGLES)
_K = np.arange(26)
# discrete cosine transform of samples to Chebyshev coefficients; it averages rounding errors
_TO_COEFFICIENTS = np.cos(np.outer(_K, _ANGLES)) * (np.where(_K == 0, 1.0, 2.0) / _NODES)[:, None]
# derivative of T_k at 0
_SLOPES = _K * np.sin(0.5 * np.pi * _K)
# degrees of the interpolants that are compared; number of last coefficients that measure rounding
_DEGREES = (6, 10, 14, 18)
_TAIL = 6
# values of T_k at 0, up to degree 14
_AT_CENTRE = np.round(np.cos(0.5 * np.pi * _K[:15]))

# step of the differences of order 4 for the Jacobian, over the scale; a power of two, so that x + d
# is exact for most x. Their rounding error is 2e-16 times 2^17, or 3e-11
_STEP = 2.0**-17
# largest numbers of Newton steps, of halvings of one, and of steps back to the surface. Chosen
_MOST_STEPS = 60
_MOST_HALVINGS = 20
_MOST_PROJECTIONS = 8
# largest relative residual of a solution; its last step is below 1000 times that. Chosen
_SOLVED = 1e-9


class Probe:
    """h, L+ and L- of one surface of a system, with their derivatives.

    Parameters
    ----------
    system : any switching system
    surface : index of the surface
    signs : (m,) signs of the surfaces; that of this surface is not used
    """

    def __init__(self, system: SwitchingSystem, surface: int, signs: Floats) -> None:
        c = system.compiled
        self.system, self.surface, self.signs = system, surface, np.array(signs, dtype=np.float64)
        self.scale = np.array(c.scale, dtype=np.float64)
        self._addresses = Addresses.of(c)
        self._p = np.array(c.params, dtype=np.float64)
        self._grad, self._work = np.zeros(c.m * c.n), np.zeros((4, c.n + c.m + c.k))

    def values(self, points: Floats) -> Floats:
        """Return (q, 3) h, L+ and L- at (q, n) points; NaN where they are not finite."""
        from stiction.switching.two_folds.kernels import lie_values

        points = np.array(points, dtype=np.float64, order="C")
        out = np.empty((len(points), 3))
        signs = self.signs.copy()
        lie_values(
            self._addresses,
            self._p,
            self.scale,
            signs,
            self.surface,
            points,
            out,
            self._grad,
            self._work,
        )
        self._raise_what_failed()
        return out

    def _raise_what_failed(self) -> None:
        """Raise the exception that a user's function has raised in compiled code."""
        from stiction.numerics.callback import ArrayCallback

        for part in self.system.compiled.keep:
            if isinstance(part, ArrayCallback):
                part.check()

    def fields(self, x: Floats) -> tuple[Floats, Floats]:
        """Return (n,) f+ and (n,) f- at x."""
        plus, minus = self.signs.copy(), self.signs.copy()
        plus[self.surface], minus[self.surface] = 1.0, -1.0
        return self.system.field(x, plus), self.system.field(x, minus)

    def slope(
        self, x: Floats, direction: Floats, off: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return (3,) derivatives of h, L+ and L- along `direction`, and (3,) their errors.

        Parameters
        ----------
        x, direction : (n,) each
        off : (3,) factors; `off` times h is subtracted from the three functions. Along a tangent
            of the surface this does not change the derivative. It removes the effect of the
            rounding of points on fields that vary fast across the surface

        Verified by: tests/unit/switching/two_folds/test_finding.py::test_slopes_to_rounding
        """
        length = float(np.linalg.norm(direction / self.scale))
        if length == 0.0 or not np.isfinite(length):
            return np.zeros(3), np.zeros(3) if length == 0.0 else np.full(3, np.inf)
        shifts = (_RADII[:, None] * _POINTS).ravel() / length
        samples = self.values(x + shifts[:, None] * direction)
        if off is not None:
            samples = samples - samples[:, :1] * off
        samples = samples.reshape(_RADII.size, _NODES, 3)
        # axes of `coefficients`: radius r, degree k, function c
        rates = length / _RADII[:, None]
        slopes, doubts = [], []
        with np.errstate(invalid="ignore", over="ignore"):
            coefficients = np.einsum("kj,rjc->rkc", _TO_COEFFICIENTS, samples)
            # rounding error of a coefficient; `left_out` is the truncation error of an interpolant,
            # the largest of the next four coefficients
            noise = np.sqrt(np.mean(coefficients[:, -_TAIL:] ** 2, axis=1))
            for degree in _DEGREES:
                left_out = np.abs(coefficients[:, degree : degree + 4]).max(axis=1)
                grown = float(np.linalg.norm(_SLOPES[:degree]))
                slopes.append(
                    rates * np.einsum("k,rkc->rc", _SLOPES[:degree], coefficients[:, :degree])
                )
                doubts.append(rates * (grown * noise + degree * left_out))
        slope, doubt = np.concatenate(slopes), np.concatenate(doubts)
        doubt = np.where(np.isfinite(doubt) & np.isfinite(slope), doubt, np.inf)
        best, column = np.argmin(doubt, axis=0), np.arange(3)
        return slope[best, column], doubt[best, column]

    def lie_derivatives(self, x: Floats) -> tuple[Floats, Floats]:
        """Return K (2, 2), K[a, b] = d(L_a) . f^b with + first, and their errors."""
        normals = self.jacobian(x)
        across = normals @ (normals[0] * self.scale**2)
        off = np.append(0.0, across[1:] / across[0]) if across[0] > 0.0 else np.zeros(3)
        pairs = [self.slope(x, f, off) for f in self.fields(x)]
        k = np.stack([pair[0][1:] for pair in pairs], axis=1)
        return k, np.stack([pair[1][1:] for pair in pairs], axis=1)

    def gradients(self, x: Floats) -> Floats:
        """Return (3, n) the gradients of h, L+ and L- at x, to rounding accuracy."""
        return np.stack([self.slope(x, e)[0] for e in np.eye(x.size)], axis=1)

    def averages(self, x: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Return h, L+ and L- at x, (q, 3), and the rounding error of one value of each, (q, 3).

        A polynomial through values at many points along each state, for several radii, averages
        most of their rounding errors. The error is inf if the polynomial does not approximate the
        function.

        Parameters
        ----------
        slopes : (3, n) the gradients at x
        """
        values, noises = [], []
        for j, size in enumerate(self.scale):
            shifts = (_RADII[:, None] * _POINTS).ravel() * size
            points = np.repeat(x[None, :], shifts.size, axis=0)
            points[:, j] += shifts
            # correct for the rounding errors of the points
            off = (points[:, j] - x[j]) - shifts
            samples = self.values(points) - off[:, None] * slopes[:, j]
            coefficients = np.einsum(
                "kj,rjc->rkc", _TO_COEFFICIENTS, samples.reshape(_RADII.size, _NODES, 3)
            )
            noise = np.sqrt(np.mean(coefficients[:, -_TAIL:] ** 2, axis=1))
            used = _AT_CENTRE.size
            beyond = np.abs(coefficients[:, used : used + 4]).max(axis=1)
            noises.append(np.where(beyond <= 4.0 * noise, noise, np.inf))
            values.append(np.einsum("k,rkc->rc", _AT_CENTRE, coefficients[:, :used]))
        # a coefficient is a mean over the nodes: the error of one value is larger
        return np.concatenate(values), np.concatenate(noises) * np.sqrt(0.5 * _NODES)

    def jacobian(self, x: Floats) -> Floats:
        """Return (3, n) the gradients by differences of order 4, sufficient for Newton's method."""
        d = _STEP * np.diag(self.scale)
        points = np.concatenate([x + d, x - d, x + 2.0 * d, x - 2.0 * d])
        up, down, up2, down2 = self.values(points).reshape(4, x.size, 3)
        return np.asarray(((8.0 * (up - down) - (up2 - down2)) / (12.0 * np.diag(d)[:, None])).T)

    def sizes(self, x: Floats) -> Floats:
        """Return (3,) scales of h, L+ and L- at x."""
        grad = self.system.gradient(x)[self.surface] * self.scale
        steep = float(np.linalg.norm(grad))
        speeds = [float(np.linalg.norm(f / self.scale)) for f in self.fields(x)]
        sizes = steep * np.array([1.0, max(speeds), max(speeds)])
        return np.where(sizes > 0.0, sizes, 1.0)


class Search(NamedTuple):
    """The end of a search.

    Parameters
    ----------
    x : (n,) the last point
    residual : (3,) h, L+ and L- there, over their scales
    solved : whether all three are zero within the tolerance
    steps : number of Newton steps
    """

    x: Floats
    residual: Floats
    solved: bool
    steps: int


def search(probe: Probe, guess: Floats) -> Search:
    """Search for a zero of h, L+ and L- by damped Newton steps of least norm.

    Each point is projected on h = 0, because fields may vary fast across the surface.
    """
    x = _on_surface(probe, np.array(guess, dtype=np.float64))
    sizes = probe.sizes(x)
    residual, last, steps_taken = _residual(probe, x, sizes), np.inf, 0
    while steps_taken < _MOST_STEPS and 0.0 < (size := float(np.linalg.norm(residual))) < np.inf:
        move = _newton(probe, x)
        if move is None:
            break
        steps_taken += 1
        damping, better = 1.0, False
        for _ in range(_MOST_HALVINGS):
            trial = _on_surface(probe, x + damping * move)
            new = _residual(probe, trial, sizes)
            # sufficient decrease by Armijo's rule, with the usual constant 1e-4
            better = float(np.linalg.norm(new)) < (1.0 - 1e-4 * damping) * size
            if better:
                break
            damping *= 0.5
        last = float(np.max(np.abs(move) / (probe.scale + np.abs(x))))
        if not better:
            # no smaller residual: it is rounding, or has a minimum that is not zero
            break
        x, sizes = trial, probe.sizes(trial)
        residual = _residual(probe, x, sizes)
    size = float(np.linalg.norm(residual))
    solved = size <= _SOLVED and (last <= 1e3 * _SOLVED or size == 0.0)
    return Search(x, residual, bool(solved), steps_taken)


def _on_surface(probe: Probe, x: Floats) -> Floats:
    """Return the point of h = 0 after a few Newton steps along its gradient."""
    for _ in range(_MOST_PROJECTIONS):
        h = float(probe.system.surfaces_at(x)[probe.surface])
        slope = probe.system.gradient(x)[probe.surface] * probe.scale
        steep = float(slope @ slope)
        if h == 0.0 or steep == 0.0 or not np.isfinite(h * steep):
            break
        new = x - h * probe.scale * slope / steep
        done = bool((np.abs(new - x) <= 4e-16 * (np.abs(x) + probe.scale)).all())
        x = new
        if done:
            break
    return x


def _residual(probe: Probe, x: Floats, sizes: Floats) -> Floats:
    """Return (3,) h, L+ and L- at x over their scales."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(probe.values(x[None, :])[0] / sizes)


def _newton(probe: Probe, x: Floats) -> Floats | None:
    """Return the Newton step of least norm in scaled states; None if values are not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        normals = probe.jacobian(x) * probe.scale
        sizes = np.linalg.norm(normals, axis=1)
    values = probe.values(x[None, :])[0]
    if not (np.isfinite(sizes).all() and np.isfinite(values).all()):
        return None
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    # `rcond` bounds the step where the gradients are dependent, as at a fold
    move = np.linalg.lstsq(normals / sizes[:, None], -values / sizes, rcond=1e-10)[0]
    length = float(np.linalg.norm(move))
    bound = 1.0 + float(np.linalg.norm(x / probe.scale))
    return np.asarray(probe.scale * move * min(1.0, bound / length)) if length > 0.0 else None

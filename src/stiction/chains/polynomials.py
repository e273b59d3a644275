"""Power series of several event functions on one step, and their first downward crossing of zero.

A polynomial lies in the convex hull of its Bernstein coefficients, so one matrix product excludes
most functions; `numerics.event_localisation` isolates the first roots of the others. Coefficients
stand in rows (m, count) by rising power of tau, the fraction of the step. `reachability` and the
steps of the quasistatic method (`quasistatic.stepper`) call these functions.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from stiction.numerics import event_localisation
from stiction.numerics.event_localisation import DEPTH, NONE

__all__ = ["FIT", "FIT_NODES", "derivative", "first_fall", "fitted", "powers", "value"]

Floats = npt.NDArray[np.float64]

# a user's function is replaced on a step by the polynomial through these points of [0, 1]
FIT = 12
FIT_NODES = 0.5 - 0.5 * np.cos(np.pi * (np.arange(FIT) + 0.5) / FIT)


def fitted(values: Floats) -> Floats:
    """Return (..., FIT) coefficients by rising power through (..., FIT) values at FIT_NODES.

    The Chebyshev coefficients are computed first, because they are well conditioned. The change
    from these to powers has integer entries, which are large only where the Chebyshev coefficients
    of a smooth function are small.
    """
    to_chebyshev, to_powers = _fit_matrices()
    return np.asarray((values @ to_chebyshev.T) @ to_powers.T)


def powers(tau: npt.ArrayLike, count: int) -> Floats:
    """Return (count, len(tau)) powers of tau, so that rows @ powers evaluates series."""
    return np.asarray(np.vander(np.atleast_1d(tau), count, increasing=True).T)


def value(rows: Floats, tau: float) -> Floats:
    """Return the value of each row at tau, by Horner's rule."""
    total = np.zeros(rows.shape[:-1])
    for k in range(rows.shape[-1] - 1, -1, -1):
        total = total * tau + rows[..., k]
    return total


def derivative(rows: Floats) -> Floats:
    """Return the rows of the derivatives, with one trailing zero to keep the shape."""
    out = np.zeros_like(rows)
    out[..., :-1] = rows[..., 1:] * np.arange(1, rows.shape[-1])
    return out


def first_fall(rows: Floats) -> tuple[float, list[int]]:
    """Return the first tau in [0, 1] at which one of the polynomials falls to zero, and which do.

    Parameters
    ----------
    rows : (m, count) coefficients by rising power; rows[:, 0] <= 0 counts as a crossing at 0

    Returns
    -------
    tau (inf without a crossing), and the indices of the polynomials that cross within 1e-13 of it.

    Notes
    -----
    Pairs of roots closer than 2^-48 count as grazing and are ignored.
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_first_fall_against_numpy_roots
    """
    count = rows.shape[1]
    bernstein = rows @ _to_bernstein(count).T
    maybe = np.flatnonzero((bernstein <= 0.0).any(axis=1))
    work = np.empty((DEPTH + 2, count + 2))
    roots = np.array([event_localisation.first_fall(bernstein[row], work) for row in maybe])
    best = float(np.min(roots, initial=NONE))
    if best == NONE:
        return math.inf, []
    return best, maybe[roots <= best + 1e-13].tolist()


@functools.cache
def _to_bernstein(count: int) -> Floats:
    """Return the (count, count) matrix from powers to Bernstein coefficients on [0, 1]."""
    degree = count - 1
    out = np.zeros((count, count))
    for i in range(count):
        for j in range(i + 1):
            out[i, j] = math.comb(i, j) / math.comb(degree, j)
    return out


@functools.cache
def _fit_matrices() -> tuple[Floats, Floats]:
    """Return matrices from values at FIT_NODES to Chebyshev coefficients, and from these to powers.

    Both are (FIT, FIT); the Chebyshev polynomials are those of 2 tau - 1.
    """
    order, angle = np.arange(FIT)[:, None], np.pi * (np.arange(FIT) + 0.5) / FIT
    # nodes run upwards in [0, 1], so T_k of the node is (-1)^k cos(k angle)
    forward = 2.0 / FIT * np.cos(order * angle) * (-1.0) ** order
    forward[0] *= 0.5
    shifted = np.zeros((FIT, FIT))
    shifted[0, 0] = 1.0
    shifted[1, :2] = -1.0, 2.0
    for k in range(2, FIT):
        # T_{k+1} = 2 (2 s - 1) T_k - T_{k-1}
        shifted[k] = -2.0 * shifted[k - 1] - shifted[k - 2]
        shifted[k, 1:] += 4.0 * shifted[k - 1, :-1]
    return forward, np.ascontiguousarray(shifted.T)

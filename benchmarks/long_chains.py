"""Chains of any length for the cost of a step: one mostly at rest, one that never rests."""

from __future__ import annotations

import time

import numba
import numpy as np

import stiction as st

# the step resolves the highest mode of the chain, 2 sqrt(k / m) = 8.9 / s
_STEP = 0.05


def pulled(n: int) -> tuple[st.Chain, float]:
    """Return a chain pulled to and fro at its end: far from there every mass is at rest."""
    chain = st.Chain(
        mass=1.0, n=n, stiffness=20.0, load=st.chains.Sine(30.0, 0.5), law=st.Coulomb(0.05)
    )
    return chain, _STEP


def shaken(n: int) -> tuple[st.Chain, float]:
    """Return a chain all of whose masses are shaken by a sine, with random shares.

    In every step some masses slip and some come to rest, all along the chain.
    """
    shares = np.random.default_rng(1).uniform(-1.0, 1.0, n)
    chain = st.Chain(
        mass=1.0,
        n=n,
        stiffness=20.0,
        load=st.chains.Sine(2.0, 1.0),
        load_vector=shares,
        law=st.Coulomb(0.05),
    )
    return chain, _STEP


CHAINS = {"pulled at its end": pulled, "shaken all along": shaken}


# rows that a step reads first and writes first, while a part of the chain is in the caches, and
# those that it reads and writes when it moves the chain: `substitute_and_correct` and `move_on`
ROWS, FIRST_READ, FIRST_WRITTEN, THEN_READ, THEN_WRITTEN = 20, 11, 3, 12, 6


@numba.njit
def _stream(f: np.ndarray, steps: int) -> None:
    """Read and write as many rows as a theta step does, with next to no arithmetic."""
    n = f.shape[1]
    for _ in range(steps):
        for i in range(n):
            value = 0.0
            for row in range(FIRST_READ):
                value += f[row, i]
            for row in range(FIRST_READ, FIRST_READ + FIRST_WRITTEN):
                f[row, i] = value
        for i in range(n):
            value = 0.0
            for row in range(ROWS - THEN_READ, ROWS):
                value += f[row, i]
            for row in range(ROWS - THEN_WRITTEN, ROWS):
                f[row, i] = 1e-3 * value


def streamed(n: int, steps: int) -> float:
    """Return the seconds per mass and step that memory alone takes for a chain of n masses."""
    f = np.zeros((ROWS, n + 1 + (39 - n) % 512))
    _stream(f, 1)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        _stream(f, steps)
        best = min(best, time.perf_counter() - start)
    return best / (steps * n)

"""Chains of any length for the cost of a step: one mostly at rest, one that never rests."""

from __future__ import annotations

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

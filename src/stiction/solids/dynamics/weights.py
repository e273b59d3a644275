"""The parameters alpha_m, alpha_f, beta and gamma of the generalised-alpha scheme.

Source: Chung, Hulbert 1993; `GeneralisedAlpha.weights` computes them from the spectral radius.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Weights"]


class Weights(NamedTuple):
    """Parameters [1]: alpha_m weights inertia, alpha_f weights forces; Newmark's beta, gamma."""

    mass: float
    force: float
    beta: float
    gamma: float

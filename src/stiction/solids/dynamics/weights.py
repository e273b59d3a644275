"""The weights of the generalised alpha scheme."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Weights"]


class Weights(NamedTuple):
    """The parameters of the scheme: alpha_m, alpha_f, beta, gamma."""

    mass: float
    force: float
    beta: float
    gamma: float

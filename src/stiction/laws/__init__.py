"""What resists: friction and adhesion laws, pure in slip, gap and history."""

from stiction.laws.coulomb import (
    Coulomb,
    ExponentialWeakening,
    Friction,
    RandomCoulomb,
    StaticKinetic,
    UserFriction,
)
from stiction.laws.smoothed import SmoothSign, SquareRootSign, TanhSign

__all__ = [
    "Coulomb",
    "ExponentialWeakening",
    "Friction",
    "RandomCoulomb",
    "SmoothSign",
    "SquareRootSign",
    "StaticKinetic",
    "TanhSign",
    "UserFriction",
]

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
from stiction.laws.tyre import Pacejka, SimplifiedTyre, StretchedString

__all__ = [
    "Coulomb",
    "ExponentialWeakening",
    "Friction",
    "Pacejka",
    "RandomCoulomb",
    "SimplifiedTyre",
    "SmoothSign",
    "SquareRootSign",
    "StaticKinetic",
    "StretchedString",
    "TanhSign",
    "UserFriction",
]

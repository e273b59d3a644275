"""What resists: friction and adhesion laws, pure in slip, gap and history."""

from stiction.laws.adhesion import Adhesion, LennardJones
from stiction.laws.adhesive_friction import (
    DI,
    EA,
    AdhesiveFriction,
    Frictionless,
    UserThreshold,
    amontons,
)
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
    "DI",
    "EA",
    "Adhesion",
    "AdhesiveFriction",
    "Coulomb",
    "ExponentialWeakening",
    "Friction",
    "Frictionless",
    "LennardJones",
    "Pacejka",
    "RandomCoulomb",
    "SimplifiedTyre",
    "SmoothSign",
    "SquareRootSign",
    "StaticKinetic",
    "StretchedString",
    "TanhSign",
    "UserFriction",
    "UserThreshold",
    "amontons",
]

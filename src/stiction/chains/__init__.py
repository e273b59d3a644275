"""n masses on a rail: dynamic, quasistatic and static friction problems."""

from stiction.chains.loads import (
    Constant,
    Load,
    PiecewiseLinear,
    Ramp,
    Sine,
    SumOf,
    UserLoad,
)
from stiction.chains.model import Chain

__all__ = [
    "Chain",
    "Constant",
    "Load",
    "PiecewiseLinear",
    "Ramp",
    "Sine",
    "SumOf",
    "UserLoad",
]

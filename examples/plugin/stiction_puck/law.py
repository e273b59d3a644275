"""Friction that fades with speed: mu = fast + (slow - fast) / (1 + v / half_speed)."""

from dataclasses import dataclass
from typing import Annotated

from stiction.core.fields import Positive
from stiction.laws.friction import Formulas, Friction

SLOW, FAST, HALF = range(3)  # the fields in their order
_WHY = "friction resists, and falls over some speed."


def mu(v, z, p):
    """Return the coefficient at the slip speed v."""
    return p[FAST] + (p[SLOW] - p[FAST]) / (1.0 + v / p[HALF])


def slope(v, z, p):
    """Return its derivative."""
    return -(p[SLOW] - p[FAST]) / p[HALF] / (1.0 + v / p[HALF]) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class Fading(Friction):
    """Friction that falls from `slow` to `fast`, half of it at `half_speed`."""

    slow: Annotated[float, Positive("1", _WHY)] = 0.10
    fast: Annotated[float, Positive("1", _WHY)] = 0.02
    half_speed: Annotated[float, Positive("m/s", _WHY)] = 0.5

    @classmethod
    def examples(cls):
        """Return a law on which laws are tested."""
        return (cls(),)

    @property
    def formulas(self):
        """The formulas of the law."""
        return Formulas(mu, slope)

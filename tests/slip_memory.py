"""A law with one state, written as a user would: a contact that wears in slip and heals at rest.

    mu = mu_worn + (mu_fresh - mu_worn) z,      z' = (1 - z) / heal_time - |v| z / wear_length

z falls from 1, fresh, towards 0, worn, over a slip of `wear_length`; at rest it comes back over
`heal_time`. No law of the package: it proves that one file is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from stiction.laws.friction import Formulas, Friction, StateVariable
from stiction.numerics.checks import Numbers, number

FRESH, WORN, LENGTH, HEAL = range(4)


def _mu(v: Any, z: Any, p: Any) -> Any:
    return p[WORN] + (p[FRESH] - p[WORN]) * z[0]


def _slope(v: Any, z: Any, p: Any) -> Any:
    return 0.0


def _by_state(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = p[FRESH] - p[WORN]


def _rate(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = (1.0 - z[0]) / p[HEAL] - v * z[0] / p[LENGTH]


def _rate_by_speed(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -z[0] / p[LENGTH]


def _rate_by_state(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -1.0 / p[HEAL] - v / p[LENGTH]


@dataclass(frozen=True, eq=False, repr=False)
class SlipMemory(Friction):
    """Friction that wears with slip and heals in time.

    Parameters
    ----------
    mu_fresh, mu_worn : coefficients [1] of a healed and of a worn contact
    wear_length : slip [m] over which a contact wears
    heal_time : time [s] over which it heals
    freshness_start : z at the start [1], between 0 and 1
    """

    states: ClassVar[tuple[StateVariable, ...]] = (
        StateVariable("freshness", "1", "how far each contact has healed", 0.0, 1.0),
    )

    mu_fresh: float
    mu_worn: float
    wear_length: float
    heal_time: float
    freshness_start: Numbers = 1.0

    def __post_init__(self) -> None:
        for name in ("mu_fresh", "mu_worn", "wear_length", "heal_time"):
            where, why = f"SlipMemory.{name}", "the law divides by lengths and times."
            rule = "positive"
            clean = number(where, getattr(self, name), rule=rule, why=why, try_="say 0.1.")
            object.__setattr__(self, name, clean)

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return one that starts fresh, and one whose contacts start worn differently."""
        return cls(0.4, 0.2, 0.05, 1.0), cls(0.3, 0.1, 0.01, 5.0, [0.1, 0.5, 1.0])

    @property
    def formulas(self) -> Formulas:
        """The law above."""
        return Formulas(
            mu=_mu,
            slope=_slope,
            by_state=_by_state,
            rate=_rate,
            rate_by_speed=_rate_by_speed,
            rate_by_state=_rate_by_state,
        )

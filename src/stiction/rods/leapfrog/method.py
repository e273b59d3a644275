"""The nonholonomic leapfrog: explicit, second order, exact in rolling, momentum and slip work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, number, whole

if TYPE_CHECKING:
    pass

__all__ = ["RollingLeapfrog"]


@dataclass(frozen=True, eq=False, repr=False)
class RollingLeapfrog(Record):
    """Kick and drift, with the contact forces that the mean velocity of a kick asks for.

    v+ = v- + h M^-1 (f + J^T l) with J (v+ + v-) = 0 while all contacts roll whatever happens; then
    all elements move as free rotors, exactly. Contacts that may slip or open take two half kicks a
    step, with the forces of Coulomb's law at its start and impulses that bring what rolls to rest
    at its end, and steps are cut where they change. Order 2, in the times of events too; linear
    and angular momentum of free rods are kept to rounding, the energy error is O(h^2) and does
    not grow.

    Parameters
    ----------
    step : [s], shortened so that saved times are met; None takes `part` of the stability limit
    part : of the stability limit, when no step is given [1]; None is a fortieth where contacts
        roll whatever happens, an eightieth where one may slip or open, half of that where impacts
        have restitution. An error in the ledger falls with its square: 5e-4 at half the limit and
        3e-7 at an eightieth for crossed rods that slip
    shake : hold the gap of closed contacts at every step; without it the gap drifts by O(h^2)
    max_steps : bound on the work; a run that needs more is refused

    Source: formulas sheet of the rods paper, section 6.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    step: float | None = None
    part: float | None = None
    shake: bool = True
    max_steps: int = 200_000_000

    def __post_init__(self) -> None:
        why = "an explicit scheme takes steps of this length."
        if self.step is not None:
            number(
                "RollingLeapfrog.step",
                self.step,
                rule="positive",
                unit="s",
                why=why,
                try_="leave it out for a part of the stability limit.",
            )
        if self.part is not None:
            where = "RollingLeapfrog.part"
            value = number(where, self.part, rule="positive", why=why, try_="0.5.")
            if value > 1.0:
                raise ModelError(explain(where, value, "at most 1", _WHY_LIMIT, "give 0.5."))
        shake: object = self.shake
        if not isinstance(shake, bool):
            why, try_ = "gaps are held or not.", "give True."
            raise ModelError(
                explain("RollingLeapfrog.shake", repr(shake), "True or False", why, try_)
            )
        why = "the work of a run is bounded."
        whole("RollingLeapfrog.max_steps", self.max_steps, least=1, why=why, try_="leave it out.")


_WHY_LIMIT = "beyond the limit the fastest wave of the elements grows without bound."

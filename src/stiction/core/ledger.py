"""The energy ledger of a run: energies, work and dissipation, and their imbalance.

    imbalance = E(t) - E(t_start) - W + Q_friction + Q_viscous + Q_impact + Q_algorithmic

E is the sum of the kinetic, elastic and adhesive energy. W is the work of loads and moving supports
since the start, Q are the heats and losses since the start. The methods supply these terms. The
imbalance of the exact solution is zero, so that its size measures the error of a run. `Run.ledger`
shows the ledger; `core.block` has the same formulas for many runs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["COLUMNS", "Ledger"]

Floats = npt.NDArray[np.float64]

# number of times up to which sums in Python are faster than array operations
_FEW = 8

COLUMNS = {
    "kinetic": "kinetic energy",
    "stored": "elastic energy",
    "adhesive": "adhesive energy",
    "external_work": "work of loads and moving supports since the start",
    "friction_heat": "heat of friction since the start",
    "viscous_heat": "heat in dampers since the start",
    "impact_loss": "energy lost in impacts since the start",
    "algorithmic": "energy dissipated by the time scheme since the start",
    "imbalance": "energy that is unaccounted for",
}


def largest(values: Floats) -> float:
    """Return the largest absolute value; 0 for an empty array, NaN if an entry is NaN."""
    return max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0


def _largest(values: list[float]) -> float:
    """Return the largest absolute value of a nonempty list; NaN if an entry is NaN."""
    total = sum(values)
    # `max` ignores NaN
    return max(map(abs, values)) if total == total else largest(np.array(values))


@dataclass(frozen=True, eq=False)
class Ledger:
    """Energies at the saved times; heats, work and losses are integrals from the start [J].

    The unit is J, or the unit of energy of the system (`Run.energy_unit`).

    Parameters
    ----------
    time : (t,) [s]
    kinetic, stored, external_work : (t,) [J]
    friction_heat : (t, contact) heat of each contact [J]
    adhesive, viscous_heat, impact_loss, algorithmic : (t,) [J], or (1,) for a constant
    step_imbalance_rel : largest imbalance of a single step divided by the largest energy [1];
        None if the method has no exact energy identity per step
    defined : whether the system has an energy at all; if not, every column is zero
    """

    time: Floats
    kinetic: Floats
    stored: Floats
    external_work: Floats
    friction_heat: Floats
    adhesive: Floats = field(default_factory=lambda: np.zeros(1))
    viscous_heat: Floats = field(default_factory=lambda: np.zeros(1))
    impact_loss: Floats = field(default_factory=lambda: np.zeros(1))
    algorithmic: Floats = field(default_factory=lambda: np.zeros(1))
    step_imbalance_rel: float | None = None
    defined: bool = True

    @classmethod
    def undefined(cls, time: Floats) -> Ledger:
        """Return the ledger of a system that has no energy."""
        zero = np.zeros(time.size)
        return cls(time, zero, zero, zero, np.zeros((time.size, 1)), defined=False)

    @functools.cached_property
    def total_friction_heat(self) -> Floats:
        """(t,) heat of all contacts together [J]."""
        if self.friction_heat.shape[1] == 1:
            return self.friction_heat[:, 0]
        return np.asarray(self.friction_heat.sum(axis=1))

    @functools.cached_property
    def imbalance(self) -> Floats:
        """(t,) change of energy - external work + all heats and losses [J]; zero if it closes."""
        # after an overflow the energies are infinite, and the imbalance is NaN
        with np.errstate(invalid="ignore", over="ignore"):
            energy = self.kinetic + self.stored + self.adhesive
            losses = self.viscous_heat + self.impact_loss + self.algorithmic
            change = energy - energy[0]
            return np.asarray(change - self.external_work + self.total_friction_heat + losses)

    @functools.cached_property
    def scale(self) -> float:
        """Largest energy in the ledger [J], the scale of the imbalance."""
        return self._sizes[0]

    @functools.cached_property
    def _sizes(self) -> tuple[float, float]:
        """The largest energy and the largest imbalance [J]."""
        parts = (
            self.kinetic,
            self.stored,
            self.adhesive,
            self.external_work,
            self.total_friction_heat,
            self.viscous_heat,
            self.impact_loss,
            self.algorithmic,
        )
        rows = self.time.size
        if not 0 < rows <= _FEW:
            return largest(np.concatenate(parts)), largest(self.imbalance)
        columns = [part.tolist() for part in parts]
        size = _largest([value for column in columns for value in column])
        # a column of one entry is a constant
        full = [column * rows if len(column) == 1 else column for column in columns]
        first, off = 0.0, []
        for row, (k, s, a, work, heat, viscous, impact, scheme) in enumerate(
            zip(*full, strict=True)
        ):
            # the sums have the order of those in `imbalance`, so that rounding is the same
            energy, lost = k + s + a, viscous + impact + scheme
            first = first if row else energy
            off.append(energy - first - work + heat + lost)
        return size, _largest(off)

    @functools.cached_property
    def imbalance_rel(self) -> float:
        """Largest imbalance divided by `scale` [1]; 0 if all energies are zero."""
        worst = self._sizes[1]
        # the bound avoids a division by zero, and by numbers that underflow
        return worst / max(self.scale, 1e-290)

    def columns(self) -> dict[str, Floats]:
        """Return every column as (t,) [J]; friction heat is summed over the contacts."""
        full = np.zeros(self.time.size)
        return {
            "kinetic": full + self.kinetic,
            "stored": full + self.stored,
            "adhesive": full + self.adhesive,
            "external_work": full + self.external_work,
            "friction_heat": full + self.total_friction_heat,
            "viscous_heat": full + self.viscous_heat,
            "impact_loss": full + self.impact_loss,
            "algorithmic": full + self.algorithmic,
            "imbalance": self.imbalance,
        }

    def table(self, time_unit: str = "s", energy_unit: str = "J") -> xr.Dataset:
        """Return the ledger as an xarray Dataset; `friction_heat_each` is the heat per contact."""
        import xarray as xr

        data = {
            name: ("time", values, {"units": energy_unit, "long_name": COLUMNS[name]})
            for name, values in self.columns().items()
        }
        each = (("time", "contact"), self.friction_heat, {"units": energy_unit})
        contacts = np.arange(1, self.friction_heat.shape[1] + 1)
        time = ("time", self.time, {"units": time_unit})
        return xr.Dataset(
            {**data, "friction_heat_each": each},
            coords={"time": time, "contact": contacts},
            attrs={"defined": self.defined},
        )

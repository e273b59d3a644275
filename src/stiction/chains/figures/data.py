"""Data of a run for the figures of chains: saved arrays, and quantities derived from them.

Only saved data are read, so a run loaded from disk draws the same figures as a live one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import whole
from stiction.plot.run_data import RunData

__all__ = ["ChainData"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NEEDED = ("x", "v", "mode", "friction", "load")
_EQUAL = 1e-12  # relative spread below which masses or springs count as equal


@dataclass(frozen=True, eq=False)
class ChainData(RunData):
    """The saved history of a chain and quantities derived from it.

    Parameters
    ----------
    run : the run, live or loaded

    Raises
    ------
    ModelError : if the run holds no history of a chain.
    """

    NEEDED = _NEEDED
    FAMILY = "a chain"

    # ---- saved data

    @property
    def x(self) -> Floats:
        """(t, n) displacements [m]."""
        return self.run.variables["x"].values

    @property
    def v(self) -> Floats:
        """(t, n) velocities [m/s]."""
        return self.run.variables["v"].values

    @property
    def mode(self) -> npt.NDArray[np.int8]:
        """(t, n) modes: -1 slip-, 0 stick, 1 slip+."""
        return self.run.variables["mode"].values

    @property
    def friction(self) -> Floats:
        """(t, n) friction force on each mass [N]."""
        return self.run.variables["friction"].values

    @property
    def load(self) -> Floats:
        """(t,) load f(t) [N]."""
        return self.run.variables["load"].values

    @property
    def n_mass(self) -> int:
        """Number of masses."""
        return int(self.x.shape[1])

    def constant(self, name: str) -> Floats | None:
        """Return a saved constant by name, or None when the run holds none."""
        variable = self.run.variables.get(name)
        return None if variable is None else variable.values

    @property
    def belt_speed(self) -> float:
        """Speed of the surface under the masses [m/s]; 0 for a rail at rest."""
        saved = self.constant("belt_speed")
        return 0.0 if saved is None else float(saved)

    @functools.cached_property
    def stick_bound(self) -> Floats | None:
        """(t, n) static bound of the friction force [N]; None if it is not saved.

        It varies in time under a law with states, whose run contains it.

        Verified by: tests/unit/chains/figures/test_motion.py::test_the_bound_of_a_law_with_states
        """
        saved = self.constant("stick_bound")
        if saved is not None:
            return saved
        mu, normal = self.constant("mu_static"), self.constant("normal_force")
        return None if mu is None or normal is None else np.broadcast_to(mu * normal, self.x.shape)

    def index(self, where: str, mass: object) -> int:
        """Return the position of a mass given by its number, counted from 1.

        Raises
        ------
        ModelError : if there is no such mass.
        """
        why, try_ = (
            "masses are numbered from 1, next to the left wall.",
            "give one of these numbers.",
        )
        number = whole(where, mass, least=1, why=why, try_=try_)
        if number > self.n_mass:
            needs = f"a number from 1 to {self.n_mass}"
            raise ModelError(where, repr(number), needs, why, try_)
        return number - 1

    # ---- stick and slip in time

    def mode_changes(self, i: int) -> tuple[Floats, Ints]:
        """Return (k,) times at which mass `i` (from 0) changes its mode [s], and (k,) new modes.

        The first entry is the start. The event log gives the times exactly; without events a change
        lies half-way between two saved times.

        Verified by: tests/unit/chains/figures/test_data.py::test_stick_agrees_with_the_saved_modes
        """
        log = self.run.event_log
        mine = np.flatnonzero(log.contact == i + 1).tolist()
        begin = self.time[:1]
        if mine:
            values = {"slip-": -1, "stick": 0, "slip+": 1}
            modes = [values[log.before[mine[0]]], *(values[log.after[k]] for k in mine)]
            return np.concatenate([begin, log.time[mine]]), np.array(modes)
        modes_saved = self.mode[:, i].astype(np.int64)
        change = np.flatnonzero(np.diff(modes_saved)) + 1
        middle = 0.5 * (self.time[change - 1] + self.time[change])
        return np.concatenate([begin, middle]), modes_saved[np.concatenate([[0], change])]

    def stick_intervals(self, i: int) -> Floats:
        """Return the (k, 2) time intervals [s] in which mass `i` (from 0) sticks."""
        times, modes = self.mode_changes(i)
        ends = np.append(times[1:], self.time[-1])
        pairs = np.column_stack([times, np.minimum(ends, self.time[-1])])[modes == 0]
        return np.asarray(pairs[pairs[:, 1] > pairs[:, 0]])

    @functools.cached_property
    def rest_intervals(self) -> Floats:
        """(k, 2) time intervals [s] in which all masses stick; from saved modes if n > 64."""
        if self.n_mass <= 64:
            common = self.stick_intervals(0)
            for i in range(1, self.n_mass):
                common = _common(common, self.stick_intervals(i))
            return common
        still = np.concatenate([[False], (self.mode == 0).all(axis=1), [False]]).astype(np.int8)
        begin, end = np.flatnonzero(np.diff(still) == 1), np.flatnonzero(np.diff(still) == -1) - 1
        pairs = np.column_stack([self.time[begin], self.time[end]])
        return np.asarray(pairs[pairs[:, 1] > pairs[:, 0]])

    # ---- closed forms

    @functools.cached_property
    def critical_times(self) -> Floats | None:
        """(n,) times [s] at which the load reaches the critical force of each mass, NaN if never.

        The load counts up to its first fall. None if it does not rise before, or if the run holds
        no critical forces.

        Verified by: tests/unit/chains/figures/test_data.py::test_critical_times_of_a_ramp
        """
        force = self.constant("critical_force")
        falls = np.flatnonzero(np.diff(self.load) < 0.0)
        load = self.load[: falls[0] + 1] if falls.size else self.load
        if force is None or load[-1] <= load[0]:
            return None
        at = np.searchsorted(load, force, side="left")
        inside = (at > 0) & (at < load.size)
        after = np.clip(at, 1, load.size - 1)
        fraction = (force - load[after - 1]) / np.maximum(load[after] - load[after - 1], 1e-300)
        reached = self.time[after - 1] + fraction * (self.time[after] - self.time[after - 1])
        return np.where(inside, reached, np.where(at == 0, self.time[0], np.nan))

    @functools.cached_property
    def wave_speed(self) -> float | None:
        """Speed sqrt(k/m) of waves much longer than the spacing, in masses per second.

        None unless all masses and all inner springs are equal, no link is damped and n >= 3.

        Source: formulas sheet of the chains paper, section 3.
        """
        mass, damping = self.constant("mass_value"), self.constant("link_damping")
        stiffness = self.constant("link_stiffness")
        if mass is None or stiffness is None or damping is None or self.n_mass < 3:
            return None
        inner = stiffness[1:-1]
        if np.ptp(mass) > _EQUAL * mass[0] or np.ptp(inner) > _EQUAL * inner[0] or damping.any():
            return None
        return float(np.sqrt(inner[0] / mass[0]))

    @functools.cached_property
    def onsets(self) -> Floats:
        """(n,) time of the first slip of each mass [s], NaN where it never slips."""
        quantity = self.run.quantities.get("onset_time")
        if quantity is None or not isinstance(quantity.value, (list, tuple)):
            return np.full(self.n_mass, np.nan)
        return np.array([np.nan if t is None else float(t) for t in quantity.value])


def _common(a: Floats, b: Floats) -> Floats:
    """Return the intersection (k, 2) of two sets of disjoint intervals (., 2) in rising order."""
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        begin, end = max(a[i, 0], b[j, 0]), min(a[i, 1], b[j, 1])
        if end > begin:
            pairs.append((begin, end))
        if a[i, 1] < b[j, 1]:
            i += 1
        else:
            j += 1
    return np.array(pairs).reshape(-1, 2)

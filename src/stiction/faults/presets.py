"""A vertical fault whose friction changes with depth: the community's first benchmark."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stiction.faults.model import Fault, FaultSystem
from stiction.laws.rate_and_state import AgeingLaw
from stiction.numerics.checks import fits, number, whole

__all__ = ["StrikeSlipFault"]


@dataclass(frozen=True, eq=False, repr=False)
class StrikeSlipFault(FaultSystem):
    """A vertical fault to 40 km under a free surface: the benchmark BP1-QD.

    Friction falls with speed from the surface to `seismic_depth`, rises from `seismic_depth +
    transition` on, and changes evenly between. The start is sliding at the plates' speed under
    the stress that the deepest cells need for it.

    Parameters
    ----------
    cells : of the line; 1600 are the benchmark's cells of 25 m
    length : of the line [m]
    seismic_depth, transition : [m]
    a_shallow, a_deep : direct effect above and below [1]
    b : effect of the state [1]
    slip_length : slip that renews contacts [m]
    normal_stress : [Pa]
    plate_speed : [m/s]

    Source: Erickson et al. 2020, Seismol. Res. Lett. 91, 874; its parameters.
    Verified by: tests/unit/faults/test_cycles.py::test_the_benchmark_starts_in_balance

    Examples
    --------
    >>> import stiction as st
    >>> st.faults.StrikeSlipFault(cells=100).assembled().cells
    100
    """

    cells: int = 400
    length: float = 40e3
    seismic_depth: float = 15e3
    transition: float = 3e3
    a_shallow: float = 0.010
    a_deep: float = 0.025
    b: float = 0.015
    slip_length: float = 0.008
    normal_stress: float = 50e6
    plate_speed: float = 1e-9

    def __post_init__(self) -> None:
        why, try_ = "the fault is cut into cells.", "leave it out."
        whole("StrikeSlipFault.cells", self.cells, least=2, why=why, try_=try_)
        fits("StrikeSlipFault.cells", self.cells, 8.0 * 80, "give fewer cells.")
        for name in (
            "length",
            "seismic_depth",
            "transition",
            "a_shallow",
            "a_deep",
            "b",
            "slip_length",
            "normal_stress",
            "plate_speed",
        ):
            where, why = f"StrikeSlipFault.{name}", "the benchmark's numbers are positive."
            number(where, getattr(self, name), rule="positive", why=why, try_="leave it out.")

    def assembled(self) -> Fault:
        """Return the fault with a number for every cell."""
        mu0, speed0 = 0.6, 1e-6
        n, plates, sigma = self.cells, self.plate_speed, self.normal_stress
        depth = (np.arange(n) + 0.5) * self.length / n
        turns = [self.seismic_depth, self.seismic_depth + self.transition]
        a = np.interp(depth, turns, [self.a_shallow, self.a_deep])
        level = (mu0 + self.b * math.log(speed0 / plates)) / self.a_deep
        need = self.a_deep * math.asinh(0.5 * plates / speed0 * math.exp(level))
        # ln(2 sinh(x)) of an x that may be too large for sinh
        power = need / a
        log_sinh = power + np.log1p(-np.exp(-2.0 * power))
        log_age = (a * (math.log(speed0 / plates) + log_sinh) - mu0) / self.b
        return Fault(
            AgeingLaw(a=a, b=self.b, length=self.slip_length, mu0=mu0, speed0=speed0),
            cells=n,
            length=self.length,
            normal_stress=sigma,
            plate_speed=plates,
            speed_start=plates,
            state_start=self.slip_length / speed0 * np.exp(log_age),
        )

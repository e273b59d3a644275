"""Two benchmarks of the SEAS community: earthquake cycles, and slip that injection causes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Positive
from stiction.faults.injection import Injection
from stiction.faults.model import CELLS, Fault, FaultSystem
from stiction.laws.rate_and_state import AgeingLaw

__all__ = ["InjectedFault", "StrikeSlipFault"]

# all benchmarks of the series: friction at the reference speed [m/s]
_MU0, _SPEED0 = 0.6, 1e-6
_WHY = "the benchmark's numbers are positive."


@dataclass(frozen=True, eq=False, repr=False)
class StrikeSlipFault(FaultSystem):
    """A vertical fault to 40 km under a free surface: the benchmark BP1-QD.

    Friction falls with speed from the surface to `seismic_depth`, rises from `seismic_depth +
    transition` on, and changes linearly between. The initial state is slip at the plates'
    speed under the stress that the deepest cells need for it.

    Parameters
    ----------
    cells : their number; 1600 are the benchmark's cells of 25 m
    length : of the line [m]
    seismic_depth, transition : [m]
    a_shallow, a_deep : direct effect above and below [1]
    b : effect of the state [1]
    slip_length : slip that renews contacts [m]
    normal_stress : [Pa]
    plate_speed : [m/s]

    Source: Erickson et al. 2020, Seismol. Res. Lett. 91, 874; its parameters.
    Verified by: tests/unit/faults/test_cycles.py::test_the_benchmark_starts_in_equilibrium

    Examples
    --------
    >>> import stiction as st
    >>> st.faults.StrikeSlipFault(cells=100).assembled().cells
    100
    """

    cells: Annotated[int, CELLS] = 400
    length: Annotated[float, Positive("m", _WHY)] = 40e3
    seismic_depth: Annotated[float, Positive("m", _WHY)] = 15e3
    transition: Annotated[float, Positive("m", _WHY)] = 3e3
    a_shallow: Annotated[float, Positive("1", _WHY)] = 0.010
    a_deep: Annotated[float, Positive("1", _WHY)] = 0.025
    b: Annotated[float, Positive("1", _WHY)] = 0.015
    slip_length: Annotated[float, Positive("m", _WHY)] = 0.008
    normal_stress: Annotated[float, Positive("Pa", _WHY)] = 50e6
    plate_speed: Annotated[float, Positive("m/s", _WHY)] = 1e-9

    def assembled(self) -> Fault:
        """Return the fault with parameters for every cell."""
        n, plates, sigma = self.cells, self.plate_speed, self.normal_stress
        depth = (np.arange(n) + 0.5) * self.length / n
        turns = [self.seismic_depth, self.seismic_depth + self.transition]
        a = np.interp(depth, turns, [self.a_shallow, self.a_deep])
        level = (_MU0 + self.b * math.log(_SPEED0 / plates)) / self.a_deep
        need = self.a_deep * math.asinh(0.5 * plates / _SPEED0 * math.exp(level))
        return Fault(
            AgeingLaw(a=a, b=self.b, length=self.slip_length, mu0=_MU0, speed0=_SPEED0),
            cells=n,
            length=self.length,
            normal_stress=sigma,
            plate_speed=plates,
            speed_start=plates,
            state_start=_state_at(need, plates, a, self.b, self.slip_length),
        )


@dataclass(frozen=True, eq=False, repr=False)
class InjectedFault(FaultSystem):
    """A fault in a whole space into whose middle fluid is injected: the benchmark BP6-QD-A.

    Friction rises with speed everywhere, so that slip remains slow. The far sides are fixed. The
    initial state is slip at `speed_start` under `stress_start`, equal in all cells.

    Parameters
    ----------
    cells : their number; 4000 are the benchmark's cells of 10 m
    length : of the line [m]
    a, b : direct effect and effect of the state [1]
    slip_length : slip that renews contacts [m]
    normal_stress : before injection [Pa]
    stress_start : shear stress without damping at the start [Pa]
    speed_start : [m/s]
    rate : of injection, volume per time and per area of the fault's cross-section [m/s]
    until : end of injection [s]
    diffusivity : of pore pressure along the fault [m^2/s]
    storage : porosity times the compressibility of fluid and pores [1/Pa]

    Source: Lambert and Dunham 2021, SEAS benchmark BP6-QD; its parameters.
    Verified by: tests/exact/test_seas.py::test_injection_makes_a_fault_slip_as_in_a_submission

    Examples
    --------
    >>> import stiction as st
    >>> fault = st.faults.InjectedFault(cells=1000).assembled()
    >>> round(float(fault.pore_pressure(8.64e6).max()) / 1e6, 2)  # when injection stops [MPa]
    6.43
    """

    cells: Annotated[int, CELLS] = 1000
    length: Annotated[float, Positive("m", _WHY)] = 40e3
    a: Annotated[float, Positive("1", _WHY)] = 0.007
    b: Annotated[float, Positive("1", _WHY)] = 0.005
    slip_length: Annotated[float, Positive("m", _WHY)] = 0.004
    normal_stress: Annotated[float, Positive("Pa", _WHY)] = 50e6
    stress_start: Annotated[float, Positive("Pa", _WHY)] = 29.2e6
    speed_start: Annotated[float, Positive("m/s", _WHY)] = 1e-12
    rate: Annotated[float, Positive("m/s", _WHY)] = 1.25e-6
    until: Annotated[float, Positive("s", _WHY)] = 8.64e6
    diffusivity: Annotated[float, Positive("m^2/s", _WHY)] = 0.1
    storage: Annotated[float, Positive("1/Pa", _WHY)] = 1e-9

    def assembled(self) -> Fault:
        """Return the fault with parameters for every cell."""
        need = self.stress_start / self.normal_stress
        age = _state_at(need, self.speed_start, np.array([self.a]), self.b, self.slip_length)
        return Fault(
            AgeingLaw(a=self.a, b=self.b, length=self.slip_length, mu0=_MU0, speed0=_SPEED0),
            cells=self.cells,
            length=self.length,
            normal_stress=self.normal_stress,
            plate_speed=0.0,
            surface="none",
            speed_start=self.speed_start,
            state_start=float(age[0]),
            injection=Injection(
                rate=self.rate,
                place=0.5 * self.length,
                diffusivity=self.diffusivity,
                storage=self.storage,
                until=self.until,
            ),
        )


def _state_at(
    friction: float, speed: float, a: npt.NDArray[np.float64], b: float, length: float
) -> npt.NDArray[np.float64]:
    """Return the state [s] at which the coefficient is `friction` at this speed [m/s]."""
    # ln(2 sinh(x)) without overflow
    power = friction / a
    log_sinh = power + np.log1p(-np.exp(-2.0 * power))
    log_age = (a * (math.log(_SPEED0 / speed) + log_sinh) - _MU0) / b
    return np.asarray(length / _SPEED0 * np.exp(log_age))

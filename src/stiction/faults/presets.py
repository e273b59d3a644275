"""Faults with the parameters of two SEAS benchmarks: earthquake cycles, and slip by injection.

SEAS is the comparison of codes for sequences of earthquakes and aseismic slip.

Source: Erickson et al. 2020, Seismol. Res. Lett. 91, 874 (BP1-QD); Lambert and Dunham 2021
(BP6-QD-A).
"""

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

# mu0 [1] and reference speed V0 [m/s] of both benchmarks
_MU0, _SPEED0 = 0.6, 1e-6
_WHY = "all parameters of the benchmark are positive."


@dataclass(frozen=True, eq=False, repr=False)
class StrikeSlipFault(FaultSystem):
    """A vertical strike-slip fault below a free surface, 40 km deep: the benchmark BP1-QD.

    Friction is velocity-weakening (a < b) down to `seismic_depth` and velocity-strengthening below
    `seismic_depth + transition`; between them a is linear in depth. Initially all cells slip at
    the plates' speed, under the stress of steady sliding of the deepest cells.

    Parameters
    ----------
    cells : number of cells; 1600 give the benchmark's 25 m
    length : of the line [m]
    seismic_depth, transition : depth of the velocity-weakening zone, and length of the transition
        below [m]
    a_shallow, a_deep : a, coefficient of the direct effect, in the two zones [1]
    b : coefficient of the state effect [1]
    slip_length : characteristic slip distance L [m]
    normal_stress : [Pa]
    plate_speed : relative speed of the plates [m/s]

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
        depths = [self.seismic_depth, self.seismic_depth + self.transition]
        a = np.interp(depth, depths, [self.a_shallow, self.a_deep])
        # mu of steady sliding, theta = L / V, of the deepest cells
        deep = AgeingLaw(float(a[-1]), self.b, self.slip_length, _MU0, _SPEED0)
        mu = float(deep.coefficient(plates, deep.steady_state(plates)))
        return Fault(
            AgeingLaw(a=a, b=self.b, length=self.slip_length, mu0=_MU0, speed0=_SPEED0),
            cells=n,
            length=self.length,
            normal_stress=sigma,
            plate_speed=plates,
            speed_start=plates,
            state_start=_state_at(mu, plates, a, self.b, self.slip_length),
        )


@dataclass(frozen=True, eq=False, repr=False)
class InjectedFault(FaultSystem):
    """A fault in a whole space with injection of fluid at its middle: the benchmark BP6-QD-A.

    Friction is velocity-strengthening (a > b) everywhere, so slip remains slow. The far sides are
    fixed. Initially all cells slip at `speed_start` under the stress `stress_start`.

    Parameters
    ----------
    cells : number of cells; 4000 give the benchmark's 10 m
    length : of the line [m]
    a, b : coefficients of the direct effect and of the state effect [1]
    slip_length : characteristic slip distance L [m]
    normal_stress : before injection [Pa]
    stress_start : initial shear stress without radiation damping [Pa]
    speed_start : initial slip speed [m/s]
    rate : injected volume per time and per area of the cross-section of the fault [m/s]
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
        mu = self.stress_start / self.normal_stress
        state = _state_at(mu, self.speed_start, np.array([self.a]), self.b, self.slip_length)
        return Fault(
            AgeingLaw(a=self.a, b=self.b, length=self.slip_length, mu0=_MU0, speed0=_SPEED0),
            cells=self.cells,
            length=self.length,
            normal_stress=self.normal_stress,
            plate_speed=0.0,
            surface="none",
            speed_start=self.speed_start,
            state_start=float(state[0]),
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
    """Return (n,) states theta [s] at which mu(speed, theta) = `friction`, for (n,) values of a.

    Inverts the regularised law: theta = (L / V0) exp((a ln(2 (V0 / V) sinh(mu / a)) - mu0) / b).
    `length` is L [m], `speed` V [m/s].
    """
    # ln(2 sinh(mu / a)) without overflow
    ratio = friction / a
    log_sinh = ratio + np.log1p(-np.exp(-2.0 * ratio))
    log_state = (a * (math.log(_SPEED0 / speed) + log_sinh) - _MU0) / b
    return np.asarray(length / _SPEED0 * np.exp(log_state))

"""Systems under rate-and-state friction: a spring slider, and a fault of many cells."""

from __future__ import annotations

import abc
import functools
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Count, Declared, Finite, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.faults.injection import Injection
from stiction.faults.pressure_kernels import Fluid, pressures
from stiction.faults.stiffness import SURFACES, Convolution, dense
from stiction.laws.rate_and_state import AgeingLaw, RateAndState
from stiction.numerics.arrays import Table
from stiction.numerics.checks import Numbers

__all__ = ["CELLS", "Cells", "Fault", "FaultSystem", "SpringSlider"]

Floats = npt.NDArray[np.float64]

# number of cells up to which a dense product is faster than Fourier transforms
DENSE = 96

_WHY_START = "a run starts from a speed and a state."
_WHY_STRESS = "the elastic stress depends on it."
_WHY_BALANCE = "it belongs to the balance of stress."
_TRY_CELLS = "give one number for all cells, > 0."
# memory of a cell: its parameters and its part of the stages
CELLS = Count(2, "the fault is divided into cells.", "give a number such as 256.", each=8.0 * 80)
_LAW = Part(
    "cells slide under it.",
    "give AgeingLaw(a=0.01, b=0.015, length=1e-5).",
    "AgeingLaw(...) or SlipLaw(...)",
)
_PRESSED = Positive("Pa", "cells are pressed together.", _TRY_CELLS, per="cell")
_SPEED_START = Positive("m/s", _WHY_START, _TRY_CELLS, per="cell")
_STATE_START = Positive("s", _WHY_START, _TRY_CELLS, per="cell")
_SURFACE = Choice(SURFACES, "it selects the elastic stiffness.", "leave it out for a free one.")
_POISSON = Finite("", "G / (1 - nu) is stiffness.", "give 0.25.", above=-1.0, below=1.0)
_INJECTION = Part(
    "it raises the pore pressure of the cells.", "leave it out.", "Injection(...) or None"
)


class FaultSystem(Declared, abc.ABC):
    """Base class of systems under rate-and-state friction."""

    default_method: ClassVar[str] = "Cycles"

    @abc.abstractmethod
    def assembled(self) -> Cells:
        """Return the system as cells with their parameters."""

    @property
    def state_size(self) -> int:
        """Numbers in one saved state."""
        return 4 * self.assembled().n + 2


class Cells(FaultSystem):
    """Base class of fault and slider: cells under rate-and-state friction, without inertia.

    The shear stress of a cell is sigma mu(V, theta) + eta V: friction and radiation damping; sigma
    is the normal stress less the pore pressure. Slip never stops.
    """

    # energies are per area for a slider, per length for a fault
    energy_unit: ClassVar[str]
    # whether the line begins at the surface, so that places along it are depths
    surface: str = "none"

    law: Annotated[RateAndState, _LAW]
    plate_speed: float

    def __post_init__(self) -> None:
        super().__post_init__()
        # raises an error if lists of the law have a wrong length
        self.law.spread(self.n)

    @property
    def lengths(self) -> dict[str, int]:
        """Number of cells."""
        return {"cell": self.n}

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """Number of cells."""

    @property
    @abc.abstractmethod
    def width(self) -> float:
        """Of one cell [m]; 1 for a slider, whose energies are per area."""

    @property
    @abc.abstractmethod
    def damping(self) -> float:
        """Radiation damping, eta [Pa s/m]."""

    @abc.abstractmethod
    def stiffness(self) -> Floats | Convolution:
        """Stress due to slip [Pa/m]: a matrix (n, n), or a convolution."""

    def assembled(self) -> Cells:
        """Return itself."""
        return self

    @property
    def sigma(self) -> Floats:
        """(n,) normal stresses without pore pressure, positive in compression [Pa]."""
        return np.full(self.n, getattr(self, "normal_stress"))  # noqa: B009

    @property
    def fluid(self) -> Table[Fluid]:
        """Fluid that is injected: one element, or none."""
        return Fluid.table(0)

    def pore_pressure(self, time: npt.ArrayLike) -> Floats:
        """Return mean pore pressures of the cells, relative to those before injection [Pa].

        Parameters
        ----------
        time : (...) [s]; the pressures have one axis more, (..., n)
        """
        at, fluid = np.asarray(time, dtype=np.float64), self.fluid
        pressure = np.zeros((at.size, self.n))
        if len(fluid):
            rate = np.zeros(self.n)
            for mean, t in zip(pressure, at.ravel().tolist(), strict=True):
                pressures(t, fluid, mean, rate)
        return pressure.reshape(*at.shape, self.n)

    def start(self) -> tuple[Floats, Floats]:
        """Return (n,) speeds [m/s] and states [s] at the start."""
        speed = getattr(self, "speed_start")  # noqa: B009
        age = getattr(self, "state_start")  # noqa: B009
        v = np.full(self.n, self.plate_speed if speed is None else speed, dtype=np.float64)
        theta = self.law.spread(self.n)["length"] / v
        return v, theta if age is None else np.full(self.n, age, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class SpringSlider(Cells):
    """One cell pulled by a spring whose end moves at constant speed.

    Parameters
    ----------
    law : AgeingLaw or SlipLaw
    normal_stress : [Pa]
    spring : stiffness per area [Pa/m]
    plate_speed : of the end of the spring [m/s]
    impedance : radiation damping, eta = G / (2 c_s) [Pa s/m]
    speed_start : [m/s]; None takes the plate's
    state_start : theta at the start [s]; None takes that of steady sliding

    Source: Ruina 1983; Rice 1993 for the damping by radiation.
    Verified by: tests/exact/test_spring_slider.py::test_the_frozen_cycle

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.AgeingLaw(a=0.010, b=0.015, length=1e-5)
    >>> slider = st.faults.SpringSlider(law, normal_stress=5e6, spring=1e9)
    >>> slider.spring < 5e6 * (law.b - law.a) / law.length  # softer than critical: it stick-slips
    True
    """

    energy_unit: ClassVar[str] = "J/m^2"
    fewest_saves: ClassVar[int] = 2

    law: RateAndState = field(default_factory=AgeingLaw)
    normal_stress: Annotated[float, _PRESSED] = 5e6
    spring: Annotated[float, Positive("Pa/m", _WHY_BALANCE)] = 2e9
    plate_speed: Annotated[float, Positive("m/s", "its end loads the slider.")] = 1e-6
    impedance: Annotated[float, NonNegative("Pa s/m", _WHY_BALANCE)] = 0.0
    speed_start: Annotated[float | None, _SPEED_START] = None
    state_start: Annotated[float | None, _STATE_START] = None

    @property
    def n(self) -> int:
        """One cell."""
        return 1

    @property
    def width(self) -> float:
        """One: energies are per area."""
        return 1.0

    @property
    def damping(self) -> float:
        """The impedance [Pa s/m]."""
        return self.impedance

    def stiffness(self) -> Floats:
        """Return minus the spring [Pa/m]."""
        return np.array([[-self.spring]])

    @property
    def critical_stiffness(self) -> float:
        """Stiffness below which steady sliding is unstable [Pa/m].

        k_c = ((b - a) sigma - eta V) / L for both laws; negative if steady sliding is always
        stable.

        Source: Ruina 1983; Rice and Ruina 1983; with damping by linearisation.
        Verified by: tests/exact/test_spring_slider.py::test_growth_vanishes_at_the_boundary
        """
        p = self.law.spread(1)
        drop = (p["b"] - p["a"])[0] * self.normal_stress
        return float((drop - self.impedance * self.plate_speed) / p["length"][0])


@dataclass(frozen=True, eq=False, repr=False)
class Fault(Cells):
    """A line of cells in an elastic body whose far sides move at constant relative speed.

    Slip is antiplane, or in the plane with `poisson`. Beyond the line the fault slips at the
    plates' speed, which is 0 for fixed far sides. Of waves only radiation damping is modelled: the
    problem is quasi-dynamic. With `injection` the normal stress is reduced by the pore pressure.

    Parameters
    ----------
    law : AgeingLaw or SlipLaw; a, b, length, mu0 are numbers, or one per cell
    cells : their number
    length : of the line [m]
    normal_stress : without the pore pressure of an injection [Pa], a number or one per cell
    shear_modulus : [Pa]
    shear_speed : of shear waves [m/s]; None for no radiation damping
    plate_speed : [m/s]; 0 if only the initial stress and injection load the fault
    surface : "free" beside the first cell, "none" in a whole space, or "periodic"
    poisson : Poisson's ratio of slip in the plane [1]; None is antiplane
    speed_start : [m/s], a number or one per cell; None takes the plates'
    state_start : theta at the start [s]; None takes that of steady sliding; a number or one per
        cell
    injection : Injection of fluid; None leaves the normal stress constant

    Source: Rice 1993, J. Geophys. Res. 98, 9885; Erickson et al. 2020 for the benchmark BP1-QD.
    Verified by: tests/unit/faults/test_cycles.py::test_a_fault_that_slips_as_one_is_a_slider;
        tests/exact/test_seas.py::test_injection_makes_a_fault_slip_as_in_a_submission

    Examples
    --------
    >>> import stiction as st
    >>> fault = st.faults.Fault(cells=64, length=32e3, surface="periodic")
    >>> fault.length / fault.cells  # [m]
    500.0
    """

    energy_unit: ClassVar[str] = "J/m"

    law: RateAndState = field(default_factory=AgeingLaw)
    cells: Annotated[int, CELLS] = 256
    length: Annotated[float, Positive("m", _WHY_STRESS)] = 40e3
    normal_stress: Annotated[Numbers, _PRESSED] = 50e6
    shear_modulus: Annotated[float, Positive("Pa", _WHY_STRESS)] = 32.04e9
    shear_speed: Annotated[float | None, Positive("m/s", _WHY_STRESS)] = 3464.0
    plate_speed: Annotated[float, NonNegative("m/s", "plates load the fault.")] = 1e-9
    surface: Annotated[str, _SURFACE] = "free"
    poisson: Annotated[float | None, _POISSON] = None
    speed_start: Annotated[Numbers | None, _SPEED_START] = None
    state_start: Annotated[Numbers | None, _STATE_START] = None
    injection: Annotated[Injection | None, _INJECTION] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.poisson is not None and self.surface == "free":
            got, needs = "a number beside surface = 'free'", "None, or another surface"
            why = "an image alone does not make a surface traction-free in plane strain."
            raise ModelError("Fault.poisson", got, needs, why, "leave one of them out.")
        if self.plate_speed == 0.0 and self.speed_start is None:
            needs, try_ = "a speed if the plates are fixed", "give 1e-12."
            raise ModelError("Fault.speed_start", "None", needs, _WHY_START, try_)

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.cells

    @property
    def fluid(self) -> Table[Fluid]:
        """Fluid that is injected: one element, or none."""
        return Fluid.table(0) if self.injection is None else self.injection.fluid(self.width)

    @property
    def width(self) -> float:
        """Of one cell [m]."""
        return self.length / self.cells

    @property
    def damping(self) -> float:
        """G / (2 c_s) [Pa s/m]."""
        if self.shear_speed is None:
            return 0.0
        return 0.5 * self.shear_modulus / self.shear_speed

    @property
    def modulus(self) -> float:
        """G, or G / (1 - nu) in the plane [Pa]."""
        return self.shear_modulus / (1.0 - (self.poisson or 0.0))

    def stiffness(self) -> Floats | Convolution:
        """Return the stiffness [Pa/m]: a matrix for few cells, a convolution for many."""
        if self.cells <= DENSE:
            return dense(self.cells, self.width, self.modulus, self.surface)
        return Convolution(self.cells, self.width, self.modulus, self.surface)

    @functools.cached_property
    def process_zone(self) -> float:
        """Smallest length of the process zone at a rupture front, G L / (b sigma) [m].

        Source: Rice 1993; Rubin and Ampuero 2005 (their L_b).
        """
        p = self.law.spread(self.n)
        with np.errstate(divide="ignore"):
            zone = self.modulus * p["length"] / (p["b"] * self.sigma)
        return float(zone.min())

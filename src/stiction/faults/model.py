"""Systems under rate-and-state friction: a spring slider, and a fault of many cells.

Every cell satisfies sigma mu(V, theta) + eta V = tau0 + sum_j K_ij s_j: effective normal stress
sigma, slip speed V, state theta, radiation damping eta, initial shear stress tau0, stiffness K,
and slip s relative to the plates. Friction is mu = mu0 + a ln(V / V0) + b ln(theta V0 / L), or its
regularised form (`laws.rate_and_state`). K is negative on its diagonal: slip unloads a cell. Units
are SI.

Source: Ruina 1983, J. Geophys. Res. 88, 10359; Rice 1993, J. Geophys. Res. 98, 9885.
"""

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

# largest number of cells for which a dense product is faster than Fourier transforms
DENSE = 96

_WHY_START = "a run starts from a speed and a state."
_WHY_STRESS = "the elastic stress depends on this value."
_WHY_BALANCE = "the balance of stress contains this value."
_TRY_CELLS = "give one number for all cells, > 0."
# memory of a cell [bytes], 80 numbers: its parameters and its components of the stages
CELLS = Count(2, "the fault is divided into cells.", "give a number such as 256.", each=8.0 * 80)
_LAW = Part(
    "cells slide under this friction law.",
    "give AgeingLaw(a=0.01, b=0.015, length=1e-5).",
    "AgeingLaw(...) or SlipLaw(...)",
)
_PRESSED = Positive("Pa", "the surfaces of a cell are pressed together.", _TRY_CELLS, per="cell")
_SPEED_START = Positive("m/s", _WHY_START, _TRY_CELLS, per="cell")
_STATE_START = Positive("s", _WHY_START, _TRY_CELLS, per="cell")
_SURFACE = Choice(
    SURFACES,
    "the elastic stiffness depends on this surface.",
    "leave this value out for a free surface.",
)
_POISSON = Finite(
    "", "the strain energy of a body is positive for -1 < nu < 1/2, and nu = 1/2 is the "
    "incompressible limit.", "give 0.25.",
    above=-1.0, most=0.5,
)  # fmt: skip
_INJECTION = Part(
    "injection raises the pore pressure of the cells.",
    "leave this value out.",
    "Injection(...) or None",
)


class FaultSystem(Declared, abc.ABC):
    """Base class of systems under rate-and-state friction."""

    default_method: ClassVar[str] = "Cycles"

    @abc.abstractmethod
    def assembled(self) -> Cells:
        """Return the system as a slider or a fault, with parameters for every cell."""

    @property
    def state_size(self) -> int:
        """Length of a state vector, 4 n + 2.

        n values each of ln V, ln theta, relative slip and heat, then two energies; see
        `rate_kernels.rates`.
        """
        return 4 * self.assembled().n + 2


class Cells(FaultSystem):
    """Base class of `Fault` and `SpringSlider`: n cells under rate-and-state friction.

    The shear stress of a cell is sigma mu(V, theta) + eta V: friction and radiation damping. The
    effective normal stress sigma is the normal stress less the pore pressure. Inertia is
    neglected. The slip speed V is always positive.
    """

    # energies are per area for a slider, per length for a fault
    energy_unit: ClassVar[str]
    # "free" if the line begins at a free surface: then distances along it are depths
    surface: str = "none"

    law: Annotated[RateAndState, _LAW]
    plate_speed: float

    def __post_init__(self) -> None:
        super().__post_init__()
        # raises an error if lists of the law have a wrong length
        self.law.spread(self.n)

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of lists by the noun of their entries: n for those of cells."""
        return {"cell": self.n}

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """Number of cells."""

    @property
    @abc.abstractmethod
    def width(self) -> float:
        """Width of a cell [m]; 1 for a slider, whose energies are per area."""

    @property
    @abc.abstractmethod
    def damping(self) -> float:
        """Radiation damping eta, shear stress per slip speed [Pa s/m]."""

    @abc.abstractmethod
    def stiffness(self) -> Floats | Convolution:
        """Return shear stress per slip [Pa/m]: a matrix (n, n), or a `Convolution`."""

    def assembled(self) -> Cells:
        """Return this system: its cells have their parameters."""
        return self

    @property
    def sigma(self) -> Floats:
        """(n,) normal stresses without pore pressure, compression > 0 [Pa]."""
        # a field of both subclasses
        return np.full(self.n, getattr(self, "normal_stress"))  # noqa: B009

    @property
    def fluid(self) -> Table[Fluid]:
        """Parameters of the injected fluid: a table of one element, or of none."""
        return Fluid.table(0)

    def pore_pressure(self, time: npt.ArrayLike) -> Floats:
        """Return (..., n) mean pore pressures of the cells, 0 before injection [Pa].

        Parameters
        ----------
        time : (...) [s]
        """
        at, fluid = np.asarray(time, dtype=np.float64), self.fluid
        pressure = np.zeros((at.size, self.n))
        if len(fluid):
            rate = np.zeros(self.n)
            for mean, t in zip(pressure, at.ravel().tolist(), strict=True):
                pressures(t, False, fluid, mean, rate)
        return pressure.reshape(*at.shape, self.n)

    def start(self) -> tuple[Floats, Floats]:
        """Return (n,) slip speeds [m/s] and (n,) states theta [s] at the start."""
        # fields of both subclasses
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
    normal_stress : compression > 0 [Pa]
    spring : stiffness per area [Pa/m]
    plate_speed : of the end of the spring [m/s]
    impedance : radiation damping, eta = G / (2 c_s) with shear modulus G and shear-wave speed c_s
        [Pa s/m]
    speed_start : initial slip speed [m/s]; None means `plate_speed`
    state_start : initial state theta [s]; None means L / V, that of steady sliding

    Source: Ruina 1983; Rice 1993 for the radiation damping.
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
    plate_speed: Annotated[
        float, Positive("m/s", "the plate loads the slider through the spring.")
    ] = 1e-6
    impedance: Annotated[float, NonNegative("Pa s/m", _WHY_BALANCE)] = 0.0
    speed_start: Annotated[float | None, _SPEED_START] = None
    state_start: Annotated[float | None, _STATE_START] = None

    @property
    def n(self) -> int:
        """Number of cells, 1."""
        return 1

    @property
    def width(self) -> float:
        """Width of the cell, 1: energies are per area."""
        return 1.0

    @property
    def damping(self) -> float:
        """Radiation damping, `impedance` [Pa s/m]."""
        return self.impedance

    def stiffness(self) -> Floats:
        """Return the (1, 1) stiffness, minus that of the spring [Pa/m]: slip unloads it."""
        return np.array([[-self.spring]])

    @property
    def critical_stiffness(self) -> float:
        """Stiffness below which steady sliding is unstable [Pa/m].

        k_c = ((b - a) r sigma - eta V) / L at V = `plate_speed`, for both laws. It is negative if
        steady sliding is always stable. r = u / sqrt(1 + u^2), with mu = a arsinh(u), is 1 but for
        small mu / a; without regularisation it is 1.

        Source: Ruina 1983; Rice and Ruina 1983; the term of eta by linearisation.
        Verified by: tests/exact/test_spring_slider.py::test_growth_vanishes_at_the_boundary
        """
        law, v = self.law, self.plate_speed
        p = law.spread(1)
        drop = (p["b"] - p["a"])[0] * self.normal_stress
        if law.regularised:
            drop *= np.tanh(law.coefficient(v, law.steady_state(v)).item() / p["a"][0])
        return float((drop - self.impedance * self.plate_speed) / p["length"][0])


@dataclass(frozen=True, eq=False, repr=False)
class Fault(Cells):
    """A line of cells in an elastic body whose far sides move at constant relative speed.

    Slip is antiplane (mode III); with `poisson` it is in-plane (mode II, plane strain). Beyond the
    line the fault slips at the plates' speed, which is 0 for fixed far sides. The problem is
    quasi-dynamic: radiation damping replaces inertia. With `injection` the pore pressure reduces
    the normal stress.

    Parameters
    ----------
    law : AgeingLaw or SlipLaw; a, b, length, mu0 are numbers, or one per cell
    cells : number n of cells
    length : of the line [m]
    normal_stress : without the pore pressure of an injection [Pa], a number or one per cell
    shear_modulus : G [Pa]
    shear_speed : c_s, speed of shear waves [m/s]; None for no radiation damping
    plate_speed : relative speed of the plates [m/s]; 0 if only the initial stress and injection
        load the fault
    surface : "free": a free surface beside the first cell; "none": a whole space; "periodic": slip
        repeats after n cells
    poisson : Poisson's ratio nu of in-plane slip [1]; None means antiplane slip
    speed_start : initial slip speed [m/s], a number or one per cell; None means `plate_speed`
    state_start : initial state theta [s], a number or one per cell; None means L / V, that of
        steady sliding
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
            got, needs = "a number with surface = 'free'", "None, or another surface"
            why = "in plane strain an image of the slip does not make the surface traction-free."
            try_ = "leave out poisson, or give surface='none'."
            raise ModelError("Fault.poisson", got, needs, why, try_)
        if self.plate_speed == 0.0 and self.speed_start is None:
            needs, try_ = "a speed > 0 [m/s] if the plates are fixed", "give 1e-12."
            raise ModelError("Fault.speed_start", "None", needs, _WHY_START, try_)

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.cells

    @property
    def fluid(self) -> Table[Fluid]:
        """Parameters of the injected fluid: a table of one element, or of none."""
        return Fluid.table(0) if self.injection is None else self.injection.fluid(self.width)

    @property
    def width(self) -> float:
        """Width of a cell [m]."""
        return self.length / self.cells

    @property
    def damping(self) -> float:
        """Radiation damping eta = G / (2 c_s) [Pa s/m]; 0 without `shear_speed`."""
        if self.shear_speed is None:
            return 0.0
        return 0.5 * self.shear_modulus / self.shear_speed

    @property
    def modulus(self) -> float:
        """Modulus of the stiffness [Pa]: G, or G / (1 - nu) of in-plane slip."""
        return self.shear_modulus / (1.0 - (self.poisson or 0.0))

    def stiffness(self) -> Floats | Convolution:
        """Return the stiffness [Pa/m]: a matrix (n, n) for few cells, else a convolution."""
        if self.cells <= DENSE:
            return dense(self.cells, self.width, self.modulus, self.surface)
        return Convolution(self.cells, self.width, self.modulus, self.surface)

    @functools.cached_property
    def process_zone(self) -> float:
        """Smallest length of the process zone at a rupture front, G' L / (b sigma) [m].

        G' is `modulus`, L the law's `length`; the normal stress sigma is that without fluid.

        Source: Rice 1993; Rubin and Ampuero 2005 (their L_b).
        """
        p = self.law.spread(self.n)
        with np.errstate(divide="ignore"):
            zone = self.modulus * p["length"] / (p["b"] * self.sigma)
        return float(zone.min())

"""Injection of fluid at a point of a fault, which raises the pore pressure of its cells.

The pressure p follows from one-dimensional diffusion along the fault, in closed form
(`pressure_kernels`): dp/dt = alpha d2p/dz2 + (q / S) delta(z), with diffusivity alpha, injection
rate q, storage S and the distance z from the injection point. `model.Fault` has an `Injection` as a
field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from stiction.core.fields import Declared, NonNegative, Positive
from stiction.faults.pressure_kernels import Fluid
from stiction.numerics.arrays import Table

__all__ = ["Injection"]

_WHY = "the pore pressure depends on this value."


@dataclass(frozen=True, eq=False, repr=False)
class Injection(Declared):
    """Fluid injected at a constant rate, which diffuses along the fault and raises pore pressure.

    Injection begins at t = 0. The fluid diffuses along an unbounded line that contains the fault.

    Parameters
    ----------
    rate : injected volume per time and per area of the cross-section of the fault [m/s]
    place : distance of the injection point from the start of the first cell [m]
    diffusivity : of pore pressure along the fault [m^2/s]
    storage : porosity times the compressibility of fluid and pores [1/Pa]
    until : end of injection [s]; None for no end

    Source: Lambert and Dunham 2021, SEAS benchmark BP6-QD, eqs. (20), (26) and (27).
    Verified by: tests/exact/test_injection.py::test_the_pressure_diffuses

    Examples
    --------
    >>> import stiction as st
    >>> well = st.faults.Injection(rate=1.25e-6, place=20e3, until=8.64e6)
    >>> fault = st.faults.Fault(cells=64, surface="none", injection=well)
    >>> bool(fault.pore_pressure(8.64e6).max() < 50e6)  # below the normal stress: it stays closed
    True
    """

    rate: Annotated[float, Positive("m/s", _WHY)] = 1.25e-6
    place: Annotated[float, NonNegative("m", _WHY)] = 20e3
    diffusivity: Annotated[float, Positive("m^2/s", _WHY)] = 0.1
    storage: Annotated[float, Positive("1/Pa", _WHY)] = 1e-9
    until: Annotated[float | None, Positive("s", _WHY)] = None

    def fluid(self, width: float) -> Table[Fluid]:
        """Return the parameters as a table of one element, for cells of this width [m]."""
        fluid = Fluid.table()
        it = fluid[0]
        it.source, it.diffusivity = self.rate / self.storage, self.diffusivity
        it.until = math.inf if self.until is None else self.until
        it.place, it.width = self.place, width
        return fluid

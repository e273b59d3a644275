"""How friction was measured: what is moved, what is felt, and what of it is not known."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from stiction.core.fields import Count, Declared, Finite, NonNegative, Positive
from stiction.errors import ModelError
from stiction.io.scenario import Scenario, read_scenario

__all__ = ["PLACE", "Free", "ImposedSlip", "Rig", "Simulated", "SpringDrive"]

# a name, or a place in what stands under it
PLACE = re.compile(r"(\w+)(?:\[(\d+)\])?")

_WHY, _TRY = "it belongs to the rig.", "give a number, or Free() to fit it."
_ROWS = Count(10, "the force is straight between them.", "leave it out.", most=100_000)


@dataclass(frozen=True, eq=False, repr=False)
class Free(Declared):
    """A number that is fitted.

    Parameters
    ----------
    start : where the search begins; None finds a place from the data
    low, high : bounds it must keep
    """

    start: Annotated[float | None, Finite("", "a search begins there.")] = None
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            got, why = f"{self.low:g} to {self.high:g}", "nothing lies between these bounds."
            raise ModelError("Free.low", got, "low < high", why, "leave them out.")
        if self.start is not None and not self.low <= self.start <= self.high:
            needs, why = f"from {self.low:g} to {self.high:g}", "it must keep its own bounds."
            raise ModelError("Free.start", self.start, needs, why, "leave it out.")


class Rig(Declared):
    """What all rigs share: the measured force has an offset, and drifts.

    `offset` and `drift` are fitted unless a number is given, each with a value of its own for each
    curve.
    """

    offset: Annotated[float | Free, Finite("N", _WHY, _TRY)]
    drift: Annotated[float | Free, Finite("N/s", _WHY, _TRY)]


@dataclass(frozen=True, eq=False, repr=False)
class ImposedSlip(Rig):
    """The slip itself is imposed and measured; the force is that of friction.

    A velocity-step test on a stiff machine, a sliding block on a driven stage, a loop of force
    against displacement, friction against velocity.

    Parameters
    ----------
    offset : of the force [N]
    drift : of the force [N/s]; per row where no time was measured
    rest : speed below which a row counts as stick [m/s]. Such a row bounds what stick carries
        from below, and says nothing else

    Verified by: tests/exact/test_fits.py::test_noiseless_data_give_the_law_back
    """

    offset: float | Free = field(default_factory=Free)
    drift: float | Free = field(default_factory=Free)
    rest: Annotated[float, NonNegative("m/s", _WHY, _TRY)] = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class SpringDrive(Rig):
    """A slider is pulled by a spring whose end is moved; the force is that of the spring.

    Parameters
    ----------
    stiffness : of the spring, or of the whole rig [N/m]
    mass : of what slides [kg]; 0 where it is too small to matter
    impedance : force per slip speed that waves carry away [N s/m], for rate and state
    force_start : of the spring at the first row [N]
    offset : of the measured force [N]
    drift : of the measured force [N/s]

    Verified by: tests/exact/test_fits.py::test_a_pulled_slider_against_the_chain

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> time, mu = np.linspace(0.0, 0.5, 26), 0.3
    >>> end = 0.1 * time  # of the spring [m]
    >>> pull = np.minimum(10.0 * end, mu)  # it loads the slider, which then slides evenly
    >>> told = st.fits.Curve(force=pull, time=time, displacement=end, noise=0.01)
    >>> rig = st.fits.SpringDrive(stiffness=10.0, offset=0.0, drift=0.0)
    >>> round(float(st.fit(told, st.Coulomb, rig).law.mu), 3)
    0.3
    """

    stiffness: Annotated[float | Free, Positive("N/m", _WHY, _TRY)]
    mass: Annotated[float | Free, NonNegative("kg", _WHY, _TRY)] = 0.0
    impedance: Annotated[float, NonNegative("N s/m", _WHY, _TRY)] = 0.0
    force_start: Annotated[float | Free, Finite("N", _WHY, _TRY)] = 0.0
    offset: float | Free = field(default_factory=Free)
    drift: float | Free = field(default_factory=Free)


@dataclass(frozen=True, eq=False, repr=False)
class Simulated(Rig):
    """A run of a scenario stands for the test: a strip that is peeled, a cap that is sheared.

    Parameters
    ----------
    scenario : whose fields are fitted, by its name, its file, or itself; its numbers are where
        searches begin
    force : what the run saves that the curve's force is: a name, or a place in it as in "x[0]"
    along : what the run saves that the curve's displacement is, and that rises without turning;
        "time" for the curve's time
    rows : times of the run, evenly apart, between which the force is taken as straight
    offset : of the measured force [N]
    drift : of the measured force [N/s]; per row where no time was measured

    Verified by: tests/unit/fits/test_simulated.py::test_a_chain_gives_its_numbers_back
    """

    scenario: Scenario | str | Path
    force: str
    along: str = "time"
    rows: Annotated[int, _ROWS] = 400
    offset: float | Free = field(default_factory=Free)
    drift: float | Free = field(default_factory=Free)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.scenario, Scenario):
            object.__setattr__(self, "scenario", read_scenario(self.scenario))
        for name in ("force", "along"):
            given = getattr(self, name)
            if not (isinstance(given, str) and PLACE.fullmatch(given)):
                where, needs = f"Simulated.{name}", "a name, or a place such as x[0]"
                why = "it is read from what a run saves."
                raise ModelError(where, repr(given), needs, why, 'try "x[0]".')

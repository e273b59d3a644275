"""Test rigs: models of how friction was measured.

There are three: imposed slip, a slider that is pulled by a spring, and a simulated scenario. A
field of a rig that holds `Free` is fitted together with the parameters of the friction law.
`predicting.models` and `simulated` predict the force that each rig measures.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from stiction.core.fields import Count, Declared, Finite, NonNegative, Positive
from stiction.errors import ModelError
from stiction.io.scenario import Scenario, read_scenario
from stiction.numerics.checks import number

__all__ = ["PLACE", "Free", "ImposedSlip", "Rig", "Simulated", "SpringDrive"]

# a name, or a name with an index
PLACE = re.compile(r"(\w+)(?:\[(\d+)\])?")

_WHY, _TRY = "the model of the rig needs this value.", "give a number, or Free() to fit it."
_ROWS = Count(
    10,
    "the force is interpolated linearly between these rows.",
    "leave this value out.",
    most=100_000,
)


@dataclass(frozen=True, eq=False, repr=False)
class Free(Declared):
    """A value that is fitted, in place of a given number.

    Parameters
    ----------
    start : starting value of the search; None estimates it from the data
    low, high : bounds of the value
    """

    start: Annotated[float | None, Finite("", "a search begins at this value.")] = None
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            given = getattr(self, name)
            if not (isinstance(given, float) and math.isinf(given)):
                why, try_ = (
                    "the fitted value is bounded by this number.",
                    "leave this value out for no bound.",
                )
                given = number(f"Free.{name}", given, why=why, try_=try_)
                object.__setattr__(self, name, given)
        if not self.low < self.high:
            got, why = f"{self.low:g} to {self.high:g}", "no value lies between these bounds."
            raise ModelError("Free.low", got, "low < high", why, "leave the bounds out.")
        if self.start is not None and not self.low <= self.start <= self.high:
            needs, why = (
                f"a number from {self.low:g} to {self.high:g}",
                "a start lies within its bounds.",
            )
            raise ModelError("Free.start", self.start, needs, why, "leave `start` out.")


class Rig(Declared):
    """Base class of rigs: offset [N] and drift [N/s] of the measured force.

    The model of a measured force is friction + offset + drift (t - t_start). Unless a number is
    given, offset and drift are fitted, with one value for each curve.
    """

    offset: Annotated[float | Free, Finite("N", _WHY, _TRY)]
    drift: Annotated[float | Free, Finite("N/s", _WHY, _TRY)]


@dataclass(frozen=True, eq=False, repr=False)
class ImposedSlip(Rig):
    """The rig imposes and measures the slip; the measured force is the friction force.

    Examples are a velocity-step test on a stiff machine, a block on a driven stage, a loop of force
    over displacement, and friction measured over velocity.

    Parameters
    ----------
    offset : offset of the force [N]
    drift : drift of the force [N/s]; per row if no time was measured
    rest : speed up to which a row counts as stick [m/s]. The force of such a row is only a lower
        bound of the static friction

    Verified by: tests/exact/test_fits.py::test_noiseless_data_give_the_law_back
    """

    offset: float | Free = field(default_factory=Free)
    drift: float | Free = field(default_factory=Free)
    rest: Annotated[float, NonNegative("m/s", _WHY, _TRY)] = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class SpringDrive(Rig):
    """A spring pulls the slider; its other end is moved. The measured force is the spring force.

    Parameters
    ----------
    stiffness : stiffness of the spring, or of the whole rig [N/m]
    mass : mass of the slider [kg]; 0 if it is negligible
    impedance : radiation damping, force per slip speed [N s/m], for rate and state
    force_start : spring force at the first row [N]. Unless it is 0, the initial deflection of Dahl,
        LuGre and Bouc-Wen is that of this force, and `deflection_start` of the law is not used
    offset : offset of the measured force [N]
    drift : drift of the measured force [N/s]

    Verified by: tests/exact/test_fits.py::test_a_pulled_slider_against_the_chain

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> time, mu = np.linspace(0.0, 0.5, 26), 0.3
    >>> end = 0.1 * time  # of the spring [m]
    >>> pull = np.minimum(10.0 * end, mu)  # it loads the slider, which then slides steadily
    >>> curve = st.fits.Curve(force=pull, time=time, displacement=end, noise=0.01)
    >>> rig = st.fits.SpringDrive(stiffness=10.0, offset=0.0, drift=0.0)
    >>> round(float(st.fit(curve, st.Coulomb, rig).law.mu), 3)
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
    """A scenario simulates the test, such as the peeling of a strip or the shear of a cap.

    Parameters
    ----------
    scenario : the scenario whose fields are fitted: its name, its file, or a `Scenario`; its values
        are the starting point
    force : name of the saved quantity of the run that is compared with the measured force, such as
        "F_x" or "x[0]"
    along : name of the saved quantity that is compared with the measured displacement; it must be
        monotonic. "time" compares with the measured time
    rows : number of saved times, evenly spaced; the force is interpolated linearly between them
    offset : offset of the measured force [N]
    drift : drift of the measured force [N/s]; per row if no time was measured

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
        given: object = self.scenario
        if not isinstance(given, Scenario | str | Path):
            needs, why = "a scenario, its name or its file", "the rig simulates this scenario."
            try_ = 'for example read_scenario("baseline").'
            raise ModelError("Simulated.scenario", repr(given), needs, why, try_)
        if not isinstance(self.scenario, Scenario):
            object.__setattr__(self, "scenario", read_scenario(self.scenario))
        for name in ("force", "along"):
            given = getattr(self, name)
            if not (isinstance(given, str) and PLACE.fullmatch(given)):
                where, needs = f"Simulated.{name}", "a name, or a name with an index such as x[0]"
                why = "this field names a saved quantity of the run."
                raise ModelError(where, repr(given), needs, why, 'give "x[0]".')

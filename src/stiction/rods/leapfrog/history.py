"""Records of an integration of rods, from which `rods.outcome` builds the run.

The steppers of `leapfrog` and `midpoint` fill a `RodHistory` at the end; t is the number of saved
times, contacts the room for contacts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.core.run import Variable
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.numerics.arrays import Table
    from stiction.rods.leapfrog.impact_kernels import Event
    from stiction.rods.state.extremes_kernels import Extreme

__all__ = ["RodHistory"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RodHistory:
    """Samples at the saved times, events and extremes of one integration.

    Parameters
    ----------
    time : (t,) [s]
    position : (t, slots, 3) [m]
    energy : (t, 6) kinetic, stored, external work, viscous heat, impact loss, numerical dissipation
        [J]
    heat : (t, contacts) friction heat [J]
    momentum : (t, 6) linear and angular momentum [kg m/s, kg m^2/s]
    contact : name -> (t, contacts) or (t, contacts, 3) quantities of contacts
    events : events of contacts, see `impact_kernels.Event`
    pairs : (contacts, 2) numbers of the bodies of each contact, from 1
    first, ds : (bodies,) first slot of each body, and rest length of its elements [m]
    stats : counts and step lengths by name
    status, reason : why the integration ended
    checks : audit checks of the solver
    projected : kinetic energy removed at the start to satisfy the rolling constraint [J]
    overlap : (4,) largest penetration over the smaller radius [1], its time [s], numbers of both
        bodies
    parallel : (2,) sine of the angle at which rods became too parallel, and its time [s]; else (1,
        0)
    extremes : (contacts,) extreme values of each contact over all steps
    excess : sum of tangential impulses of rolling beyond their bounds, over all normal ones [1]
    given : positive work of friction, of all steps [J]
    rolling : largest slip velocity of a rolling contact, of all steps [m/s]
    state : motion, internal forces, reactions and constants by name, see `state.record`
    """

    time: Floats
    position: Floats
    energy: Floats
    heat: Floats
    momentum: Floats
    contact: dict[str, Floats]
    events: Table[Event]
    pairs: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    ds: Floats
    stats: dict[str, int | float]
    status: Status
    reason: str
    checks: tuple[Check, ...]
    projected: float
    overlap: Floats
    parallel: Floats
    extremes: Table[Extreme]
    excess: float = 0.0
    given: float = 0.0
    rolling: float = 0.0
    state: dict[str, Variable] = field(default_factory=dict)

"""Records of a run of rods, before the outcome gives them names, units and a ledger."""

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
    """Samples at the saved times, events and extremes of one run of the leapfrog.

    Parameters
    ----------
    time : (t,) [s]
    position : (t, slots, 3) [m]
    energy : (t, 6) kinetic, stored, external work, viscous heat, impact loss, algorithmic [J]
    heat : (t, contacts) friction heat [J]
    momentum : (t, 6) linear and angular momentum
    contact : name -> (t, contacts) or (t, contacts, 3)
    events : as `impact_kernels` describes them
    pairs : (contacts, 2) numbers of the rods of each contact, from 1
    overlap : largest penetration of two bodies over the smaller radius, its time [s], their numbers
    excess : tangential impulses of steps in rolling beyond their bounds, over all normal ones [1]
    given : work that friction did on what slips, of all steps [J]
    extremes : (contacts,) extreme values of each contact over all steps
    rolling : largest slip velocity of a contact that rolls, of all steps [m/s]
    state : motion, inner forces, reactions and constants by name, see `state.record`
    parallel : sine of the angle at which rods came too near to parallel, and when [s]; 1 and 0
    first, ds : (bodies,) first slot of each rod or partner, and the length of its elements [m]
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

"""Systems of rods that several tests share: two crossed rods, of which one moves."""

import numpy as np

from stiction.rods.centreline import Straight
from stiction.rods.contact.model import RollingContact
from stiction.rods.model import Rods
from stiction.rods.rod import Clamped, CosseratRod, SineSpin, SineVelocity
from stiction.rods.section import CircularSection

ALONG = np.array([1.0, 0.0, 0.0])
ACROSS = np.array([0.0, 1.0, 0.0])
UP = np.array([0.0, 0.0, 1.0])
OTHER = np.array([0.5, np.sqrt(3.0) / 2.0, 0.0])


def held():
    """Return a clamp that holds the whole last element, as the reference case does."""
    return Clamped(hold="element")


SECTION = CircularSection(radius=0.02, young=1e6, poisson=0.5, density=1000.0)


def crossed_rods(
    elements=40, end=held, lift=0.0, stretch=1.02, motion=None, amplitude=1.0, **contact
):
    """Return case G of the reference numbers, or a variation of it.

    Parameters
    ----------
    end : how all four ends are held
    lift : of rod 2 above touching [m]
    motion : of rod 1; None takes that of case G
    amplitude : factor on the velocities of case G
    contact : further fields of the contact
    """
    if motion is None:
        motion = [
            SineVelocity(1, amplitude * (UP + 0.5 * ACROSS)),
            SineVelocity(2, amplitude * 0.7 * ACROSS),
            SineSpin(1, amplitude * 2.0),
        ]
    high = (2.0 * SECTION.radius + lift) * UP
    rods = [
        CosseratRod(
            SECTION,
            Straight(middle - 0.5 * stretch * axis, middle + 0.5 * stretch * axis),
            length=1.0,
            elements=elements,
            left=end(),
            right=end(),
            motion=moves,
        )
        for axis, middle, moves in ((ALONG, 0.0 * UP, motion), (OTHER, high, ()))
    ]
    return Rods(rods, [RollingContact(**{"s1": 0.5, "s2": 0.5, **contact})])

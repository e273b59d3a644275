"""Rods in contact as ready systems: crossed, laid in a net, braided, on a fixed rod, in a knot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.laws.coulomb import Friction
from stiction.numerics.checks import number, whole
from stiction.rods.centreline import Curve, Straight, vector
from stiction.rods.contact import RollingContact
from stiction.rods.model import LEAST_MARGIN, Rods, RodSystem
from stiction.rods.rod import CosseratRod, SineSpin, SineVelocity
from stiction.rods.section import CircularSection

__all__ = ["CrossedRods"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

_TRY = "leave it out for the default."


def _check(system: RodSystem, rules: dict[str, tuple[str, str, str]]) -> None:
    """Check the numbers of a preset: field -> (rule, unit, why)."""
    for name, (rule, unit, why) in rules.items():
        where = f"{type(system).__name__}.{name}"
        value = number(where, getattr(system, name), rule=rule, unit=unit, why=why, try_=_TRY)
        object.__setattr__(system, name, value)


_MATERIAL = {
    "radius": ("positive", "m", "a rod without thickness has no surface to roll on."),
    "young": ("positive", "Pa", "a rod without stiffness has no rest shape."),
    "density": ("positive", "kg/m^3", "a massless rod has no inertia to move with."),
    "length": ("positive", "m", "it is the rest length of every rod."),
}


def _whole(system: RodSystem, name: str, least: int, why: str) -> None:
    where = f"{type(system).__name__}.{name}"
    whole(where, getattr(system, name), least=least, why=why, try_=_TRY)


def _inside(system: RodSystem, name: str, low: float, high: float, unit: str, why: str) -> None:
    """Refuse a number that is not strictly between two bounds."""
    value = getattr(system, name)
    if not low < value < high:
        where = f"{type(system).__name__}.{name}"
        needs = f"a number between {low:.6g} and {high:.6g} [{unit}]"
        raise ModelError(explain(where, value, needs, why, _TRY))


_ROOM = "the contact spreads over four nodes and needs several between it and each end."


@dataclass(frozen=True, eq=False)
class CrossedRods(RodSystem):
    """Two stretched rods between clamps that cross, touch in one point, and are plucked.

    Rod 1 lies along x, rod 2 above it at an `angle` in the plane; they touch in the middle. Rod 1
    is pulled aside by `pluck`, thrown with a half and a whole wave, and spun about its axis.

    Parameters
    ----------
    angle : between the rods [rad]
    stretch : length between the clamps over rest length [1]
    pluck : how far rod 1 is pulled aside at `pluck_at` before the start [m]
    pluck_at : place of the pluck along rod 1 [1], 0 its start and 1 its end
    half_wave, whole_wave : velocities sin(pi x) and sin(2 pi x) along rod 1 [m/s]; the axes are
        x along rod 1, y aside, z towards rod 2
    spin : rate of rod 1 about its axis in its middle, falling to zero at the ends [rad/s]
    friction : Coulomb's law; None rolls perfectly, in tension too
    radius, length : of both rods [m]
    young, poisson, density : of the material [Pa], [1], [kg/m^3]
    elements : of each rod
    drag : external damping of both rods [N s/m^2]

    Source: Gay-Balmaz and Putkaradze 2012, Fig. 1; the defaults are the reference case of the
    formulas sheet of the rods paper, section 6.
    Verified by: tests/unit/rods/test_presets.py::test_crossed_rods_are_the_reference_case
    """

    angle: float = math.pi / 3.0
    stretch: float = 1.02
    pluck: float = 0.0
    pluck_at: float = 0.25
    half_wave: Vector = (0.0, 0.5, 1.0)
    whole_wave: Vector = (0.0, 0.7, 0.0)
    spin: float = 2.0
    friction: Friction | None = None
    radius: float = 0.02
    length: float = 1.0
    young: float = 1e6
    poisson: float = 0.5
    density: float = 1000.0
    elements: int = 40
    drag: float = 0.0

    def __post_init__(self) -> None:
        _check(self, _MATERIAL)
        why = "rods touch in one point only where they cross."
        _inside(self, "angle", math.radians(10.0), math.radians(170.0), "rad", why)
        _inside(self, "pluck_at", 0.0, 1.0, "1", "0 is the start of the rod, 1 its end.")
        _whole(self, "elements", 2 * LEAST_MARGIN + 4, _ROOM)
        _check(
            self,
            {
                "stretch": ("positive", "1", "the clamps hold the rods at this stretch."),
                "pluck": ("finite", "m", "rod 1 is pulled aside by it."),
                "spin": ("finite", "rad/s", "rod 1 turns about its axis at this rate."),
                "drag": ("nonnegative", "N s/m^2", "damping takes energy out."),
            },
        )
        for name in ("half_wave", "whole_wave"):
            where, why = f"CrossedRods.{name}", "it is the amplitude of a wave on rod 1."
            value = vector(where, getattr(self, name), unit="m/s", why=why)
            object.__setattr__(self, name, value)
        self.assembled()

    def assembled(self) -> Rods:
        """Return both rods and their contact."""
        section = CircularSection(self.radius, self.young, self.poisson, self.density)
        half = 0.5 * self.stretch * self.length
        along = np.array([math.cos(self.angle), math.sin(self.angle), 0.0])
        above = np.array([0.0, 0.0, 2.0 * self.radius])
        part = np.linspace(0.0, 1.0, self.elements + 1)
        line = np.outer(2.0 * part - 1.0, [half, 0.0, 0.0])
        line[:, 1] = self.pluck * np.minimum(part / self.pluck_at, (1 - part) / (1 - self.pluck_at))
        # where the lower rod, seen from above, passes under the upper one
        beside = line @ np.array([-along[1], along[0], 0.0])
        k = int(np.argmax(np.diff(np.sign(beside)) != 0.0))
        s1 = (k + beside[k] / (beside[k] - beside[k + 1])) / self.elements
        s2 = 0.5 + 0.5 * (line[k] @ along) / half
        lower = CosseratRod(
            section,
            Curve(line) if self.pluck else Straight(line[0], line[-1]),
            length=self.length,
            elements=self.elements,
            motion=[
                SineVelocity(1, self.half_wave),
                SineVelocity(2, self.whole_wave),
                SineSpin(1, self.spin),
            ],
            drag=self.drag,
        )
        upper = CosseratRod(
            section,
            Straight(above - half * along, above + half * along),
            length=self.length,
            elements=self.elements,
            drag=self.drag,
        )
        touch = RollingContact(s1 * self.length, s2 * self.length, friction=self.friction)
        return Rods([lower, upper], [touch])

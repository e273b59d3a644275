"""A solid that has mass, and dampers in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import number, numbers
from stiction.solids.loads import Pressure, Spring, Turned
from stiction.solids.model import Assembled, SolidSystem
from stiction.solids.presets import StripPeeling

__all__ = ["MovingSolid"]

Floats = npt.NDArray[np.float64]

_FOLLOWS = (Pressure, Spring, Turned)


@dataclass(frozen=True, eq=False, repr=False)
class MovingSolid(SolidSystem):
    """A solid with inertia, at rest in balance when it starts, or thrown with a velocity.

    Parameters
    ----------
    solid : what moves: any solid
    density : one for each body, or one for all [kg/m^3], > 0
    drag : damping in proportion to mass [1/s]; it resists rigid motion too
    retardation : damping in proportion to the stiffness of the undeformed bodies [s]; meant for
        small rotations, as it resists rotation too
    normal_viscosity, tangential_viscosity : of the interface in contact, traction over rate of
        gap and of slip [Pa s/m]; they fade with what is left of adhesion
    velocity : at the start, (vx, vy) of every body [m/s]; None for rest

    Notes
    -----
    Rigid partners have no mass.

    Source: Mergel, Scheibert, Sauer 2021, section 3.4.1 (viscosity or inertia regularise what
    snaps).
    Verified by: tests/unit/solids/motion/test_motion.py::test_a_rod_hit_at_its_end
    """

    solid: SolidSystem = field(default_factory=StripPeeling)
    density: Sequence[float] | float = 1.0
    drag: float = 0.0
    retardation: float = 0.0
    normal_viscosity: float = 0.0
    tangential_viscosity: float = 0.0
    velocity: Sequence[Sequence[float]] | None = None

    default_method: ClassVar[str] = "GeneralisedAlpha"
    solved_by: ClassVar[Mapping[str, str]] = {
        **SolidSystem.solved_by,
        "GeneralisedAlpha": "stiction.solids.motion.march:run_motion",
    }

    def __post_init__(self) -> None:
        solid: object = self.solid
        if not isinstance(solid, SolidSystem) or isinstance(solid, MovingSolid):
            why, try_ = "it is given mass.", "give a Solid, StripPeeling, ..."
            needs = "a solid without mass"
            raise ModelError(explain("MovingSolid.solid", repr(solid), needs, why, try_))
        _refuse_what_follows(solid.assembled())
        count = len(solid.assembled().bodies)
        why, try_ = "a body without mass has no inertia.", "give one number for each body."
        density = numbers(
            "MovingSolid.density",
            self.density,
            size=count,
            per="body",
            rule="positive",
            unit="kg/m^3",
            why=why,
            try_=try_,
        )
        if density.shape != (count,):
            needs = f"{count} numbers"
            raise ModelError(explain("MovingSolid.density", density.size, needs, why, try_))
        object.__setattr__(self, "density", density)
        for name in ("drag", "retardation", "normal_viscosity", "tangential_viscosity"):
            where, why = f"MovingSolid.{name}", "dampers take energy out."
            value = number(where, getattr(self, name), rule="nonnegative", why=why, try_="give 0.")
            object.__setattr__(self, name, value)
        self._check_velocity(count)

    def _check_velocity(self, count: int) -> None:
        if self.velocity is None:
            return
        where, why = "MovingSolid.velocity", "every body is thrown with a velocity (vx, vy)."
        needs, try_ = f"{count} pairs of finite numbers", "leave it out for rest."
        try:
            given = np.asarray(self.velocity, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != (count, 2) or not np.isfinite(given).all():
            raise ModelError(explain(where, repr(self.velocity), needs, why, try_))
        given.flags.writeable = False
        object.__setattr__(self, "velocity", given)

    def assembled(self) -> Assembled:
        """Return the parts of the solid."""
        return self.solid.assembled()

    @property
    def densities(self) -> Floats:
        """Densities of the bodies, (b,) [kg/m^3]."""
        return np.asarray(self.density, dtype=np.float64)

    @property
    def velocities(self) -> Floats | None:
        """Velocities of the bodies at the start, (b, 2) [m/s]; None for rest."""
        return None if self.velocity is None else np.asarray(self.velocity)


def _refuse_what_follows(assembled: Assembled) -> None:
    """Refuse what a step of time does not carry: stages, and loads that follow the motion."""
    held = [type(c).__name__ for c in assembled.all_conditions if isinstance(c, _FOLLOWS)]
    held += ["Stage"] if len(assembled.stages) > 1 else []
    if held:
        got, needs = ", ".join(dict.fromkeys(held)), "a solid that is held, driven or loaded"
        why = "their forces change with the motion, or begin anew, within a step of time."
        try_ = "solve it without mass, or give Fixed, Driven, Loaded and Traction."
        raise ModelError(explain("MovingSolid.solid", got, needs, why, try_))

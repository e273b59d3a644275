"""`MovingSolid`: a solid with inertia, that is any solid with densities, damping and velocities.

The bodies obey M a + C v + f_int(u) + f_contact(u, v) = f_load(t). C contains Rayleigh damping
(proportional to mass and to the stiffness of the undeformed bodies, C = drag M + retardation K_0);
the contact may have viscosity. `GeneralisedAlpha` integrates these equations in time
(docs/theory/solids-in-motion.md). `dynamics.problem` builds the matrices from this description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.solids.loads import Turned
from stiction.solids.model import Assembled, Body, SolidSystem
from stiction.solids.presets.plane import StripPeeling

__all__ = ["MovingSolid"]

Floats = npt.NDArray[np.float64]

_WHY_SOLID, _TRY_SOLID = (
    "MovingSolid adds inertia to a solid.",
    "give a Solid, or a preset such as StripPeeling.",
)
_NEEDS_SOLID = "a solid without mass"
_SOLID = Part(_WHY_SOLID, _TRY_SOLID, _NEEDS_SOLID)
_DENSITY = Positive(
    "kg/m^3", "a body without mass has no inertia.", "give one number for each body.", per="body"
)
_WHY_DAMPER = "damping dissipates energy."
_VISCOSITY = NonNegative("Pa s/m", _WHY_DAMPER, "give 0.")


@dataclass(frozen=True, eq=False, repr=False)
class MovingSolid(SolidSystem):
    """A solid with inertia, initially in equilibrium at rest, or with given velocities.

    Parameters
    ----------
    solid : any solid
    density : one for each body, or one for all [kg/m^3], > 0
    drag : damping coefficient of the mass matrix [1/s]; it also resists rigid translation
    retardation : damping coefficient of the stiffness of the undeformed bodies [s]; it also resists
        rigid rotation, so that it is meant for small rotations
    normal_viscosity, tangential_viscosity : of the interface in contact, traction over gap rate
        and slip rate [Pa s/m]; they decrease with the intensity of adhesion (1 in contact, falling
        with the gap, see `dynamics.interface`). The second one is refused with a `Turned` circle
    velocity : initial (vx, vy) of every body [m/s], in space (vx, vy, vz); None for rest. A moving
        body without a boundary condition starts in its given position

    Notes
    -----
    Loads act from the start on, and bodies start in equilibrium with them. Two kinds of bodies
    start in their given positions instead: bodies in free flight, and bodies on a contact that
    cannot support them. In the second case the audit's `starts_in_equilibrium` fails; let such
    loads grow from zero.

    Rigid partners have no mass. The mass of a membrane per unstretched area is density times
    thickness, and its stiffness for `retardation` is that of the prestretched membrane.

    Source: Mergel, Scheibert, Sauer 2021, section 3.4.1 (viscosity or inertia regularise jumps
    between equilibria).
    Verified by: tests/unit/solids/dynamics/test_motion.py::test_a_rod_hit_at_its_end
    """

    solid: Annotated[SolidSystem, _SOLID] = field(default_factory=StripPeeling)
    density: Annotated[Sequence[float] | float, _DENSITY] = 1.0
    drag: Annotated[float, NonNegative("1/s", _WHY_DAMPER, "give 0.")] = 0.0
    retardation: Annotated[float, NonNegative("s", _WHY_DAMPER, "give 0.")] = 0.0
    normal_viscosity: Annotated[float, _VISCOSITY] = 0.0
    tangential_viscosity: Annotated[float, _VISCOSITY] = 0.0
    velocity: Sequence[Sequence[float]] | None = None

    default_method: ClassVar[str] = "GeneralisedAlpha"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.solid, MovingSolid):
            raise ModelError(
                "MovingSolid.solid", repr(self.solid), _NEEDS_SOLID, _WHY_SOLID, _TRY_SOLID
            )
        bodies = self.assembled().bodies
        for body in bodies:
            self._check_body(body)
        self._check_turned()
        object.__setattr__(self, "density", np.broadcast_to(self.density, len(bodies)))
        self._check_velocity(len(bodies))

    @property
    def lengths(self) -> dict[str, int]:
        """Number of bodies."""
        return {"body": len(self.assembled().bodies)}

    def _check_body(self, body: object) -> None:
        """Refuse viscous interfaces of bodies in space; `Body` is the plane body."""
        if isinstance(body, Body):
            return
        for name in ("normal_viscosity", "tangential_viscosity"):
            if getattr(self, name):
                got, needs = f"{name} in space", "0"
                why = "viscous interfaces are implemented for plane bodies alone."
                try_ = "use drag."
                raise ModelError(f"MovingSolid.{name}", got, needs, why, try_)

    def _check_turned(self) -> None:
        """Refuse tangential viscosity on circles that turn."""
        turned = any(isinstance(c, Turned) for c in self.assembled().all_conditions)
        if turned and self.tangential_viscosity:
            got, needs = f"{self.tangential_viscosity} on a circle that turns", "0"
            why = "the slip rate of viscosity would lack the velocity of the turning surface."
            try_ = "use friction, drag or normal_viscosity."
            raise ModelError("MovingSolid.tangential_viscosity", got, needs, why, try_)

    def _check_velocity(self, count: int) -> None:
        """Refuse initial velocities of another shape than (bodies, d)."""
        if self.velocity is None:
            return
        flat = all(isinstance(body, Body) for body in self.assembled().bodies)
        d, form = (2, "(vx, vy)") if flat else (3, "(vx, vy, vz)")
        where, why = "MovingSolid.velocity", f"every body has an initial velocity {form}."
        needs, try_ = f"{count} times {d} finite numbers", "leave this value out for rest."
        try:
            # a copy: the array of the caller stays writeable, and this one unchanged
            given = np.array(self.velocity, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != (count, d) or not np.isfinite(given).all():
            raise ModelError(where, repr(self.velocity), needs, why, try_)
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
        """Velocities of the bodies at the start, (b, d) [m/s]; None for rest."""
        return None if self.velocity is None else np.asarray(self.velocity)

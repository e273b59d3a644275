"""Two strings in rolling contact at one moving point: parameters of the reduced model.

Both strings obey the wave equation with a point force at the contact; rolling gives its size and
the speed of the contact along both (equations in `RollingStrings`). The methods `Characteristics`
and `BumpStrands` of `rods.methods` compute the motion.

Source: Gay-Balmaz, Putkaradze 2012, (16)-(19); formulas sheet (docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Count, Declared, Finite, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import Numbers, shape_of
from stiction.rods.strings.shapes import Shape

__all__ = ["RollingStrings"]

Floats = npt.NDArray[np.float64]

_SHAPES = ("u0", "v0", "u_t0", "v_t0")

# cells of each strand of `BumpStrands`
MOST_CELLS = 200_000

_PAIR = Positive(
    "1",
    "strings have a finite length and a finite wave speed.",
    "give one positive number, or one per string.",
    per="string",
    size=2,
)
_ENDS = Choice(
    ("fixed", "periodic"),
    "a string has fixed ends, or is closed to a circle.",
    "for example ends = 'fixed'.",
)
_CONTACT = Finite("1", "the equations of the contact contain this number.", "give a finite number.")
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_TRY_SHAPE = "for example Sine(2, 1.0), from stiction.rods."
_SHAPE = Part("the string starts with this shape or velocity.", _TRY_SHAPE, "a shape or None")
_RESISTANCE = NonNegative(
    "1", "a resistance dissipates energy.", "leave this value out for ideal strings."
)
# bytes per node: four fields at two saved times at least, and work arrays
_NODES = Count(2, "the fields are saved at this many points of each string.", each=1000)


@dataclass(frozen=True, eq=False, repr=False)
class RollingStrings(Declared):
    """Two strings u(x, t) and v(y, t) that roll on each other without slip at x = s1, y = s2.

    u_tt + k u_t - c^2 u_xx = -lam delta(x - s1),
    v_tt + k v_t - c^2 v_yy = (F lam - r <v_t>) delta(y - s2),
    <u_t> = F <v_t>,  s1' = G1 <u_t>,  s2' = G2 <v_t>,

    with the contact force lam and the mean <.> of the limits from both sides of the contact. With
    this mean the contact conserves energy. All quantities are dimensionless; the mass per length is
    1. G1, G2 and F may have either sign, which depends on the orientation of the strings.

    Parameters
    ----------
    speed : wave speed c [1]; two numbers for different strings
    length : of the strings [1]; two numbers for different strings
    ends : "fixed" (u = 0 at both ends) or "periodic" (a circle)
    F : ratio of the contact velocities <u_t> and <v_t> [1]
    G1, G2 : mobilities: speed of the contact over contact velocity, on u and v [1]
    s1, s2 : initial contact points [1]
    u0, v0 : initial shapes; None means zero
    u_t0, v_t0 : initial velocities; None means zero
    drag : k >= 0, force of the air per length and velocity [1]; `Characteristics` needs 0
    rolling_resistance : r >= 0, force on string v per contact velocity <v_t> [1]
    nodes : number of points of each string at which fields are saved

    Source: Gay-Balmaz and Putkaradze 2012, equations (16)-(19) as corrected in the formulas sheet
    (docs/formulas/rods.md), section 5.
    Verified by: tests/exact/test_strings.py::test_offset_contact_points
    """

    default_method: ClassVar[str] = "Characteristics"

    speed: Annotated[Numbers, _PAIR] = 1.0
    length: Annotated[Numbers, _PAIR] = 2.0 * np.pi
    ends: Annotated[str, _ENDS] = "fixed"
    F: Annotated[float, _CONTACT] = 1.0
    G1: Annotated[float, _CONTACT] = 1.0
    G2: Annotated[float, _CONTACT] = 1.0
    s1: Annotated[float, _CONTACT] = 2.0
    s2: Annotated[float, _CONTACT] = 2.5
    u0: Annotated[Shape | None, _SHAPE] = None
    v0: Annotated[Shape | None, _SHAPE] = None
    u_t0: Annotated[Shape | None, _SHAPE] = None
    v_t0: Annotated[Shape | None, _SHAPE] = None
    drag: Annotated[float, _RESISTANCE] = 0.0
    rolling_resistance: Annotated[float, _RESISTANCE] = 0.0
    nodes: Annotated[int, _NODES] = 201

    def __post_init__(self) -> None:
        for name in ("speed", "length"):
            given = getattr(self, name)
            if shape_of(given) == ():
                object.__setattr__(self, name, (given, given))
        super().__post_init__()
        for i, name in enumerate(("s1", "s2")):
            self._check_inside(name, getattr(self, name), self.lengths[i])
        for i, name in enumerate(_SHAPES):
            self._check_shape(name, getattr(self, name), self.lengths[i % 2])
        self._check_subsonic()

    def _check_inside(self, name: str, s: float, length: float) -> None:
        """Raise ModelError if a contact point is not between the ends."""
        if not 0.0 < s < length and not (self.ends == "periodic" and s == 0.0):
            raise ModelError(
                f"RollingStrings.{name}",
                s,
                f"a position between 0 and {length}",
                "the contact is a point of both strings.",
                "move the contact point between the ends.",
            )

    def _check_shape(self, name: str, shape: Shape | None, length: float) -> None:
        """Raise ModelError if a shape is not finite, or violates the conditions at the ends."""
        if shape is None:
            return
        where = f"RollingStrings.{name}"
        # both ends, and points at irrational fractions, at which no sine of the length vanishes
        inner = np.sort(np.arange(1, 64) * _GOLDEN % 1.0)
        x = length * np.concatenate([[0.0], inner, [1.0]])
        values = [shape.value(x, length, self.ends)]
        if name in ("u0", "v0"):
            values.append(shape.slope(x, length, self.ends))
        if any(y.shape != x.shape or not np.isfinite(y).all() for y in values):
            why = "the shape needs a finite value at every point of the string."
            raise ModelError(where, "values that are not finite", "finite numbers", why, _TRY_SHAPE)
        if len(values) == 2:
            self._check_jumps(where, shape, length)
            self._check_slope(where, shape, x[1:-1], values[1][1:-1], length)
        y = values[0]
        near = 1e-9 * max(float(np.abs(y).max()), 1e-300)
        if self.ends == "fixed" and max(abs(y[0]), abs(y[-1])) > near:
            raise ModelError(
                where,
                f"{y[0]:.3g} and {y[-1]:.3g} at the ends",
                "0 at both ends",
                "the ends are fixed.",
                "take a shape that vanishes at the ends, or periodic ends.",
            )
        if self.ends == "periodic" and abs(y[0] - y[-1]) > near:
            raise ModelError(
                where,
                f"{y[0]:.3g} and {y[-1]:.3g} at x = 0 and x = {length:.6g}",
                "the same value at both",
                "both ends are the same point of the circle.",
                "take a shape that repeats after one length.",
            )

    def _check_jumps(self, where: str, shape: Shape, length: float) -> None:
        """Raise ModelError if a shape itself jumps at a corner."""
        h, corners = 1e-8 * length, shape.corners(length, self.ends)
        for at in corners[(corners > h) & (corners < length - h)]:
            x = np.array([at - h, at + h])
            y, slope = shape.value(x, length, self.ends), shape.slope(x, length, self.ends)
            if abs(y[1] - y[0]) > 4.0 * h * float(np.abs(slope).sum()) + 1e-12 * np.abs(y).max():
                raise ModelError(
                    where,
                    f"a jump by {y[1] - y[0]:.6g} at x = {at:.6g}",
                    "a shape without jumps",
                    "a string does not tear; only a derivative may jump.",
                    "correct the shape, or join its parts by a steep line.",
                )

    def _check_slope(
        self, where: str, shape: Shape, x: Floats, slope: Floats, length: float
    ) -> None:
        """Raise ModelError if the slopes of a shape differ from its finite differences."""
        excess, corners = np.full(x.size, np.inf), shape.corners(length, self.ends)
        # a difference is off by (k h)^2 / 6 at the wavenumber k, which a narrow pulse makes large,
        # and by the rounding of the values over h: one of two widths has to agree
        for h in (1e-8 * length, 1e-6 * length):
            after, before = (shape.value(x + side * h, length, self.ends) for side in (1.0, -1.0))
            difference = (after - before) / (2.0 * h)
            size = max(float(np.abs(slope).max()), float(np.abs(difference).max()))
            limit = 1e-3 * size + 1e-15 * float(np.abs(after).max()) / h
            error = np.abs(difference - slope) - limit
            error[(np.abs(x[:, None] - corners) <= h).any(axis=1)] = -np.inf
            excess = np.minimum(excess, error)
        worst = int(np.argmax(excess))
        if excess[worst] > 0.0:
            raise ModelError(
                where,
                f"the derivative {slope[worst]:.6g} at x = {x[worst]:.6g}, where the shape "
                f"has the slope {difference[worst]:.6g}",
                "the derivative of the shape",
                "the waves start from the derivative, the saved shapes from the values.",
                "correct the derivative, or give the positions of kinks.",
            )

    def _check_subsonic(self) -> None:
        """Raise ModelError if the contact is not slower than the waves at the start."""
        if self._start_velocity() is None:
            raise ModelError(
                "RollingStrings",
                "a contact that starts as fast as the waves, or faster",
                f"|s1'| < {self.speeds[0]:.6g} and |s2'| < {self.speeds[1]:.6g}",
                "the motion of a contact faster than the waves is not well-posed.",
                "take smaller mobilities G1, G2 or smaller initial velocities.",
            )

    def _start_velocity(self) -> float | None:
        """Return the smallest subsonic initial <v_t> of the contact law; None for none."""
        w = []
        for i, (name, at) in enumerate((("u", self.s1), ("v", self.s2))):
            shape: Shape | None = getattr(self, f"{name}_t0")
            x = np.array([at])
            y = 0.0 if shape is None else shape.value(x, self.lengths[i], self.ends)[0]
            w.append(float(y))
        (a, b), (c1, c2), F = (self.mobilities, self.speeds, self.F)
        # F (w_u - F V)(c1^2 - a^2 V^2) c2/c1 = (V - w_v)(c2^2 - b^2 V^2) + r V c2/2
        left = np.polymul([-F, w[0]], [-a * a, 0.0, c1 * c1]) * F * c2 / c1
        right = np.polymul([1.0, -w[1]], [-b * b, 0.0, c2 * c2])
        cubic = np.polysub(left, right)
        cubic = np.polysub(cubic, [0.5 * self.rolling_resistance * c2, 0.0])
        roots = np.roots(cubic)
        real = roots.real[np.abs(roots.imag) <= 1e-9 * (1.0 + np.abs(roots))]
        # +-c/G solves the cubic of equal mobilities but is not a motion
        slow = np.abs(np.outer(real, [a / c1, b / c2])).max(axis=1, initial=0.0) < 1.0 - 1e-7
        return float(real[slow][np.argmin(np.abs(real[slow]))]) if slow.any() else None

    @property
    def speeds(self) -> tuple[float, float]:
        """Wave speeds of u and v [1]."""
        return _pair(self.speed)

    @property
    def lengths(self) -> tuple[float, float]:  # type: ignore[override]
        """Lengths of u and v [1]."""
        return _pair(self.length)

    @property
    def mobilities(self) -> Floats:
        """Contact speed of each string over <v_t> [1]: G1 F and G2."""
        return np.array([self.G1 * self.F, self.G2])

    @property
    def identical(self) -> bool:
        """Whether both strings have the same speed and length."""
        return self.speeds[0] == self.speeds[1] and self.lengths[0] == self.lengths[1]

    @property
    def state_size(self) -> int:
        """Numbers in one saved state: four fields and the contact."""
        return 4 * self.nodes + 16


def _pair(value: object) -> tuple[float, float]:
    """Return a checked field of two numbers as floats."""
    first, second = np.asarray(value, dtype=np.float64)
    return float(first), float(second)

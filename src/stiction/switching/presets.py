"""Classic piecewise-smooth systems with compiled fields.

They are a block on a moving belt, a linear plant with relay feedback, the normal form of an
invisible two-fold, two coupled blocks on a belt, and a block whose friction drops after breakaway.
Each class states its equations and can be used in scenario files; `preset_kernels` has the fields.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Finite, NonNegative, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import numbers
from stiction.numerics.jit import mode
from stiction.switching.model import Compiled, SwitchingSystem

__all__ = [
    "BeltOscillator",
    "NormalForm",
    "RelayFeedback",
    "StaticJumpOscillator",
    "TwoBlockStickSlip",
]

Floats = npt.NDArray[np.float64]
Outputs = dict[str, tuple[Floats, str, str]]

_WHY_BELT = "the belt moves at this constant speed."
_WHY_MASS = "a block without mass has no inertia to slip with."
_WHY_FRICTION = "negative friction would create energy."
_TRY_EACH = "give one number, or one per block."
_MOST_STATES = 12

_ORDER = Count(
    1,
    "the plant has this many poles; beyond 12 the coefficients of (s + pole)^order lose all "
    "digits.",
    most=_MOST_STATES,
)
_MASSES = Positive("kg", _WHY_MASS, _TRY_EACH, per="block", size=2)
_SPRINGS = NonNegative(
    "N/m", "a spring of negative stiffness would be unstable.", _TRY_EACH, per="block", size=2
)
_FORCES = NonNegative("N", _WHY_FRICTION, _TRY_EACH, per="block", size=2)
_MU = NonNegative("1", _WHY_FRICTION)
_PRESS = NonNegative("N", "a contact force is compressive.")
_DROP = Positive(
    "m/s",
    "friction that jumps at zero slip defines no Filippov field; StaticKinetic has such a jump.",
)


@functools.cache
def _functions(family: str, power: bool, mode_: str) -> tuple[Any, ...]:
    """Return field, surface and power of one system, compiled once for each mode of the kernels."""
    from stiction.numerics.callback import address_of
    from stiction.switching import preset_kernels

    names = ["field", "surface"] + (["power"] if power else [])
    return tuple(address_of(getattr(preset_kernels, f"{family}_{name}")) for name in names)


def _compiled(
    family: str, params: Sequence[float] | Floats, plane: Floats, scale: Floats, power: bool = True
) -> Compiled:
    """Return the compiled functions of a system.

    Parameters
    ----------
    family : prefix of the names of its kernels in `preset_kernels`
    params : the numbers p of the kernels, in the order of the headings there
    plane, scale : (m, n) gradients of h, and (n,) sizes of the states
    power : whether the system has energies
    """
    keep = _functions(family, power, mode())
    return Compiled(
        field=int(keep[0].address),
        surface=int(keep[1].address),
        gradient=0,
        power=int(keep[2].address) if power else 0,
        params=np.array(params, dtype=np.float64),
        n=plane.shape[1],
        m=plane.shape[0],
        plane=plane,
        scale=scale,
        keep=keep,
    )


@dataclass(frozen=True, eq=False, repr=False)
class BeltOscillator(SwitchingSystem):
    """A block on a belt, held by a spring, with friction that decreases linearly with the slip.

        x'' + x = -(mu0 - alpha |x' - vb|) sgn(x' - vb),

    where h = x' - vb = 0 is stick: it lasts while |x| <= mu0. Lengths and times are scaled
    so that mass and stiffness are 1. For 0 < alpha < 2 and vb > 0 small enough all motions
    tend to one stick-slip cycle, whose period does not depend on mu0 and vb.

    Parameters
    ----------
    mu0 : static friction over stiffness [1]
    alpha : decrease of friction per slip speed [1]; negative for an increase. The law is valid for
        slip speeds below mu0/alpha; beyond, the friction force would drive the block
    belt_speed : vb [1]
    x0 : x, v; by default stick at x = 0, which is on the cycle
    mode : at a start on the surface "+", "-" or "slide"; None takes the only one

    Source: reference problem `belt`; closed form in `stiction.exact.switching.belt_cycle`.
    Verified by: tests/unit/switching/test_presets.py::test_belt_cycle_by_quadrature
    """

    mu0: Annotated[float, Positive("1", "without static friction nothing sticks.")] = 1.0
    alpha: Annotated[float, Finite("1", "friction decreases with slip speed at this rate.")] = 0.1
    belt_speed: Annotated[float, Finite("1", _WHY_BELT)] = 0.5
    x0: Sequence[float] | None = None
    mode: str | None = None

    @property
    def usual_start(self) -> Sequence[float]:
        """Stick in the middle."""
        return 0.0, self.belt_speed

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return ("x", "v")

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        size = self.mu0 + abs(self.belt_speed)
        params = (self.belt_speed, self.mu0, self.alpha)
        return _compiled("belt", params, np.array([[0.0, 1.0]]), np.full(2, size))

    def energies(self, x: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy for states (t, 2)."""
        return 0.5 * x[:, 1] ** 2, 0.5 * x[:, 0] ** 2

    def outputs(self, x: Floats, s: Floats) -> Outputs:
        """Return the friction force on the block."""
        force = -s[:, 0] * self.mu0 + self.alpha * (x[:, 1] - self.belt_speed)
        return {"friction": (force, "1", "friction force on the block")}


@dataclass(frozen=True, eq=False, repr=False)
class RelayFeedback(SwitchingSystem):
    """A linear plant under a relay: x' = A x + b u, u = -sgn(c x).

    Give either `order`, `pole` and `gain` for the plant gain / (s + pole)^order in
    controllable form (states y/gain and its derivatives), or `matrix`, `input` and
    `output` for any plant. 1/(s + 1)^3, the default, ends in a cycle without sliding.

    Parameters
    ----------
    order : order of the plant [1]
    pole : the plant's poles lie at -pole [1/time]
    gain : > 0 [1]
    matrix : A row by row, n^2 numbers
    input, output : b and c, n numbers each
    x0 : n states; by default c / |c|, where c x = |c|, off the surface
    mode : at a start on the surface "+", "-" or "slide"; None takes the only one

    Source: closed form of the cycle in `stiction.exact.switching.relay_half_period`.
    Verified by: tests/unit/switching/test_presets.py::test_relay_half_period

    Examples
    --------
    >>> import stiction as st
    >>> st.switching.RelayFeedback(order=2, gain=3.0).state_names
    ('x1', 'x2')
    """

    order: Annotated[int, _ORDER] = 3
    pole: Annotated[float, Finite("1", "the poles of the plant are at -pole.")] = 1.0
    gain: Annotated[float, Positive("1", "a gain <= 0 gives no negative feedback.")] = 1.0
    matrix: Sequence[float] | None = None
    input: Sequence[float] | None = None
    output: Sequence[float] | None = None
    x0: Sequence[float] | None = None
    mode: str | None = None

    def _check_together(self) -> None:
        """Raise ModelError if the matrix of the plant is not finite."""
        self._check_plant()
        a = self.plant[0]
        if not np.isfinite(a).all():
            raise ModelError(
                "RelayFeedback.pole",
                self.pole,
                "a number whose powers are finite",
                "the matrix of the plant contains powers of the pole.",
                "take a unit of time in which the pole is of order one.",
            )

    @property
    def usual_start(self) -> Floats:
        """A point off the surface."""
        c = self.plant[2]
        return np.asarray(c / np.linalg.norm(c))

    def _check_plant(self) -> None:
        """Refuse a plant that is given in part, twice, or in numbers of different sizes."""
        given = {name: getattr(self, name) for name in ("matrix", "input", "output")}
        if all(part is None for part in given.values()):
            return
        missing = [name for name, part in given.items() if part is None]
        if missing:
            raise ModelError(
                f"RelayFeedback.{missing[0]}",
                "nothing",
                "matrix, input and output together",
                "a general plant is x' = A x + b u with y = c x.",
                "give all three, or none for gain/(s + pole)^order.",
            )
        if (self.order, self.pole, self.gain) != (3, 1.0, 1.0):
            raise ModelError(
                "RelayFeedback",
                "a matrix together with order, pole or gain",
                "one of the two",
                "each of the two describes the whole plant.",
                "leave out order, pole and gain.",
            )
        why, try_ = "the vector couples the states with the relay.", "give one number per state."
        output = numbers("RelayFeedback.output", self.output, per="state", why=why, try_=try_)
        n = output.size
        input_ = numbers("RelayFeedback.input", self.input, size=n, per="state", why=why, try_=try_)
        why, try_ = "A is given row by row.", "give n^2 numbers for n outputs."
        matrix = numbers(
            "RelayFeedback.matrix",
            self.matrix,
            size=n * n,
            per="pair of states",
            why=why,
            try_=try_,
        )
        if not output.any():
            raise ModelError(
                "RelayFeedback.output",
                "zeros",
                "at least one number that is not 0",
                "the relay switches where c x = 0; its gradient must not vanish.",
                "give a nonzero entry for a state that the relay measures.",
            )
        for name, value in (("matrix", matrix), ("input", input_), ("output", output)):
            object.__setattr__(self, name, value)

    @property
    def plant(self) -> tuple[Floats, Floats, Floats]:
        """A (n, n), b (n,) and c (n,)."""
        if self.matrix is not None:
            c = np.asarray(self.output, dtype=np.float64)
            shape = (c.size, c.size)
            a = np.asarray(self.matrix, dtype=np.float64).reshape(shape)
            return a, np.asarray(self.input, dtype=np.float64), c
        n = self.order
        a, b, c = np.eye(n, k=1), np.zeros(n), np.zeros(n)
        coefficients = np.ones(1)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(n):
                coefficients = np.convolve(coefficients, (1.0, self.pole))
        a[-1] = -coefficients[:0:-1]
        b[-1], c[0] = 1.0, self.gain
        return a, b, c

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return tuple(f"x{i + 1}" for i in range(self.plant[2].size))

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        a, b, c = self.plant
        params = np.concatenate(([float(c.size)], a.ravel(), b, c))
        scale = np.ones(c.size)
        if self.matrix is None and abs(self.pole) > 1.0:
            # under u = 1 the last state is about 1/|pole|, and each state is the rate of the one
            # before; the squares of scales must not vanish
            scale = np.maximum(np.abs(self.pole) ** np.arange(-c.size, 0.0), 1e-150)
        return _compiled("relay", params, c[None, :].copy(), scale, power=False)

    def outputs(self, x: Floats, s: Floats) -> Outputs:
        """Return input and output of the relay."""
        return {
            "y": (x @ self.plant[2], "1", "output of the plant"),
            "u": (-s[:, 0], "1", "input of the plant"),
        }


@dataclass(frozen=True, eq=False, repr=False)
class NormalForm(SwitchingSystem):
    """The local normal form of an invisible two-fold, at the origin.

        f+ = (-y, 1, J1) for x > 0,   f- = (z, J2, 1) for x < 0.

    Sliding where y, z > 0, escaping where y, z < 0. J1, J2 < 0 with J1 J2 > 1 is case 1:
    sliding reaches the origin in finite time and the future is no longer unique there.

    Parameters
    ----------
    J1, J2 : numbers of the two-fold [1]
    x0 : x, y, z; by default a sliding point
    mode : at a start on the surface "+", "-" or "slide"; None takes the only one

    Source: Szalai, Jeffrey 2014, (30) with the scaling corrected; formulas sheet, section 5.
    Verified by: tests/unit/switching/test_presets.py::test_normal_form_fields
    """

    J1: Annotated[float, Finite("1", "J1 and J2 are slopes of one field relative to the other.")]
    J2: Annotated[float, Finite("1", "J1 and J2 are slopes of one field relative to the other.")]
    x0: Sequence[float] | None = (0.0, 0.3, 0.1)
    mode: str | None = None

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return ("x", "y", "z")

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        plane = np.array([[1.0, 0.0, 0.0]])
        return _compiled("normal", (self.J1, self.J2), plane, np.ones(3), power=False)


@dataclass(frozen=True, eq=False, repr=False)
class TwoBlockStickSlip(SwitchingSystem):
    """Two blocks on one belt, each held by a spring and coupled by a third.

        m_i v_i' = -k_i x_i +- k_c (x2 - x1) - F_i(|v_i - vb|) sgn(v_i - vb),
        F_i(u) = kinetic_i + (static_i - kinetic_i) e^(-u / v_scale).

    Two switching functions h_i = v_i - vb; where both vanish both blocks ride on the belt.

    Parameters
    ----------
    mass : of each block [kg]
    stiffness : of the spring of each block to the wall [N/m]
    coupling : stiffness between the blocks [N/m]
    friction : force at rest, of each block [N]
    kinetic : force at fast slip, of each block [N]; None is the same as at rest
    v_scale : slip speed over which friction drops [m/s]
    belt_speed : vb [m/s]
    x0 : x1, x2, v1, v2; by default at rest on the belt, springs relaxed
    mode : at a start on a surface "+", "-" or "slide"; None takes the only one

    Notes
    -----
    Forces of the two contacts add up, so the multipliers on the intersection are unique.

    Source: Newton's law; the friction law is `ExponentialWeakening` of stiction.laws.
    Verified by: tests/unit/switching/test_presets.py::test_fields_by_hand
    """

    mass: Annotated[Sequence[float] | float, _MASSES] = 1.0
    stiffness: Annotated[Sequence[float] | float, _SPRINGS] = 1.0
    coupling: Annotated[
        float,
        NonNegative("N/m", "a spring between the blocks opposes their relative displacement."),
    ] = 1.2
    friction: Annotated[Sequence[float] | float, _FORCES] = (1.0, 1.3)
    kinetic: Annotated[Sequence[float] | float | None, _FORCES] = (0.6, 0.8)
    v_scale: Annotated[float, Positive("m/s", "friction decreases over this slip speed.")] = 0.5
    belt_speed: Annotated[float, Finite("m/s", _WHY_BELT)] = 0.2
    x0: Sequence[float] | None = None
    mode: str | None = None

    def _check_together(self) -> None:
        for name in ("mass", "stiffness", "friction", "kinetic"):
            given = self.friction if getattr(self, name) is None else getattr(self, name)
            object.__setattr__(self, name, np.broadcast_to(given, 2))

    @property
    def usual_start(self) -> Sequence[float]:
        """At rest on the belt, with relaxed springs."""
        return 0.0, 0.0, self.belt_speed, self.belt_speed

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return ("x1", "x2", "v1", "v2")

    @property
    def state_units(self) -> tuple[str, ...]:
        """Units of the states."""
        return ("m", "m", "m/s", "m/s")

    @property
    def time_unit(self) -> str:
        """Unit of time."""
        return "s"

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        mass, stiff = np.asarray(self.mass), np.asarray(self.stiffness)
        static, kinetic = np.asarray(self.friction), np.asarray(self.kinetic)
        shared = (self.belt_speed, self.v_scale)
        params = np.concatenate((shared, static, kinetic, mass, stiff, (self.coupling,)))
        plane = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        length, speed = _sizes(
            float(mass.max()),
            float(stiff.max()) + self.coupling,
            float(static.max()),
            self.belt_speed,
        )
        return _compiled("blocks", params, plane, np.array([length, length, speed, speed]))

    def energies(self, x: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy [J] for states (t, 4)."""
        kinetic = 0.5 * x[:, 2:] ** 2 @ np.asarray(self.mass)
        walls = 0.5 * x[:, :2] ** 2 @ np.asarray(self.stiffness)
        return kinetic, walls + 0.5 * self.coupling * (x[:, 1] - x[:, 0]) ** 2

    def outputs(self, x: Floats, s: Floats) -> Outputs:
        """Return the friction force on each block [N]."""
        static, kinetic = np.asarray(self.friction), np.asarray(self.kinetic)
        force = _friction_force(s, x[:, 2:] - self.belt_speed, static, kinetic, self.v_scale)
        meaning = "friction force on block"
        return {f"friction{i + 1}": (force[:, i], "N", f"{meaning} {i + 1}") for i in range(2)}


@dataclass(frozen=True, eq=False, repr=False)
class StaticJumpOscillator(SwitchingSystem):
    """A block on a belt whose friction drops steeply as soon as it slips.

        m v' = -k x - c v - N mu(|v - vb|) sgn(v - vb),
        mu(u) = mu_kinetic + (mu_static - mu_kinetic) e^(-u / v_scale).

    Parameters
    ----------
    mu_static, mu_kinetic : friction coefficients at rest and at fast slip [1]
    stiffness : of the spring [N/m]
    belt_speed : vb [m/s]
    mass : of the block [kg]
    normal_force : N [N]
    damping : of the block [N s/m]
    v_scale : slip speed over which friction drops [m/s]
    x0 : x, v; by default stick with a relaxed spring
    mode : at a start on the surface "+", "-" or "slide"; None takes the only one

    Notes
    -----
    A true jump, mu_static at rest and mu_kinetic at any slip, is no Filippov field: stick
    bears up to mu_static N, and the convex hull of both sides only mu_kinetic N. Here the
    drop has the width `v_scale`, and the flow is exact for that law: stick ends at
    mu_static N, and the field of each side is smooth. As v_scale -> 0 the cycle tends to
    that of the true jump. The set-valued law with zero width is `StaticKinetic` of
    stiction.laws, which chains of blocks solve.

    Source: Newton's law; the friction law is `ExponentialWeakening` of stiction.laws.
    Verified by: tests/unit/switching/test_presets.py::test_fields_by_hand

    Examples
    --------
    >>> import stiction as st
    >>> block = st.switching.StaticJumpOscillator(belt_speed=0.1)
    >>> block.state_names, block.state_units
    (('x', 'v'), ('m', 'm/s'))
    """

    mu_static: Annotated[float, _MU] = 0.6
    mu_kinetic: Annotated[float, _MU] = 0.4
    stiffness: Annotated[float, NonNegative("N/m", "the spring holds the block.")] = 1.0
    belt_speed: Annotated[float, Finite("m/s", _WHY_BELT)] = 0.2
    mass: Annotated[float, Positive("kg", _WHY_MASS)] = 1.0
    normal_force: Annotated[float, _PRESS] = 1.0
    damping: Annotated[float, NonNegative("N s/m", "a damper dissipates energy.")] = 0.0
    v_scale: Annotated[float, _DROP] = 1e-2
    x0: Sequence[float] | None = None
    mode: str | None = None

    @property
    def usual_start(self) -> Sequence[float]:
        """Stick with a relaxed spring."""
        return 0.0, self.belt_speed

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return ("x", "v")

    @property
    def state_units(self) -> tuple[str, ...]:
        """Units of the states."""
        return ("m", "m/s")

    @property
    def time_unit(self) -> str:
        """Unit of time."""
        return "s"

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        static, kinetic = self._forces
        shared, block = (self.belt_speed, self.v_scale), (self.mass, self.stiffness, self.damping)
        params = (*shared, static, kinetic, *block)
        length, speed = _sizes(self.mass, self.stiffness, static, self.belt_speed)
        return _compiled("jump", params, np.array([[0.0, 1.0]]), np.array([length, speed]))

    @property
    def _forces(self) -> tuple[float, float]:
        """The largest static and the kinetic friction force [N]."""
        return self.mu_static * self.normal_force, self.mu_kinetic * self.normal_force

    def energies(self, x: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy [J] for states (t, 2)."""
        return 0.5 * self.mass * x[:, 1] ** 2, 0.5 * self.stiffness * x[:, 0] ** 2

    def outputs(self, x: Floats, s: Floats) -> Outputs:
        """Return the friction force on the block [N]."""
        static, kinetic = self._forces
        slip = x[:, 1] - self.belt_speed
        force = _friction_force(s[:, 0], slip, static, kinetic, self.v_scale)
        return {"friction": (force, "N", "friction force on the block")}


def _sizes(mass: float, stiffness: float, force: float, speed: float) -> tuple[float, float]:
    """Return scales of position [m] and velocity [m/s]; 1 where the system has none.

    With the rate w = sqrt(stiffness / mass) of a block on a spring they are
    force / stiffness + |speed| / w, and |speed| + w force / stiffness.
    """
    rate = np.sqrt(stiffness / mass)
    length = force / stiffness if stiffness > 0.0 else 0.0
    fast = abs(speed) + length * rate
    length = length + (abs(speed) / rate if rate > 0.0 else 0.0)
    return float(length) or 1.0, float(fast) or 1.0


def _friction_force(
    side: Floats, slip: Floats, static: Floats | float, kinetic: Floats | float, v_scale: float
) -> Floats:
    """Return the friction force; on a surface slip is 0 and `side` the multiplier."""
    drop = (np.asarray(static) - kinetic) * np.exp(-np.abs(slip) / v_scale)
    return np.asarray(-side * (kinetic + drop))

"""The wheel on a turntable of Szalai, Jeffrey 2014, a Filippov flow with a two-fold singularity.

A disk carries a slider in a straight slit at the distance d from its axis. The slider holds
a wheel at the angle gamma to the slit, which rolls and slips on a turntable below that turns
at omega0. States are the position r of the slider along the slit, its velocity v there, and
the speed omega of the disk. The switching function h is the lateral slip velocity of the wheel,
the kink function g its rolling velocity. `kernels` has the equations of motion.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Finite, Flag, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.laws.tyre import SimplifiedTyre, StretchedString, TyreLaw
from stiction.numerics.checks import number, numbers
from stiction.numerics.jit import mode
from stiction.switching.model import Compiled, LineExit, SwitchingSystem
from stiction.switching.wheel.parameters import Parameters, Wheel

if TYPE_CHECKING:
    from stiction.switching.wheel.folds import WheelTwoFolds
    from stiction.switching.wheel.line import LineChange, LineRay

__all__ = ["WheelOnTurntable"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# a start off the surface, from which the wheel slips, slides and reaches the two-fold
_START = (0.2, 0.1, -0.95)

_TRY = "leave this value out for the paper's value."
_WHY_LINE = "positions are taken on the line h = g = 0."
_FORM = Flag(
    "the flag chooses one of two forms of the equations.",
    "leave this value out for the paper's form.",
)
_TYRE = Part(
    "the tyre gives the force and the moment on the wheel.",
    "leave this value out for the paper's law.",
    "None, a SimplifiedTyre or a StretchedString",
)


@functools.cache
def _functions(mode_: str) -> tuple[Any, ...]:
    """Return field, surface, gradient and power, compiled once for each mode of the kernels."""
    from stiction.numerics.callback import address_of
    from stiction.switching.wheel import kernels

    parts = (kernels.field_at, kernels.surface_at, kernels.gradient_at, kernels.power_at)
    return tuple(address_of(part) for part in parts)


@dataclass(frozen=True, eq=False, repr=False)
class WheelOnTurntable(SwitchingSystem):
    """A wheel under a slider in the slit of a disk, rolling on a turntable.

    Time is scaled, dt = m (beta^2 + r^2) dtau, unless `physical_time` is set. The defaults
    are the paper's, with the two-fold at r* = 0.1859 m, omega* = -1.037 rad/s.

    Parameters
    ----------
    d : distance of the slit from the axis [m]
    m : mass of the slider [kg], > 0
    c1 : damping of the disk [N m s], >= 0
    c2 : damping of the slider [N s/m], >= 0
    beta : radius of gyration of the disk [m], > 0; its moment of inertia is m beta^2
    r0 : unstressed position of the spring [m]
    omega0 : speed of the turntable [rad/s]
    mu : friction force at h = 0 [N], > 0
    gamma : angle of the wheel to the slit [rad]
    kappa : moment over force at h = 0 [m], > 0
    k2 : stiffness of the spring [N/m], >= 0
    x0 : initial state (r, v, omega) [m, m/s, rad/s]; by default (0.2, 0.1, -0.95), a point with
        h > 0, g > 0 from which the paper's wheel slips, slides and reaches the two-fold
    mode : at a start on the surface "+", "-" or "slide"
    physical_time : whether the time of a run is t [s] instead of tau
    c1_between_disks : whether c1 acts between disk and turntable instead of disk and ground
    tyre : None for the paper's law with `mu` and `kappa`; a `SimplifiedTyre` gives both,
        which must then be left out or agree; a `StretchedString` gives force [N] and moment [N m]
        directly, and `mu` and `kappa` are not used

    Notes
    -----
    With a stretched string the field is continuous across h = 0, so that orbits cross it and do
    not slide. The boundaries between its three regimes (stick, partial slip, full slip) are kinks.
    Two-folds exist for the paper's law only.

    Source: Szalai, Jeffrey 2014, (1)-(7), with the corrections of the formulas sheet.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """

    d: Annotated[float, Finite("m", "the slit is at this distance from the axis.", _TRY)] = 1.0
    m: Annotated[float, Positive("kg", "a slider without mass has no acceleration.", _TRY)] = 1.0
    c1: Annotated[float, NonNegative("N m s", "a damper dissipates energy.", _TRY)] = 1e-3
    c2: Annotated[float, NonNegative("N s/m", "a damper dissipates energy.", _TRY)] = 1e-3
    beta: Annotated[float, Positive("m", "the disk has a moment of inertia m beta^2.", _TRY)] = 0.05
    r0: Annotated[float, Finite("m", "the spring is unstressed at r = r0.", _TRY)] = 0.1
    omega0: Annotated[float, Finite("rad/s", "the turntable rotates at this rate.", _TRY)] = -1.0
    mu: Annotated[float, Positive("N", "mu is the friction force at h = 0.", _TRY)] = 1.0
    gamma: Annotated[float, Finite("rad", "gamma is the angle of the wheel to the slit.", _TRY)] = (
        -0.75 * math.pi
    )
    kappa: Annotated[
        float, Positive("m", "kappa is the moment divided by the force at h = 0.", _TRY)
    ] = 0.272411537140620278
    k2: Annotated[float, NonNegative("N/m", "the spring pulls the slider back.", _TRY)] = (
        2.22709922538860144
    )
    x0: Sequence[float] | None = None
    mode: str | None = None
    physical_time: Annotated[bool, _FORM] = False
    c1_between_disks: Annotated[bool, _FORM] = False
    tyre: Annotated[TyreLaw | None, _TYRE] = None

    @property
    def usual_start(self) -> Sequence[float]:
        """A point from which the wheel of the paper slips, slides and reaches the two-fold."""
        return _START

    def _check_together(self) -> None:
        """Take mu and kappa of a `SimplifiedTyre`; refuse other values beside it."""
        tyre = self.tyre
        if tyre is None or isinstance(tyre, StretchedString):
            return
        if not isinstance(tyre, SimplifiedTyre):
            needs, why = _TYRE.needs, _TYRE.why
            raise ModelError("WheelOnTurntable.tyre", repr(tyre), needs, why, _TYRE.try_)
        for name in ("mu", "kappa"):
            mine, given = getattr(self, name), getattr(tyre, name)
            if mine not in (given, getattr(WheelOnTurntable, name)):
                raise ModelError(
                    f"WheelOnTurntable.{name}",
                    f"{mine!r} beside a tyre with {name} = {given!r}",
                    "one value of this number",
                    "the tyre defines the friction law, including this number.",
                    f"leave {name} out; the value of the tyre is used.",
                )
            object.__setattr__(self, name, given)

    @property
    def has_string(self) -> bool:
        """Whether the tyre is a stretched string, whose friction force is zero at h = 0."""
        return isinstance(self.tyre, StretchedString)

    def only_for_the_paper_law(self, what: str) -> None:
        """Refuse a wheel with a string where the law of Phys. Rev. E 90, 022914 is required.

        Raises
        ------
        ModelError : if the tyre is a stretched string.
        """
        if self.has_string:
            raise ModelError(
                f"WheelOnTurntable.{what}",
                "a wheel with a stretched-string tyre",
                "the friction law of Phys. Rev. E 90, 022914, tyre=None",
                "the friction of a string is zero at h = 0: such a wheel has no sliding and no "
                "two-fold.",
                "leave the tyre out, or integrate the motion by `solve`.",
            )

    # ---- interface of methods

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return ("r", "v", "omega")

    @property
    def state_units(self) -> tuple[str, ...]:
        """Units of the states."""
        return ("m", "m/s", "rad/s")

    @property
    def time_unit(self) -> str:
        """Unit of time: seconds, or 1 for the scaled time tau."""
        return "s" if self.physical_time else "1"

    @property
    def params(self) -> Wheel:
        """The parameters of the kernels, in one element."""
        first = (self.d, self.m, self.c1, self.c2, self.beta, self.r0, self.omega0, self.mu)
        last = (self.kappa, self.k2, self.physical_time, self.c1_between_disks)
        psi0 = math.atan(1.0 / (6.0 * self.kappa))
        law = (psi0, 1.0 - 2.0 * psi0 / math.pi, *self._string_numbers())
        values = np.array([*first, *self._turn, *last, *law], dtype=np.float64)
        return cast("Wheel", values.view(Parameters.fields_type))

    def _string_numbers(self) -> tuple[float, ...]:
        """The five numbers of a `StretchedString` tyre for the kernels; zeros for other tyres."""
        t = self.tyre
        if not isinstance(t, StretchedString):
            return (0.0,) * 5
        return (t.stiffness, t.max_pressure, t.kinetic_ratio, t.relaxation, t.half_length)

    @property
    def _turn(self) -> tuple[float, float]:
        """Sine and cosine of gamma."""
        # without the rounding of pi: the cosine of pi/2 and the sine of pi are zero
        sin, cos = math.sin(self.gamma), math.cos(self.gamma)
        return 0.0 if abs(sin) < 1e-15 else sin, 0.0 if abs(cos) < 1e-15 else cos

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        keep = _functions(mode())
        field_, surface, gradient, power = (int(c.address) for c in keep)
        return Compiled(
            field=field_,
            surface=surface,
            gradient=gradient,
            power=power,
            params=self.params.view(np.float64),
            n=3,
            m=1,
            k=3 if self.has_string else 1,
            line=True,
            scale=np.array([0.1, 0.1, 0.1]),
            keep=keep,
        )

    @property
    def smooth_field(self) -> int:
        """Address of the field that takes sgn(g) and |g| as inputs, for regularised runs."""
        from stiction.numerics.callback import address_of
        from stiction.switching.wheel.kernels import smooth_field_at

        return int(address_of(smooth_field_at).address)

    def energies(self, x: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy [J] for states (t, 3).

        Source: formulas sheet, section 1, of which (A1')-(A3) are Lagrange's equations.
        Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
        """
        r, v, w = np.asarray(x, dtype=np.float64).T
        slider = 0.5 * self.m * ((v - self.d * w) ** 2 + (r * w) ** 2)
        disk = 0.5 * self.m * self.beta**2 * w**2
        return slider + disk, 0.5 * self.k2 * (r - self.r0) ** 2

    def outputs(self, x: Floats, s: Floats) -> dict[str, tuple[Floats, str, str]]:
        """Return friction and reactions by name as (values, unit, meaning).

        Parameters
        ----------
        x : (t, 3) states
        s : (t, 1) signs; the multiplier in [-1, 1] on the surface

        Source: Szalai, Jeffrey 2014, (4)-(7), (12) and appendix A with the signs of the
        formulas sheet, section 1.
        Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
        """
        from stiction.switching.wheel.kernels import wheel_forces

        x = np.array(x, dtype=np.float64, order="C").reshape(-1, 3)
        s = np.array(s, dtype=np.float64, order="C").reshape(-1)
        contact = np.empty((len(x), 2))
        wheel_forces(x, s, self.params, contact)
        force, moment = contact.T.copy()
        (r, v, w), sin, cos = x.T, *self._turn
        slip = w - self.omega0
        along = v - self.d * slip
        spring = -self.k2 * (r - self.r0) - self.c2 * v
        # (A1') needs the angular acceleration of the disk, `turn` / m, by (3) in physical time
        damping = self.c1 * (slip if self.c1_between_disks else w)
        pull = spring + self.m * r * w**2
        torque = self.d * pull - damping - 2.0 * self.m * r * v * w + force * r * cos + moment
        # m times the angular acceleration, because m may be very small
        turn = torque / (self.beta**2 + r**2)
        wall = -r * turn + self.m * (self.d * w**2 - 2.0 * v * w) + force * cos
        return {
            "friction_force": (force, "N", "lateral force on the wheel, opposed to slip"),
            "friction_moment": (moment, "N m", "aligning moment on the wheel"),
            "slip_velocity": (-along * sin - r * slip * cos, "m/s", "lateral velocity h"),
            "rolling_velocity": (-along * cos + r * slip * sin, "m/s", "rolling velocity g"),
            "multiplier": (s, "1", "sign of h, or the multiplier in stick"),
            "wall_force": (wall, "N", "R1, force of the slit on the slider across it"),
            "spring_force": (spring, "N", "R2, force of spring and damper on the slider"),
        }

    # ---- two-folds

    @classmethod
    def at_two_fold(
        cls, r_star: float = 0.1859, omega_star: float = -1.037, **others: Any
    ) -> WheelOnTurntable:
        """Return the wheel whose kappa and k2 put a two-fold at r* [m], omega* [rad/s].

        Parameters
        ----------
        others : any other field but kappa and k2

        Raises
        ------
        ModelError : if no kappa > 0 and k2 >= 0 give a two-fold there.

        Source: Szalai, Jeffrey 2014, (10), (11); formulas sheet, section 4.
        Verified by: tests/unit/switching/wheel/test_model.py::test_at_two_fold
        """
        name = "WheelOnTurntable.at_two_fold"
        why, try_ = "r* and omega* are the state at the two-fold.", "for example 0.1859 and -1.037."
        r = number(f"{name}.r_star", r_star, unit="m", why=why, try_=try_)
        omega = number(f"{name}.omega_star", omega_star, unit="rad/s", why=why, try_=try_)
        for field in {"kappa", "k2"} & others.keys():
            why = "the two-fold determines kappa and k2."
            raise ModelError(
                f"{name}.{field}", repr(others[field]), "no value", why, "leave this value out."
            )
        wheel = cls(**others)
        wheel.only_for_the_paper_law("at_two_fold")
        two_fold_there = wheel.two_folds_at(r, omega)
        kappa, k2 = float(two_fold_there.kappa), float(two_fold_there.k2)
        if not (0.0 < kappa < np.inf and 0.0 <= k2 < np.inf and float(two_fold_there.g) != 0.0):
            raise ModelError(
                name,
                f"r* = {r!r}, omega* = {omega!r}, which need kappa = {kappa:.4g}, k2 = {k2:.4g}",
                "a point with kappa > 0 and k2 >= 0",
                "kappa > 0 requires r* cos(gamma) g* < 0, where g* is "
                "r* (omega* - omega0) / sin(gamma).",
                "take other r* or omega*, for example by `fig4_flags`; for gamma = 0 and "
                "gamma = pi/2 there is no such two-fold.",
            )
        return cls(**others, kappa=kappa, k2=k2)

    def two_fold_state(self) -> WheelTwoFolds:
        """Return all two-folds of this wheel with their local numbers, in the order of r.

        Source: formulas sheet, sections 4 and 5.
        Verified by: tests/unit/switching/wheel/test_model.py::test_all_two_folds
        """
        self.only_for_the_paper_law("two_fold_state")
        from stiction.switching.wheel.folds import all_two_folds

        return all_two_folds(self)

    def two_folds_at(self, r_star: npt.ArrayLike, omega_star: npt.ArrayLike) -> WheelTwoFolds:
        """Return the two-folds at r* [m], omega* [rad/s], with the kappa and k2 they require.

        The arguments are numbers or arrays that broadcast; kappa and k2 of this wheel are not used.

        Source: formulas sheet, sections 4 and 5.
        Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
        """
        self.only_for_the_paper_law("two_folds_at")
        from stiction.switching.wheel.folds import placed_two_folds

        return placed_two_folds(self, r_star, omega_star)

    def fig4_flags(self, r_star: npt.ArrayLike, omega_star: npt.ArrayLike) -> dict[str, Flags]:
        """Return the conditions of the paper's Fig. 4 on a grid, as (n_omega, n_r) for each panel.

        Parameters
        ----------
        r_star : (n_r,) [m]
        omega_star : (n_omega,) [rad/s]

        Returns
        -------
        `b` K-- > 0, `c` K++ < 0, `d` J1 < 0, `e` J2 < 0, `f` J1 J2 > 1, `g1` k2 > 0, `g2`
        kappa > 0, and `all` of them.

        Source: Szalai, Jeffrey 2014, Fig. 4.
        Verified by: tests/exact/test_wheel_references.py::test_fig4_flags
        """
        r = np.atleast_1d(np.asarray(r_star, dtype=np.float64))
        omega = np.atleast_1d(np.asarray(omega_star, dtype=np.float64))
        return self.two_folds_at(r[None, :], omega[:, None]).flags

    def degenerate_places(
        self, r_star: npt.ArrayLike, omega_star: npt.ArrayLike
    ) -> dict[str, Floats]:
        """Return rows (r*, omega*) with J1 J2 = 1 (`product`) and with J1 + J2 = 0 (`sum`).

        Parameters
        ----------
        r_star : (n,) [m]
        omega_star : (k,) increasing [rad/s]; each interval is searched

        Source: Szalai, Jeffrey 2014, section IV.
        Verified by: tests/unit/switching/wheel/test_model.py::test_degenerate_places
        """
        self.only_for_the_paper_law("degenerate_places")
        from stiction.switching.wheel.folds import degenerate_places

        return degenerate_places(self, r_star, omega_star)

    # ---- the line h = g = 0

    def line_exits(self, x: Floats) -> tuple[LineExit, ...]:
        """Return the exit directions of the line h = g = 0 at its point closest to `x`.

        Source: formulas sheet, section 7.
        Verified by: tests/unit/switching/wheel/test_model.py::test_exits_at_the_paper_parameters
        """
        from stiction.switching.wheel.line import line_exits_at

        where, try_ = f"{type(self).__name__}.line_exits.x", "give [0.17, 0.0, -1.0]."
        return line_exits_at(self, numbers(where, x, size=3, per="state", why=_WHY_LINE, try_=try_))

    def line_rays(self, r: float) -> tuple[LineRay, ...]:
        """Return all rays into and out of the point (r, 0, omega0) of the line; r in m.

        Source: formulas sheet, section 7.
        Verified by: tests/unit/switching/wheel/test_model.py::test_rays_follow_the_field
        """
        from stiction.switching.wheel.line import line_rays_at

        where = f"{type(self).__name__}.line_rays.r"
        at = number(where, r, unit="m", why=_WHY_LINE, try_="give 0.17.")
        return line_rays_at(self, (at, 0.0, self.omega0))

    def line_changes(self, r_low: float, r_high: float) -> tuple[LineChange, ...]:
        """Return the positions r [m] at which rays into or out of the line appear or disappear.

        Source: formulas sheet, section 7.
        Verified by: tests/exact/test_wheel_references.py::test_thresholds_of_the_line
        """
        from stiction.switching.wheel.line import line_changes

        where = f"{type(self).__name__}.line_changes"
        low, high = (
            number(f"{where}.{name}", r, unit="m", why=_WHY_LINE, try_="give 0.1 and 0.2.")
            for name, r in (("r_low", r_low), ("r_high", r_high))
        )
        return line_changes(self, low, high)

"""A wheel on a turntable: a slider in a slit, a tyre with dry friction, and a two-fold.

A disk carries a slider in a straight slit at the distance d from its axis. The slider holds
a wheel at the angle gamma to the slit, which rolls and slips on a turntable below that turns
at omega0. States are the place r of the slider along the slit, its velocity v there, and
the speed omega of the disk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import number
from stiction.switching.model import Compiled, SwitchingSystem

__all__ = ["WheelOnTurntable"]

Floats = npt.NDArray[np.float64]

# a start off the surface, from which the wheel slips, slides and meets the two-fold
_START = (0.2, 0.1, -0.95)

_FIELDS = (
    ("d", "finite", "m", "it is the distance of the slit from the axis."),
    ("m", "positive", "kg", "a slider without mass has no acceleration."),
    ("c1", "nonnegative", "N m s", "a damper takes energy away."),
    ("c2", "nonnegative", "N s/m", "a damper takes energy away."),
    ("beta", "positive", "m", "the disk has a moment of inertia m beta^2."),
    ("r0", "finite", "m", "it is where the spring is unstressed."),
    ("omega0", "finite", "rad/s", "it is the speed of the turntable."),
    ("mu", "positive", "N", "without friction there is nothing to switch."),
    ("gamma", "finite", "rad", "it is the angle of the wheel to the slit."),
    ("kappa", "positive", "m", "the contact trails the wheel by it."),
    ("k2", "nonnegative", "N/m", "the spring pulls the slider back."),
)


@dataclass(frozen=True, eq=False)
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
    r0 : rest place of the spring [m]
    omega0 : speed of the turntable [rad/s]
    mu : friction force at h = 0 [N], > 0
    gamma : angle of the wheel to the slit [rad]
    kappa : moment over force at h = 0 [m], > 0
    k2 : stiffness of the spring [N/m], >= 0
    x0 : start (r, v, omega) [m, m/s, rad/s]; (0.2, 0.1, -0.95) when left out, a point with
        h > 0, g > 0 from which the paper's wheel slips, slides and meets the two-fold
    mode : at a start on the surface "+", "-" or "slide"
    physical_time : whether the time of a run is t [s] instead of tau
    c1_between_disks : whether c1 acts between disk and turntable instead of on the ground

    Source: Szalai, Jeffrey 2014, (1)-(7), with the corrections of the formulas sheet.
    Verified by: tests/unit/switching/test_wheel.py::test_energy_balance
    """

    d: float = 1.0
    m: float = 1.0
    c1: float = 1e-3
    c2: float = 1e-3
    beta: float = 0.05
    r0: float = 0.1
    omega0: float = -1.0
    mu: float = 1.0
    gamma: float = -0.75 * math.pi
    kappa: float = 0.272411537140620278
    k2: float = 2.22709922538860144
    x0: Sequence[float] | None = None
    mode: str | None = None
    physical_time: bool = False
    c1_between_disks: bool = False

    def __post_init__(self) -> None:
        for name, rule, unit, why in _FIELDS:
            value = number(
                f"WheelOnTurntable.{name}",
                getattr(self, name),
                rule=rule,
                unit=unit,
                why=why,
                try_="leave it out for the paper's value.",
            )
            object.__setattr__(self, name, value)
        for name in ("physical_time", "c1_between_disks"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ModelError(
                    explain(
                        f"WheelOnTurntable.{name}",
                        repr(getattr(self, name)),
                        "True or False",
                        "it chooses one of two forms of the equations.",
                        "leave it out for the paper's form.",
                    )
                )
        if self.x0 is None:
            object.__setattr__(self, "x0", _START)
        self._check_start()

    # ---- what methods read

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
    def params(self) -> Floats:
        """The numbers kernels get, in the order of `_wheel_kernels.PARAMETERS`."""
        first = [self.d, self.m, self.c1, self.c2, self.beta, self.r0, self.omega0, self.mu]
        last = [self.kappa, self.k2, float(self.physical_time), float(self.c1_between_disks)]
        return np.array([*first, math.sin(self.gamma), math.cos(self.gamma), *last])

    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""
        from stiction.numerics.array_callback import address_of
        from stiction.switching import _wheel_kernels as kernels

        keep = [
            address_of(function)
            for function in (
                kernels.field_at,
                kernels.surface_at,
                kernels.gradient_at,
                kernels.power_at,
            )
        ]
        field_, surface, gradient, power = (int(c.address) for c in keep)
        return Compiled(
            field=field_,
            surface=surface,
            gradient=gradient,
            power=power,
            params=self.params,
            n=3,
            m=1,
            k=1,
            line=True,
            scale=np.array([0.1, 0.1, 0.1]),
            keep=tuple(keep),
        )

    def energies(self, x: Floats) -> tuple[Floats, Floats]:
        """Return kinetic and stored energy [J] for states (t, 3).

        Source: formulas sheet, section 1, of which (A1')-(A3) are Lagrange's equations.
        Verified by: tests/unit/switching/test_wheel.py::test_energy_balance
        """
        r, v, w = np.asarray(x, dtype=np.float64).T
        slider = 0.5 * self.m * ((v - self.d * w) ** 2 + (r * w) ** 2)
        disk = 0.5 * self.m * self.beta**2 * w**2
        return slider + disk, 0.5 * self.k2 * (r - self.r0) ** 2

"""The wheel on a turntable with a dynamic tyre, a stretched string in place of dry friction.

In the paper force and moment jump with the sign of the lateral velocity h. Here they follow
from the displacement q(x, t) of the tread in the contact patch -a < x < a. In stick

    q_t = g q_x + h,      sigma q_x = -q at x = a for g > 0 (sigma q_x = q at x = -a for g < 0),

with the rolling velocity g and the relaxation length sigma. Where the pressure k abs(q) exceeds
delta, an element breaks loose; it then slips under the pressure rho delta until the ground moves
back. The steady state at constant (h, g) is the law `StretchedString`. Force and moment are
continuous, so that the future is unique; `sensitivity` and `lyapunov_exponent` measure how fast
neighbouring motions diverge. `dynamic_tyre_kernels` has the time integration.

Source: Szalai, Jeffrey 2014, appendix B; Takacs, Orosz, Stepan 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Audit, Check
from stiction.core.fields import Count, Declared, Finite, Flag, NonNegative, Positive
from stiction.core.ledger import Ledger
from stiction.errors import ModelError, Status
from stiction.laws.tyre import StretchedString
from stiction.numerics.arrays import Table
from stiction.numerics.checks import MOST_SEED, number, numbers, whole
from stiction.switching.wheel.dynamic_tyre_kernels import Patch, Tyre

__all__ = [
    "DynamicTyreWheel",
    "Sensitivity",
    "Tread",
    "TyreMotion",
    "lyapunov_exponent",
    "sensitivity",
]

Floats = npt.NDArray[np.float64]

# largest energy imbalance of the tread, over its largest energy
_CLOSED = 1e-2
# largest displacement of a tread, over that at which an element breaks loose
_BROKEN = 1.01
_TRY = "see the docstring of DynamicTyreWheel for the meaning and the unit."
_WHY_POSITIVE = "the equations of motion need a positive value."
_WHY_NONNEGATIVE = "damping coefficients and relaxation lengths are not negative."
_WHY_FINITE = "the equations of motion need a finite value."
_ANGLE = Positive(
    "rad",
    "slip begins at an angle below pi/2, and friction in slip does not exceed friction in stick.",
    "give a smaller number.",
    most=1.5,
)
_NODES = Count(
    4,
    "the patch is divided into elements; the error decreases with their number.",
    "give 32 to 200.",
    most=100_000,
)


@dataclass(frozen=True, eq=False)
class Tread:
    """The state of the tread in the contact patch; elements are in order from rear to front.

    Parameters
    ----------
    displacement : (nodes + 1,) displacements q of the material elements [m]
    slip : (nodes + 1,) direction of slip, -1 or 1; 0 in stick
    offset : fraction of the length of the first element that lies in the patch; the last element
        has the remaining fraction
    front, rear : displacement at both edges [m]
    """

    displacement: Floats
    slip: Floats
    offset: float = 0.5
    front: float = 0.0
    rear: float = 0.0


@dataclass(frozen=True, eq=False)
class TyreMotion:
    """The result of `DynamicTyreWheel.integrate`.

    Parameters
    ----------
    t : (n,) times [s]
    states : (n, 3) r [m], v [m/s], omega [1/s]
    force, moment : (n,) friction force F [N] and moment M [N m] on the wheel
    h, g : (n,) lateral and rolling velocity [m/s]
    tread : state of the patch at the end
    work, heat, shed : energy [J] that the ground put into the tread, that became friction heat,
        and that material carried out of the patch
    stored : elastic energy in the patch at the end [J]
    ledger : energies of the tread at `t`; the energy that material carries out of the patch and
        into it is part of the external work
    status : solved, work_limit or not_finite; untrusted if friction heat is negative by more
        than 100 times its limit. An energy imbalance is in `audit` only
    steps : number of time steps
    """

    t: Floats
    states: Floats
    force: Floats
    moment: Floats
    h: Floats
    g: Floats
    tread: Tread
    work: float
    heat: float
    shed: float
    stored: float
    ledger: Ledger
    status: Status
    steps: int

    @property
    def audit(self) -> Audit:
        """Checks of the energy balance and of the dissipation of the tread.

        The energy imbalance decreases with the square of the number of nodes.
        """
        energy = self.ledger
        gained = float(np.max(-np.diff(energy.total_friction_heat), initial=0.0))
        missing, limit = energy.imbalance_rel, 1e-9 * energy.scale
        closed = (
            "largest energy imbalance of the tread at the saved times, over the largest energy; "
            "take more nodes"
        )
        heat_note = "largest negative heat of slip between saved times [J]"
        return Audit(
            (
                Check("ledger_closes", missing <= _CLOSED, missing, _CLOSED, None, closed),
                Check("friction_dissipates", gained <= limit, gained, limit, None, heat_note),
            )
        )


@dataclass(frozen=True, eq=False, repr=False)
class DynamicTyreWheel(Declared):
    """The wheel on a turntable with a dynamic stretched-string tyre, in physical time.

    Parameters
    ----------
    d, m, c1, c2, beta, r0, omega0, gamma, k2 : the wheel, as in `WheelOnTurntable`
    mu, kappa : force at which slip begins [N], and moment over force at this point [m]
    half_length : a, half the length of the contact patch [m]
    onset_angle : slip angle at which slip begins in a steady state [rad]; small for a stiff tyre
    kinetic_ratio : rho, pressure in slip over the largest pressure in stick [1]
    relaxation : sigma, relaxation length of the string [m]
    string_angle : slip angle of the string at which slip begins [rad]. By default (None) it is
        `onset_angle`, and the tread moves with h itself. With arccot(6 kappa) and a small
        `onset_angle` slip angles are mapped as in the paper, whose law is then the limit of a
        stiff tyre
    turn_slip : whether the turning rate of the wheel also moves the tread; not in the paper
    nodes : number of elements in the patch

    Notes
    -----
    An element breaks loose at the displacement delta / k = (2 a + sigma) tan(string_angle).
    Force and moment of the string are scaled so that they are mu and mu kappa where slip begins; so
    the moment of a patch shorter than 3 kappa acts through a longer lever.
    The material in the patch is replaced in the time 2 a / abs(g); the static law is the limit of
    this model only where this time is short.

    Source: Szalai, Jeffrey 2014, appendix B and section I; Takacs, Orosz, Stepan 2009 for
    the string in motion; formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_dynamic_tyre.py::test_steady_is_the_static_law
    """

    d: Annotated[float, Positive("m", _WHY_POSITIVE, _TRY)]
    m: Annotated[float, Positive("kg", _WHY_POSITIVE, _TRY)]
    c1: Annotated[float, NonNegative("N m s", _WHY_NONNEGATIVE, _TRY)]
    c2: Annotated[float, NonNegative("N s/m", _WHY_NONNEGATIVE, _TRY)]
    beta: Annotated[float, Positive("m", _WHY_POSITIVE, _TRY)]
    r0: Annotated[float, Finite("m", _WHY_FINITE, _TRY)]
    omega0: Annotated[float, Finite("1/s", _WHY_FINITE, _TRY)]
    mu: Annotated[float, Positive("N", _WHY_POSITIVE, _TRY)]
    gamma: Annotated[float, Finite("rad", _WHY_FINITE, _TRY)]
    kappa: Annotated[float, Positive("m", _WHY_POSITIVE, _TRY)]
    k2: Annotated[float, Finite("N/m", _WHY_FINITE, _TRY)]
    half_length: Annotated[float, Positive("m", _WHY_POSITIVE, _TRY)] = 1e-4
    onset_angle: Annotated[float, _ANGLE] = 0.01
    kinetic_ratio: Annotated[float, Positive("1", _ANGLE.why, _ANGLE.try_, most=1.0)] = 2.0 / 3.0
    relaxation: Annotated[float, NonNegative("m", _WHY_NONNEGATIVE, _TRY)] = 0.0
    string_angle: Annotated[float | None, _ANGLE] = None
    turn_slip: Annotated[
        bool, Flag("True lets turning of the wheel move the tread.", "give False.")
    ] = False
    nodes: Annotated[int, _NODES] = 48

    @property
    def _own_angle(self) -> float:
        """Slip angle of the string at which slip begins [rad]."""
        return self.onset_angle if self.string_angle is None else self.string_angle

    @property
    def string(self) -> StretchedString:
        """The static law of the steady state, in units of the largest pressure of the string."""
        length = 2.0 * self.half_length + self.relaxation
        stiffness = 1.0 / (length * np.tan(self._own_angle))
        return StretchedString(
            stiffness, 1.0, self.kinetic_ratio, self.relaxation, self.half_length
        )

    @property
    def scales(self) -> tuple[float, float]:
        """Force [N] and moment [N m] of the wheel per force and moment of `string`."""
        a, length = self.half_length, 2.0 * self.half_length + self.relaxation
        force = 2.0 * a * (a + self.relaxation) / length
        return self.mu / force, self.mu * self.kappa * 1.5 * length / a**3

    def steady(self, h: float, g: float) -> tuple[float, float]:
        """Return F [N] and M [N m] of the steady state at constant h and g [m/s].

        Source: the law of the string at the slip angle of the tread.
        Verified by: tests/unit/switching/wheel/test_dynamic_tyre.py::test_steady_is_the_static_law
        """
        from stiction.switching.wheel.dynamic_tyre_kernels import drive

        why, try_ = "h and g are velocities of the contact.", "for example steady(0.01, 1.0)."
        h, g = (number(f"steady.{k}", v, why=why, try_=try_) for k, v in (("h", h), ("g", g)))
        string, (force, moment) = self.string, self.scales
        angle = np.arctan2(drive(self._parameters(1.0, 1.0), h, g), abs(g))
        side = 1.0 if g > 0.0 else -1.0
        return float(force * string.force(angle)), float(side * moment * string.moment(angle))

    def integrate(
        self,
        start: Sequence[float] | Floats,
        times: Sequence[float] | Floats,
        *,
        tread: Tread | None = None,
        longest_step: float | None = None,
        held: bool = False,
        max_steps: int = 2_000_000,
    ) -> TyreMotion:
        """Return the motion from `start`, saved at `times`.

        Parameters
        ----------
        start : r [m], v [m/s], omega [1/s]
        times : increasing times [s]; the first is that of the start
        tread : the tread at the start, such as that of an earlier motion; by default undeformed
        longest_step : longest step [s]; by default a twentieth of the period of the fastest
            oscillation. Material also moves by at most 0.4 elements in a step
        held : whether r, v, omega are constant, for steady states of the tyre
        max_steps : largest number of steps

        Notes
        -----
        The scheme is velocity Verlet, of second order. If an element breaks loose within a step,
        the force is averaged over the step, so that the motion depends continuously on the start.

        Verified by: tests/unit/switching/wheel/test_dynamic_tyre.py::test_order_in_time
        """
        from stiction.switching.wheel import dynamic_tyre_kernels as kernels

        state, when = _checked(start, times)
        step = self.fastest_step if longest_step is None else longest_step
        name, why, try_ = (
            "integrate.longest_step",
            "time advances by at most this step.",
            "leave this value out.",
        )
        step = number(name, step, rule="positive", unit="s", why=why, try_=try_)
        name, why, try_ = (
            "integrate.max_steps",
            "this number bounds the work.",
            "give a larger number.",
        )
        least = whole(name, max_steps, least=1, why=why, try_=try_)
        p = self._parameters(step, 0.4)
        q, slip, patch = self._unpacked(tread)
        out = kernels.Sample.table(when.size)
        code, count, steps = kernels.advance(p, patch, q, slip, state, when, out, least, bool(held))
        scale, out = self.scales[0], out[:count]
        states = np.stack([out["r"], out["v"], out["omega"]], axis=1)
        slips = np.array([kernels.rolling(p, *row) for row in states]).reshape(-1, 2)
        end = patch[0]
        motion = TyreMotion(
            t=when[:count],
            states=states,
            force=out["force"],
            moment=out["moment"],
            h=slips[:, 0],
            g=slips[:, 1],
            tread=Tread(q, slip, end.offset, end.front, end.rear),
            work=scale * end.work,
            heat=scale * end.heat,
            shed=scale * end.shed,
            stored=self._stored(q, patch),
            ledger=Ledger(
                time=when[:count],
                kinetic=np.zeros(count),
                stored=scale * out["stored"],
                external_work=scale * (out["work"] - out["shed"]),
                friction_heat=scale * out["heat"][:, None],
            ),
            status=(Status.SOLVED, Status.WORK_LIMIT, Status.NOT_FINITE)[code],
            steps=steps,
        )
        untrusted = motion.status.ok and motion.audit.untrusted
        return replace(motion, status=Status.UNTRUSTED) if untrusted else motion

    @property
    def fastest_step(self) -> float:
        """A twentieth of the shortest period of an oscillation [s], or less for strong dampers.

        The oscillation is that of the wheel on the elastic tread, or that of slider and disk on
        their spring; the latter is fastest at r = 0.
        """
        angle_ratio = max(1.0, np.tan(self._own_angle) / np.tan(self.onset_angle))
        length = 2.0 * self.half_length + self.relaxation
        tread = 8.0 * self.mu / (length * np.tan(self._own_angle)) * angle_ratio / self.m
        lever = (self.beta**2 + self.d**2) / (self.m * self.beta**2)
        quick = max(self.c2 * lever, self.c1 / (self.m * self.beta**2))
        return float(0.1 * np.pi / max(np.sqrt(max(tread, abs(self.k2) * lever)), quick))

    def _stored(self, q: Floats, patch: Table[Patch]) -> float:
        """Return the elastic energy of the tread in the patch [J]."""
        length = np.full(q.size, 2.0 * self.half_length / self.nodes)
        length[0] *= patch[0].offset
        length[-1] *= 1.0 - patch[0].offset
        return float(0.5 * self.scales[0] * self.string.stiffness * np.sum(q**2 * length))

    def _parameters(self, step: float, cfl: float) -> Table[Tyre]:
        """Return the numbers of the kernels.

        Parameters
        ----------
        step, cfl : longest step [s], and number of elements that material moves in it at most
        """
        table = Tyre.table()
        tyre = table[0]
        for name in ("d", "m", "c1", "c2", "beta", "r0", "omega0", "gamma", "k2", "half_length"):
            setattr(tyre, name, getattr(self, name))
        tyre.relaxation, tyre.kinetic_ratio = self.relaxation, self.kinetic_ratio
        tyre.break_at = 1.0 / self.string.stiffness
        tyre.onset_angle, tyre.string_angle = self.onset_angle, self._own_angle
        tyre.turn_slip, (tyre.force, tyre.moment) = self.turn_slip, self.scales
        tyre.step, tyre.cfl = step, cfl
        return table

    def _unpacked(self, tread: Tread | None) -> tuple[Floats, Floats, Table[Patch]]:
        """Return displacement, slip and state of the patch as new arrays."""
        size = self.nodes + 1
        if tread is None:
            tread = Tread(np.zeros(size), np.zeros(size))
        given: object = tread
        if not isinstance(given, Tread):
            why, try_ = (
                "a motion starts from a state of the tread.",
                "give the `tread` of a motion.",
            )
            raise ModelError("integrate.tread", repr(tread), "a Tread", why, try_)
        why, try_ = (
            "a tread has one number per element.",
            "give the tread of an equal number of nodes.",
        )
        q, slip = (
            numbers(f"integrate.tread.{name}", value, size=size, why=why, try_=try_)
            for name, value in (("displacement", tread.displacement), ("slip", tread.slip))
        )
        name, why = "integrate.tread", "a tread has only such states."
        try_ = "give the tread of a motion of the same wheel."
        breaks = 1.0 / self.string.stiffness
        if not (np.isin(slip, (-1.0, 0.0, 1.0)).all() and (np.abs(q) <= _BROKEN * breaks).all()):
            needs = f"slip -1, 0 or 1, and displacements up to {breaks:.6g} m"
            raise ModelError(name, "a state with other numbers", needs, why, try_)
        patch = Patch.table()
        patch[0].offset = number(f"{name}.offset", tread.offset, why=why, try_=try_)
        if not 0.0 <= patch[0].offset <= 1.0:
            raise ModelError(f"{name}.offset", tread.offset, "a number from 0 to 1", why, try_)
        patch[0].front = number(f"{name}.front", tread.front, unit="m", why=why, try_=try_)
        patch[0].rear = number(f"{name}.rear", tread.rear, unit="m", why=why, try_=try_)
        return q.copy(), slip.copy(), patch


def _checked(start: object, times: object) -> tuple[Floats, Floats]:
    """Return (3,) the start and (n,) the times; ModelError if they are not admissible."""
    state = numbers(
        "integrate.start",
        start,
        size=3,
        per="state",
        why="the state is (r, v, omega).",
        try_="for example (0.2, 0.1, -0.95).",
    )
    when = numbers(
        "integrate.times",
        times,
        per="time to save",
        unit="s",
        why="the motion is saved at these times.",
        try_="for example numpy.linspace(0.0, 0.5, 200).",
    )
    if np.any(np.diff(when) <= 0.0):
        raise ModelError(
            "integrate.times",
            "times that do not rise",
            "times in rising order [s]",
            "the motion is integrated forward in time.",
            "sort them and remove duplicates.",
        )
    return state.copy(), when.copy()


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Divergence of perturbed copies of one motion.

    Parameters
    ----------
    t : (n,) times [s]
    base : the motion without a displacement
    displacements : (k,) sizes of the displacement of the start
    separation : (k, copies, n) largest difference from the base motion over r [m], v [m/s],
        omega [1/s]
    growth : (k,) median over the copies of the largest separation over the displacement
    exponent : (k,) finite-time Lyapunov exponent [1/s], the median over the copies of
        log(separation / displacement) / t. The time t is the first one at which the separation
        exceeds `apart`, where its growth is no longer linear, or else the end
    exit_time : (k, copies) first time at which abs(h) exceeds `exit_speed` [s]; NaN if it does not
    """

    t: Floats
    base: TyreMotion
    displacements: Floats
    separation: Floats
    growth: Floats
    exponent: Floats
    exit_time: Floats = field(default_factory=lambda: np.zeros(0))


def sensitivity(
    wheel: DynamicTyreWheel,
    start: Sequence[float] | Floats,
    times: Sequence[float] | Floats,
    *,
    displacements: Sequence[float] = (1e-6, 1e-8, 1e-10),
    copies: int = 6,
    exit_speed: float = 0.001,
    apart: float = 1e-3,
    seed: int = 1,
) -> Sensitivity:
    """Return the divergence of motions with random displacements of one start.

    Parameters
    ----------
    start : r, v, omega of the base motion
    times : see `DynamicTyreWheel.integrate`
    displacements : norms of the displacements in r [m], v [m/s], omega [1/s]
    copies : number of motions for each size, with random directions
    exit_speed : abs(h) at which a motion has left the surface h = 0 [m/s]
    apart : largest separation at which its growth counts as linear
    seed : seed of the random directions

    Verified by: tests/unit/switching/wheel/test_dynamic_tyre.py::test_linear_at_first
    """
    why, each = "each copy is one motion.", 100.0 * max(np.size(times), 1)
    whole("sensitivity.copies", copies, least=1, each=each, why=why, try_="give 6.")
    why = "the same seed repeats the random directions."
    whole("sensitivity.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 1.")
    for name, value in (("exit_speed", exit_speed), ("apart", apart)):
        why, try_ = (
            "a speed or a distance of the motions is compared with this value.",
            "give 0.001.",
        )
        number(f"sensitivity.{name}", value, rule="positive", why=why, try_=try_)
    if np.size(times) < 2:
        why, try_ = "motions diverge over time.", "for example numpy.linspace(0.0, 0.5, 200)."
        raise ModelError("sensitivity.times", repr(times), "two times or more", why, try_)
    base = wheel.integrate(start, times)
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = numbers(
        "sensitivity.displacements",
        displacements,
        rule="positive",
        why="a copy starts at this distance from the start.",
        try_="for example (1e-6, 1e-8).",
    )
    directions = rng.normal(size=(copies, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    n = base.t.size
    gap = np.full((sizes.size, copies, n), np.nan)
    exits = np.full((sizes.size, copies), np.nan)
    for i, size in enumerate(sizes):
        for j, direction in enumerate(directions):
            moved = wheel.integrate(base.states[0] + size * direction, base.t)
            count = moved.t.size
            gap[i, j, :count] = np.max(np.abs(moved.states - base.states[:count]), axis=1)
            exits[i, j] = _exit_time(moved, exit_speed)
    top = np.nanmax(gap, axis=2)
    # NaN, a copy without a finite state, counts as separated
    far = ~(gap < apart)
    at = np.where(far.any(axis=2), np.argmax(far, axis=2), n - 1)
    separations = np.take_along_axis(gap, at[:, :, None], axis=2)[:, :, 0]
    rate = np.log(separations / sizes[:, None]) / np.maximum(base.t[at] - base.t[0], 1e-300)
    return Sensitivity(
        t=base.t,
        base=base,
        displacements=sizes,
        separation=gap,
        growth=np.nanmedian(top / sizes[:, None], axis=1),
        exponent=np.nanmedian(rate, axis=1),
        exit_time=exits,
    )


def _exit_time(motion: TyreMotion, speed: float) -> float:
    """Return the first time at which abs(h) exceeds `speed`, by linear interpolation."""
    size = np.abs(motion.h)
    if size[0] >= speed:
        return float(motion.t[0])
    rises = np.flatnonzero((size[:-1] < speed) & (size[1:] >= speed))
    if rises.size == 0:
        return np.nan
    i = int(rises[0])
    fraction = (speed - size[i]) / (size[i + 1] - size[i])
    return float(motion.t[i] + fraction * (motion.t[i + 1] - motion.t[i]))


def lyapunov_exponent(
    wheel: DynamicTyreWheel,
    start: Sequence[float] | Floats,
    *,
    window: float = 0.05,
    windows: int = 200,
    displacement: float = 1e-9,
) -> tuple[Floats, Floats]:
    """Return growth rates [1/s] of a small displacement in windows of a long motion, and states.

    By Benettin's method: after each window a displaced copy is reset to the distance
    `displacement` from the motion, in its present direction, with the tread of the motion. The mean
    of the rates is the largest Lyapunov exponent, as far as the three states of the wheel show it.

    Parameters
    ----------
    window : time between two resets [s]
    windows : number of windows; the motion lasts window times windows
    displacement : distance after each reset in r [m], v [m/s], omega [1/s]

    Returns
    -------
    (n,) rates and (n, 3) states at the ends of the windows; n < windows if the integration fails.

    Source: Benettin's method.
    Verified by: tests/unit/switching/wheel/test_dynamic_tyre.py::test_lyapunov_exponent_of_a_spiral

    Examples
    --------
    >>> import stiction as st
    >>> wheel = st.switching.DynamicTyreWheel(
    ...     d=0.1, m=1.0, c1=0.1, c2=0.1, beta=1.0, r0=0.1, omega0=0.0, mu=1e-12, gamma=0.0,
    ...     kappa=1e-3, k2=1.0, nodes=8,
    ... )
    >>> start = (0.1, 0.01, 0.0)
    >>> rates, states = st.switching.lyapunov_exponent(wheel, start, window=0.01, windows=2)
    >>> states.shape
    (2, 3)
    """
    why, try_ = "rates are averaged over windows.", "give 200."
    whole("lyapunov_exponent.windows", windows, least=1, most=10_000_000, why=why, try_=try_)
    for name, value in (("window", window), ("displacement", displacement)):
        why, try_ = (
            "growth is measured over this window and from this displacement.",
            "leave this value out.",
        )
        number(f"lyapunov_exponent.{name}", value, rule="positive", why=why, try_=try_)
    state = _checked(start, [0.0, window])[0]
    direction = np.full(3, np.sqrt(1.0 / 3.0))
    times = np.array([0.0, window])
    tread: Tread | None = None
    rates, states = [], []
    for _ in range(windows):
        base = wheel.integrate(state, times, tread=tread)
        copy = wheel.integrate(state + displacement * direction, times, tread=tread)
        if not (base.status.ok and copy.status.ok):
            break
        state, tread = base.states[-1], base.tread
        gap = copy.states[-1] - state
        size = float(np.linalg.norm(gap))
        rates.append(np.log(size / displacement) / window)
        states.append(state)
        direction = gap / size if size > 0.0 else direction
    return np.array(rates), np.array(states).reshape(-1, 3)

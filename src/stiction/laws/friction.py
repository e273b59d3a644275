"""Base classes of friction laws: coefficients as functions of slip speed and internal state.

The friction force on a body that slips with velocity v over its surface is
``-mu(|v|, z) N sign(v)``; at v = 0 it is any force of size at most ``mu_static(z) N``. The
state z (n_state numbers per contact, often none) obeys ``dz/dt = state_rate(|v|, z)`` between
events, and an event may change it at once, to ``state_jump(event, z)``.

A law is pure: its formulas are plain functions of speed, state and parameters. The method stores
the state, integrates it, and commits it with an accepted step, so that rejected steps, line
searches and finite differences do not change it. Methods for chains read a law as a
`FrictionTable` (parameters of n contacts); kernels call its `Formulas` (`laws.compiled`).
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared
from stiction.errors import ModelError
from stiction.numerics.checks import numbers

__all__ = [
    "EVENTS",
    "ForceLaw",
    "Formulas",
    "Friction",
    "FrictionTable",
    "Response",
    "StateVariable",
    "check_order",
]

Floats = npt.NDArray[np.float64]
# a formula is plain arithmetic on v, z[j] and p[k]: numbers behind pointers in compiled code,
# arrays over contacts in Python
Formula = Callable[..., Any]
# events of a contact; the formula `jump` receives the index
EVENTS = ("stick", "slip", "reverse")


@dataclass(frozen=True)
class StateVariable:
    """One internal state variable of a contact.

    Parameters
    ----------
    name : in `run.data`; the law has a field `<name>_start`
    unit : "1" for none
    label : its meaning
    low, high : its range
    """

    name: str
    unit: str
    label: str
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Formulas:
    """The formulas of a law, each a plain function that Numba can compile.

    v >= 0 is the slip speed [m/s], z[j] the states and p[k] the parameters, in the order of
    `Friction.parameters`. A formula may call other plain functions of its own file.

    Parameters
    ----------
    mu : (v, z, p) -> coefficient [1]; at v = 0 the limit from slip
    slope : (v, z, p) -> d mu / dv [s/m]; at v = 0 from the right
    static : (v, z, p) -> the static coefficient [1], v = 0; None for `mu`
    by_state : (v, z, p, out), out[j] = d mu / dz_j; this and the next four for a law with states
    rate : (v, z, p, out), out[j] = dz_j/dt
    rate_by_speed : (v, z, p, out), out[j] = d rate_j / dv
    rate_by_state : (v, z, p, out), out[j * n_state + k] = d rate_j / dz_k
    jump : (event, z, p, out), out[j] = z_j just after an event, an index of `EVENTS`: the contact
        begins to stick, to slip, or reverses. Entries that are not written are unchanged.
        None: events do not change the state
    share : (k, v, factor, w, step, e, p) -> Taylor coefficient k in time of e(t), where
        mu = mu_kinetic + (mu_static - mu_kinetic) e, for Taylor series methods. The slip
        speed starts at v and has coefficients factor (j + 1) w[j * step] for j > 0; e[0] to
        e[k - 1] are known. None: such methods fit mu by its values.
    shares : (k, v, factor, w, e, p), the same from Python for (n,) contacts at once, with w[j]
        and e[j] arrays over contacts
    answer : (x, s, p, out), of a `ForceLaw` only: out[j] = entry j of a `Response` to the slip
        velocity x[0] and the state x[1], with the signs s of the switching functions
    switches : (x, s, p, out), out[j] = switching function j, whose sign is s[j]
    """

    mu: Formula
    slope: Formula
    static: Formula | None = None
    by_state: Formula | None = None
    rate: Formula | None = None
    rate_by_speed: Formula | None = None
    rate_by_state: Formula | None = None
    jump: Formula | None = None
    share: Formula | None = None
    shares: Formula | None = None
    answer: Formula | None = None
    switches: Formula | None = None


class Friction(Declared, abc.ABC):
    """A friction law: a static coefficient, a kinetic coefficient, and optional states.

    Attributes
    ----------
    states : internal state variables; empty for a law without memory
    constant : whether mu in slip depends neither on the speed nor on a state
    has_jump : whether the static coefficient exceeds the kinetic one at speed zero
    sticks : whether the law is set-valued at v = 0; without a set every force causes slip, and the
        law is a `ForceLaw`
    convex : whether mu decreases from mu_static to mu_kinetic along a convex curve, with the slope
        (mu_static - mu_kinetic) / v_scale at zero speed; `slowed` then has a closed form

    Examples
    --------
    >>> import stiction as st
    >>> laws = st.Coulomb(0.3), st.StaticKinetic(0.4, 0.3)
    >>> all(isinstance(law, st.laws.Friction) for law in laws)
    True
    >>> [(float(law.static()), float(law.coefficient(0.0))) for law in laws]
    [(0.3, 0.3), (0.4, 0.3)]
    """

    states: ClassVar[tuple[StateVariable, ...]] = ()
    constant: ClassVar[bool] = False
    has_jump: ClassVar[bool] = False
    sticks: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def formulas(self) -> Formulas:
        """The formulas of the law."""

    @classmethod
    @abc.abstractmethod
    def examples(cls) -> Sequence[Friction]:
        """Return some laws of this class, on which every law is tested."""

    # ---- defaults that a law may override

    def parameters(self, n: int) -> list[Floats]:
        """Return p, (n,) each, for `n` contacts: the fields in order.

        Raises
        ------
        ModelError : if a field has a list of another length.
        """
        return [self._spread(name, n) for name in self._fields()]

    def fast_coefficient(self, n: int) -> Floats:
        """Return the limit [1] of mu at high slip speed, for each of `n` contacts.

        The default is mu at speed zero.
        """
        return self.table(n).mu(np.zeros(n))

    def speed_scale(self, n: int) -> Floats:
        """Return the slip speed [m/s] over which mu changes; 1 by default."""
        return np.ones(n)

    def slowed(self, times: float) -> float:
        """Return the speed over v_scale at which the slope of mu is 1 / `times` of that at zero."""
        raise NotImplementedError(f"{type(self).__name__} is not convex")

    def plain(self) -> tuple[Callable[[float], float], Callable[[float], float]] | None:
        """Return mu and its slope as Python functions of one float; None if there are none."""
        return None

    def given(self) -> list[npt.NDArray[Any]]:
        """Return p as given: a number if it applies to all contacts."""
        return [np.asarray(getattr(self, name)) for name in self._fields()]

    # ---- common to all laws

    @property
    def n_state(self) -> int:
        """Number of states of a contact."""
        return len(self.states)

    def coefficient(self, v: npt.ArrayLike, state: npt.ArrayLike | None = None) -> Floats:
        """Return the coefficient mu(|v|, state) [1] in slip.

        At v = 0 it is the limit from |v| > 0, which for a law with a jump is below the
        static coefficient.

        Parameters
        ----------
        v : slip velocity [m/s]
        state : (..., n_state); default the initial state
        """
        return self._evaluated(self.formulas.mu, v, state)

    def slope(self, v: npt.ArrayLike, state: npt.ArrayLike | None = None) -> Floats:
        """Return d mu / d|v| [s/m] at slip velocity `v` [m/s]; at 0 the right derivative."""
        return self._evaluated(self.formulas.slope, v, state)

    def static(self, state: npt.ArrayLike | None = None) -> Floats:
        """Return the static coefficient [1] in this state."""
        return self._evaluated(self.formulas.static or self.formulas.mu, 0.0, state)

    def state_rate(self, v: npt.ArrayLike, state: npt.ArrayLike | None = None) -> Floats:
        """Return (..., n_state) rates of the state [its unit / s] at slip velocity `v`."""
        if not self.states:
            return np.zeros((*np.shape(v), 0))
        speed, z = np.abs(np.asarray(v, dtype=np.float64)), self._state(state)
        rates = filled(self.formulas.rate, speed, z, self.given(), self.n_state)
        return np.stack(np.broadcast_arrays(*rates), axis=-1)

    def state_jump(self, event: str, state: npt.ArrayLike | None = None) -> Floats:
        """Return (..., n_state) states just after an event.

        Parameters
        ----------
        event : "stick", "slip" or "reverse": the event of the contact
        state : (..., n_state) just before; default the initial state
        """
        if event not in EVENTS:
            needs, why = " or ".join(map(repr, EVENTS)), "a contact has these kinds of events."
            where = f"{type(self).__name__}.state_jump"
            raise ModelError(where, repr(event), needs, why, "give one of them.")
        z, jump = self._state(state), self.formulas.jump
        out = list(z)
        if jump is not None:
            jump(float(EVENTS.index(event)), z, self.given(), out)
        if not out:
            return np.zeros(np.shape(state) if state is not None else 0)
        rows = np.broadcast_arrays(*out, *z)[: len(out)]
        return np.stack(rows, axis=-1).astype(np.float64)

    def state_start(self, n: int) -> Floats:
        """Return (n_state, n) initial states: the fields `<name>_start`."""
        rows = [self._spread(f"{s.name}_start", n) for s in self.states]
        return np.array(rows).reshape(self.n_state, n)

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts; raise ModelError on a wrong length."""
        made = FrictionTable(self, n)
        # raises an error for a wrong length before the run
        made.parameters  # noqa: B018
        return made

    # ---- inside

    def _fields(self) -> list[str]:
        return [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]

    def _spread(self, name: str, n: int) -> Floats:
        """Return a field as (n,) numbers, one per contact; raise ModelError on a wrong length."""
        return numbers(
            f"{type(self).__name__}.{name}",
            getattr(self, name),
            size=n,
            per="contact",
            why="every contact needs its own value.",
            try_=f"give one number for all, or a list of {n}.",
        )

    def _state(self, state: npt.ArrayLike | None) -> Any:
        """Return the states z as formulas take them, states first; initial states for None."""
        if state is None:
            return [np.asarray(getattr(self, f"{s.name}_start")) for s in self.states]
        return np.moveaxis(np.asarray(state, dtype=np.float64), -1, 0)

    def _evaluated(self, formula: Formula, v: npt.ArrayLike, state: npt.ArrayLike | None) -> Floats:
        speed = np.abs(np.asarray(v, dtype=np.float64))
        value = formula(speed, self._state(state), self.given())
        return np.asarray(np.add(value, np.zeros_like(speed)))


class Response(NamedTuple):
    """Response of contacts without stick to a slip velocity w and their state z, (...,) each.

    Parameters
    ----------
    coefficient : friction force over normal force [1], with the sign of the slip it resists
    by_speed : its derivative by w [s/m]
    by_state : its derivative by z
    rate : dz/dt
    rate_by_speed : d rate / dw
    rate_by_state : d rate / dz
    stored : elastic energy over the normal force [m]
    storing : the rate of `stored` [m/s]
    plastic : the irreversible part of the slip velocity [m/s]
    """

    coefficient: Floats
    by_speed: Floats
    by_state: Floats
    rate: Floats
    rate_by_speed: Floats
    rate_by_state: Floats
    stored: Floats
    storing: Floats
    plastic: Floats


class ForceLaw(Friction):
    """Friction without set-valued stick: the force is a function of slip velocity and state.

    The force is -N phi(w, z), with dz/dt = rate(w, z). Both are piecewise smooth. The signs of the
    switching functions `switches` select the smooth parts. A method fixes these signs, `sides`,
    within a step, and ends the step where one of them changes. A contact may creep under a load
    that stick would carry; the run reports the creep.

    `formulas` has `answer` and `switches`, and for comparison the coefficients of steady slip and
    of onset. Such a law has one state. Methods for laws with stick do not accept it.
    """

    sticks: ClassVar[bool] = False
    n_switch: ClassVar[int] = 1

    def range_of_fall(self, n: int) -> Floats | None:
        """Return (n,) slip speeds [m/s] above which velocity weakening is complete, or None.

        Steps begin and end there, since a longer step would not resolve the weakening.
        """
        return None

    def switches(self, w: Floats, z: Floats, p: Sequence[Floats]) -> Floats:
        """Return (n_switch, ...) switching functions; their signs select a smooth branch."""
        return np.stack(_answered(self.formulas.switches, w, z, (), p, self.n_switch))

    def response(self, w: Floats, z: Floats, sides: Floats, p: Sequence[Floats]) -> Response:
        """Return the force and the rates, with their derivatives.

        Parameters
        ----------
        w : (..., n) slip velocities [m/s], signed
        z : (1, ..., n) states
        sides : (n_switch, n) signs of `switches`, 1 or -1, fixed for this step
        p : parameters, (n,) each
        """
        count = len(Response._fields)
        return Response(*_answered(self.formulas.answer, w, z, sides, p, count))

    def state_rate(self, v: npt.ArrayLike, state: npt.ArrayLike | None = None) -> Floats:
        """Return (..., 1) rates of the state [its unit / s] at the signed slip velocity `v`."""
        p, z = self.given(), self._state(state)
        w = np.asarray(v, dtype=np.float64) + 0.0 * z[0]
        sides = np.where(self.switches(w, z, p) < 0.0, -1.0, 1.0)
        return self.response(w, z, sides, p).rate[..., None]

    def creep_length(self, p: Sequence[Floats]) -> Floats | None:
        """Return the slip [m] over which contacts yield; None if they always creep."""
        return None

    @abc.abstractmethod
    def slip_scale(self, p: Sequence[Floats]) -> Floats:
        """Return the slip [m] over which friction changes."""

    def state_scale(self, p: Sequence[Floats]) -> Floats:
        """Return (n,) sizes of the state, for tolerances."""
        return np.ones_like(p[0])

    def least_speed(self, p: Sequence[Floats]) -> Floats | float:
        """Return the speed [m/s] below which slip need not be resolved; 0 for none."""
        return 0.0


def _answered(
    formula: Formula | None, w: Floats, z: Floats, sides: Any, p: Any, size: int
) -> list[Floats]:
    """Return the `size` entries that `answer` or `switches` writes, (..., n) each.

    w, z : (..., n) slip velocities [m/s], and (1, ..., n) states
    sides, p : signs of the switching functions, and parameters
    """
    assert formula is not None
    out: list[Any] = [0.0] * size
    formula((np.asarray(w), z[0]), sides, p, out)
    return [np.asarray(row + 0.0 * w) for row in out]


def with_stick(law: Friction, where: str) -> None:
    """Raise ModelError if `law` has no stick, in a method that needs stick."""
    if not law.sticks:
        raise ModelError(
            where,
            f"{type(law).__name__}, which has no stick",
            "a set-valued law, whose friction in stick has any value up to a bound",
            "each step of this method decides whether a contact sticks or slips.",
            "use Radau(); EventDriven(), which then calls Radau; or ThetaStepper(step=...).",
        )


def filled(formula: Formula | None, v: object, z: Any, p: Any, size: int) -> list[Any]:
    """Evaluate a formula with an argument `out` in Python."""
    assert formula is not None
    out: list[Any] = [0.0] * size
    formula(v, z, p, out)
    return out


@dataclass(frozen=True, eq=False)
class FrictionTable:
    """A law for n contacts, for methods and kernels.

    Parameters
    ----------
    law : the law
    n : number of contacts
    """

    law: Friction
    n: int

    @functools.cached_property
    def parameters(self) -> list[Floats]:
        """(n,) each, in the order of the formulas."""
        return self.law.parameters(self.n)

    @functools.cached_property
    def start(self) -> Floats:
        """(n_state, n) initial states."""
        return self.law.state_start(self.n)

    @functools.cached_property
    def mu_static(self) -> Floats:
        """(n,) static coefficients [1], in the initial state."""
        return self.static(self.start)

    @functools.cached_property
    def mu_kinetic(self) -> Floats:
        """(n,) limits of mu at high slip speed [1]."""
        if type(self.law).fast_coefficient is Friction.fast_coefficient:
            # the default of `fast_coefficient`, with this table
            return self.mu(np.zeros(self.n))
        return self.law.fast_coefficient(self.n)

    @functools.cached_property
    def v_scale(self) -> Floats:
        """(n,) slip speeds over which mu changes [m/s]."""
        return self.law.speed_scale(self.n)

    @property
    def may_weaken(self) -> bool:
        """Whether the kinetic coefficient may be below the static one."""
        return self.law.has_jump or not self.law.constant

    def static(self, z: Floats) -> Floats:
        """Return the (..., n) static coefficients in states (n_state, ..., n)."""
        formulas = self.law.formulas
        value = (formulas.static or formulas.mu)(np.zeros(self.n), z, self.parameters)
        return np.asarray(np.add(value, np.zeros(self.n)))

    def mu(self, v: Floats) -> Floats:
        """Return mu(|v|) in slip for velocities (n,) or (n, m), in the initial state."""
        return self._slipping(self.law.formulas.mu, v)

    def slope(self, v: Floats) -> Floats:
        """Return d mu / d|v| [s/m] for velocities (n,) or (n, m); at v = 0 from the right."""
        return self._slipping(self.law.formulas.slope, v)

    def mu_of(self, i: int, v: Floats) -> Floats:
        """Return mu of contact `i` at (m,) velocities."""
        p, z = [row[i] for row in self.parameters], self.start[:, i]
        return np.asarray(np.add(self.law.formulas.mu(np.abs(v), z, p), 0.0 * v))

    def probed(self, speeds: Floats) -> tuple[Floats, Floats]:
        """Return mu [1] and its slope [s/m] at (m,) speeds, (n, m) each.

        The shape is (1, m) if all contacts are equal.
        """
        law = self.law
        p = [value if value.ndim == 0 else value[:, None] for value in law.given()]
        z = self.start[:, :1] if self.n else self.start
        if self.start.size and np.ptp(self.start, axis=1).any():
            z = self.start[:, :, None]
        rows = [
            np.atleast_2d(f(speeds, z, p) + 0.0 * speeds)
            for f in (law.formulas.mu, law.formulas.slope)
        ]
        return rows[0], rows[1]

    def _slipping(self, formula: Formula, v: Floats) -> Floats:
        """Return a formula at velocities (n,) or (n, m) of the n contacts, in the initial state."""
        shape = (-1, *(1,) * (v.ndim - 1))
        p = [row.reshape(shape) for row in self.parameters]
        z = [row.reshape(shape) for row in self.start]
        return np.asarray(np.add(formula(np.abs(v), z, p), 0.0 * v))


def check_order(law: object, larger: str, smaller: str, why: str, beside: str = "") -> None:
    """Raise ModelError unless one coefficient of each contact is at least the other.

    Parameters
    ----------
    larger, smaller : names of the fields of `law`, numbers or one per contact
    why : the reason in the message
    beside : a further suggestion

    Verified by: tests/unit/laws/test_stribeck.py::test_exchanged_coefficients_are_accepted
    """
    above, below = (np.asarray(getattr(law, name)) for name in (larger, smaller))
    where = f"{type(law).__name__}.{larger}"
    sizes = {one.size for one in (above, below) if one.ndim}
    if len(sizes) > 1:
        got = f"{above.size} values beside {below.size} values of {smaller}"
        needs, reason = "lists of one length, or one number", "each contact has both coefficients."
        raise ModelError(where, got, needs, reason, "give one number per contact.")
    above, below = np.broadcast_arrays(np.atleast_1d(above), below)
    if np.any(above < below):
        i = int(np.argmax(above < below))
        of = f" of contact {i + 1}" if sizes else ""
        got = f"{float(above[i])!r}{of} with {smaller} = {float(below[i])!r}"
        needs = f"{larger} >= {smaller}{' for every contact' if sizes else ''}"
        raise ModelError(where, got, needs, why, f"exchange the two values{of}{beside}.")


def without_memory(law: Friction, where: str, why: str, try_: str) -> None:
    """Raise ModelError if `law` has states, in a place that cannot integrate them."""
    if law.states:
        names = ", ".join(s.name for s in law.states)
        raise ModelError(
            where,
            f"{type(law).__name__}, which has internal state ({names})",
            "a law without memory",
            why,
            try_,
        )

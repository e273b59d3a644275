"""n masses on a rail, joined by springs and dampers, under set-valued Coulomb friction.

    m_i x_i'' = T_{i+1} - T_i + b_i f(t) + kp_i (V_p t - x_i) - mu(|w_i|) N_i Sgn(w_i)
    T_i = k_i (x_i - x_{i-1}) + c_i (v_i - v_{i-1}),      w_i = v_i - V_belt

of masses m_i at x_i [m] with velocities v_i and slip rates w_i over a belt of speed V_belt, link
forces T_i [N], load f(t) with weights b_i, springs kp_i to a plate of speed V_p, normal forces N_i,
friction coefficient mu and the set-valued sign Sgn (docs/notation.md). In the equation of mass i,
T_i is the link on its left and T_{i+1} the link on its right: arrays of links (n + 1,) count
from the left, the walls included (stiffness 0 where there is none). Displacements are measured
from the unstressed positions. Kernels use elongations of links, never the matrix K, so that a
stiff chain loses no digits to cancellation.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.chains.loads import Constant, Load
from stiction.core.fields import Choice, Declared, Finite, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.laws.friction import Friction, FrictionTable
from stiction.numerics.checks import Numbers, shape_of, whole

if TYPE_CHECKING:
    from stiction.core.method import SharedName, Solver
    from stiction.core.tangents import Gradients, Tangents

__all__ = ["Chain"]

Floats = npt.NDArray[np.float64]

MOST_MASSES = 20_000_000

_SIDES = {
    "left": (True, False),
    "right": (False, True),
    "both": (True, True),
    "none": (False, False),
}

# a slip rate below this fraction of the velocities of a motion is the rounding error of stick
_AT_BELT = 1e-13
_WHY_SPRING = "supports = {0.supports!r} makes {0.n_spring} springs for {0.n_mass} masses."
_TRY_SPRING = "give one number for all, or a list of {0.n_spring}."
_WHY_START = "every mass has a displacement and a velocity at the start."
_TRY_N = "give one number for all masses, or a list with one per mass."
_WHY_WHOLE = "one value applies to the whole chain."
_TRY_WHOLE = "give one finite number."

_MASS = Positive(
    "kg",
    "a massless or negative block has no inertia to slip with.",
    "give a positive mass, or remove the block and join its springs.",
    per="mass",
)
_SPRING = Positive("N/m", _WHY_SPRING, _TRY_SPRING, per="spring")
_DAMPER = NonNegative("N s/m", _WHY_SPRING, _TRY_SPRING, per="spring")
_LOAD = Part("the load is an object with its own fields.", "for example Ramp(rate=1.0).")
_SUPPORTS = Choice(
    tuple(_SIDES),
    "an end of the chain is either held by a wall through a spring or free.",
    'give "left" for the chain of the paper, with a wall beside mass 1 and a free mass n.',
)
_LOAD_VECTOR = Finite(
    "1", "the load vector distributes the load over the masses.", _TRY_N, per="mass"
)
_PRESS = NonNegative(
    "N",
    "friction needs a contact that is pressed together, not pulled apart.",
    _TRY_N,
    per="mass",
)
_PLATE_SPRING = NonNegative(
    "N/m",
    "the energy of a spring with negative stiffness has no lower bound.",
    _TRY_N,
    per="mass",
)


@dataclass(frozen=True, eq=False, repr=False)
class Chain(Declared):
    """n masses, springs and dampers on a rail under Coulomb friction.

    Mass 1 is next to the left wall and mass n carries the load, unless `supports` and
    `load_vector` say otherwise.

    Parameters
    ----------
    mass : (n,) masses [kg], > 0; or one number with `n`
    stiffness : springs [N/m], > 0; one number, or one per spring from left to right,
        walls included (n springs with one wall, n + 1 with two, n - 1 with none)
    damping : dampers [N s/m], >= 0, beside the springs; one number or one per spring
    gravity : [m/s^2], >= 0; presses each mass on the rail with N_i = m_i g
    load : load function f(t)
    law : friction law
    x0, v0 : (n,) or one number; displacements [m] and velocities [m/s] at the start
    supports : "left", "right", "both" or "none": where the end springs are held by a wall
    load_vector : (n,) weights b_i [1] of the load; default: all on mass n
    normal_force : (n,) or one number [N], >= 0; default m_i g
    belt_speed : [m/s] speed of the surface under the masses
    plate_stiffness : (n,) or one number [N/m], >= 0; springs from each mass to a plate
        that moves at `plate_speed` (Burridge and Knopoff)
    plate_speed : [m/s]
    n : number of masses; needed only when `mass` is one number
    spacing : [m] distance of neighbours at rest; used in figures and wave speeds only

    Raises
    ------
    ModelError : on any value that describes no chain.

    Source: Axioms 14(4) 299, Problem 1; numbering of the formulas sheet, section 0.
    Verified by: tests/exact/test_chain_references.py::test_events_and_states
    """

    default_method: ClassVar[str] = "EventDriven"

    # results of a run do not depend on the times at which its state is saved, except these
    fewest_saves: ClassVar[int] = 2
    of_saved_states: ClassVar[tuple[str, ...]] = ("stick_above_kinetic", "audit.stick_within_bound")

    mass: Annotated[Numbers, _MASS]
    stiffness: Annotated[Numbers, _SPRING]
    damping: Annotated[Numbers, _DAMPER] = 0.0
    gravity: Annotated[float, NonNegative("m/s^2", _WHY_WHOLE, _TRY_WHOLE)] = 9.81
    load: Annotated[Load, _LOAD] = field(default_factory=lambda: Constant(0.0))
    law: Friction = field(default_factory=lambda: Coulomb(0.0))
    x0: Annotated[Numbers, Finite("m", _WHY_START, _TRY_N, per="mass")] = 0.0
    v0: Annotated[Numbers, Finite("m/s", _WHY_START, _TRY_N, per="mass")] = 0.0
    supports: Annotated[str, _SUPPORTS] = "left"
    load_vector: Annotated[Sequence[float] | Floats | None, _LOAD_VECTOR] = None
    normal_force: Annotated[Numbers | None, _PRESS] = None
    belt_speed: Annotated[float, Finite("m/s", _WHY_WHOLE, _TRY_WHOLE)] = 0.0
    plate_stiffness: Annotated[Numbers, _PLATE_SPRING] = 0.0
    plate_speed: Annotated[float, Finite("m/s", _WHY_WHOLE, _TRY_WHOLE)] = 0.0
    n: int | None = None
    spacing: Annotated[float, Positive("m", _WHY_WHOLE, _TRY_WHOLE)] = 1.0

    def __post_init__(self) -> None:
        _check_count(self.mass, self.n)
        _check_law(self.law)
        if self.supports == "none" and self.n_mass == 1:
            raise ModelError(
                "Chain.supports",
                "'none' with n = 1",
                "a wall, or at least two masses",
                "one mass without a wall has no spring to give a stiffness for.",
                'use supports = "left", or add a mass.',
            )
        super().__post_init__()
        # raises ModelError for a law with lists of a wrong length
        self.friction.parameters  # noqa: B018
        self._check_sizes()

    @property
    def lengths(self) -> dict[str, int]:
        """Numbers of masses and springs."""
        return {"mass": self.n_mass, "spring": self.n_spring}

    # ---- what methods read

    @functools.cached_property
    def n_mass(self) -> int:
        """Number of masses."""
        return self.n if self.n is not None else math.prod(shape_of(self.mass))

    @property
    def n_spring(self) -> int:
        """Number of springs between masses and to walls (without plate springs)."""
        left, right = _SIDES[self.supports]
        return self.n_mass - 1 + left + right

    @property
    def state_size(self) -> int:
        """Number of values of one saved state."""
        return 4 * self.n_mass

    @functools.cached_property
    def masses(self) -> Floats:
        """(n,) masses [kg]."""
        return self._full(self.mass)

    @functools.cached_property
    def x_start(self) -> Floats:
        """(n,) displacements at the start [m]."""
        return self._full(self.x0)

    @functools.cached_property
    def v_start(self) -> Floats:
        """(n,) velocities at the start [m/s]."""
        return self._full(self.v0)

    @functools.cached_property
    def plate_springs(self) -> Floats:
        """(n,) stiffness [N/m] of the springs to the moving plate."""
        return self._full(self.plate_stiffness)

    @functools.cached_property
    def link_stiffness(self) -> Floats:
        """(n + 1,) stiffness [N/m] of the links; 0 at an end without a wall."""
        return self._links(self.stiffness)

    @functools.cached_property
    def link_damping(self) -> Floats:
        """(n + 1,) damping [N s/m] of the links; 0 at an end without a wall."""
        return self._links(self.damping)

    @functools.cached_property
    def load_weights(self) -> Floats:
        """(n,) load vector b [1]."""
        if self.load_vector is not None:
            return self._full(self.load_vector)
        vector = np.zeros(self.n_mass)
        vector[-1] = 1.0
        return vector

    @functools.cached_property
    def normal_forces(self) -> Floats:
        """(n,) normal force N_i [N] on each contact, compression >= 0."""
        if self.normal_force is not None:
            return self._full(self.normal_force)
        return self.masses * self.gravity

    @functools.cached_property
    def friction(self) -> FrictionTable:
        """The friction law with its parameters for each of the n masses."""
        return self.law.table(self.n_mass)

    @functools.cached_property
    def stick_bound(self) -> Floats:
        """(n,) static bound mu_static N_i [N] of the friction force of each contact."""
        return self.friction.mu_static * self.normal_forces

    def stiffness_matrix(self) -> Floats:
        """Return the dense (n, n) matrix K [N/m], plate springs included; for small n."""
        return _tridiagonal(self.link_stiffness) + np.diag(self.plate_springs)

    def damping_matrix(self) -> Floats:
        """Return the dense (n, n) matrix C [N s/m]; for small n."""
        return _tridiagonal(self.link_damping)

    def drive(self, t: float, x: Floats, v: Floats) -> Floats:
        """Return the force [N] on each mass without friction, R = b f - K x - C v + plate.

        Parameters
        ----------
        t : time [s]
        x, v : (n,) displacements [m] and velocities [m/s]
        """
        ends = np.zeros(1)
        elongation = np.diff(np.concatenate([ends, x, ends]))
        rate = np.diff(np.concatenate([ends, v, ends]))
        tension = self.link_stiffness * elongation + self.link_damping * rate
        plate = self.plate_springs * (self.plate_speed * t - x)
        return np.asarray(np.diff(tension) + self.load_weights * float(self.load.at(t)) + plate)

    def sticks_for_good(
        self, t: float, x: Floats, since: float | None = None, slack: float = 1e-12
    ) -> bool:
        """Return whether no later load can move a chain that sticks everywhere in x.

        Masses that stick on a moving belt move with it; they stick for good only if that strains no
        spring.

        Parameters
        ----------
        t : time [s]
        x : (n,) displacements [m]
        since : time from which the load counts [s]; `t` when None
        slack : fraction by which rounding may bring forces above the bounds
        """
        if self.law.states:
            # the bound of stick depends on time
            return False
        velocity, edge = np.full(self.n_mass, self.belt_speed), np.zeros(1)
        if self.belt_speed != 0.0 or self.plate_speed != 0.0:
            pull = np.diff(self.link_stiffness * np.diff(np.concatenate([edge, velocity, edge])))
            if (pull + self.plate_springs * (self.plate_speed - velocity)).any():
                return False
        loaded = self.load_weights != 0.0
        extremes = self.load.bounds_after(t if since is None else since)
        if np.isinf(extremes).any() and loaded.any() and np.isfinite(self.stick_bound).all():
            # an unbounded load exceeds every bound eventually
            return False
        drive, now = self.drive(t, x, velocity), float(self.load.at(t))
        for extreme in extremes:
            push = drive.copy()
            push[loaded] += self.load_weights[loaded] * (extreme - now)
            if (np.abs(push) > self.stick_bound * (1.0 + slack)).any():
                return False
        return True

    def plain_seconds(self, method: object, duration: float) -> float:
        """Return about how long a run takes as plain Python [s], on a processor of 2025.

        A step of the series spans a few radians of the fastest motion; each event ends one.
        """
        n = self.n_mass
        step = getattr(method, "step", None)
        if step is not None:
            return float(duration / step) * (3e-5 + 3e-6 * n)
        fastest = math.sqrt(4.0 * max(self.link_stiffness.max(), 0.0) / self.masses.min())
        return (10.0 + 0.25 * fastest * duration + 4.0 * n) * (2.5e-3 + 2e-5 * n)

    def critical_force(self) -> Floats | None:
        """Return the load [N] of the onset of slip of each mass, if it rises slowly.

        F_i = mu_s sum_{j >= i} N_j plus the force in link i at the start, or the F_j of a mass
        beyond it, j > i, if that is larger. F_i does not depend on the stiffness if the start is
        unstressed. At this load all static bounds are reached: with constant friction it
        is the onset under a slow load, with weakening friction an upper bound, because masses
        that slip resist less. The start must be an equilibrium. Known in
        closed form for the canonical chain only (one wall at the left, load on mass n, no
        plate, no belt); None otherwise, and where it is beyond floating point.

        Source: formulas sheet of the chains paper, section 3.
        Verified by: tests/exact/test_chain_closed_forms.py::test_critical_force
        """
        canonical = (
            self.supports == "left"
            and np.count_nonzero(self.load_weights[:-1]) == 0
            and self.load_weights[-1] == 1.0
            and not np.any(self.plate_stiffness)
            and self.belt_speed == 0.0
            and not self.law.states
        )
        if not canonical:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            carried = np.cumsum(self.stick_bound[::-1])[::-1]
            stored = self.link_stiffness[:-1] * np.diff(self.x_start, prepend=0.0)
            found = np.asarray(np.maximum.accumulate((carried + stored)[::-1])[::-1])
        return found if np.isfinite(found).all() else None

    # ---- derivatives

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the 2 n components of a start: displacements, then velocities."""
        return tuple(f"{name}[{i}]" for name in "xv" for i in range(self.n_mass))

    @property
    def start_scales(self) -> Floats:
        """Sizes (2 n,) of a start whose displacements are 1: velocities have the fastest rate."""
        return np.repeat([1.0, self._fastest or 1.0], self.n_mass)

    @functools.cached_property
    def _fastest(self) -> float:
        """Bound of the order of the fastest angular frequency [rad/s]."""
        springs = self.link_stiffness[:-1] + self.link_stiffness[1:] + self.plate_springs
        return float(np.sqrt((springs / self.masses).max()))

    def at_state(self, state: Floats) -> Chain:
        """Return the same chain that starts at `state` (2 n,).

        A velocity within rounding of the belt speed is set to the belt speed, so that the mass
        sticks or reverses there. Otherwise it would slip for an instant and then stop.

        Verified by: tests/exact/test_cycles_of_chains.py::test_a_mass_that_always_sticks
        """
        whole = np.array(state, dtype=np.float64)
        if whole.shape == (2 * self.n_mass,):
            x, v, belt = whole[: self.n_mass], whole[self.n_mass :], self.belt_speed
            size = max(np.abs(v).max(), abs(belt), self._fastest * np.abs(x).max())
            v[np.abs(v - belt) <= _AT_BELT * size] = belt
        whole.flags.writeable = False
        x, v = whole[: self.n_mass], whole[self.n_mass :]
        if whole.shape != (2 * self.n_mass,) or not np.isfinite(whole).all():
            return dataclasses.replace(self, x0=x, v0=v)
        # the other fields are checked already, and quantities derived from them remain valid
        other = copy.copy(self)
        object.__setattr__(other, "x0", x)
        object.__setattr__(other, "v0", v)
        other.__dict__.pop("x_start", None)
        other.__dict__.pop("v_start", None)
        other.__dict__["number_derivatives"] = self.number_derivatives
        other._check_sizes()
        return other

    @functools.cached_property
    def number_derivatives(self) -> dict[str, Any]:
        """Cached derivatives of the coefficients of the equations, by names of parameters.

        They do not depend on the initial state (`tangents.directions`).
        """
        return {}

    def parameter(self, name: str) -> float:
        """Return a number by its name, such as `law.mu`, `stiffness[2]` or `load.rate`."""
        from stiction.chains.tangents.parameters import parameter

        return parameter(self, name)

    def with_parameter(self, name: str, value: float) -> Chain:
        """Return the same chain with another value of one number."""
        from stiction.chains.tangents.parameters import with_parameter

        return with_parameter(self, name, value)

    def tangents(
        self,
        method: Solver | SharedName | None,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the end of a run and its derivatives; see `stiction.core.tangents`.

        Parameters
        ----------
        method : `EventDriven` or `ThetaStepper`; None for the first
        to : directions: `x0` for all 2 n components of the start, `x0[i]`, `v0[i]`, or numbers by
            their names
        save : times whose states have derivatives too; of `EventDriven`
        """
        from stiction.core.method import method_for

        chosen: Any = method_for(self, method)
        if not hasattr(chosen, "tangents"):
            raise ModelError(
                "Chain.tangents.method",
                repr(chosen),
                "EventDriven() or ThetaStepper(...)",
                "the other methods carry no derivatives.",
                "give None for EventDriven().",
            )
        found: Tangents = chosen.tangents(self, t_span, to, save)
        return found

    def gradients(
        self,
        method: Solver | SharedName | None,
        t_span: tuple[float, float],
        of: Sequence[str],
        to: Sequence[str],
    ) -> Gradients:
        """Return derivatives of single quantities by many directions, by the adjoint equation.

        Parameters
        ----------
        method : `EventDriven`, or None
        of : components of the end such as `x[2]`, and times of events such as `event_time[0]`;
            `event_time` for all of them
        to : directions, as in `tangents`
        """
        from stiction.core.method import method_for

        chosen: Any = method_for(self, method)
        if not hasattr(chosen, "gradients"):
            raise ModelError(
                "Chain.gradients.method",
                repr(chosen),
                "EventDriven()",
                "the other methods have no adjoint.",
                "give None for EventDriven(), or use Chain.tangents.",
            )
        found: Gradients = chosen.gradients(self, t_span, of, to)
        return found

    # ---- checks

    def _check_sizes(self) -> None:
        """Raise ModelError for derived quantities that are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            m, k, c = self.masses, self.link_stiffness, self.link_damping
            derived = {
                "normal forces [N]": self.normal_forces,
                "unstressed positions [m]": np.array([self.spacing * self.n_mass]),
                "static friction [N]": self.stick_bound,
                "stiffness over mass [1/s^2]": (k[:-1] + k[1:] + self.plate_springs) / m,
                "damping over mass [1/s]": (c[:-1] + c[1:]) / m,
                "kinetic energy at the start [J]": m * self.v_start**2,
                "elastic energy at the start [J]": (k[:-1] + k[1:]) * self.x_start**2,
            }
        if np.isfinite(np.concatenate(list(derived.values()))).all():
            return
        for name, values in derived.items():
            if not np.isfinite(values).all():
                raise ModelError(
                    "Chain",
                    f"{name} beyond floating point",
                    "numbers whose products are finite",
                    "an infinite force or energy leaves nothing to compute with.",
                    "choose units in which the chain has moderate numbers.",
                )

    def _full(self, value: Numbers) -> Floats:
        full = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), self.n_mass))
        full.flags.writeable = False
        return full

    def _links(self, given: Numbers) -> Floats:
        left, right = _SIDES[self.supports]
        none = np.zeros(1)
        springs = np.broadcast_to(given, self.n_spring)
        return np.concatenate([[] if left else none, springs, [] if right else none])


def _check_count(mass: object, n: object) -> None:
    """Raise ModelError unless `mass` and `n` give one number of masses that fits into memory."""
    size = shape_of(mass)
    if len(size) > 1 or 0 in size:
        raise ModelError(
            "Chain.mass",
            f"an array of shape {size}",
            "a list of masses [kg], at least one",
            "a chain without masses has nothing to move.",
            "for example mass = [1.0, 1.0, 1.0].",
        )
    if n is None:
        return
    count = whole(
        "Chain.n",
        n,
        least=1,
        why="a chain without masses has nothing to move.",
        try_="give n >= 1, or leave n out and give a list of masses.",
    )
    if count > MOST_MASSES:
        raise ModelError(
            "Chain.n",
            count,
            f"at most {MOST_MASSES} masses",
            "every mass needs some 200 bytes, so a larger chain could exhaust the memory.",
            "give fewer masses: far fewer resolve a continuous rod.",
        )
    if size and size[0] != count:
        raise ModelError(
            "Chain.n",
            f"{count} with a list of {size[0]} masses",
            "the number of masses in the list",
            "n and the list give different numbers of masses.",
            "leave n out; the list has one entry per mass.",
        )


def _tridiagonal(links: Floats) -> Floats:
    """Return the (n, n) matrix of (n + 1,) links: l_i + l_{i+1} on the diagonal, -l_i beside it."""
    inner = links[1:-1]
    return np.diag(links[:-1] + links[1:]) - np.diag(inner, 1) - np.diag(inner, -1)


def _check_law(law: object) -> None:
    """Raise ModelError for anything but a friction law of chains."""
    if isinstance(law, Friction):
        return
    from stiction.laws.rate_and_state import RateAndState

    why, try_ = "the law is an object with its own fields.", "give Coulomb(mu=0.25)."
    if isinstance(law, RateAndState):
        why = "this law is for faults, whose equations have no inertia."
        try_ = f"give RateAndStateFriction({type(law).__name__}(...))."
    raise ModelError("Chain.law", repr(law), "a Friction", why, try_)

"""Piecewise-smooth (Filippov) flows: x' = f(x; s), where s_i is the sign of h_i(x).

Each h_i(x) = 0 is a discontinuity surface. On it s_i may take any value in [-1, 1], the multiplier,
so that x' lies in Filippov's convex set. A multiplier whose x' is tangent to the surface describes
sliding; in systems with friction this is mechanical stick. The field of each side must be smooth
up to the surface and a little beyond it, because stages of steps are evaluated there. At the zeros
of a kink function g_j(x) the field is not smooth either, but solutions cross them without sliding.

`SwitchingSystem` is the base class of all such systems; `PiecewiseSmooth` is the system of a user's
Python functions. `Compiled` has the addresses of functions that the kernels in `flow` call.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Declared, Flag
from stiction.core.method import method_for
from stiction.core.tangents import Tangents
from stiction.errors import ModelError
from stiction.numerics.checks import numbers, shape_of
from stiction.numerics.jit import mode
from stiction.switching.user_functions import (
    CLOCK,
    UserFunctions,
    checked_parameters,
    values_of,
)

__all__ = ["MODES", "Compiled", "LineExit", "PiecewiseSmooth", "SwitchingSystem", "sides_at"]

Floats = npt.NDArray[np.float64]

# names of modes at one surface in scenarios, and their signs
MODES = {"+": 1.0, "-": -1.0, "slide": 0.0}
_MODE = Choice(
    tuple(MODES),
    "from a start on the surface, the solution may leave to either side or slide.",
    "leave this value out where the start is off the surface.",
)


@dataclass(frozen=True, eq=False)
class Compiled:
    """The compiled functions of a system and its dimensions.

    Each function is given by its address and is called as f(x, s, p, out) with pointers.

    Parameters
    ----------
    field : fills out[n] with x' for the signs s[m]; |s_i| = 1 except in `power`
    surface : fills out[m + k] with h_1 .. h_m and the kink functions g_1 .. g_k
    gradient : fills out[m n] with the gradients of h_1 .. h_m; 0 if they are computed from
        differences of `surface`
    power : fills out[3] with the rates of external work, friction heat and viscous heat;
        s_i is the multiplier in [-1, 1] on a surface; 0 where the system has no energy
    params : numbers passed to each function as p
    n, m, k : number of states, of surfaces, of kink functions
    plane : (m, n) gradients of h if all surfaces are planes, None otherwise
    plane_is_sure : True if the surfaces are planes by definition; False if h was linear at a few
        test points only, and every step checks it again
    line : whether h_1 = g_1 = 0 is a codimension-2 line at which the field has no limit
    scale : (n,) sizes of the states, for differences and absolute tolerances
    parallel : whether several threads may call the functions at once
    stiff : whether steps are implicit
    keep : objects that own the code at the addresses
    """

    field: int
    surface: int
    gradient: int
    power: int
    params: Floats
    n: int
    m: int
    k: int = 0
    plane: Floats | None = None
    plane_is_sure: bool = True
    line: bool = False
    scale: Floats = dataclasses.field(default_factory=lambda: np.ones(1))
    parallel: bool = True
    stiff: bool = False
    keep: Sequence[Any] = ()

    @functools.cached_property
    def sizes_and_normals(self) -> tuple[Floats, Floats]:
        """(n,) sizes of the states, and (m n,) gradients of planes, NaN for other surfaces.

        Callers must not change these arrays.
        """
        sure = self.plane is not None and self.plane_is_sure
        normals = np.array(self.plane).reshape(-1) if sure else np.full(self.m * self.n, np.nan)
        return np.array(self.scale, dtype=np.float64), normals


@dataclass(frozen=True)
class LineExit:
    """An admissible continuation from a point of a codimension-2 line h = g = 0.

    Parameters
    ----------
    kind : `slip`, `slide`, `escape` (sliding in the escaping region) or `rest` (equilibrium)
    mode : "+", "-" or "slide", the mode after the exit
    direction : unit vector in state space in which the solution leaves
    speed : |x'| in this direction [state unit / time unit]; 0 for an equilibrium
    angle : atan2(h, g) of the direction [rad]
    """

    kind: str
    mode: str
    direction: tuple[float, ...]
    speed: float
    angle: float


class SwitchingSystem(Declared, abc.ABC):
    """Base class of every piecewise-smooth flow.

    A subclass is a frozen dataclass. Its fields are its parameters, the initial state `x0` and the
    initial mode `mode`; it defines `state_names` and `compile`.
    """

    default_method: ClassVar[str] = "EventDriven"
    fewest_saves: ClassVar[int] = 2  # results do not depend on the saving times

    x0: Sequence[float] | None
    mode: Annotated[str | None, _MODE]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_together()
        if self.x0 is None:
            object.__setattr__(self, "x0", self.usual_start)
        self._check_start()

    @property
    def usual_start(self) -> Sequence[float] | Floats | None:
        """The default start; None where it must be given."""
        return None

    @property
    @abc.abstractmethod
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""

    @property
    def state_units(self) -> tuple[str, ...]:
        """Units of the states; "1" where the system is dimensionless."""
        return ("1",) * len(self.state_names)

    @property
    def time_unit(self) -> str:
        """Unit of time; "1" where the system is dimensionless."""
        return "1"

    @property
    def citation_keys(self) -> tuple[str, ...]:
        """Keys of the papers behind the system."""
        return ("switching",)

    @abc.abstractmethod
    def compile(self) -> Compiled:
        """Return the compiled functions; called once per object."""

    @functools.cached_property
    def compiled(self) -> Compiled:
        """The compiled functions of this system."""
        return self.compile()

    # ---- optional properties of a system

    def energies(self, x: Floats) -> tuple[Floats, Floats] | None:
        """Return (t,) kinetic and (t,) stored energy for (t, n) states; None for no energy."""
        return None

    def outputs(self, x: Floats, s: Floats) -> dict[str, tuple[Floats, str, str]]:
        """Return further results by name as (values, unit, meaning).

        Parameters
        ----------
        x : (t, n) states
        s : (t, m) signs; the multiplier in [-1, 1] on a surface
        """
        return {}

    def line_exits(self, x: Floats) -> tuple[LineExit, ...]:
        """Return the exit directions at a point x of a codimension-2 line."""
        return ()

    def line_point(self, x: Floats) -> Floats:
        """Return the point of the codimension-2 line h_1 = g_1 = 0 nearest to `x`.

        By the Gauss-Newton method in scaled states.
        """
        point, c = np.array(x, dtype=np.float64), self.compiled
        scale = np.asarray(c.scale)
        for _ in range(8):
            values = np.array([self.surfaces_at(point)[0], self.kinks_at(point)[0]])
            normals = np.empty((2, c.n))
            normals[0] = self.gradient(point)[0] * scale
            for j in range(c.n):
                step = np.zeros(c.n)
                step[j] = 1e-3 * scale[j]
                forward, backward = self.kinks_at(point + step)[0], self.kinks_at(point - step)[0]
                normals[1, j] = (forward - backward) / 2e-3
            point -= scale * (np.linalg.pinv(normals) @ values)
        return point

    @property
    def smooth_field(self) -> int:
        """Address of the field with sgn(g) and |g| of a kink function g as inputs; 0 for none.

        It is called as f(x, s, p, out) with s = (side, sgn(g), |g|), for systems whose field jumps
        with sgn(g). Regularised runs pass a smooth sign and modulus, so that the field is smooth.
        """
        return 0

    def check_at(self, x: Floats) -> None:
        """Raise ModelError if a function of the system causes a failure at `x`."""

    # ---- evaluation at one point

    def full_state(self, x: npt.ArrayLike, t: float = 0.0) -> Floats:
        """Return states (..., n) with the clock, if the system has one."""
        return np.array(x, dtype=np.float64, order="C")

    def start_state(self, t: float = 0.0) -> Floats:
        """Return (n,) the start of a run at time `t`, with the clock."""
        return self.full_state(() if self.x0 is None else self.x0, t)

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the states of a start, without the clock."""
        return self.state_names

    @property
    def state_size(self) -> int:
        """Number of values in one saved state."""
        return len(self.state_names) + 5

    def surfaces_at(self, x: Floats) -> Floats:
        """Return (m,) the switching functions at `x`."""
        return self._all_functions(x)[: self.compiled.m]

    def kinks_at(self, x: Floats) -> Floats:
        """Return (k,) the kink functions at `x`."""
        return self._all_functions(x)[self.compiled.m :]

    def _all_functions(self, x: Floats) -> Floats:
        c, at = self.compiled, self._full(x)
        return _called(c.surface, at, np.zeros(c.m), c.params, c.m + c.k)

    def _full(self, x: npt.ArrayLike) -> Floats:
        """Return (n,) a state with the clock; the kernels read n numbers at its address."""
        at, n = self.full_state(x), self.compiled.n
        if at.shape != (n,):
            self._refuse_size(
                "a state", at.shape, n, f"the state is ({', '.join(self.state_names)})."
            )
        return at

    def _refuse_size(self, what: str, shape: tuple[int, ...], n: int, why: str) -> None:
        """Raise ModelError for an array with another shape than (n,)."""
        name, got = type(self).__name__, f"{what} of shape {shape}"
        raise ModelError(name, got, f"shape ({n},)", why, f"give {n} numbers.")

    def field(self, x: Floats, s: Sequence[float] | Floats | float) -> Floats:
        """Return (n,) x' at `x` with the signs `s` (each +1 or -1)."""
        c = self.compiled
        signs = np.atleast_1d(np.array(s, dtype=float))
        if signs.shape != (c.m,):
            self._refuse_size("signs", signs.shape, c.m, "each surface has one sign.")
        return _called(c.field, self._full(x), signs, c.params, c.n)

    def gradient(self, x: Floats) -> Floats:
        """Return (m, n) the gradients of the switching functions at `x`."""
        from stiction.switching.flow.geometry import gradients

        c = self.compiled
        out, work = np.empty(c.m * c.n), np.empty((2, c.m + c.k + c.n))
        at = self._full(x)
        gradients(c.surface, c.gradient, c.m, c.n, c.params.ctypes.data, c.scale, at, out, work)
        return out.reshape(c.m, c.n)

    # ---- derivatives of runs

    @property
    def start_scales(self) -> Floats:
        """Scales of the states of a start, without the clock."""
        return np.asarray(self.compiled.scale)[: len(self.start_names)]

    def at_state(self, state: Floats) -> SwitchingSystem:
        """Return the same flow that starts at `state`; see `core.tangents.Differentiable`."""
        # the copy shares the compiled functions
        other = copy.copy(self)
        object.__setattr__(other, "x0", np.array(state, dtype=np.float64))
        other._check_start()
        return other

    def parameter(self, name: str) -> float:
        """Return the value of a parameter, such as `p.mu` or `belt_speed`."""
        from stiction.switching.tangents.parameters import parameter_of

        return parameter_of(self, name)

    def with_parameter(self, name: str, value: float) -> SwitchingSystem:
        """Return the same flow with another value of a parameter."""
        from stiction.switching.tangents.parameters import system_with

        changed: SwitchingSystem = system_with(self, name, value)
        return changed

    def tangents(
        self,
        method: Any,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the final state of a run and its derivatives, by the variational equation.

        Parameters
        ----------
        method : an `EventDriven`, None for the default
        to : directions of the derivatives: `x0` for all components of the start, `x0[i]` for one,
            or names of parameters
        save : further times at which the derivatives of the state are computed

        Verified by: tests/unit/switching/tangents/test_tangents.py::test_random_flows
        """
        found: Any = method_for(self, method)
        tangents: Tangents = found.tangents(self, t_span, to, save)
        return tangents

    def _check_together(self) -> None:
        """Refuse fields that contradict each other."""

    def _check_start(self) -> None:
        """Refuse a start of the wrong size."""
        name, n = type(self).__name__, len(self.start_names)
        if self.x0 is not None:
            x0 = numbers(
                f"{name}.x0",
                self.x0,
                size=None if shape_of(self.x0) != () else n,
                per="state",
                why=f"the state is ({', '.join(self.start_names)}).",
                try_=f"give {n} numbers.",
            )
            if x0.size != n:
                raise ModelError(
                    f"{name}.x0",
                    f"{x0.size} values",
                    f"{n} values, one per state",
                    f"the state is ({', '.join(self.start_names)}).",
                    f"give {n} numbers.",
                )
            object.__setattr__(self, "x0", x0)


def sides_at(system: SwitchingSystem, x: Floats) -> Floats:
    """Return (m,) the signs of the switching functions at `x`; 1 where one is zero."""
    return np.where(system.surfaces_at(x) < 0.0, -1.0, 1.0)


def _plain(values: object) -> Floats:
    """Return a contiguous copy, so that kernels are compiled for one type of array only."""
    return np.array(values, dtype=np.float64, order="C")


def _called(address: int, x: object, s: Floats, p: Floats, count: int) -> Floats:
    """Return the `count` numbers that the compiled function at an address fills into `out`."""
    from stiction.numerics.callback import call_arrays

    out = np.empty(count)
    call_arrays(address, _plain(x), _plain(s), p, out)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseSmooth(SwitchingSystem):
    """A piecewise-smooth flow from plain Python functions.

    Numba compiles the functions, and the plain functions that they call, if it can. Otherwise they
    run as Python: a `PlainFunctionWarning` gives the reason when the model is created, and the
    stats of a run give the cost of a call. Each function takes the state x, or (t, x, p): time,
    state and parameters. Values of other variables that they use are read at creation only.

    Parameters
    ----------
    h : the switching function h(x), or a sequence of several
    f_plus, f_minus : x' where h > 0 and where h < 0, each smooth across h = 0; with
        several surfaces give `f` instead
    f : f(x, s) with the signs s_1 .. s_m of the switching functions; or f(t, x, s, p)
    kinks : functions at whose zeros the field has a kink or jumps; crossing such a zero is an
        event
    x0 : initial state; its length is the dimension of the flow
    mode : initial mode on a surface, "+", "-" or "slide"; None for sliding where the flow can
        slide, otherwise for the side to which it leaves
    names : names of the states; x1, x2, ... by default
    h_gradient : gradient of h, for several h one after the other; by default differences of
        order 8, which are exact for a plane
    scale : sizes of the states, for tolerances, margins and differences. By default 1; estimated
        from the initial state and the fields if all initial states are below 1e-3 in size or one
        is above 1e6
    parameters : numbers that the functions take as p: a mapping of names, read as p.mu, or a
        sequence, read as p[0]. Models that differ only in these values share their compiled code,
        see `with_parameters`
    stiff : whether steps are implicit, by Radau IIA of order 5: for fields with components that
        decay many times faster than the motion. Tolerances should be 1e-10 or larger

    Notes
    -----
    If a function takes the time t, the time becomes an additional last state named `clock`. It is
    not listed in x0 and names. An additional last entry of `scale` is the size of the clock.

    On the intersection of two surfaces the field is the convex combination with product weights,
    sum over all signs s of prod_i (1 + s_i lam_i) / 2 f(x, s). For forces that add, such as dry
    friction at several contacts, it is the only one.

    Source: Szalai, Jeffrey 2014, section II; Filippov 1988.
    Verified by: tests/unit/switching/test_model.py::test_fields_and_gradients
    """

    h: Callable[..., Any] | Sequence[Callable[..., Any]]
    f_plus: Callable[..., Any] | None = None
    f_minus: Callable[..., Any] | None = None
    f: Callable[..., Any] | None = None
    kinks: Sequence[Callable[..., Any]] = ()
    x0: Sequence[float] | None = None
    mode: str | None = None
    names: Sequence[str] | None = None
    h_gradient: Callable[..., Any] | None = None
    scale: Sequence[float] | float | None = None
    parameters: Mapping[str, float] | Sequence[float] | Floats | None = None
    stiff: Annotated[bool, Flag("True takes implicit steps.", "leave this value out.")] = False

    def __post_init__(self) -> None:
        name = "PiecewiseSmooth"
        if callable(self.kinks):
            object.__setattr__(self, "kinks", (self.kinks,))
        if isinstance(self.names, str):
            object.__setattr__(self, "names", (self.names,))
        if not self.kinks:
            object.__setattr__(self, "kinks", ())
        if not self.surfaces:
            needs = "one switching function or several"
            why = "a flow switches where a switching function is zero."
            raise ModelError(
                f"{name}.h", "no function", needs, why, "for example h=lambda x: x[0]."
            )
        for label, part in self._functions():
            if not callable(part):
                raise ModelError(
                    f"{name}.{label}",
                    repr(part),
                    "a function of the state x",
                    "a flow is defined by functions of its state.",
                    "for example h=lambda x: x[0].",
                )
        signed = self.f is not None
        if signed == (self.f_plus is not None) or signed == (self.f_minus is not None):
            raise ModelError(
                name,
                "f with f_plus or f_minus" if signed else "no field on one side",
                "either f_plus and f_minus, or f(x, s)",
                "each side of the surface needs one field.",
                "give f_plus=..., f_minus=..., or f=lambda x, s: ... .",
            )
        if not signed and len(self.surfaces) > 1:
            raise ModelError(
                name,
                f"f_plus and f_minus with {len(self.surfaces)} surfaces",
                "f(x, s), with one sign per surface",
                "two fields cannot distinguish four or more regions.",
                "give f=lambda x, s: ... .",
            )
        if self.x0 is None:
            raise ModelError(
                f"{name}.x0",
                "nothing",
                "a start, one number per state",
                "the length of x0 is the dimension of the flow.",
                "for example x0=[1.0, 0.0].",
            )
        why, try_ = "the flow starts at this state.", "for example x0=[1.0, 0.0]."
        x0 = numbers(f"{name}.x0", self.x0, per="state", why=why, try_=try_)
        object.__setattr__(self, "x0", x0)
        if self.scale is not None:
            why = "the scale multiplies absolute tolerances."
            try_ = "give the usual size of each state."
            where = f"{name}.scale"
            size = x0.size + (self.functions.clocked and np.size(self.scale) > x0.size)
            scale = numbers(
                where, self.scale, size=size, per="state", rule="positive", why=why, try_=try_
            )
            object.__setattr__(self, "scale", scale)
        words = None if self.names is None else tuple(self.names)
        if words is not None and (
            len(words) != x0.size or not all(isinstance(word, str) for word in words)
        ):
            raise ModelError(
                f"{name}.names",
                repr(words),
                f"{x0.size} names, one per state",
                "the names label the columns of the results.",
                "leave the names out for x1, x2 and so on.",
            )
        parameters = checked_parameters(f"{name}.parameters", self.parameters)
        object.__setattr__(self, "parameters", parameters)
        self._check_names()
        super().__post_init__()
        self.functions.check_at(self.start_state(), finite=True)
        self.functions.check_gradient(self.start_state(), self._full_scale)
        if mode() == "compiled":
            # compile now, so that the warning about plain functions comes when the model is created
            _ = self.compiled

    def _check_names(self) -> None:
        """Refuse names of states that are duplicates or names of other columns of the results."""
        from stiction.core.run import RESERVED

        given = self.state_names
        reserved = [
            word
            for i, word in enumerate(given)
            if word in RESERVED | {"mode", "multiplier"}
            or str(word).startswith("future_")
            or word in given[:i]
        ]
        if reserved:
            raise ModelError(
                "PiecewiseSmooth.names",
                repr(reserved[0]),
                "names that differ from each other and from all columns of the results",
                "each state is a column of the results, beside time, mode, energies and others.",
                "another name, for example 'clock' for a state that is the time.",
            )

    @property
    def surfaces(self) -> tuple[Callable[..., Any], ...]:
        """The switching functions."""
        return tuple(self.h) if isinstance(self.h, Sequence) else (self.h,)

    @functools.cached_property
    def functions(self) -> UserFunctions:
        """The functions, with their arguments."""
        parts = {"h": self.surfaces, "kinks": tuple(self.kinks)}
        for label in ("f_plus", "f_minus", "f", "h_gradient"):
            part = getattr(self, label)
            parts[label] = () if part is None else (part,)
        given = {label: some for label, some in parts.items() if some}
        n, m = len(_sized(self.x0)), len(self.surfaces)
        return UserFunctions("PiecewiseSmooth", given, n, m, self.parameters)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order; the last is the clock if a function depends on time."""
        return (*self.start_names, CLOCK) if self.functions.clocked else self.start_names

    @property
    def start_names(self) -> tuple[str, ...]:
        """Names of the states of a start, without the clock."""
        if self.names is not None:
            return tuple(self.names)
        return tuple(f"x{i + 1}" for i in range(len(_sized(self.x0))))

    def full_state(self, x: npt.ArrayLike, t: float = 0.0) -> Floats:
        """Return states (..., n) with the clock; states without one get the clock `t`."""
        given = np.array(x, dtype=np.float64, order="C")
        if not self.functions.clocked or given.shape[-1:] != (len(self.start_names),):
            return given
        return np.concatenate([given, np.full((*given.shape[:-1], 1), t)], axis=-1)

    @functools.cached_property
    def _full_scale(self) -> Floats:
        """(n,) sizes of the states, including that of the clock."""
        from stiction.switching.sizes import sizes_of

        if self.scale is not None:
            return _plain([*np.asarray(self.scale).tolist(), 1.0][: self.start_state().size])
        states, surfaces = len(_sized(self.x0)), len(self.surfaces)
        return sizes_of(self.functions.rate, self.start_state(), states, surfaces)

    def with_parameters(
        self, parameters: Mapping[str, float] | Sequence[float] | Floats = (), /, **named: float
    ) -> PiecewiseSmooth:
        """Return the model with other values of its parameters, without a new compilation.

        Parameters
        ----------
        parameters : a sequence of all values, or a mapping of some
        named : values by name

        Raises
        ------
        ModelError : if the model has no such parameter.

        Verified by: tests/unit/switching/test_user_functions.py::test_a_thousand_sets_compile_once
        """
        old = self.parameters
        new: Mapping[str, float] | Sequence[float] | Floats = parameters
        if isinstance(old, Mapping):
            changed = {**(parameters if isinstance(parameters, Mapping) else {}), **named}
            unknown = [name for name in changed if name not in old]
            good, known = not unknown and bool(changed), ", ".join(old)
            # a sequence has no names
            good = good and (isinstance(parameters, Mapping) or np.size(parameters) == 0)
            new = {**old, **changed}
        else:
            size = 0 if old is None else len(old)
            count = 0 if isinstance(parameters, Mapping) else np.size(parameters)
            good, known = not named and 0 < count == size, f"a sequence of {size} numbers"
        if not good:
            raise ModelError(
                "PiecewiseSmooth.with_parameters",
                repr(dict(named) or parameters),
                f"values of the parameters that the model has: {known}",
                "only the values of p change; its names and its length belong to the model.",
                "give `parameters` with these names when the model is created.",
            )
        return dataclasses.replace(self, parameters=new)

    def compile(self) -> Compiled:
        """Return the compiled functions; models with the same code share them."""
        n, m, k = len(self.state_names), len(self.surfaces), len(self.kinks)
        field_, surface, slope = self.functions.compile()
        keep = [field_, surface] if slope is None else [field_, surface, slope]
        start, signs, p = self.start_state(), np.ones(m), values_of(self.parameters)
        scale, plane = self._full_scale, None
        if slope is None:
            plane = _planes(surface.address, p, scale, start, m, k)
        # last, because it drops the exceptions at all these states
        for callback in keep:
            callback.measure(start, signs, p)
        return Compiled(
            field=field_.address,
            surface=surface.address,
            gradient=0 if slope is None else slope.address,
            power=0,
            params=p,
            n=n,
            m=m,
            k=k,
            plane=plane,
            plane_is_sure=False,
            scale=scale,
            parallel=all(callback.compiled for callback in keep),
            stiff=self.stiff,
            keep=tuple(keep),
        )

    def _functions(self) -> list[tuple[str, Any]]:
        """Return (name of the field, function) of all given functions."""
        entries = [("h", part) for part in self.surfaces]
        entries += [("kinks", part) for part in self.kinks]
        optional = ("f_plus", "f_minus", "f", "h_gradient")
        return entries + [(n, v) for n in optional if (v := getattr(self, n)) is not None]

    def check_at(self, x: Floats) -> None:
        """Raise ModelError if a function gives a wrong number of values at `x`."""
        self.functions.check_at(self.full_state(x), finite=False)


def _planes(surface: int, p: Floats, scale: Floats, start: Floats, m: int, k: int) -> Floats | None:
    """Return (m, n) the gradients of h if they agree at five random points, else None."""
    from stiction.switching.flow.geometry import gradients

    rng, n = np.random.default_rng(0), start.size
    work, entries = np.empty((2, m + k + n)), []
    for _ in range(5):
        out = np.empty(m * n)
        at = start + scale * rng.uniform(-3.0, 3.0, n)
        gradients(surface, 0, m, n, p.ctypes.data, scale, at, out, work)
        entries.append(out.reshape(m, n))
    # differences of a linear h vary by rounding only; the result is rounded to 13 digits. The
    # largest change of each h by one state is its unit
    slopes = np.array(entries) * scale
    size = np.max(np.abs(slopes[0]), axis=1, keepdims=True)
    spread = np.max(np.abs(slopes - slopes[0]), axis=(0, 2))
    if not ((size > 0.0).all() and (spread <= 1e-11 * size[:, 0]).all()):
        return None
    rounded = np.where(np.abs(slopes[0]) < 1e-13 * size, 0.0, np.round(slopes[0] / size, 13) * size)
    return np.asarray(rounded / scale)


def _sized(x0: Sequence[float] | None) -> Sequence[float]:
    """Return the initial state; an empty tuple for None."""
    return () if x0 is None else x0

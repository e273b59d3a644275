"""User functions of a `PiecewiseSmooth` flow: their arguments, a first call, and compilation.

A function of one surface is f(x) or f(t, x, p), a field with the signs s of the switching functions
f(x, s) or f(t, x, s, p); t, s and p may be omitted if the others keep these names and their order.
If a function takes the time, the time becomes an additional last state, the clock, so that the
kernels integrate an autonomous flow. Before compilation each function is called once to check its
result.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, PlainFunctionWarning
from stiction.numerics.callback import ArrayCallback, CallbackArguments
from stiction.numerics.checks import number, numbers
from stiction.numerics.compiling.user_functions import fingerprint
from stiction.numerics.jit import mode

__all__ = ["CLOCK", "UserFunctions", "checked_parameters", "taken_by", "values_of"]

Floats = npt.NDArray[np.float64]
Parameters = Mapping[str, float] | Sequence[float] | Floats | None

# name of the state that equals the time
CLOCK = "clock"
# largest number of cached compiled functions
_MOST_CACHED = 128
_COMPILED: OrderedDict[object, ArrayCallback] = OrderedDict()
# arguments of a function, by their number, unless their names are these
_USUAL = {1: ("x",), 3: ("t", "x", "p")}
_SIGNED = {2: ("x", "s"), 4: ("t", "x", "s", "p")}


def taken_by(where: str, function: Callable[..., Any], *, signed: bool) -> tuple[str, ...]:
    """Return which of "t", "x", "s" and "p" a function takes, in the order of its arguments.

    Parameters
    ----------
    where : name of the function in messages
    signed : whether the function may take the signs s

    Raises
    ------
    ModelError : if number and names of its arguments do not identify them.

    Verified by: tests/unit/switching/test_user_functions.py::test_what_functions_take
    """
    known = _SIGNED if signed else _USUAL
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return next(iter(known.values()))
    if any(p.kind is p.VAR_POSITIONAL for p in given):
        return next(iter(known.values()))
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = tuple(p.name for p in given if p.kind in kinds and p.default is p.empty)
    every = known[max(known)]
    remaining = iter(every)
    if "x" in names and all(name in remaining for name in names):
        return names
    usual = known.get(len(names), ())
    # a known name at the place of another argument contradicts the number
    if usual and all(n == u or n not in every for n, u in zip(names, usual, strict=True)):
        return usual
    raise ModelError(
        where,
        f"a function of ({', '.join(names)})",
        " or ".join(f"f({', '.join(one)})" for one in known.values()),
        "arguments are identified by their number, or by their names if all of these are among "
        f"{', '.join(every)}, in this order.",
        f"write it as a function of ({', '.join(every)}).",
    )


def checked_parameters(where: str, given: Parameters) -> Mapping[str, float] | Floats | None:
    """Return parameters as a mapping of names to floats, as an array, or None.

    Raises
    ------
    ModelError : if a name is not an identifier of Python, or a number is not finite.
    """
    why, try_ = (
        "functions take the parameters as p.",
        "for example parameters={'mu': 0.3}, read as p.mu.",
    )
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return numbers(where, given, per="parameter", why=why, try_=try_)
    for name in given:
        word = str(name)
        if not word.isidentifier() or keyword.iskeyword(word) or word.startswith("_"):
            raise ModelError(
                where,
                repr(name),
                "Python identifiers that are no keywords and do not begin with _",
                why,
                try_,
            )
    return {n: number(f"{where}[{n!r}]", v, why=why, try_=try_) for n, v in given.items()}


def values_of(parameters: Parameters) -> Floats:
    """Return the array p of the kernels; one zero for no parameters."""
    if parameters is None or len(parameters) == 0:
        return np.zeros(1)
    values = parameters.values() if isinstance(parameters, Mapping) else parameters
    return np.array(list(values), dtype=np.float64)


@functools.cache
def _named(names: tuple[str, ...]) -> type[tuple[float, ...]]:
    """Return the class of named parameters, read as p.mu."""
    return cast("type[tuple[float, ...]]", namedtuple("Parameters", names))


@dataclass(frozen=True)
class UserFunctions:
    """The functions of one flow.

    Parameters
    ----------
    owner : name of the class in messages
    parts : the functions by the field of the class that holds them: `h`, `kinks`, `f` or `f_plus`
        and `f_minus`, and `h_gradient`; fields without a function are absent
    n, m : number of states without the clock, and of surfaces
    parameters : as `checked_parameters` returns them
    """

    owner: str
    parts: Mapping[str, tuple[Callable[..., Any], ...]]
    n: int
    m: int
    parameters: Parameters = None

    def taken(self, label: str) -> tuple[tuple[str, ...], ...]:
        """Return the arguments of each function of a field."""
        return self._taken[label]

    @functools.cached_property
    def _taken(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The arguments of every function by its label, as `taken_by` returns them."""
        return {
            label: tuple(
                taken_by(f"{self.owner}.{label}", part, signed=label == "f") for part in parts
            )
            for label, parts in self.parts.items()
        }

    @functools.cached_property
    def clocked(self) -> bool:
        """Whether a function depends on time."""
        return any("t" in names for label in self.parts for names in self.taken(label))

    @functools.cached_property
    def _clocked_surfaces(self) -> bool:
        return any("t" in names for names in self.taken("h"))

    @property
    def gradient_size(self) -> int:
        """Number of components of `h_gradient` for each h, with the time if h depends on it."""
        return self.n + (1 if self._clocked_surfaces else 0)

    # ---- evaluation at one point

    def call(self, label: str, i: int, state: Floats, signs: Floats) -> Any:
        """Return the value of function i of field `label`; a clock is the last entry of `state`."""
        given: dict[str, Any] = {"x": state[: self.n].copy(), "s": signs.copy(), "p": self._given_p}
        if self.clocked:
            given["t"] = float(state[self.n])
        names = self.taken(label)[i]
        return self.parts[label][i](*(given[name] for name in names))

    def rate(self, state: Floats, signs: Floats) -> Floats:
        """Return x' at a state, and the rate 1 of a clock, by the Python functions."""
        label = "f" if "f" in self.parts else "f_plus" if signs[0] > 0.0 else "f_minus"
        given = np.asarray(self.call(label, 0, state, signs), dtype=np.float64).reshape(-1)
        return np.append(given, np.ones(1 if self.clocked else 0))

    @property
    def _given_p(self) -> Any:
        if isinstance(self.parameters, Mapping):
            kind: Any = _named(tuple(self.parameters))
            return kind(*self.parameters.values())
        return np.empty(0) if self.parameters is None else np.array(self.parameters)

    def check_at(self, state: Floats, *, finite: bool) -> None:
        """Call every function once; refuse a wrong size, and values not finite if `finite`.

        Functions of time need not be defined at the time of this state, 0 at the creation.
        """
        sizes = {"h": 1, "kinks": 1, "h_gradient": self.m * self.gradient_size}
        signs = np.ones(self.m)
        for label, parts in self.parts.items():
            count = sizes.get(label, self.n)
            for i in range(len(parts)):
                timed = finite and "t" in self.taken(label)[i]
                for s in (signs, -signs) if label == "f" else (signs,):
                    call = functools.partial(self.call, label, i, state, s)
                    _check_value(
                        f"{self.owner}.{label}",
                        call,
                        count,
                        finite=finite and not timed,
                        any_=timed,
                    )

    def check_gradient(self, state: Floats, scale: Floats) -> None:
        """Compare `h_gradient` with central differences of h of order 4 at `state`; refuse errors.

        The differences are taken over several distances: some may be too large for h, or so small
        that rounding dominates.

        Parameters
        ----------
        state, scale : the state and the sizes of its components, with those of a clock
        """
        if "h_gradient" not in self.parts:
            return
        signs = np.ones(self.m)
        try:
            with np.errstate(all="ignore"):
                given = np.asarray(self.call("h_gradient", 0, state, signs), dtype=np.float64)
        except (ArithmeticError, ValueError):
            # functions of time need not be defined at time 0
            return
        given = given.reshape(self.m, -1)
        if not np.isfinite(given).all():
            return
        for i in range(self.m):
            reach = np.maximum(np.abs(state), scale)[: given.shape[1]]
            rounding = 8.0 * 2.2e-16 * float(np.abs(given[i]) @ reach)
            for j in range(self.gradient_size):
                size = float(np.abs(given[i] * scale[: given.shape[1]]).sum()) / scale[j]
                distances = scale[j] * np.array([1e-3, 1e-4, 1e-5])
                # chosen: rounding of more than a hundredth hides the gradient
                clear = [float(d) for d in distances if rounding / d <= 1e-2 * size]
                rises = [self._difference(i, j, d, state) for d in clear]
                agree = [
                    abs(rise - given[i, j]) <= 1e-5 * (size + abs(rise)) + rounding / d
                    for d, rise in zip(clear, rises, strict=True)
                ]
                if agree and not any(agree):
                    self._refuse_gradient(i, j, float(given[i, j]), rises[0])

    def _difference(self, i: int, j: int, d: float, state: Floats) -> float:
        """Return the central difference of order 4 of h_i along state j."""
        rise, signs = 0.0, np.ones(self.m)
        for a, weight in ((1, 2.0 / 3.0), (2, -1.0 / 12.0)):
            for sign in (1.0, -1.0):
                at = state.copy()
                at[j] += sign * a * d
                rise += sign * weight / d * float(self.call("h", i, at, signs))
        return rise

    def _refuse_gradient(self, i: int, j: int, given: float, rise: float) -> None:
        """Raise the error of a wrong gradient of h_i along state j; `rise` is its difference."""
        along = f"state {j + 1}" if j < self.n else "the time"
        raise ModelError(
            f"{self.owner}.h_gradient",
            f"{given:.9g} for h_{i + 1} along {along}, where differences of h give {rise:.9g}",
            "the gradient of h",
            "a wrong gradient gives wrong rates of h, and so sliding at wrong places.",
            "leave h_gradient out; the gradient is then computed by differences of order 8.",
        )

    # ---- code

    def compile(self) -> tuple[ArrayCallback, ArrayCallback, ArrayCallback | None]:
        """Return field, surfaces with kinks, and gradient, as callbacks of the kernels."""
        n, clock = self.n, ((self.n, 1.0),) if self.clocked else ()
        if "f" in self.parts:
            field_ = self._made(("f",), [n], signed=True, fixed=clock)
        else:
            field_ = self._made(("f_plus", "f_minus"), [n, n], choose=True, fixed=clock)
        count = self.m + len(self.parts.get("kinks", ()))
        surface = self._made(("h", "kinks"), [1] * count)
        if "h_gradient" not in self.parts:
            return field_, surface, None
        width, given = n + self.clocked, self.gradient_size
        slots = tuple(i * width + j for i in range(self.m) for j in range(given))
        fixed = tuple((i * width + n, 0.0) for i in range(self.m)) if width > given else ()
        return field_, surface, self._made(("h_gradient",), [len(slots)], slots=slots, fixed=fixed)

    def _made(
        self,
        labels: tuple[str, ...],
        counts: list[int],
        *,
        signed: bool = False,
        choose: bool = False,
        slots: tuple[int, ...] | None = None,
        fixed: tuple[tuple[int, float], ...] = (),
    ) -> ArrayCallback:
        """Return a callback: a cached one for the same code, or a new one."""
        present = [label for label in labels if label in self.parts]
        parts = [part for label in present for part in self.parts[label]]
        layout = CallbackArguments(
            tuple(names for label in present for names in self.taken(label)),
            clock=self.clocked,
            parameters=self._kind_of_p,
            slots=None if slots is None else (slots,),
            fixed=fixed,
        )
        sizes = (self.n, self.m, tuple(counts), signed, choose, layout, mode())
        key = (sizes, tuple(fingerprint(part) for part in parts))
        known = _COMPILED.get(key) if None not in key[1] else None
        if known is not None:
            _COMPILED.move_to_end(key)
            return known
        callback = ArrayCallback(
            parts,
            counts,
            n=self.n,
            n_signs=self.m,
            name=f"{self.owner}.{', '.join(labels)}",
            signed=signed,
            choose=choose,
            layout=layout,
        )
        if callback.compiled and None not in key[1]:
            _COMPILED[key] = callback
            if len(_COMPILED) > _MOST_CACHED:
                _COMPILED.popitem(last=False)
        elif callback.culprit:
            message = (
                f"{callback.name} runs as plain Python, slowly: Numba cannot compile it because "
            )
            message += f"of {callback.culprit}. Results are the same."
            # the warning names the line of the caller that creates the model
            warnings.warn(message, PlainFunctionWarning, stacklevel=7)
        return callback

    @property
    def _kind_of_p(self) -> type[tuple[float, ...]] | int:
        """Return the class of named parameters, or the number of unnamed ones."""
        if isinstance(self.parameters, Mapping):
            return _named(tuple(self.parameters))
        return 0 if self.parameters is None else len(self.parameters)


def _check_value(where: str, call: Callable[[], Any], n: int, *, finite: bool, any_: bool) -> None:
    """Call a function; refuse an error, a result that is not n numbers, and NaN if `finite`.

    Parameters
    ----------
    any_ : whether the function may be undefined at this state: arithmetic errors are admitted
    """
    needs = "one finite number" if n == 1 else f"{n} finite numbers"
    why = "the function is called once at the initial state x0 as a check."
    try_ = "call the function with x0 yourself; each component of a result must be one number."
    try:
        # values that are not finite are refused below, with a better message than NumPy's warning
        with np.errstate(all="ignore"):
            value = np.asarray(call(), dtype=np.float64)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        if any_ and (isinstance(error, ArithmeticError) or "math domain" in str(error)):
            return
        got = f"{type(error).__name__}: {error}"
        raise ModelError(where, got, needs, why, try_) from error
    if value.size != n or (n > 1 and value.ndim != 1):
        got = f"{value.size} numbers" if value.ndim else "one number"
        raise ModelError(where, got, needs, why, try_)
    if finite and not np.isfinite(value).all():
        raise ModelError(where, f"{value.tolist()}", needs, why, try_)

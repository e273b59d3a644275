"""Friction laws in the form that compiled kernels read.

The formulas of a law (`friction.Formulas`) are compiled to C functions, whose addresses kernels
call (`law_kernels`); a formula that cannot be compiled runs in Python behind such an address. A
formula is a function of the slip speed v [m/s], the states z and the parameters p of a contact,
such as mu(v, z, p). The parameters and states are rows of a table, one per contact. The methods for
chains create a `CompiledLaw` for each run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws import law_kernels as lk
from stiction.laws.friction import Formula, FrictionTable
from stiction.numerics.c_arithmetic import as_compiled
from stiction.numerics.callback import (
    Callback,
    PythonFunction,
    address_of,
    call,
    compiled_function,
)
from stiction.numerics.compiling.user_functions import may_raise
from stiction.numerics.jit import mode

__all__ = ["CompiledLaw", "addresses"]

Floats = npt.NDArray[np.float64]

# Numba signatures of formulas: a number of (v, z, p); values of (v, z, p) written to `out`; Taylor
# coefficient of (k, v, factor, w, step, e, p)
_POINTER = "CPointer(float64)"
_VALUE = f"float64(float64, {_POINTER}, {_POINTER})"
_FILL = f"void(float64, {_POINTER}, {_POINTER}, {_POINTER})"
_SHARE = f"float64(int64, float64, float64, {_POINTER}, int64, {_POINTER}, {_POINTER})"
_C_KIND = {_VALUE: lk.C_VALUE, _FILL: lk.C_FILL, _SHARE: lk.C_SHARE}
# formulas that return a number; the others fill an array
_VALUES = ("mu", "slope", "static")
_OF_STATES = ("by_state", "rate", "rate_by_speed", "rate_by_state", "jump")
# in the order of the header of `law_kernels`, from MU on
_HEADER = ("mu", "slope", "static", *_OF_STATES)
_IN_STATE = {"mu": lk.mu_in_state, "slope": lk.slope_in_state, "static": lk.static_in_state}


class CompiledLaw:
    """A friction law for the contacts of a run, in the form of kernels.

    Attributes
    ----------
    rows : (n, width) table of `law_kernels`, with the initial states; empty if no formula is
        requested
    start, step : address of the first row, and stride in bytes, valid while this object exists
    mu, slope, static : addresses for `law_value`; 0 if not requested
    commit : address for `law_value` that commits the state of a contact after a step
    event : address for `law_value` that applies the state jump of an event, whose number is
        passed as the speed; 0 if there is none
    share : address for `share_term`, the Taylor coefficients in time of the weakening function
        e = (mu - mu_kinetic) / (mu_static - mu_kinetic); 0 if the law has no such formula
    n_state, first_state : number of states of a contact, and the column of the first

    Parameters
    ----------
    table : the law for n contacts
    asked : names of the formulas that kernels call
    theta, h : parameter and step [s] of the scheme for states
    """

    def __init__(
        self, table: FrictionTable, asked: Sequence[str], *, theta: float = 1.0, h: float = 0.0
    ) -> None:
        law = table.law
        plain = law.plain() if asked else None
        self._name, self._error = type(law).__name__, cast("BaseException | None", None)
        self._references: list[Any] = []
        self._own: list[Callback] = []
        parameters: list[Floats] = table.parameters if asked else []
        if plain is not None:
            self._own = [
                Callback(plain[0], f"{self._name}.function"),
                Callback(plain[1] if "slope" in asked else None, f"{self._name}.slope_function"),
            ]
            # addresses have fewer than 53 bits, so a float holds them exactly
            addresses = [np.full(table.n, float(own.address)) for own in self._own]
            parameters = [*addresses, *parameters]
        # the table: parameters and initial states of each contact, with room for the work of states
        k, s = len(parameters), law.n_state
        self.n_state, self.first_state = s, lk.place_of(k, s)
        self.rows = np.zeros((table.n if asked else 0, lk.width_of(k, s)))
        self.start, self.step = int(self.rows.ctypes.data), int(self.rows.strides[0])
        for column, values in enumerate([*parameters, *table.start], self.first_state - k):
            self.rows[:, column] = values
        # addresses of the formulas; with states those of `law_kernels`, which solve for the state
        of = vars(law.formulas) if plain is None else {"mu": _own_mu, "slope": _own_slope}
        at = {name: self._address(of.get(name), name) for name in asked}
        at["static"] = at.get("static") or at.get("mu", 0)
        self.commit = self.event = 0
        if s > 0:
            at |= {name: self._address(of.get(name), name) for name in _OF_STATES}
            header = [k, s, theta, h, *(at.get(name, 0) for name in _HEADER)]
            self.rows[:, : lk.HEADER] = header
            at |= {name: self._address(inner, "mu") for name, inner in _IN_STATE.items()}
            self.commit = self._address(lk.commit, "mu")
            if at["jump"]:
                self.event = self._address(lk.jumped, "mu")
        self.mu, self.slope, self.static = at.get("mu", 0), at.get("slope", 0), at["static"]
        self.share = at.get("share", 0)

    @property
    def states(self) -> Floats:
        """(n, n_state) states of all contacts, a view."""
        return self.rows[:, self.first_state : self.first_state + self.n_state]

    def check(self) -> None:
        """Raise ModelError if a formula raised while compiled code was calling it."""
        for own in self._own:
            own.check()
        if self._error is not None and not isinstance(self._error, Exception):
            raise self._error  # such as Ctrl-C, which is no error of the law
        if self._error is not None:
            error, self._error = self._error, None
            raise ModelError(
                f"{self._name}.formulas",
                f"{type(error).__name__}: {error}",
                "formulas that return finite numbers for every speed and state",
                "one of these formulas failed during the run.",
                "call the formulas by hand with the numbers of the run.",
            ) from error

    @property
    def failed(self) -> bool:
        """Whether a formula raised, so that the present step is invalid."""
        return self._error is not None or any(own.error is not None for own in self._own)

    def _address(self, function: Formula | None, name: str) -> int:
        """Return the address of a formula as a C function; 0 for none."""
        if function is None:
            return 0
        kind = _SHARE if name == "share" else _VALUE if name in _VALUES else _FILL
        made = _compiled(function, kind) if mode() == "compiled" else None
        if made is None and name == "share" and mode() == "compiled":
            return 0
        if made is None:
            made = self._python(function, kind)
            self._references.append(made)
        return int(made.address)

    def _python(self, function: Formula, kind: str) -> PythonFunction:
        """Return a formula that runs in Python, with an address."""
        value = kind != _FILL
        # in plain mode arguments are NumPy numbers, whose division by zero is that of compiled code
        plain = mode() == "plain" and not _may_raise(function)
        first: Any = np.float64 if plain else float
        if plain and not _is_ours(function):
            # formulas of this package do not divide by zero
            function = as_compiled(function)
        speed = 1 if kind == _SHARE else 0

        def guarded(*arguments: Any) -> float:
            """Return the value of the formula, NaN after an exception."""
            if self._error is None:
                try:
                    before, v, after = arguments[:speed], arguments[speed], arguments[speed + 1 :]
                    out = function(*before, first(v), *after)
                    return float(out) if value else 0.0
                except BaseException as error:  # noqa: BLE001
                    # an exception cannot pass through compiled code: store it for `check`
                    self._error = error
            return math.nan

        def filling(*arguments: Any) -> None:
            guarded(*arguments)

        return PythonFunction(guarded if value else filling, _C_KIND[kind])


def addresses(*formulas: Formula | None) -> tuple[list[Any], list[int]]:
    """Return references and addresses of formulas (x, s, p, out) of a law without stick.

    The references keep the compiled functions alive. x holds the slip rate w and the state z, s
    the signs of the switching functions, p the parameters; the formula writes to `out`.
    """
    references = [address_of(cast(Formula, formula)) for formula in formulas]
    return references, [int(one.address) for one in references]


def _compiled(function: Formula, kind: str) -> Any:
    """Return `function` as a C function, None if it must run in Python."""
    if _may_raise(function):
        # compiled code would lose its exceptions
        return None
    from stiction.numerics.compiling.digest import digest_of

    # references of a user's formula may change between runs
    return _made(function, kind, "" if _is_ours(function) else digest_of(function))


@functools.cache
def _made(function: Formula, kind: str, digest: str) -> Any:
    """Return `function` as a C function, cached by its digest; None if it cannot be compiled."""
    from numba.core.errors import NumbaError

    try:
        return compiled_function(function, kind)
    except (NumbaError, NotImplementedError, TypeError, ValueError):
        return None


def _is_ours(function: Formula) -> bool:
    return str(function.__module__).startswith("stiction.")


def _may_raise(function: Formula) -> bool:
    """Return whether a formula must run in Python because it may raise."""
    return not isinstance(function, FunctionType) or may_raise(function)


# ---- laws of a user's functions of one float: parameters are their addresses and a factor


def _own_mu(v: float, z: Any, p: Any) -> float:
    """Return factor times the user's mu(v): p holds the addresses of mu and its slope, factor."""
    value: float = p[2] * call(int(p[0]), v)
    return value


def _own_slope(v: float, z: Any, p: Any) -> float:
    """Return factor times the user's slope of mu at v; p as for `_own_mu`."""
    value: float = p[2] * call(int(p[1]), v)
    return value

"""The decorator `kernel`: functions that run compiled by Numba, or as plain Python.

A kernel is a function on numbers and arrays that contains the inner loops of a method. A process
runs all kernels in one mode, "compiled" by default. The mode "plain" needs neither a compiler nor
Numba, gives the same numbers and is slower. Functions that only compiled code provides (intrinsics)
have a Python body for it. The folder `compiling` compiles and caches kernels at their first call.
A kernel that Python calls and one that other kernels call are two compiled forms of one function,
which `compiling.linking` makes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

__all__ = [
    "GIVEN",
    "KERNELS",
    "Kernel",
    "Mode",
    "kernel",
    "mode",
    "native",
    "py_function",
    "quiet",
    "running",
    "use",
]

F = TypeVar("F", bound=Callable[..., object])
G = TypeVar("G", bound=Callable[..., object])
Mode = Literal["compiled", "plain"]

_VARIABLE = "STICTION_KERNELS"
# all kernels, in order of definition
KERNELS: list[Kernel] = []


class Kernel:
    """A function that runs compiled or plain, by the mode of the process.

    Attributes
    ----------
    py_func : the Python function that Numba compiles
    plain : the function of plain mode; `py_func` unless another one was given
    views : whether calls from Python always run the plain function
    separate : whether the kernel has its own object of machine code, to which its callers jump
    options : further options of ``numba.njit``

    Verified by: tests/unit/numerics/test_jit.py::test_both_modes_give_the_same
    """

    def __init__(
        self,
        function: Callable[..., Any],
        plain: Callable[..., Any] | None,
        views: bool = False,
        separate: bool = False,
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.plain = function, plain or function
        self.views, self.separate, self.options = views, separate, options
        self._run: Callable[..., Any] = self._first
        KERNELS.append(self)
        self.set_mode(_now)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel in the mode of the process."""
        return self._run(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"

    def set_mode(self, mode: Mode) -> None:
        """Run compiled or plain from now on."""
        self._run = self.plain if self.views or mode == "plain" else self._first

    def _first(self, *arguments: Any) -> Any:
        """Compile the kernel at its first call, and run it compiled from then on."""
        self._run = self.compiled
        return self._run(*arguments)

    @functools.cached_property
    def compiled(self) -> Any:
        """Dispatcher for calls from Python: compiles at the first call, and caches the code."""
        from stiction.numerics.compiling.linking import outer

        return outer(self)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """Numba type of this object in kernels that call it."""
        from stiction.numerics.compiling.linking import inner

        return inner(self)._numba_type_


class _Native:
    """An intrinsic of compiled code, with a plain body."""

    def __init__(self, plain: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, plain)
        self.py_func, self.native_name = plain, name

    def __call__(self, *arguments: Any) -> Any:
        """Run the plain body."""
        return self.py_func(*arguments)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """Numba type of the intrinsic in kernels that call it."""
        from numba.core.registry import cpu_target

        module, _, name = self.native_name.partition(":")
        found = getattr(importlib.import_module(module), name)
        # make the typing context aware of the imported intrinsic
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(found)


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(
    *,
    plain: Callable[..., Any] | None = None,
    nogil: bool = False,
    allocates: bool = False,
    inline: bool = False,
    views: bool = False,
    separate: bool = False,
) -> Callable[[F], F]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    plain: Callable[..., Any] | None = None,
    nogil: bool = False,
    allocates: bool = False,
    inline: bool = False,
    views: bool = False,
    separate: bool = False,
) -> Any:
    """Return `function` as a kernel, compiled by Numba at its first call and cached on disk.

    Parameters
    ----------
    plain : another function for plain mode, with the same results
    nogil : whether compiled code releases the GIL
    allocates : whether it creates or returns arrays, or uses random numbers. Such a kernel counts
        references to all its arrays, which can take longer than its work; in all others array
        arguments are borrowed references
    inline : whether it is inlined into its callers: for a few lines in a loop
    views : whether it returns views of its arguments. It is inlined into kernels without reference
        counting; Python always runs it plain
    separate : whether it is compiled to a separate object to which callers jump: for kernels with
        several callers that take long to compile
    """
    options = {"_nrt": allocates}
    if nogil:
        options["nogil"] = True
    if inline or views:
        options["forceinline"] = True
    if function is None:
        return lambda inner: Kernel(inner, plain, views, separate, **options)
    return Kernel(function, plain, views, separate, **options)


def native(name: str) -> Callable[[G], G]:
    """Return a decorator for a function that compiled code replaces by an intrinsic of Numba.

    Parameters
    ----------
    name : "module:name" of the intrinsic; the decorated function is its plain body
    """

    def made(plain: G) -> G:
        return cast(G, _Native(plain, name))

    return made


def py_function(compiled: F) -> F:
    """Return the plain Python function behind a kernel, for tests and for fallbacks."""
    return cast(F, getattr(compiled, "py_func", compiled))


# ---- the mode of the process


def _given_mode() -> Mode | None:
    """Return the mode of the environment variable; None if it is not set."""
    given = os.environ.get(_VARIABLE, "").strip().lower()
    if given not in ("", "auto", "compiled", "plain"):
        shown = f"{_VARIABLE}={given} is ignored; it must be auto, compiled or plain."
        warnings.warn(shown, stacklevel=2)
    if given in ("compiled", "plain"):
        return cast(Mode, given)
    return "plain" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else None


GIVEN: Mode | None = _given_mode()
_now: Mode = GIVEN or "compiled"


def mode() -> Mode:
    """Return whether kernels run compiled or plain in this process."""
    return _now


def use(wanted: Mode) -> None:
    """Run all kernels of this process compiled or plain from now on."""
    global _now
    _now = wanted
    for one in KERNELS:
        one.set_mode(wanted)


@contextlib.contextmanager
def running(wanted: Mode) -> Iterator[None]:
    """Run kernels in this mode inside a with statement."""
    before = mode()
    use(wanted)
    try:
        yield
    finally:
        use(before)


def quiet() -> contextlib.AbstractContextManager[object]:
    """Return a context without warnings of arithmetic, as in compiled code."""
    return np.errstate(all="ignore") if _now == "plain" else contextlib.nullcontext()

"""Ensembles of wheels on a graphics card: the kernels of the processor, compiled for CUDA.

Each thread owns one set of arrays and takes one start after the other. The plain Python
functions behind the kernels are compiled again; only the calls by address become direct
calls of the wheel's functions, since a card knows no addresses of the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.method import SharedName
from stiction.errors import ModelError
from stiction.numerics.compiling.cards import for_card, on_card, simulated
from stiction.switching.ensembles.blocks import MOST_STEPS, Outcome
from stiction.switching.ensembles.state import End, Limits
from stiction.switching.ensembles.study import (
    DEFAULT,
    ENDED_ALWAYS,
    KINDS,
    EnsembleResult,
    check_end_time,
    check_sides,
    check_starts,
    result_of,
    stop_flags,
)
from stiction.switching.flow.state import Records, Workspace
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.wheel.model import WheelOnTurntable
from stiction.switching.wheel.parameters import Parameters

__all__ = ["ensemble_on_gpu"]

# the arrays of a flow that threads share; every thread has its own of the others
_SHARED = ("p", "table")
_THREADS = 64
_MOST_THREADS = 1 << 16
# stand-ins for addresses; the kernels ask only whether one is 0
_FIELD, _SURFACE, _GRADIENT = 1, 2, 3


def ensemble_on_gpu(
    wheel: WheelOnTurntable,
    starts: npt.ArrayLike,
    t_end: float,
    *,
    sides: npt.ArrayLike | None = None,
    method: EventDriven | SharedName = DEFAULT,
    until: Sequence[str] = ENDED_ALWAYS,
) -> EnsembleResult:
    """Return what `ensemble` does, computed on a graphics card.

    Parameters are those of `ensemble`. It needs the extra `gpu`. The numbers agree with
    those of the processor to rounding, which steps near their tolerance can amplify.

    Raises
    ------
    ModelError : without numba-cuda or a card, and as `ensemble` does.

    Verified by: tests/unit/switching/ensembles/test_gpu.py::test_same_as_on_the_processor
    """
    method = event_driven(wheel, method)
    wheel.only_for_the_paper_law("ensemble_on_gpu")
    cuda = _cuda()
    x = check_starts(wheel, starts)
    n_starts = len(x)
    signs = check_sides(wheel, sides, n_starts)
    end, stop = check_end_time(t_end, None), stop_flags(until)
    out = Outcome(
        np.empty((n_starts, 3)),
        np.empty((n_starts, 1)),
        End.table(n_starts),
        np.zeros((n_starts, len(KINDS)), dtype=np.int32),
        np.empty((n_starts, len(KINDS))),
    )
    threads = min(n_starts, _MOST_THREADS)
    arrays = _arrays(wheel, method, threads)
    limits = Limits.table()
    limits[0].t_end, limits[0].steps = end, min(method.steps_allowed(), MOST_STEPS)
    given = [cuda.to_device(a) for a in (*arrays.values(), x, signs, stop, limits)]
    results = [cuda.to_device(a) for a in out[:5]]
    launch = _kernel(cuda, tuple(arrays))
    per_block = min(_THREADS, threads)
    launch[-(-threads // per_block), per_block](threads, *given, *results)
    filled = (device.copy_to_host() for device in results)
    return result_of(Outcome(*filled))


def _cuda() -> Any:
    """Return numba.cuda, or refuse where it cannot run."""
    cuda: Any = None
    try:
        from numba import cuda
    except ImportError:
        ready = False
    else:
        ready = bool(cuda.is_available())
    if not ready:
        raise ModelError(
            "ensemble_on_gpu",
            "no numba-cuda, or no graphics card it can use",
            "the extra `gpu` and a card with CUDA",
            "the kernels are compiled for it.",
            'use `ensemble`, or pip install "stiction[gpu]".',
        )
    return cuda


def _arrays(wheel: WheelOnTurntable, method: EventDriven, threads: int) -> dict[str, Any]:
    """Return the arrays of a flow by name; those a thread owns have one row per thread."""
    from stiction.switching.flow.records import Flow
    from stiction.switching.flow.trajectory import Tolerance

    longest = np.inf if method.max_step is None else float(method.max_step)
    tolerance = Tolerance(method.rtol, method.atol, longest).array()
    # nothing is saved, but a card has no arrays without entries
    one = Flow(wheel.compiled, tolerance, np.full(1, np.inf), 2, energies=False)
    now = one.progress
    now.field, now.surface, now.gradient, now.power = _FIELD, _SURFACE, _GRADIENT, 0
    own = {**one.work._asdict(), "functions": one.functions, **one.records._asdict()}
    return {
        "p": one.p,
        "table": one.table,
        **{name: np.repeat(array[None], threads, axis=0) for name, array in own.items()},
    }


def _kernel(cuda: Any, names: tuple[str, ...]) -> Any:
    """Return the kernel that gives each thread its arrays and lets it follow its starts."""
    from stiction.switching.ensembles import kernels

    made: dict[Any, Any] = {}
    specials = _specials(cuda, made)
    scope: dict[str, Any] = {
        "cuda": cuda,
        "place": for_card(cuda, kernels.place, made, specials),
        "one": for_card(cuda, kernels.one, made, specials),
        "note_end": for_card(cuda, kernels.note_end, made, specials),
        "NAN": np.nan,
        "INFINITY": np.inf,
        "Workspace": Workspace,
        "Records": Records,
    }
    given = [name if name in _SHARED else f"every_{name}" for name in names]
    lines = [
        f"def launch(threads, {', '.join(given)}, starts, signs, stop, limits,",
        "           end_state, end_signs, ends, end_counts, end_first):",
        "    thread = cuda.grid(1)",
        "    if thread >= threads:",
        "        return",
        *(f"    {name} = every_{name}[thread]" for name in names if name not in _SHARED),
        "    progress[0].parameters = p.ctypes.data",
        "    w = Workspace(progress, rows)",
        "    records = Records(saved, events, states)",
        "    for b in range(thread, starts.shape[0], threads):",
        "        code = place(w, functions, 0.0, starts[b], signs[b], 1.0)",
        "        if code == 0:",
        "            code = one(w, functions, table, records, limits, INFINITY, 0.0, stop,",
        "                       end_counts[b], end_first[b])",
        "        else:",
        "            for c in range(end_first.shape[1]):",
        "                end_first[b, c] = NAN",
        "        note_end(w, code, b, end_state, end_signs, ends)",
    ]
    exec("\n".join(lines), scope)
    return cuda.jit(scope["launch"])


def _specials(cuda: Any, made: dict[Any, Any]) -> dict[str, Any]:
    """Return what stands for the calls by address."""
    from stiction.switching.wheel import kernels as wheel

    field = for_card(cuda, wheel.wheel_field, made, {})
    surface = for_card(cuda, wheel.wheel_surface, made, {})
    gradient = for_card(cuda, wheel.wheel_gradient, made, {})

    def call_arrays(address: Any, x: Any, s: Any, p: Any, out: Any) -> None:
        if address == _FIELD:
            field(x, s, p, out)
        elif address == _SURFACE:
            surface(x, s, p, out)
        else:
            gradient(x, s, p, out)

    direct = on_card(cuda, call_arrays)
    array_at: Callable[[Any, int], Any] = _array_at(cuda, np.dtype(np.float64))
    parameters_at: Callable[[Any, int], Any] = _array_at(cuda, Parameters.fields_type)

    def call_at(address: Any, x: Any, s: Any, p: Any, out: Any) -> None:
        direct(address, array_at(x, 3), array_at(s, 1), parameters_at(p, 1), array_at(out, 3))

    def row_at(a: Any, row: Any) -> Any:
        return a.ctypes.data + row * a.shape[1] * 8

    return {
        "call_arrays": direct,
        "call_at": on_card(cuda, call_at),
        "row_at": on_card(cuda, row_at),
    }


def _array_at(cuda: Any, dtype: np.dtype[Any]) -> Any:
    """Return array_at(address, size): what stands at an address as an array of this type."""
    if simulated():
        import ctypes

        def read_at(address: int, size: int) -> Any:
            numbers = ctypes.c_double * (size * dtype.itemsize // 8)
            return np.ctypeslib.as_array(numbers.from_address(int(address))).view(dtype)

        return read_at
    return _compiled_array_at(dtype)


def _compiled_array_at(dtype: np.dtype[Any]) -> Any:
    from numba.core import types as numba_types
    from numba.cuda.extending import intrinsic

    try:
        # numba-cuda has arrays of its own, whose code alone it compiles
        from numba.cuda.np.arrayobj import make_array, populate_array
        from numba.cuda.np.numpy_support import from_dtype
    except ImportError:
        from numba.np.arrayobj import make_array, populate_array
        from numba.np.numpy_support import from_dtype

    kind = numba_types.Array(from_dtype(dtype), 1, "C")

    @intrinsic
    def view(typingctx: Any, address: Any, size: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            made = make_array(kind)(context, builder)
            width = context.get_constant(numba_types.intp, dtype.itemsize)
            data = builder.inttoptr(args[0], made.data.type)
            populate_array(made, data, [args[1]], [width], width, None)
            return made._getvalue()

        return kind(numba_types.intp, numba_types.intp), codegen

    # a function of the card may not return an array that it was not given; this is put in place
    return view

"""The one verb: solve a system by a method over a time span.

The package imports this module at once, so that `stiction.solve` is the function and not
the module of the same name; all that is heavy is therefore imported inside the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from stiction.core.driver import System
    from stiction.core.method import SharedName, Solver
    from stiction.core.run import Checkpoint, Run

__all__ = ["solve"]


def solve(
    system: System,
    method: Solver | SharedName | None = None,
    t_span: tuple[float, float] = (0.0, 1.0),
    *,
    save: int | Sequence[float] | npt.NDArray[np.float64] | None = None,
    throw: bool = True,
    progress: Callable[[float, str], None] | None = None,
    checkpoint: Checkpoint | None = None,
    x0: float | Sequence[float] | npt.NDArray[np.float64] | None = None,
    mode: str | None = None,
) -> Run:
    """Solve `system` and return the run.

    Parameters
    ----------
    system : the system to solve, for example a `Chain`
    method : how it is solved; the system's own default when None
    t_span : start and end [s, or the time unit of the system]
    save : times at which the state is saved, or how many evenly spaced ones;
        default 1001, fewer for very large systems. Events are always saved.
    throw : raise SolveError when the run ends early or is untrusted; else return it with its
        status
    progress : called now and then with the fraction done and a short note
    checkpoint : keeps the state of a long run so that it can go on after a kill
    x0, mode : another start than that of the system, for systems with such fields

    Returns
    -------
    The run: events, ledger, determinism, audit, data.

    Raises
    ------
    ModelError : if the input describes no solvable problem.
    SolveError : if the run ended early or its numbers cannot be trusted, and `throw` is set; its
        `run` holds what there is.

    Verified by: tests/unit/test_solve.py::test_partial_run_is_carried
    """
    from stiction.core.driver import drive
    from stiction.io.output import OUTPUT

    return drive(
        system,
        method,
        t_span,
        save=save,
        throw=throw,
        progress=progress,
        checkpoint=checkpoint,
        x0=x0,
        mode=mode,
        output=OUTPUT,
    )

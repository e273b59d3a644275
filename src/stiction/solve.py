"""The function `solve`: solve a system by a method over a time span.

The work is done in `stiction.core.driver`. `stiction/__init__.py` imports this module immediately,
so that `stiction.solve` is the function and not the module of the same name. The function itself
imports the modules that are slow to import.
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
    method : numerical method; None selects the default of the system
    t_span : start and end [s, or the time unit of the system]
    save : times at which the state is saved, or the number of evenly spaced times;
        default 1001, fewer for very large systems. Events are always saved.
    throw : raise SolveError if the run ends early or is untrusted; if False, return the run with
        its status
    progress : function that is called repeatedly with the completed fraction and a short note
    checkpoint : saves the state of a long run, so that an interrupted run can be resumed
    x0, mode : initial state and mode in place of those of the system, if the system has such fields

    Returns
    -------
    The run: events, energy ledger, determinism, audit, data.

    Raises
    ------
    ModelError : if the arguments do not describe a solvable problem.
    SolveError : if the run ended early or is untrusted, and `throw` is set; the attribute `run` of
        the error holds the results up to there.

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

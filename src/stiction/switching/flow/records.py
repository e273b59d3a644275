"""The arrays one trajectory works with, and the numbers its kernels return."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.numerics.bernstein import (
    NODES,
    bernstein_from_samples,
    nodes,
    tail_from_samples,
)
from stiction.switching.flow.rows import (
    BERNSTEIN,
    CLOCK,
    CLOCK_WIDTH,
    COEFFICIENT,
    GRAD,
    KEPT,
    KINKS,
    LEAST,
    MARGIN,
    ORDER,
    PACE,
    PACES,
    PERIOD,
    RTOL,
    SCALE,
    SHARE,
    SIDES,
    STATE,
    STEPPER,
    STEPS,
    TALLEST,
    VAGUE,
    WHICH,
    M,
    N,
    Y,
)
from stiction.switching.flow.tableau import STAGES, tableau
from stiction.switching.model import Compiled

__all__ = ["KINDS", "Flow"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# how a call of `advance` ended
DONE, PAUSED, EVENTS_FULL, TWO_FOLD_HIT, LINE_HIT, PILED_UP, STALLED, NOT_FINITE, CORNER, SPLIT = (
    range(10)
)
# several ways lead on from where two surfaces meet
CROSSROADS = 10
# it may be one of two ways on, and the error of the run does not tell which
UNDECIDED = 11
# it goes on; then rare events that wait to be handled by `rare`; of these, a step without events
# on an intersection, and the end of a sliding vector there
RUNNING, TOUCHES, MEETS, NEARS_LINE, STAYS, STAY_ENDS = -1, -4, -5, -6, -7, -8
# kinds of events, in the order of KINDS
CROSS, SLIDE, LEAVE, KINK, FOLD, TWO_FOLD, CODIM2, ESCAPING = range(8)
KINDS = ("cross", "slide", "leave", "kink", "fold", "two_fold", "codim2_line", "escaping_start")


class Flow:
    """Everything kernels need: the system, the trajectory, where results go, scratch.

    Parameters
    ----------
    compiled : the system
    tolerance : rtol, atol, distance from a line that counts as on it, longest step
    save : times at which the state is kept
    n_events : rows for events
    energies : whether energies are carried along

    Attributes
    ----------
    system, p, table, a, saved, event : what kernels take, in this order; see `rows`
    arrays : all six
    y, sides, pace, kinks, clock : views of rows of `a`
    """

    def __init__(
        self,
        compiled: Compiled,
        tolerance: Floats,
        save: Floats,
        n_events: int,
        *,
        energies: bool,
    ) -> None:
        n, m, k = compiled.n, compiled.m, compiled.k
        q = 3 if energies and compiled.power else 0
        e, self.width = 2 * m + k + 1, n + 1 + q
        self.system = np.zeros(ORDER + e, dtype=np.int64)
        self.system[:10] = (
            compiled.field,
            compiled.surface,
            compiled.gradient,
            compiled.power,
            n,
            m,
            k,
            int(compiled.line),
            q,
            _plane_kind(compiled),
        )
        if compiled.stiff:
            from stiction.numerics.callback import address_of
            from stiction.switching.stiff_kernels import stiff_at

            self.system[STEPPER] = address_of(stiff_at).address
        self.p, self.table = compiled.params.copy(), constants()
        widest = max(CLOCK_WIDTH, NODES + 2, self.width, n + 2 * m + k + 2, m * n)
        self.a: Floats = np.zeros((COEFFICIENT + e, widest))
        self.saved: Floats = np.zeros((save.size, 1 + n + q + m))
        self.saved[:, 0] = save
        self.event: Floats = np.zeros((n_events, STATE + n + 3))
        self.arrays = (self.system, self.p, self.table, self.a, self.saved, self.event)
        a = self.a
        self.y, self.sides, self.kinks = a[Y, : self.width], a[SIDES, :m], a[KINKS, :k]
        self.pace, self.clock = a[PACE, :PACES], a[CLOCK, :KEPT]
        a[CLOCK, LEAST] = a[CLOCK, MARGIN] = np.inf
        self.sides[:], self.kinks[:], a[SCALE, :n] = 1.0, 1.0, compiled.scale
        self.pace[: SHARE + 1] = self.pace[PERIOD] = 1.0
        self.pace[RTOL : RTOL + 4] = tolerance
        if compiled.plane is not None:
            a[GRAD, : m * n] = np.asarray(compiled.plane).reshape(-1)

    @property
    def save(self) -> Floats:
        """(s,) times at which the state is kept."""
        return self.saved[:, 0]

    @property
    def saved_states(self) -> Floats:
        """(s, 1 + n + q) time, state and energies."""
        return self.saved[:, : self.width]

    @property
    def saved_signs(self) -> Floats:
        """(s, m) signs, the multiplier on a surface the state slides on."""
        return self.saved[:, self.width :]

    def moving(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return views of what a run needs to go on, by name."""
        return {
            "y": self.y,
            "sides": self.sides,
            # tolerances and the end are given anew
            "pace": self.pace[:RTOL],
            "kinks": self.kinks,
            # a step may begin with those that the last one, or a placement, left
            "gradients": self.a[GRAD, : int(self.system[M] * self.system[N])],
            "order": self.system[ORDER:],
            "clock": self.clock,
            "vague": self.a[CLOCK, VAGUE : TALLEST + 1],
            "count": self.system[STEPS:WHICH],
            "saved": self.saved_states,
            "saved_signs": self.saved_signs,
        }


@functools.cache
def constants() -> Floats:
    """Return the table of the method's constants: see `rows`. Nobody writes into it."""
    samples = np.vstack([bernstein_from_samples(), nodes(), tail_from_samples()])
    table = np.zeros((BERNSTEIN + len(samples), STAGES))
    table[:BERNSTEIN] = tableau()
    table[BERNSTEIN:, :NODES] = samples
    return table


def _plane_kind(compiled: Compiled) -> int:
    """Return 0 for curved surfaces, 1 for planes, 2 for what has looked like planes so far."""
    if compiled.plane is None:
        return 0
    return 1 if compiled.plane_is_sure else 2

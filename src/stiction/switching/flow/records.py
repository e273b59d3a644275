"""The arrays of one trajectory of a flow, and the codes that its kernels return.

`Flow` allocates and initialises the arrays that `state` defines; `trajectory` passes them to the
kernels. The codes are the results of `advance`: the end of the run, a bound on the work, or an
event that the caller must handle. A flow has n states, m surfaces, k kink functions and q energies
(work, friction heat, viscous heat; q is 3 or 0); y = (x, t, W) has n + 1 + q components.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import StateArray
from stiction.numerics.checks import MOST_WORK
from stiction.numerics.event_localisation import (
    NODES,
    bernstein_from_samples,
    nodes,
    tail_from_samples,
)
from stiction.switching.flow.state import (
    BERNSTEIN,
    COEFFICIENT,
    DENSE_TERMS,
    GRAD,
    KINKS,
    OPENINGS,
    SAVED,
    SCALE,
    SIDES,
    Event,
    EventFunction,
    Progress,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.tableau import STAGES, tableau
from stiction.switching.model import Compiled

__all__ = ["KINDS", "Flow"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# results of `advance`: end time reached; bound on the steps reached; event records full; state at a
# two-fold; state on the codimension-2 line h = g = 0
DONE, PAUSED, EVENTS_FULL, TWO_FOLD_HIT, LINE_HIT = range(5)
# intervals between events tend to zero; time does not advance; a state or rate is not finite; no
# admissible continuation; a grazing after which the solution is not unique
EVENTS_ACCUMULATE, STALLED, NOT_FINITE, NO_DIRECTION, SPLIT = range(5, 10)
# an intersection of two surfaces has several exit directions
SEVERAL_DIRECTIONS = 10
# two solutions are possible within the error of the run; at a kink sliding becomes escaping
UNDECIDED, ESCAPES = 11, 12
# RUNNING: the call continues. Then rare events, which `rare_events` handles: a grazing, arrival at
# an intersection, a state very near the line, a step of codimension-2 sliding, the end of a
# sliding vector
RUNNING, GRAZING, INTERSECTION, NEARS_LINE, SLIDES_ON_BOTH, SLIDING_ENDS = -1, -4, -5, -6, -7, -8
# kinds of events, in the order of KINDS
CROSS, SLIDE, LEAVE, KINK, FOLD, TWO_FOLD, CODIM2, ESCAPING = range(8)
KINDS = ("cross", "slide", "leave", "kink", "fold", "two_fold", "codim2_line", "escaping_start")


class Flow:
    """The arrays of the kernels: system, trajectory, records and scratch.

    Parameters
    ----------
    compiled : the system
    tolerance : rtol, atol, distance up to which a state is on a line, longest step
    save : times at which the state is saved
    n_events : number of events that can be stored
    energies : whether energies are integrated
    n_steps : number of steps that can be recorded

    Attributes
    ----------
    work, functions, table, records : arguments of the kernels, in this order; see `state`
    arrays : all four
    p : parameters of the system
    progress, vectors : the element of `work.progress`, and `work.vectors`
    y, sides, kinks : views of vectors
    """

    def __init__(
        self,
        compiled: Compiled,
        tolerance: Floats,
        save: Floats,
        n_events: int,
        *,
        energies: bool,
        n_steps: int = 0,
    ) -> None:
        # numbers of states, surfaces, kink functions, energies and event functions
        n, m, k = compiled.n, compiled.m, compiled.k
        q = 3 if energies and compiled.power else 0
        e, self.width = 2 * m + k + 1, n + 1 + q
        self.p, self.table = compiled.params.copy(), constants()
        # all vectors are rows of one array, as long as the longest
        widest = max(NODES + 2, self.width, n + 2 * m + k + 2, m * n, OPENINGS)
        self.vectors = a = np.zeros((COEFFICIENT + e, widest))
        self.work = Workspace(Progress.table(), a)
        # see `rates.event_values`
        self.functions = EventFunction.table(e)
        self.saved: Floats = np.zeros((save.size, 1 + n + q + m))
        self.saved[:, 0] = save
        self.records = Records(
            self.saved,
            Event.table(n_events),
            np.zeros((n_events, n)),
            np.zeros((n_steps, (1 + DENSE_TERMS) * (n + 1))),
        )
        self.arrays = (self.work, self.functions, self.table, self.records)
        self.y, self.sides, self.kinks = a[Y, : self.width], a[SIDES, :m], a[KINKS, :k]
        self.sides[:], self.kinks[:], a[SCALE, :n] = 1.0, 1.0, compiled.scale
        if compiled.plane is not None:
            a[GRAD, : m * n] = np.asarray(compiled.plane).reshape(-1)
        self.progress = now = self.work.progress[0]
        now.field, now.surface = compiled.field, compiled.surface
        now.gradient, now.power = compiled.gradient, compiled.power
        if compiled.stiff:
            from stiction.numerics.callback import address_of
            from stiction.switching.stiff_kernels import stiff_at

            now.stepper = address_of(stiff_at).address
        now.parameters = self.p.ctypes.data
        now.n, now.m, now.k, now.q, now.line = n, m, k, q, int(compiled.line)
        now.rtol, now.atol, now.on_line, now.longest = tolerance
        now.plane = _plane_kind(compiled)
        now.direction = now.sense = now.norm = now.tightening = now.time_scale = 1.0
        now.least_margin = now.margin = np.inf

    @property
    def save(self) -> Floats:
        """(s,) times at which the state is saved."""
        return self.saved[:, 0]

    @property
    def saved_states(self) -> Floats:
        """(s, 1 + n + q) time, state and energies."""
        return self.saved[:, : self.width]

    @property
    def saved_signs(self) -> Floats:
        """(s, m) signs, the multiplier on a sliding surface."""
        return self.saved[:, self.width :]

    def state(self) -> dict[str, StateArray]:
        """Return views of the state for a checkpoint, by name."""
        work, now = self.work, self.progress
        # margins are infinite before the first one
        never = ("least_margin", "margin")
        return {
            "progress": StateArray(work.progress[SAVED], inf=never, within=(-1, MOST_WORK)),
            "y": StateArray(self.y),
            "sides": StateArray(self.sides),
            "kinks": StateArray(self.kinks),
            # a step may use the gradients that the last step or placement has computed
            "gradients": StateArray(self.vectors[GRAD, : now.m * now.n]),
            "order": StateArray(self.functions["order"], within=(0, 2)),
            "saved": StateArray(self.saved_states),
            "saved_signs": StateArray(self.saved_signs),
        }


@functools.cache
def constants() -> Floats:
    """Return the rows of `table`, see `state`: Runge-Kutta tableau and transforms of samples.

    The array is shared and must not be changed.
    """
    samples = np.vstack([bernstein_from_samples(), nodes(), tail_from_samples()])
    table = np.zeros((BERNSTEIN + len(samples), STAGES))
    table[:BERNSTEIN] = tableau()
    table[BERNSTEIN:, :NODES] = samples
    return table


def _plane_kind(compiled: Compiled) -> int:
    """Return 0 for curved surfaces, 1 for planes, 2 for surfaces that seem to be planes."""
    if compiled.plane is None:
        return 0
    return 1 if compiled.plane_is_sure else 2

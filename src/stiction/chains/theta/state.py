"""Structures of a theta run: the problem, arrays of the masses, progress, samples and events.

Passing thirty arrays to a kernel takes longer than a step of three masses. Kernels therefore
receive two arrays, `f` with numbers and `m` with modes. Views name their rows: `masses_of`,
`motion_of`, `trial_of` and `modes_of` below, and `system_of` in `numerics.tridiagonal` for the
first rows of `f`, the linear system whose solution is the slip rate w. Entry i of a row belongs to
mass i, or to the link on its left. Rows 0 to 5 of `f` are the `System`, 6 to 15 `Masses`, 16 to 21
`Motion`, 22 to 32 `Trial`. `setup` creates the arrays, the kernels of this folder use them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import System, system_of

__all__ = [
    "F_ROWS",
    "M_ROWS",
    "N_SUMS",
    "Events",
    "Listed",
    "LoadSegment",
    "Masses",
    "Modes",
    "Motion",
    "Problem",
    "Progress",
    "Saved",
    "Sine",
    "Trial",
    "Work",
    "masses_of",
    "modes_of",
    "motion_of",
    "trial_of",
]

Floats = npt.NDArray[np.float64]
ModeArray = npt.NDArray[np.int8]

# rows of f, of m, and columns of the ledger
F_ROWS, M_ROWS, N_SUMS = 33, 3, 5
# the columns of the ledger in `Saved.sums` [J]
KINETIC, STORED, WORK, VISCOUS, ALGORITHMIC = range(N_SUMS)


class Problem(NamedTuple):
    """The numbers of a chain and a scheme that kernels read; units as in `Chain`.

    n : number of masses; t_start, t_end : time span [s]; belt, plate_speed : [m/s]
    n_step, h : number and length of the steps; rate : 1 / theta, and 0 with theta = 0
    plates, steady : whether there are plate springs; whether the load is constant
    constant, jump : whether friction is independent of the slip rate; jumps at zero slip rate
    *_address : addresses of the user's load, of formulas of the law and of the user's shape; 0 for
        none. law_start, law_step, n_state, first_state : rows of the law, see `CompiledLaw`
    exact : whether friction is set-valued
    tolerance, most, line_search : of the iteration in a step, with at most `most` solves
    shape, width, creep : with regularised friction the code of the smoothed sign, its width, and
        the slip speed above which a mass counts as slipping
    """

    n: int
    t_start: float
    t_end: float
    n_step: int
    h: float
    theta: float
    rate: float
    belt: float
    plate_speed: float
    plates: bool
    steady: bool
    load_address: int
    constant: bool
    jump: bool
    law_start: int
    law_step: int
    mu_address: int
    slope_address: int
    static_address: int
    commit_address: int
    event_address: int
    n_state: int
    first_state: int
    exact: bool
    tolerance: float
    most: int
    line_search: bool
    shape: int
    width: float
    sign_address: int
    sign_slope_address: int
    creep: float


class Progress(Struct):
    """Sums and counters of a run, in one element; `*_low` are corrections of compensated sums.

    load : at the end of the last step [N]
    kinetic, stored, scale : energies now, and the largest so far [J]
    work, viscous, algorithmic, heat : external work, and dissipation by dampers, scheme and
        friction [J]
    *_before : columns of the ledger at the start of a step that contains a save time [J]
    worst, worst_time : largest imbalance of a step over the largest energy, and when [s]
    rest_since : time of the last change of mode [s]
    save_at : earliest end of a step that contains the next save time [s]
    first_miss, worst_miss : time of the first unconverged step [s], and the largest residual
    steepest : largest ratio of the decrease of friction with slip rate to inertia [1]
    given, given_time : energy that friction returned to the masses [J], and its first time [s]
    against, against_time : largest slip rate against its mode [m/s], and its time [s]
    created, created_time : largest energy that the scheme had created [J], and its time [s]
    step, piece : number of steps, and segment of the load
    saved, events : numbers of samples and of recorded mode changes
    slipping : number of slipping masses
    solves, most_solves, rescues, misses : linear solves of all steps and of one, steps that needed
        nested rounds, and unconverged steps
    """

    load: float
    kinetic: float
    stored: float
    scale: float
    work: float
    work_low: float
    viscous: float
    viscous_low: float
    algorithmic: float
    algorithmic_low: float
    heat: float
    heat_low: float
    kinetic_before: float
    stored_before: float
    work_before: float
    viscous_before: float
    algorithmic_before: float
    worst: float
    worst_time: float
    rest_since: float
    save_at: float
    first_miss: float
    worst_miss: float
    steepest: float
    given: float
    given_time: float
    against: float
    against_time: float
    created: float
    created_time: float
    step: int
    piece: int
    saved: int
    events: int
    slipping: int
    solves: int
    most_solves: int
    rescues: int
    misses: int


class LoadSegment(Struct):
    """A linear segment of the load: its start [s], the load there [N], and its rate [N/s]."""

    time: float
    offset: float
    rate: float


class Sine(Struct):
    """A sine of the load: amplitude [N], angular frequency [rad/s] and phase [rad]."""

    amplitude: float
    frequency: float
    phase: float


class Listed(Struct):
    """Entry q of four lists of masses.

    changed, until : a mass whose mode was corrected; or the first and the last mass of an interval
        that is solved again
    candidate : a mass whose mode may violate complementarity; in `cross_zero`, the new mode
    later : a mass whose correction is left to the whole chain
    """

    changed: int
    until: int
    candidate: int
    later: int


class Masses(NamedTuple):
    """(n,) constants, except `stick_bound` under a law with states; of links (n + 1,).

    mass [kg], load_vector [1], plate_stiffness [N/m], normal_force [N], mu_kinetic [1],
    stick_bound [N]; stiffness [N/m] and damping [N s/m] of links; inertia = mass / (theta h)
    [kg/s], and pivot, the row sum of A = M / (theta h) + B [kg/s].
    """

    mass: Floats
    stiffness: Floats
    damping: Floats
    load_vector: Floats
    plate_stiffness: Floats
    normal_force: Floats
    mu_kinetic: Floats
    inertia: Floats
    pivot: Floats
    stick_bound: Floats


class Motion(NamedTuple):
    """(n,) the state, as a checkpoint stores it; `*_low` are corrections of compensated sums.

    x, x_low [m], slip_rate over the belt [m/s], friction in the last step [N], heat, heat_low [J].
    """

    x: Floats
    x_low: Floats
    slip_rate: Floats
    friction: Floats
    heat: Floats
    heat_low: Floats


class Trial(NamedTuple):
    """(n,) work arrays that every step overwrites; rates [m/s], forces [N].

    force : all forces but friction; without inertia if friction is regularised
    rate_change : of the slip rate in the step; in Newton's method, of an iteration
    friction : in the step, and with set-valued friction from its end on
    resistance, slope : of a slipping mass, whose friction is resistance + slope |w| [N, N s/m]
    hold, slack : bound of stick, and rounding of the force
    *_before : at the start of a step that contains a save time
    best : with regularised friction, the slip rate before a Newton iteration
    friction_after : with set-valued friction, from the end on of a step in which the velocity
        passed zero; in the same row
    """

    force: Floats
    rate_change: Floats
    friction: Floats
    resistance: Floats
    slope: Floats
    hold: Floats
    slack: Floats
    x_before: Floats
    slip_rate_before: Floats
    heat_before: Floats
    best: Floats
    friction_after: Floats


class Modes(NamedTuple):
    """(n,) -1 and 1 slip, 0 stick: of the state, of the trial step; `free` is 1 everywhere."""

    now: ModeArray
    trial: ModeArray
    free: ModeArray


class Work(NamedTuple):
    """Arrays and progress of a run; `segments`, `sines`, `f`, `m` of many runs have a leading axis.

    Attributes
    ----------
    segments, sines : segments and sines of the load
    f, m : (F_ROWS, n + 1 or more), (M_ROWS, same) as above
    lists : (n + 1,)
    law : a row per mass with parameters and states of its law, as in `laws.law_kernels`
    progress : one element
    """

    segments: Table[LoadSegment]
    sines: Table[Sine]
    f: Floats
    m: ModeArray
    lists: Table[Listed]
    law: Floats
    progress: Table[Progress]

    @property
    def masses(self) -> Masses:
        """Rows of f."""
        return masses_of(self.f.swapaxes(-2, 0))

    @property
    def motion(self) -> Motion:
        """Rows of f."""
        return motion_of(self.f.swapaxes(-2, 0))

    @property
    def trial(self) -> Trial:
        """Rows of f."""
        return trial_of(self.f.swapaxes(-2, 0))

    @property
    def modes(self) -> Modes:
        """Rows of m."""
        return modes_of(self.m.swapaxes(-2, 0))

    @property
    def system(self) -> System:
        """Rows of f."""
        return system_of(self.f.swapaxes(-2, 0))


class Saved(NamedTuple):
    """Samples at k save times.

    time : (k,) [s]; x, v, mode, friction, heat : (k, n) [m], [m/s], -1, 0 or 1, [N], [J]
    sums : (k, N_SUMS) the columns KINETIC to ALGORITHMIC of the ledger [J]
    state : (k, n, n_state + 1) states of the contacts, and last the bound of stick in that step
        [N]; (k, n, 0) for a law without states
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    heat: Floats
    sums: Floats
    state: Floats


# columns of `Events.values`: time [s], x [m], v [m/s], friction before and after the change [N]
TIME, PLACE, VELOCITY, FRICTION_BEFORE, FRICTION_AFTER = range(5)
# columns of `Events.changes`: mass, from 0; mode before and after
MASS, MODE_BEFORE, MODE_AFTER = range(3)


class Events(NamedTuple):
    """Mode changes: numbers (m, 5) TIME to FRICTION_AFTER, and (m, 3) MASS to MODE_AFTER.

    The first entry is event number `first`; earlier ones are in other blocks.
    """

    values: Floats
    changes: npt.NDArray[np.int32]
    first: int


@kernel(views=True)
def masses_of(f: Floats) -> Masses:
    """Return the rows of f that are constant."""
    return Masses(f[6], f[7], f[8], f[9], f[10], f[11], f[12], f[13], f[14], f[15])


@kernel(views=True)
def motion_of(f: Floats) -> Motion:
    """Return the rows of f with the state."""
    return Motion(f[16], f[17], f[18], f[19], f[20], f[21])


@kernel(views=True)
def trial_of(f: Floats) -> Trial:
    """Return the rows of f that are work arrays."""
    return Trial(f[22], f[23], f[24], f[25], f[26], f[27], f[28], f[29], f[30], f[31], f[32], f[32])


@kernel(views=True)
def modes_of(m: ModeArray) -> Modes:
    """Return the rows of m."""
    return Modes(m[0], m[1], m[2])

"""Structures of an event-driven run: the problem, the state, samples, events and work arrays.

The kernels of this folder take them as arguments; `event_driven.run` creates them. In a step tau is
the scaled time rate (t - t0) [1], with the start t0 of the step and `Problem.rate` [1/s]. Arrays of
masses with n + 2 columns have a wall at both ends, so that mass i (from 0) has column i + 1; link l
joins columns l and l + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# a stick force grazes its static bound, or a slip rate grazes zero
OF_BOUND, OF_SLIP = 0, 1


class Progress(Struct):
    """Time, sums and counters of a run, in one element. The names stand in checkpoints.

    time : [s]
    work, viscous : work of load, belt and plate, and heat of the dampers [J]
    tau, gap : length of the last fit and of the last step, which is at least 1e-3, in tau
    given, given_time : energy that friction returned to the masses [J], and the start of the first
        step in which it did [s]
    piece : segment of the load
    saved, events, touch_rows : numbers of samples, of recorded events and of recorded grazings
    steps, expansions, touches : counts of steps, of expansions in series, and of all grazings
    rest_seen : 1 after the kernel returned ALL_STUCK for the present equilibrium
    still : successive steps in which time did not advance
    """

    time: float
    work: float
    viscous: float
    tau: float
    gap: float
    given: float
    given_time: float
    piece: int
    saved: int
    events: int
    touch_rows: int
    steps: int
    expansions: int
    touches: int
    rest_seen: int
    still: int


class Grazing(Struct):
    """A grazing: the stick force of a mass touches its bound, or its slip rate touches zero.

    time : [s]
    length : time for which the function stays within its error [s]
    mass, kind : index of the mass from 0, and OF_BOUND or OF_SLIP
    slips : 1 if the mass slips afterwards
    """

    time: float
    length: float
    mass: int
    kind: int
    slips: int


class Problem(NamedTuple):
    """Arrays and numbers of a chain of n masses and a method; units as in `Chain`.

    mass, normal, mu_static, mu_kinetic : (n,) masses [kg], normal forces [N], coefficients [1]
    belt, plate_speed : speeds of belt and plate [m/s]
    link_k, link_c : (n + 1,) stiffness [N/m] and damping [N s/m] of the links; plate_k : (n,)
    load_vector : (n,) force on each mass over the load [1]
    segment_time, segment_offset, segment_rate : (segments,) start [s], value there [N] and rate
        [N/s] of the linear parts of the load; sine_* : (sines,) [N], [rad/s], [rad]
    law_start, law_step : address of the parameters of the law for the first mass, and the stride
        to those of the next mass [bytes], see `CompiledLaw`
    constant, jump, fitted : friction is independent of the slip rate; jumps at zero slip rate; is
        fitted on each step because the law has no series
    load_address, mu_address, share_address : addresses of a user's load, of a law's mu(v) and of
        its weakening function; 0 for none
    rate : tau per time [1/s]; order, tolerance : of the Taylor series
    fit_tolerance, longest_fit : tolerance of fits, longest step with a fit
    longest : longest step [s]
    response : (n,) 1 / (sqrt(k/m) + c/m) of the links at each mass [s]
    slip_after, slip_before : at grazings between these times a mass slips [s]
    start : time at which the run starts [s]
    """

    mass: Floats
    link_k: Floats
    link_c: Floats
    load_vector: Floats
    plate_k: Floats
    plate_speed: float
    normal: Floats
    mu_static: Floats
    mu_kinetic: Floats
    law_start: int
    law_step: int
    constant: bool
    jump: bool
    fitted: bool
    belt: float
    segment_time: Floats
    segment_offset: Floats
    segment_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats
    load_address: int
    mu_address: int
    share_address: int
    rate: float
    order: int
    tolerance: float
    fit_tolerance: float
    longest_fit: float
    longest: float
    start: float
    response: Floats
    slip_after: float
    slip_before: float


class Scratch(NamedTuple):
    """Taylor coefficients by rising power of tau, and work arrays, of one step of order K.

    x : (K + 1, n + 2) displacements [m], column i + 1 of mass i, walls at both ends
    drive : (K + 1, n) all forces but friction and inertia [N]
    mu : (n, K + 1) friction, see `series_kernels.expand`
    load : (K + 1,) load [N]
    work, viscous : (2 K,) work and viscous heat [J]; heat : (2 K, n) friction heat of each mass
    fit : (K + 1,) a function that is fitted on the step
    poly : (K + 1,) the event function of one mass
    bernstein : (DEPTH + 1, K + 3) work array of its root search, see `numerics.event_localisation`
    norm : (K + 1,) largest coefficient of each order, which limits the step
    active : (n,) indices of the masses whose series are not constant
    root, grazing : (n,) tau of each mass's first event and grazing, inf for none
    length : (n,) duration of that grazing in tau
    undecided_from : (n,) tau from which the event function stays within its error
    decision : (n,) 1 for a mass at its bound that the stick rule of a law with a jump decides
    started : (n,) 1 for a mass that begins to slip at the start of the step
    xs, vs : (n + 2,) state at a time in the step [m], [m/s]

    While `threshold_kernels` decides, `heat` holds error bounds of the coefficients of x, `root`
    those of a coefficient of the drive, `fit` those of the load, and `decision` its outcomes.
    """

    x: Floats
    drive: Floats
    mu: Floats
    load: Floats
    work: Floats
    viscous: Floats
    heat: Floats
    fit: Floats
    poly: Floats
    bernstein: Floats
    norm: Floats
    active: Ints
    root: Floats
    grazing: Floats
    length: Floats
    undecided_from: Floats
    decision: Ints
    started: Ints
    xs: Floats
    vs: Floats


class State(NamedTuple):
    """State of a run of n masses, as a checkpoint stores it.

    x, v : (n + 2,) displacements [m] and velocities [m/s], with walls
    mode, shown : (n,) modes -1, 0, 1 now, and those last recorded
    lead : (n,) number of leading coefficients of a mass's event function that its last event made
        zero: 0 for none, AT_REST after a decision to stick
    side : (n,) signs of the stick forces
    band : (n,) 1 for a mass whose event function is within its error, 2 for a mass whose grazing of
        the bound is recorded
    heat : (n,) friction heat [J]
    """

    progress: Table[Progress]
    x: Floats
    v: Floats
    mode: Ints
    shown: Ints
    lead: Ints
    side: Ints
    band: Ints
    heat: Floats


class Saved(NamedTuple):
    """Samples of the state and of the energies at m save times, one sample per row.

    time : (m,) [s]; x, v, mode, friction, heat : (m, n) [m], [m/s], -1, 0 or 1, [N], [J]
    kinetic, stored, work, viscous : (m,) energies, external work and viscous heat [J]
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    kinetic: Floats
    stored: Floats
    work: Floats
    viscous: Floats
    heat: Floats


class Track(NamedTuple):
    """A buffer of states of the trajectory, for the replay; of length 0 without a replay.

    `time` (m,) [s], `x`, `v`, `mode` (m, n) [m], [m/s], -1, 0 or 1. `mode` holds from each state to
    the next one. `filled` (1,) is the number of states, and `spacing` the longest step in tau
    without intermediate states.
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    filled: Ints
    spacing: float


class Events(NamedTuple):
    """Buffers of mode changes, of grazings, and of states of the trajectory.

    Of a change: time [s], mass from 0, modes before and after, x [m], v [m/s], and `left` and
    `right`, the friction force just before and after it [N].
    """

    time: Floats
    mass: Ints
    before: Ints
    after: Ints
    x: Floats
    v: Floats
    left: Floats
    right: Floats
    grazing: Table[Grazing]
    track: Track

"""Derivatives of the theta scheme, by the implicit function theorem in every step.

A step solves for the slip rates w, with v_theta = V + w and x_theta = x + theta h v_theta,

    m (v_theta - v) / (theta h) = T_right - T_left + b f_theta + kp (plate - x_theta) - s N mu(|w|)

in the set of masses that slip with signs s, and w = 0 in stick: link forces T, load b f, plate
springs kp, friction mu N, belt speed V, step h. Its derivative at a fixed set of
slipping masses is a linear equation whose tridiagonal matrix is the same for all directions. A mass
that sticks after the step has the velocity of the belt. A variation is the derivative of the state
with respect to a direction (`tangents.state`). `steps` calls the two kernels that advance a run.

Arguments: p, `work`, f of `theta.state`; directions d of `tangents.state`; g holds the variations.
i is a mass from 0, c = i + 1 its column in arrays with walls, q a direction. t [s] is the start of
the step, `pull` the load at theta [N].
Source: formulas sheet of the chains paper, section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.tangents.state import POINTS, Directions
from stiction.chains.theta.exact_kernels import advance_exact, advance_weakening
from stiction.chains.theta.state import (
    Events,
    LoadSegment,
    Problem,
    Saved,
    Sine,
    Work,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.chains.theta.step_kernels import DONE, NOT_FINITE, PAUSE, time_after
from stiction.laws.law_kernels import law_value
from stiction.numerics.arrays import Table, Vector
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

__all__ = [
    "DONE",
    "NOT_FINITE",
    "PAUSE",
    "Variation",
    "advance_exact_tangents",
    "advance_weakening_tangents",
]

Floats = npt.NDArray[np.float64]

# a stick force this near to its bound, as a fraction of it, leaves the set of a step undecided
_NEAR = 1e-10


class Variation(NamedTuple):
    """Derivatives of the state with respect to m directions, and the state at the start of a step.

    x, v, heat : (m, n + 2), (m, n + 2), (m, n) derivatives of displacements, velocities and
        friction heats
    place, velocity : (n + 2,) the state [m], [m/s], with walls
    pivot, right : (n,) pivots and right-hand side of the tridiagonal system
    margin : (3,) of the first step whose set of sticking masses is undecided: time [s], mass, and
        margin of this mass to its bound, over the bound; NaN for none
    rest : (2,) time [s] and mass of the first rest without friction in a direction that changes
        this zero friction; NaN for none
    bound_by : (m, n) derivatives of the static bounds
    """

    x: Floats
    v: Floats
    heat: Floats
    place: Floats
    velocity: Floats
    pivot: Floats
    right: Floats
    margin: Floats
    rest: Floats
    bound_by: Floats


@kernel
def advance_exact_tangents(
    p: Problem, work: Work, saved: Saved, events: Events, d: Directions, g: Variation, steps: int
) -> int:
    """Advance a chain of constant friction by at most `steps` steps, or up to a change of modes."""
    now = work.progress[0]
    for _ in range(steps):
        segment, load = now.piece, now.load
        before, changes = _ready(p, work.f, g, now.step), now.events
        code = advance_exact(p, work, saved, events, 1)
        if now.step > before:
            _follow(p, work, d, g, segment, load)
        if code in (DONE, NOT_FINITE) or now.events != changes:
            return code
    return PAUSE


@kernel
def advance_weakening_tangents(
    p: Problem, work: Work, saved: Saved, events: Events, d: Directions, g: Variation, steps: int
) -> int:
    """Advance a chain whose friction depends on slip speed; else as `advance_exact_tangents`."""
    now = work.progress[0]
    for _ in range(steps):
        segment, load = now.piece, now.load
        before, changes = _ready(p, work.f, g, now.step), now.events
        code = advance_weakening(p, work, saved, events, 1)
        if now.step > before:
            _follow(p, work, d, g, segment, load)
        if code in (DONE, NOT_FINITE) or now.events != changes:
            return code
    return PAUSE


@kernel
def _ready(p: Problem, f: Floats, g: Variation, step: int) -> int:
    """Copy the state at the start of a step; return the number of the step."""
    motion = motion_of(f)
    for i in range(p.n):
        g.place[i + 1], g.velocity[i + 1] = motion.x[i], motion.slip_rate[i] + p.belt
    return step


@kernel
def _follow(p: Problem, work: Work, d: Directions, g: Variation, segment: int, load: float) -> None:
    """Advance the variations over the step just made, which began on this load segment and load."""
    now, f = work.progress[0], work.f
    system, masses = system_of(f), masses_of(f)
    t, part = p.t_start + (now.step - 1) * p.h, p.theta * p.h
    bound = masses.stick_bound
    for i in range(p.n):
        w = system.solution[i]
        if _sticks(w, bound[i]):
            continue
        # tangent of the step: diagonal m / (theta h) + C + theta h K, plus N mu'
        k = masses.stiffness[i] + masses.stiffness[i + 1] + masses.plate_stiffness[i]
        g.pivot[i] = masses.inertia[i] + masses.damping[i] + masses.damping[i + 1] + part * k
        if not p.constant:
            row = p.law_start + i * p.law_step
            g.pivot[i] += masses.normal_force[i] * law_value(p.slope_address, abs(w), row)
        if i > 0 and not _sticks(system.solution[i - 1], bound[i - 1]):
            # elimination: the row above has been reduced to pivot and the coupling to this one
            coupling = masses.damping[i] + part * masses.stiffness[i]
            g.pivot[i] -= coupling * coupling / g.pivot[i - 1]
    _check(p, work, g, t)
    # load at theta, and its derivative
    pull = p.theta * now.load + (1.0 - p.theta) * load
    for q in range(g.x.shape[0]):
        pull_by = 0.0
        if d.load[q] != 0:
            pull_by = (1.0 - p.theta) * _load_by(p, work.segments, work.sines, d, q, t, segment)
            end = time_after(p, now.step - 1)
            pull_by += p.theta * _load_by(p, work.segments, work.sines, d, q, end, now.piece)
        _step(p, work, d, g, q, t, pull, pull_by)
        _end_at_rest(p, work, d, g, q, t)


@kernel
def _sticks(w: float, bound: float) -> bool:
    """Return whether a mass sticks; without friction it obeys its equation of motion at rest."""
    return w == 0.0 and bound > 0.0


@kernel
def _end_at_rest(p: Problem, work: Work, d: Directions, g: Variation, q: int, t: float) -> None:
    """End direction `q` if it changes the zero friction of a mass at rest: any friction holds it.

    A variation that ended is NaN.
    """
    system, masses = system_of(work.f), masses_of(work.f)
    if d.mechanics[q] == 0 or np.isnan(g.x[q, 0]):
        return
    for i in range(p.n):
        if system.solution[i] != 0.0 or masses.stick_bound[i] > 0.0 or g.bound_by[q, i] == 0.0:
            continue
        g.x[q, :] = g.v[q, :] = np.nan
        g.heat[q, :] = np.nan
        if np.isnan(g.rest[0]):
            g.rest[0], g.rest[1] = t, i
        return


@kernel
def _check(p: Problem, work: Work, g: Variation, t: float) -> None:
    """Record the first step in which the friction of a mass in stick equals its bound."""
    system, trial, modes = system_of(work.f), trial_of(work.f), modes_of(work.m)
    for i in range(p.n):
        hold, sticks = trial.hold[i], modes.trial[i] == 0 and system.solution[i] == 0.0
        if not sticks or hold == 0.0 or not np.isnan(g.margin[0]):
            continue
        share = 1.0 - abs(trial.friction[i]) / hold
        if abs(share) <= _NEAR:
            g.margin[0], g.margin[1], g.margin[2] = t, i, share


@kernel
def _line_by(segments: Table[LoadSegment], d: Directions, q: int, t: float, segment: int) -> float:
    """Return the derivative at time t of the straight line of a segment."""
    line = segments[segment]
    by: float = d.segment_offset[q, segment] + d.segment_rate[q, segment] * (t - line.time)
    # a breakpoint that comes later by dt shifts its segment: -rate dt
    by -= line.rate * d.segment_time[q, segment]
    return by


@kernel
def _load_by(
    p: Problem,
    segments: Table[LoadSegment],
    sines: Table[Sine],
    d: Directions,
    q: int,
    t: float,
    segment: int,
) -> float:
    """Return the derivative of the load at time t.

    If a direction moves a breakpoint at t, the load has a kink there: the mean of both sides is the
    limit of the central difference.
    """
    by: float = _line_by(segments, d, q, t, segment)
    # (times of steps are rounded)
    near = 4e-16 * (abs(t) + abs(p.t_start))
    for later in range(segment, min(segment + 2, len(segments))):
        moves = later > 0 and d.segment_time[q, later] != 0.0
        if moves and abs(t - segments[later].time) <= near:
            other = segment - 1 if later == segment else later
            by = 0.5 * (by + _line_by(segments, d, q, t, other))
            break
    for j in range(len(sines)):
        sine = sines[j]
        angle = sine.frequency * t + sine.phase
        by += d.sine_amplitude[q, j] * sin(angle)
        turn = d.sine_frequency[q, j] * t + d.sine_phase[q, j]
        by += sine.amplitude * cos(angle) * turn
    return by


@kernel
def _step(
    p: Problem,
    work: Work,
    d: Directions,
    g: Variation,
    q: int,
    t: float,
    pull: float,
    pull_by: float,
) -> None:
    """Solve for the variation of v_theta in direction `q`, and advance the variations by it.

    Thomas algorithm: `g.pivot` holds the pivots of the step, `g.right` the right-hand side and then
    the solution. `pull_by` is the derivative of the load at theta.
    """
    f, n, h = work.f, p.n, p.h
    system, masses, modes = system_of(f), masses_of(f), modes_of(work.m)
    part, belt, w = p.theta * h, d.belt[q], system.solution
    dx, dv, normal, mu_kinetic = g.x[q], g.v[q], masses.normal_force, masses.mu_kinetic
    bound = masses.stick_bound
    for i in range(n):
        if _sticks(w[i], bound[i]):
            g.right[i] = belt
            continue
        c, coupling = i + 1, masses.damping[i] + part * masses.stiffness[i]
        # right-hand side: variation at the start of the step, derivatives of the numbers, friction
        # at fixed slip
        force = masses.stiffness[c] * (dx[c + 1] - dx[c]) - masses.stiffness[i] * (dx[c] - dx[i])
        force += masses.load_vector[i] * pull_by - masses.plate_stiffness[i] * dx[c]
        force += masses.inertia[i] * dv[c]
        force += _own_force(p, work, d, g, q, i, t, pull)
        if w[i] != 0.0:
            friction_by = _friction_by(p, normal, mu_kinetic, d, q, i, w[i])
            force -= friction_by if w[i] > 0.0 else -friction_by
        if i > 0:
            # a neighbour in stick has the velocity of the belt
            stuck = _sticks(w[i - 1], bound[i - 1])
            above = coupling if stuck else coupling / g.pivot[i - 1]
            force += above * g.right[i - 1]
        if i + 1 < n and _sticks(w[i + 1], bound[i + 1]):
            force += (masses.damping[c] + part * masses.stiffness[c]) * belt
        g.right[i] = force
    # backward substitution between masses in stick
    for i in range(n - 1, -1, -1):
        if _sticks(w[i], bound[i]):
            continue
        if i + 1 < n and not _sticks(w[i + 1], bound[i + 1]):
            coupling = masses.damping[i + 1] + part * masses.stiffness[i + 1]
            g.right[i] += coupling * g.right[i + 1]
        g.right[i] /= g.pivot[i]
    for i in range(n):
        c = i + 1
        if w[i] != 0.0:
            g.heat[q, i] += h * _heat_by(
                p, masses.normal_force, masses.mu_kinetic, d, g, q, i, w[i]
            )
        dx[c] += h * g.right[i]
        moves = modes.trial[i] != 0 or bound[i] == 0.0
        dv[c] = dv[c] + (g.right[i] - dv[c]) * p.rate if moves else belt


@kernel
def _own_force(
    p: Problem, work: Work, d: Directions, g: Variation, q: int, i: int, t: float, pull: float
) -> float:
    """Return the force on mass `i` by the changes of the coefficients of the chain in a step."""
    if d.mechanics[q] == 0:
        return 0.0
    masses, w, n, c = masses_of(work.f), system_of(work.f).solution, p.n, i + 1
    part, rate = p.theta * p.h, w[i] + p.belt
    left = w[i - 1] + p.belt if i > 0 else 0.0
    right = w[i + 1] + p.belt if i + 1 < n else 0.0
    # elongations at theta
    before = g.place[c] - g.place[i] + part * (rate - left)
    after = g.place[c + 1] - g.place[c] + part * (right - rate)
    force: float = d.link_k[q, c] * after - d.link_k[q, i] * before
    force += d.link_c[q, c] * (right - rate) - d.link_c[q, i] * (rate - left)
    plate = t + part
    elongation = p.plate_speed * plate - g.place[c] - part * rate
    force += d.plate_k[q, i] * elongation + masses.plate_stiffness[i] * d.plate_speed[q] * plate
    # inertia is m (v_theta - v) / (theta h)
    force += d.load_vector[q, i] * pull - d.mass[q, i] * (rate - g.velocity[c]) / part
    # the slip is v_theta - V: friction changes with the belt by N mu' dV
    if not p.constant:
        row = p.law_start + i * p.law_step
        fall = masses.normal_force[i] * law_value(p.slope_address, abs(w[i]), row)
        force += fall * d.belt[q]
    return force


@kernel
def _friction_by(
    p: Problem, normal: Vector, mu_kinetic: Vector, d: Directions, q: int, i: int, w: float
) -> float:
    """Return the derivative of N mu(|w|) of mass i at fixed slip w, in direction q.

    normal, mu_kinetic : (n,) N [N] and mu_k [1] of the masses
    """
    if p.constant:
        by: float = d.normal[q, i] * mu_kinetic[i] + normal[i] * d.mu_kinetic[q, i]
        return by
    mu = law_value(p.mu_address, abs(w), p.law_start + i * p.law_step)
    mu_by = 0.0
    if d.law[q] != 0:
        for j in range(POINTS):
            if d.law_weight[q, j] != 0.0:
                row = d.law_row[q, j] + i * p.law_step
                mu_by += d.law_weight[q, j] * law_value(p.mu_address, abs(w), row)
    value: float = d.normal[q, i] * mu + normal[i] * mu_by
    return value


@kernel
def _heat_by(
    p: Problem,
    normal: Vector,
    mu_kinetic: Vector,
    d: Directions,
    g: Variation,
    q: int,
    i: int,
    w: float,
) -> float:
    """Return the derivative of the power N mu(|w|) |w| of friction on mass i, in direction q."""
    w_by = g.right[i] - d.belt[q]
    change = w_by if w > 0.0 else -w_by
    by = _friction_by(p, normal, mu_kinetic, d, q, i, w)
    mu = mu_kinetic[i]
    if not p.constant:
        row = p.law_start + i * p.law_step
        mu = law_value(p.mu_address, abs(w), row)
        by += normal[i] * law_value(p.slope_address, abs(w), row) * change
    power_by: float = by * abs(w) + normal[i] * mu * change
    return power_by

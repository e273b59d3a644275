"""The integration loop: step, locate events, change the mode, until the end or a rare event.

`rates` has the equations of each mode, `steps` the Runge-Kutta step and its dense output, `events`
the change of mode; each names its source. A rejected step is repeated with a smaller length.
`Trajectory.advance` and `rare_events` call `advance`. The length of a step is that of the variable
s, which is the time except in sliding on one surface.

The state of the loop is `w.progress[0]`, called `now`. Component c of vector NAME is
`w.vectors[NAME, c]`; `state` lists the vectors. The array `functions` has the 2 m + k + 1 event
functions of `rates.event_values` for m surfaces and k kinks: numbers i and m + i belong to surface
i, 2 m + j to kink j, and the last one to the end of sliding or of the run.

Each pass of the loop makes one step and then tests, in this order: the error of the step, whether
surfaces that seemed to be planes are planes, whether the step resolves the event functions, events,
arrival at a two-fold, and arrival at a codimension-2 line. So events are located in accepted steps
only, and the last two tests are made after steps without an event only.

Arguments of the kernels: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the
state of the integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector.
`functions[i]` has the data of event function i, `table` the Runge-Kutta tableau and the transforms
of samples, `records` the saved states and events. Y and TRIAL are y at the start and at the end of
the step, h is its length.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import at_event, clear_known_zeros, grazing_at
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.line import ARRIVED, MAYBE, slides_onto_line, slips_onto_line
from stiction.switching.flow.rates import (
    event_values,
    normals,
    rates,
    second_surface,
    sliding_surface,
    update_event_values,
)
from stiction.switching.flow.records import (
    DONE,
    EVENTS_FULL,
    LINE_HIT,
    NEARS_LINE,
    NOT_FINITE,
    PAUSED,
    RUNNING,
    SLIDES_ON_BOTH,
    STALLED,
    TWO_FOLD_HIT,
)
from stiction.switching.flow.saving import save_until
from stiction.switching.flow.state import (
    DIFF,
    DIFF2,
    EXTRA2,
    GRAD,
    SAMPLE,
    SCALE,
    SIDES,
    STAGE,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import (
    UNRESOLVED,
    dense_coefficients,
    finish_stages,
    first_event,
    sample_events,
    step,
)
from stiction.switching.flow.surfaces import (
    TWO_FOLD_TOLERANCE,
    is_plane,
    project,
    surfaces_at,
    tighten_near_two_fold,
)
from stiction.switching.flow.tableau import AT_END

__all__ = ["NO_EVENT", "TOO_LONG", "advance", "after_step"]

_EPS = 2.220446049250313e-16  # of float64
# In `advance` the shortest step is 16 roundings of the time: its first node, a twentieth of it,
# must change the time. The factor of the next step has the order 8 and the safety factor 0.9 of
# DOP853; bounds near its 0.333 and 6 were chosen
# largest number of steps of one call that are as short as the rounding of the time. Chosen: a
# singularity of the field needs them without end, a short steep transient does not
_FORCED = 2000
# the field is not defined any further if _BROKEN steps give NaN while the time grows by less than
# the fraction _PROGRESS. Chosen: steps are halved at each NaN, and 60 halvings reach the rounding
# of the time; the rest are attempts from states a little later
_BROKEN, _PROGRESS = 200, 1e-3
# the rounding error of h of a plane is at least this fraction of that for states of their scale.
# Chosen: states that a run brings near zero have rounding errors of their earlier size
_FINEST = 1e-7
# a value of h below this multiple of its rounding error counts as zero. The estimate has a factor 4
# for one evaluation; the state itself is a sum of the roundings of a step. Chosen
_ZERO = 64.0
# distance of differences of kink functions, as a fraction of the size of a state. Chosen: only the
# order of magnitude of the slope is wanted
_STEP_OF_KINKS = 1e-4
# results of `_process_events` besides RUNNING and the codes of `records`
NO_EVENT, TOO_LONG = -2, -3


@kernel
def _ended(w: Workspace, records: Records, t_end: float) -> int:
    """Save the end again where an event at it removed its row: the state after a jump."""
    now, a = w.progress[0], w.vectors
    a[Y, now.n] = t_end
    save_until(w, records, t_end, 0.0)
    return DONE


@kernel(separate=True)
def advance(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    t_end: float,
    max_steps: int,
) -> int:
    """Integrate the trajectory to t_end; return a code of `records`.

    A pass takes one step or handles one event, `max_steps` at most. A negative code is a pending
    rare event, with `left` passes remaining; a call with `continues` resumes after PAUSED exactly.
    Steps follow their error, of order 8 in h, with the usual safety factor and bounds (Hairer I).

    Verified by: tests/unit/switching/flow/test_surfaces.py::test_a_plane_costs_no_rejected_step
    """
    now, a, n = w.progress[0], w.vectors, w.progress[0].n
    now.t_end = t_end
    _restore_loop(w)
    fresh, rejected = now.fresh != 0, now.refused != 0
    gap, error = now.gap, now.error
    for used in range(max_steps):
        now.left = max_steps - 1 - used
        if now.events >= len(records.events) - 2:  # a kink, then two surfaces are left: three
            return EVENTS_FULL
        if fresh:
            if not _start_afresh(w, functions):
                return NOT_FINITE
            fresh, gap = False, 0.0
        surface = sliding_surface(w, SIDES)
        single = surface >= 0 and second_surface(w, SIDES, surface) < 0
        left = (t_end - a[Y, n]) * now.direction
        if left <= 0.0:
            return _ended(w, records, t_end)
        h, least = _step_length(w, left, single), 16.0 * _EPS * abs(a[Y, n])
        if left <= 0.5 * least:
            return _ended(w, records, t_end)
        tiny = h < least
        if tiny:
            # the step is at the resolution of the time: accept a few whatever their error
            h = min(least, left)
            now.forced += 1
            if now.forced > _FORCED:
                return _why_stalled(w, error)
        now.steps += 1
        error = step(w, table, h)
        if not error <= 1.0 and not (tiny and error < math.inf):
            if _reject_step(w, functions, h, error):
                return NOT_FINITE
            rejected = True
            continue
        if now.plane == 2 and not is_plane(w):
            # h is no plane after all: evaluate its gradient, and repeat the step
            now.plane, fresh = 0, True
            now.rejected += 1
            continue
        factor = 10.0 if error < 1e-10 else min(10.0, max(0.3, 0.9 * error ** (-0.125)))
        now.next_step = h * (min(factor, 1.0) if rejected else factor)
        now.drift += min(error, 1.0) * now.tightening  # enters the margins
        code = _process_events(w, functions, table, records, h)
        rejected = code == TOO_LONG
        if rejected:
            now.rejected += 1
            now.next_step = 0.5 * h
            continue
        fresh = code == RUNNING
        if fresh:
            continue
        if code != NO_EVENT:
            return code
        if surface < 0 and left <= h:
            a[TRIAL, n] = t_end  # without the rounding of t + h
        code, gap = after_step(w, functions, records, h, surface if single else -1, gap)
        if code != RUNNING:
            return code
    now.fresh, now.refused = int(fresh), int(rejected)
    now.gap, now.error = gap, error
    return PAUSED


@kernel
def _restore_loop(w: Workspace) -> None:
    """Reset the state of the loop, unless the call continues a paused one."""
    now, a = w.progress[0], w.vectors
    if now.continues == 0:
        now.fresh, now.refused, now.gap, now.error = 1, 0, 0.0, 0.0
        now.broken, now.broken_at, now.forced = 0, a[Y, now.n], 0


@kernel
def _reject_step(w: Workspace, functions: EventFunctions, h: float, error: float) -> bool:
    """Count a rejected step and choose a shorter one; return True if the field is undefined."""
    now, a = w.progress[0], w.vectors
    t = a[Y, now.n]
    now.rejected += 1
    if error == math.inf:
        # count steps into a region where the field is NaN or infinite
        # at late times the remaining interval is shorter than the time
        if abs(t - now.broken_at) > _PROGRESS * max(min(abs(t), abs(now.t_end - t)), h):
            now.broken, now.broken_at = 0, t
        now.broken += 1
        if now.broken > _BROKEN:
            return True
    now.next_step = _after_rejection(w, functions, h, error)
    return False


@kernel
def _start_afresh(w: Workspace, functions: EventFunctions) -> bool:
    """Evaluate rates and event functions after an event; return whether they are finite."""
    now = w.progress[0]
    now.smooth = 0
    rates(w, Y, STAGE)
    update_event_values(w, functions)
    if not finite(w, STAGE, now.n + 1 + now.q):
        return False
    _set_noise_levels(w, functions)
    return True


@kernel(separate=True)
def _process_events(
    w: Workspace, functions: EventFunctions, table: Matrix, records: Records, h: float
) -> int:
    """Locate the first event in the step of length h and handle it.

    Returns
    -------
    NO_EVENT, TOO_LONG where the step does not resolve an event function, RUNNING after an event,
    or the code with which the call must end.
    """
    now = w.progress[0]
    finish_stages(w, table, h)
    dense_coefficients(w, table, h)
    sample_events(w, table)
    first = first_event(w, functions, table, h)
    if first.which == UNRESOLVED:
        return TOO_LONG
    surface = sliding_surface(w, SIDES)
    if surface >= 0 and second_surface(w, SIDES, surface) >= 0:
        # `intersections.transitions` tests first whether another exit direction opens before
        now.which, now.other = first.which, first.low
        now.event_fraction, now.event_step, now.lowest = first.root, h, first.at
        return SLIDES_ON_BOTH
    # a minimum of |h| before the first root is classified first
    if first.low >= 0:
        return grazing_at(w, first.low, first.at, h)
    if first.which < 0:
        return NO_EVENT
    return at_event(w, functions, table, records, first.which, first.root, h)


@kernel(separate=True)
def after_step(
    w: Workspace,
    functions: EventFunctions,
    records: Records,
    h: float,
    surface: int,
    gap_before: float,
) -> tuple[int, float]:
    """Accept a step without events; test for a two-fold and for a codimension-2 line.

    Parameters
    ----------
    surface : the only sliding surface, -1 for none or two

    Returns
    -------
    RUNNING or the code with which the call must end; L- - L+ over its scale in sliding
    """
    now, a = w.progress[0], w.vectors
    m, width, slides = now.m, now.n + 1 + now.q, False
    save_until(w, records, a[TRIAL, now.n], 1.0)
    for c in range(width):
        # the last stage is the first of the next step (FSAL)
        a[Y, c] = a[TRIAL, c]
        a[STAGE, c] = a[STAGE + AT_END, c]
    for i in range(m):
        # projection on h = 0 in sliding, so that errors normal to the surface do not accumulate
        if a[SIDES, i] == 0.0:
            project(w, i)
            slides = True
    update_event_values(w, functions)
    if slides:
        rates(w, Y, STAGE)
    for i in range(m):
        # |h| decreases at the end of the step: its minimum may lie at the start of the next one
        approaches = functions[i].order == 0 and a[SAMPLE + NODES - 1, i] < a[SAMPLE + NODES - 2, i]
        functions[i].slope = -1.0 if approaches and a[SIDES, i] != 0.0 else 0.0
    clear_known_zeros(functions)
    now.smooth = 1
    _set_noise_levels(w, functions)
    if not finite(w, Y, width):
        return NOT_FINITE, 0.0
    if surface < 0:
        if now.line == 1:
            code = slips_onto_line(w, functions, h)
            if code == MAYBE:
                now.event_step = h
                return NEARS_LINE, 0.0
            if code == ARRIVED:
                return LINE_HIT, 0.0
        return RUNNING, 0.0
    # |L- - L+| over its scale, zero at a two-fold
    gap = abs(functions[surface].value) + abs(functions[m + surface].value)
    # chosen: far inside its limits a multiplier may leave them again without suspicion of rounding
    if min(functions[surface].value, functions[m + surface].value) > 100.0 * now.blunt:
        now.blunt = 0.0
    # PLUS and MINUS hold the fields at the present state
    scaled_gap = gap * now.norm
    if scaled_gap <= TWO_FOLD_TOLERANCE * tighten_near_two_fold(w, surface, scaled_gap):
        _extrapolate_to_two_fold(w, gap_before, gap, h)
        return TWO_FOLD_HIT, gap
    if now.line == 1 and surface == 0 and slides_onto_line(w, functions, h):
        return LINE_HIT, gap
    return RUNNING, gap


@kernel
def _why_stalled(w: Workspace, error: float) -> int:
    """Return why steps are too short: NOT_FINITE if rates are NaN or the state diverges.

    A state diverges beyond 1e10 of its scale (chosen).
    """
    now, a = w.progress[0], w.vectors
    size = 0.0
    for c in range(now.n):
        size = max(size, abs(a[Y, c]) / a[SCALE, c])
    return NOT_FINITE if error == math.inf or size > 1e10 else STALLED


@kernel(separate=True)
def _set_noise_levels(w: Workspace, functions: EventFunctions) -> None:
    """Set rounding error, largest value of a grazing, error and known zero of event functions.

    A function that is zero at the start of the step has a known zero (`order` 1). After a step
    without events the values of |h| and of the limits of the multiplier that are zero within
    rounding do not count as known zeros.
    """
    now, a = w.progress[0], w.vectors
    n, m, k = now.n, now.m, now.k
    # multipliers have the size one: their rounding error is at least some epsilons
    lie_noise = max(1e-15, now.lie_rounding, now.blunt)
    # error of h, in tolerances: one step, and the steps since the last placement on a surface
    error_sum = now.tightening + now.drift
    for i in range(m):
        largest_h = tolerance_of_h = size_of_h = 0.0
        for c in range(n):
            slope, value = abs(a[GRAD, i * n + c]), abs(a[Y, c])
            # chosen, here and below: a state near zero had at least a tenth of its scale
            largest_h += slope * max(value, 0.1 * a[SCALE, c])
            size_of_h += slope * value
            tolerance_of_h += slope * (now.atol * a[SCALE, c] + now.rtol * value)
        # h of a plane has rounding errors in proportion to its states, which may be near zero
        rounding = largest_h if now.plane == 0 else max(size_of_h, _FINEST * largest_h)
        one = functions[i]
        one.noise = 4.0 * _EPS * rounding if a[SIDES, i] != 0.0 else lie_noise
        functions[m + i].noise = lie_noise
        # within this value a grazing, a minimum above zero and two crossings are not distinguished
        one.grazing = max(_ZERO * one.noise, min(now.rtol, 1e-10) * largest_h)
        if a[SIDES, i] != 0.0:
            now.tallest = max(now.tallest, one.value)
        one.uncertainty = (
            error_sum * tolerance_of_h + _ZERO * one.noise + now.start_error * now.tallest
        )
    if k > 0:
        _set_noise_of_kinks(w, functions)
    functions[2 * m + k].noise = 0.0
    for i in range(len(functions)):
        one = functions[i]
        if now.smooth == 0:
            one.slope = 0.0
        if one.order == 0 and one.value <= one.noise:
            slides = i < 2 * m and now.blunt > 0.0 and a[SIDES, i % m] == 0.0
            looked_at = i < 2 * m and now.smooth != 0
            one.order = 0 if looked_at or slides else 1
    for i in range(m):
        if functions[i].order == 2:
            normals(w, Y, GRAD)
            # at a fold the remaining slope is the error of its localisation
            rate = 0.0
            for c in range(n):
                rate += a[GRAD, i * n + c] * a[STAGE, c]
            functions[i].slope = a[SIDES, i] * rate


@kernel
def _set_noise_of_kinks(w: Workspace, functions: EventFunctions) -> None:
    """Set the rounding errors of the kink functions, from differences of the functions."""
    now, a = w.progress[0], w.vectors
    n, m, k = now.n, now.m, now.k
    for j in range(k):
        functions[2 * m + j].noise = 0.0
    for c in range(n):
        a[DIFF, c] = a[Y, c]
    for c in range(n):
        distance = _STEP_OF_KINKS * a[SCALE, c] + _STEP_OF_KINKS**2 * abs(a[Y, c])
        a[DIFF, c] = a[Y, c] + distance
        surfaces_at(w, DIFF, DIFF2)
        a[DIFF, c] = a[Y, c] - distance
        surfaces_at(w, DIFF, EXTRA2)
        a[DIFF, c] = a[Y, c]
        size = max(abs(a[Y, c]), 0.1 * a[SCALE, c])
        for j in range(k):
            slope = abs(a[DIFF2, m + j] - a[EXTRA2, m + j]) / (2.0 * distance)
            # a function may be undefined at the displaced states
            if slope < math.inf:
                functions[2 * m + j].noise += 4.0 * _EPS * slope * size


@kernel
def _step_length(w: Workspace, left: float, single: bool) -> float:
    """Return the length of the next step in s, within all bounds."""
    now, a = w.progress[0], w.vectors
    h = now.next_step
    if h <= 0.0:
        # first step: the state changes by a hundredth of its size, as in Hairer, Norsett, Wanner I,
        # II.4
        size = rate = 0.0
        for c in range(now.n):
            unit = a[SCALE, c]
            size = max(size, max(abs(a[Y, c]), 0.1 * unit) / unit)
            rate = max(rate, abs(a[STAGE, c]) / unit)
        h = 0.01 * size / rate if rate > 0.0 else 0.01 * left
    h = min(h, now.longest)
    # in sliding on one surface the end of the run is an event
    if not single:
        h = min(h, left)
    if now.line == 1 and now.line_step > 0.0:
        h = min(h, now.line_step)
    return h


@kernel
def _after_rejection(w: Workspace, functions: EventFunctions, h: float, error: float) -> float:
    """Return the next trial length, at most slightly past a kink that the step crossed."""
    now, a = w.progress[0], w.vectors
    m, k = now.m, now.k
    # chosen: an error so large does not follow its asymptotic order
    shorter = h * (0.1 if error > 1e8 else max(0.2, 0.9 * error ** (-0.125)))
    event_values(w, TRIAL, SAMPLE)
    for i in range(2 * m, 2 * m + k):
        before, after = functions[i].value, a[SAMPLE, i]
        if functions[i].order == 0 and before > 0.0 > after:
            # past the root of the secant by a hundredth, so that the step brackets the kink
            fraction = 1.01 * before / (before - after)
            # a kink in the last tenth does not shorten the step by more than the usual reduction
            if fraction < 0.9:
                shorter = max(shorter, fraction * h)
    return shorter


@kernel
def _extrapolate_to_two_fold(w: Workspace, before: float, gap: float, h: float) -> None:
    """Move the state to the two-fold, which it approaches exponentially in s.

    Gap and rates dy/ds decay as exp(-rate s), where the last step of length h gives the rate.
    """
    now, a = w.progress[0], w.vectors
    rate = math.log(before / gap) / h if before > gap > 0.0 else 0.0
    if rate > 0.0:
        # the integral of the rates from here to s = inf
        for c in range(now.n + 1 + now.q):
            a[Y, c] += a[STAGE, c] / rate

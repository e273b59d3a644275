"""Radau steps with error control, and event localisation where the law is not smooth.

The right-hand side has a kink where a switching function of the law changes sign, for example at a
reversal of slip. A step ends at the first root of a switching function; the next one starts with
the other sign, so that collocation keeps its order. The formulas of one step are in
`collocation_kernels`; `radau` calls `advance`.

Arguments of the kernels: w holds all arrays (`Work`); a step has the start t and the length h [s];
`stop` is the next breakpoint of the load or the end of the run, and `last` the largest number below
`stop`, at which the load still has its value before a jump. i counts masses, k switching functions.
Entry 3 i of y is the displacement of mass i, 3 i + 1 its slip rate, 3 i + 2 the state of its law.

Source: Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stiction.chains.regularised.accounting_kernels import account, creep, end_half_cycle
from stiction.chains.regularised.collocation_kernels import (
    NODES,
    STAGES,
    WHOLE,
    Step,
    between,
    collocate,
    integrals,
    weights,
)
from stiction.chains.regularised.equation_kernels import (
    energies,
    friction,
    jacobian,
    powers,
    rates,
    read_sides,
    switches_of,
)
from stiction.chains.regularised.state import WIDTH, Contact, Model, Progress, Saved
from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel

__all__ = ["NOT_FINITE", "PROBES", "STEP_TOO_SMALL", "Work", "advance"]

# fractions of a step at which its switching functions are evaluated; two changes of sign between
# neighbours are not seen. Chosen: slip rates are polynomials of degree five in a step
PROBES = np.linspace(0.0, 1.0, 13)
# index in `Work.samples` of one more state
_ROOM = PROBES.size
_MOST_ROOTS = 8
# Newton's method has converged if the stages change by this fraction of the tolerance
_EXACT = 1e-2
_MOST_GROWTH, _LEAST_GROWTH = 6.0, 0.2
_LEAST_STEP = 4e-16
# most changes of sign without an advance of time
_MOST_FLIPS = 8
# reasons of a failed step
STEP_TOO_SMALL, NOT_FINITE = 1, 2


class Work(NamedTuple):
    """Arguments of one run of n masses: its model, state, and work arrays.

    y has size = 3 n components: displacement [m], slip rate [m/s] and state of the law z of each
    mass, see `state`.

    Parameters
    ----------
    sides : (n, n_switch) signs of the switching functions of the law of each mass, 1 or -1; the
        first function is the slip rate
    progress, contacts : state of the run in one element, and (n,) sums of each contact
    before : (STAGES + 1, size) start and stages of the last accepted step, for extrapolation
    saved : samples at the save times
    events : (m, 6) room for events: time [s], mass, mode before, x [m], v [m/s], friction [N]
    step : the present step; its first row of values is y
    samples, force : (14, size) y at `PROBES` and one more, and (13, n) friction coefficients [1]
    power, plastic : (STAGES + 1, n + 2) at start and stages the power of friction of each mass, of
        drives and of dampers [W], and (STAGES + 1, n) plastic slip velocity [m/s]
    roots : (n, n_switch) fractions of the step at which functions change sign
    weight, done : (2, STAGES + 1) weights of start and stages, and (n + 2,) energies of a step [J]
    """

    model: Model
    sides: Matrix
    progress: Table[Progress]
    contacts: Table[Contact]
    before: Matrix
    saved: Saved
    events: Matrix
    step: Step
    samples: Matrix
    force: Matrix
    power: Matrix
    plastic: Matrix
    roots: Matrix
    weight: Matrix
    done: Vector


@kernel
def advance(w: Work, every: int, first: int) -> int:
    """Make steps up to the next pause; return 0, STEP_TOO_SMALL or NOT_FINITE.

    Parameters
    ----------
    every : steps from pause to pause
    first : number of the first event in `events`

    Verified by: tests/unit/chains/regularised/test_references.py::test_thirty_digits
    """
    now, run = w.progress[0], w.model.numbers[0]
    while True:
        failed = _advance(w, first)
        full = now.events - first + w.contacts.size > w.events.shape[0]
        done = now.time >= run.t_end or now.steps >= run.max_steps
        if failed > 0 or done or full or now.events >= run.max_events:
            return failed
        if now.steps % every == 0:
            return 0


@kernel
def _advance(w: Work, first: int) -> int:
    """Make one step, at most to the next switch of the law; return 0 or the reason of failure."""
    now, step, t_end = w.progress[0], w.step, w.model.numbers[0].t_end
    t, stop = now.time, t_end
    # the step ends at the next breakpoint of the load at the latest
    for j in range(w.model.segments.shape[0] - 1, -1, -1):
        if t < w.model.segments[j, 0] < t_end:
            stop = w.model.segments[j, 0]
    # at the end of the step take the value of the load before a jump
    last = float(np.nextafter(stop, t))
    # signs of the switching functions at the first step
    if now.fresh == 1:
        _read_signs(w, t, stop)
    _set_floor(w)
    # a step within the tolerance, shortened to the first change of sign of a switching function
    whole, growth = _controlled_step(w, t, stop, last)
    if whole == 0.0:
        for c in range(step.error.size):
            if not abs(step.slopes[0, c]) < math.inf:
                return NOT_FINITE
        return STEP_TOO_SMALL
    h, crossed = _shorten_to_switch(w, t, whole, last), False
    for i in range(w.roots.shape[0]):
        for k in range(w.roots.shape[1]):
            crossed = crossed or w.roots[i, k] < math.inf
    least = _LEAST_STEP * max(abs(t), abs(t_end))
    if h == 0.0:
        # the sign was wrong at the start: change it without an advance of time
        _change_signs(w, t, first)
        return 0
    off = _size_of_error(step) if crossed else 0.0
    if off > 1.0 and h > least:
        # friction rises steeply just before slip stops; the stages of the full step lie on both
        # sides of this range, so that its error estimate missed it
        now.rejected += 1
        now.next_step = h * max(_LEAST_GROWTH, 0.9 * off ** (-1.0 / 6.0))
        return 0
    # after a switch in the first tenth of a step its full length is tried again
    if not crossed:
        now.next_step = whole * growth
    elif h < 0.1 * whole:
        now.next_step = whole
    _accept(w, t, h, stop, last)
    if crossed:
        _change_signs(w, now.time, first)
    return 0


@kernel
def _copy(a: Matrix, sample: int, b: Matrix, to: int) -> None:
    for c in range(a.shape[1]):
        b[to, c] = a[sample, c]


@kernel
def _controlled_step(w: Work, t: float, stop: float, last: float) -> tuple[float, float]:
    """Make a step within the tolerance; return its length and the growth factor of the next one.

    A length of 0 means that steps became shorter than rounding of time; `slopes` holds the rates.
    """
    now, step, m, t_end = w.progress[0], w.step, w.model, w.model.numbers[0].t_end
    jacobian(m, w.sides, step.values, 0, step.jac, step.answer)
    h = now.next_step if now.next_step > 0.0 else _first_length(w, t, stop)
    least = _LEAST_STEP * max(abs(t), abs(t_end))
    while True:
        h = min(h, m.numbers[0].max_step)
        # the step ends at `stop` if at most a tenth of its length would remain after it
        if t + 1.1 * h >= stop:
            h = stop - t
            # two equal steps instead of one beyond the longest; the factor admits rounding of t
            if h > (1.0 + 1e-9) * m.numbers[0].max_step:
                h *= 0.5
        _collocated(w, t, h, last)
        # standard step control of order 6: factor 0.9 err^(-1/6)
        off = _size_of_error(step)
        if off <= 1.0:
            _evaluate_samples(w)
            # end the step where a slip speed enters or leaves the weakening range
            part = _weakening_range(w)
            if part < 0.9 and part * h > least:
                h *= part
                continue
            return h, min(_MOST_GROWTH, 0.9 * max(off, 1e-12) ** (-1.0 / 6.0))
        now.rejected += 1
        # without convergence a quarter of the length
        h *= max(_LEAST_GROWTH, 0.9 * off ** (-1.0 / 6.0)) if off < math.inf else 0.25
        if h < least:
            rates(m, w.sides, min(t, last), step.values, 0, step.slopes, step.answer)
            return 0.0, 0.0


@kernel
def _size_of_error(step: Step) -> float:
    """Return the estimated error over the tolerance; infinity for NaN."""
    off = 0.0
    for c in range(step.error.size):
        each = abs(step.error[c]) / step.floor[c]
        off = max(off, each if each < math.inf else math.inf)
    return off


@kernel
def _evaluate_samples(w: Work) -> None:
    """Evaluate y at all `PROBES` by the collocation polynomial."""
    for j in range(PROBES.size):
        weights(PROBES[j], w.weight[0])
        between(w.step.values, w.weight[0], w.samples, j)


@kernel
def _weakening_range(w: Work) -> float:
    """Return the fraction of the step at which a slip speed enters or leaves the weakening range.

    Stages outside of the range do not resolve friction inside. A speed between 1.0 and 1.2 times
    the range belongs to neither side, so that a step which ends there is not shortened again.
    """
    for j in range(1, PROBES.size):
        for i in range(w.contacts.size):
            a, narrow = WIDTH * i + 1, w.model.masses[i].narrow
            if narrow == 0.0:
                continue
            start, low, high = w.samples[0, a], w.samples[j - 1, a], w.samples[j, a]
            size = abs(start) / narrow
            # a speed that changed sign between two probes has passed the range
            side = 1.0 if start > 0.0 else -1.0
            if size > 1.2 and side * high / narrow < 1.0:
                low, high = side * low / narrow, side * high / narrow
            elif size < 1.0 and abs(high) / narrow > 1.2:
                low, high = abs(low) / narrow, abs(high) / narrow
            else:
                continue
            # the speed is 1.1 times the range there, by linear interpolation between two probes; if
            # it belongs to neither side at the first of them already, the step ends there
            first = float(PROBES[j - 1])
            part: float = first + (PROBES[j] - first) * (1.1 - low) / (high - low)
            return max(part, first)
    return 1.0


@kernel
def _collocated(w: Work, t: float, h: float, last: float) -> None:
    """Make one step of length h; start Newton's method on the polynomial of the last step."""
    now, values, span = w.progress[0], w.step.values, w.progress[0].span
    # extrapolate the last polynomial to at most three times its length, else begin with y
    for r in range(1, STAGES + 1):
        if 0.0 < h <= 3.0 * span:
            weights(1.0 + NODES[r] * (h / span), w.weight[0])
            between(w.before, w.weight[0], values, r)
        else:
            _copy(values, 0, values, r)
    now.rounds += max(collocate(w.model, w.sides, w.step, t, h, last, _EXACT), 1)


@kernel
def _set_floor(w: Work) -> None:
    """Write the absolute tolerances of all components of y."""
    now, run, y, floor = w.progress[0], w.model.numbers[0], w.step.values, w.step.floor
    # scales of displacements and slip rates grow with the run
    fastest, resolved = abs(run.belt), False
    for i in range(w.contacts.size):
        contact, a = w.contacts[i], WIDTH * i
        now.reach = max(now.reach, abs(y[0, a]))
        contact.fastest = max(contact.fastest, abs(y[0, a + 1]))
        fastest = max(fastest, contact.fastest)
        resolved = resolved or w.model.masses[i].least > 0.0
    # at rest: a speed scale from the smallest slip and the fastest vibration
    if fastest == 0.0:
        fastest = run.small / run.quickest
    for i in range(w.contacts.size):
        mass, a = w.model.masses[i], WIDTH * i
        # tolerances of x, w and z
        floor[a] = run.rtol * max(now.reach, run.small)
        if resolved:
            # friction depends on the logarithm of the speed
            floor[a + 1] = run.rtol * max(abs(y[0, a + 1]), mass.least)
            floor[a + 2] = run.rtol * max(abs(y[0, a + 2]), 1.0)
        else:
            floor[a + 1], floor[a + 2] = run.rtol * fastest, run.rtol * mass.scale


@kernel
def _first_length(w: Work, t: float, stop: float) -> float:
    """Return an initial step that changes no component by more than a fraction of its scale."""
    step, h = w.step, math.inf
    rates(w.model, w.sides, t, step.values, 0, step.slopes, step.answer)
    for c in range(step.floor.size):
        # floor / rtol is the scale of a component
        slope = abs(step.slopes[0, c])
        if slope > 0.0:
            h = min(h, step.floor[c] / w.model.numbers[0].rtol * 1e-4 / slope)
    return min(max(h, 1e-12 * (stop - t)), 0.01 * (stop - t))


# ---- switches of the law


@kernel
def _read_signs(w: Work, t: float, stop: float) -> None:
    """Set the signs of all switching functions; if zero, the sign shortly after t."""
    m, step, sides, switch = w.model, w.step, w.sides, w.step.answer
    read_sides(m, step.values, 0, sides, switch)
    rates(m, sides, t, step.values, 0, step.slopes, step.answer)
    # an explicit Euler step shows the sign that a function of zero takes next
    for c in range(step.error.size):
        w.samples[_ROOM, c] = step.values[0, c] + 1e-9 * (stop - t) * step.slopes[0, c]
    for i in range(sides.shape[0]):
        switches_of(m, sides, step.values, 0, i, switch)
        for k in range(sides.shape[1]):
            w.roots[i, k] = switch[k]
        switches_of(m, sides, w.samples, _ROOM, i, switch)
        for k in range(sides.shape[1]):
            if w.roots[i, k] == 0.0:
                sides[i, k] = -1.0 if switch[k] < 0.0 else 1.0
    w.progress[0].fresh = 0


@kernel
def _noise(w: Work, i: int, k: int) -> float:
    """Return the tolerance below which a switching function counts as zero."""
    return w.step.floor[WIDTH * i + (1 if k == 0 else 2)]


@kernel
def _shorten_to_switch(w: Work, t: float, h: float, last: float) -> float:
    """Shorten the step to its first switch; write the roots of functions that change sign there.

    Roots of the others are infinite. A length of 0 means that signs were wrong at the start.
    """
    n, count = w.sides.shape
    # the first root over all contacts and switching functions
    for i in range(n):
        for k in range(count):
            w.roots[i, k] = math.inf
    first, mass, which, j = math.inf, 0, 0, 1
    # probes in order of time: a sign that is wrong by more than the noise has changed since the
    # last probe
    while j < PROBES.size and first == math.inf and w.progress[0].flips <= _MOST_FLIPS:
        for i in range(n):
            switches_of(w.model, w.sides, w.samples, j, i, w.step.answer)
            for k in range(count):
                w.roots[i, k] = w.step.answer[k] * w.sides[i, k]
            for k in range(count):
                wrong = w.roots[i, k] < -_noise(w, i, k)
                w.roots[i, k] = _root(w, i, k, PROBES[j - 1], PROBES[j]) if wrong else math.inf
                if w.roots[i, k] < first:
                    first, mass, which = w.roots[i, k], i, k
        j += 1
    if first == math.inf:
        return h
    # only roots that are the first within rounding count
    for i in range(n):
        for k in range(count):
            if w.roots[i, k] > first * (1.0 + 1e-9):
                w.roots[i, k] = math.inf
    if first * h <= _LEAST_STEP * max(abs(t), abs(w.model.numbers[0].t_end)):
        return 0.0
    h = _shortened(w, t, first * h, mass, which, last)
    _evaluate_samples(w)
    return h


@kernel
def _value(w: Work, at: float, i: int, k: int) -> float:
    """Return a switching function at a fraction of the step."""
    weights(at, w.weight[0])
    between(w.step.values, w.weight[0], w.samples, _ROOM)
    switches_of(w.model, w.sides, w.samples, _ROOM, i, w.step.answer)
    return w.step.answer[k]


@kernel
def _root(w: Work, i: int, k: int, low: float, high: float) -> float:
    """Return the root of a switching function in [low, high], as a fraction of the step.

    Bisection; `low` if the function has changed sign before.
    """
    side = w.sides[i, k]
    if _value(w, low, i, k) * side <= 0.0:
        return low
    while high - low > 1e-14 * high:
        middle = 0.5 * (low + high)
        if _value(w, middle, i, k) * side > 0.0:
            low = middle
        else:
            high = middle
    return high


@kernel
def _shortened(w: Work, t: float, h: float, i: int, k: int, last: float) -> float:
    """Return the length of the step to a root, by a secant iteration on steps of that length."""
    for _ in range(_MOST_ROOTS):
        length = h
        _collocated(w, t, h, last)
        # slope of the function along the new step, by a difference at its end
        end, near = _value(w, 1.0, i, k), _value(w, 1.0 - 1e-4, i, k)
        slope = (end - near) / (1e-4 * h)
        if abs(end) <= 1e-3 * _noise(w, i, k) or slope == 0.0 or abs(end / slope) < 1e-15 * h:
            break
        change = min(max(-end / slope, -0.1 * h), 0.1 * h)
        if not abs(change) >= 1e-15 * (abs(t) + h):
            break
        h += change
    return length


@kernel
def _change_signs(w: Work, t: float, first: int) -> None:
    """Change signs, record reversals, and start a new half cycle."""
    now, m, step = w.progress[0], w.model, w.step
    n, count = w.roots.shape
    for k in range(count):
        for i in range(n):
            if w.roots[i, k] == math.inf:
                continue
            before = w.sides[i, k]
            w.sides[i, k] = -before
            # function 0 is the slip rate: its change of sign is a reversal, and an event
            if k > 0:
                continue
            step.values[0, WIDTH * i + 1] = 0.0
            force = friction(m, w.sides, step.values, 0, i, step.answer)
            # time, mass, mode before, x, v, friction
            event = w.events[now.events - first]
            event[0], event[1], event[2] = t, i, before
            event[3], event[4] = step.values[0, WIDTH * i], m.numbers[0].belt
            event[5] = -m.masses[i].normal * force
            now.events += 1
            end_half_cycle(w.contacts[i], m.numbers[0].cycle)
    # the next step lies beyond the kink: it does not extrapolate this polynomial
    now.span = 0.0
    now.flips += 1


# ---- end of a step


@kernel
def _accept(w: Work, t: float, h: float, stop: float, last: float) -> None:
    """Commit a step: save its samples, and add its energies and its creep."""
    now, m, step = w.progress[0], w.model, w.step
    end = min(t + h, stop) if t + h < stop * (1.0 - 1e-15) else stop
    for r in range(STAGES + 1):
        at = min(t + NODES[r] * h, last)
        powers(m, w.sides, at, step.values, r, w.power, w.plastic, step.answer)
    _save(w, t, h, end)
    # integrals over the step by the weights of the collocation
    for j in range(STAGES + 1):
        w.weight[0, j] = h * WHOLE[j]
    for c in range(w.done.size):
        w.done[c] = _sum(w.weight[0], w.power, c)
    account(now, w.contacts, w.done, end)
    # friction at the probes, which decides on gross slip
    for j in range(PROBES.size):
        for i in range(w.contacts.size):
            w.force[j, i] = friction(m, w.sides, w.samples, j, i, step.answer)
    creep(now, w.contacts, m, t, h, PROBES, w.force, w.plastic, w.weight)
    for r in range(STAGES + 1):
        _copy(step.values, r, w.before, r)
    _copy(w.before, STAGES, step.values, 0)
    now.span, now.time, now.flips = h, end, 0
    now.steps += 1


@kernel
def _sum(weight: Vector, values: Matrix, column: int) -> float:
    total = 0.0
    for j in range(STAGES + 1):
        total += weight[j] * values[j, column]
    return total


@kernel
def _save(w: Work, t: float, h: float, end: float) -> None:
    """Save the samples inside the step, by its collocation polynomial."""
    now, m, saved = w.progress[0], w.model, w.saved
    while now.saved < saved.time.size and saved.time[now.saved] <= end:
        sample = now.saved
        at = min((saved.time[sample] - t) / h, 1.0)
        weights(at, w.weight[0])
        between(w.step.values, w.weight[0], saved.kept, sample)
        # columns of `sums`: external work, viscous heat, algorithmic dissipation (0 here), kinetic
        # and stored energy. Energies since the start of the step are integrals of the powers
        integrals(at, w.weight[0])
        for j in range(STAGES + 1):
            w.weight[0, j] = h * (WHOLE[j] if at == 1.0 else w.weight[0, j])
        n = w.contacts.size
        saved.sums[sample, 0] = now.work + _sum(w.weight[0], w.power, n)
        saved.sums[sample, 1] = now.viscous + _sum(w.weight[0], w.power, n + 1)
        kinetic, stored, _ = energies(
            m, w.sides, saved.time[sample], saved.kept, sample, w.step.answer
        )
        saved.sums[sample, 3], saved.sums[sample, 4] = kinetic, stored
        for i in range(n):
            saved.heat[sample, i] = w.contacts[i].heat + _sum(w.weight[0], w.power, i)
        now.saved += 1

"""Taylor series of the motion of a chain between events.

Between events the equation of motion is smooth, and the coefficients of its solution follow from a
recursion (formulas sheet, sections 1 and 6)

    m rate^2 (k + 1)(k + 2) x_{k+2} = R_k - mode N mu_k,

where R_k is coefficient k of all forces but friction, N mu_k that of the friction force in slip,
`mode` is the sign of the slip rate, and `rate` makes the time dimensionless (below). The links are
a tridiagonal stencil, so an order costs O(n). Order 30 over about 4 radians of the fastest
vibration reaches rounding error, like the matrix exponential applied to the state, but without a
matrix. Weakening friction enters by the recursion of its law, if it has one; any other mu(v) and a
user's f(t) enter as polynomials fitted on the step.

Time inside a step is tau = rate * (t - t0) with `rate` near the fastest frequency, so that the
coefficients are near one. Arrays of masses have a wall at both ends, so that mass i (from 0) has
column i + 1, and link l joins columns l and l + 1. p and s are the tuples `Problem` and `Scratch`
of `state`. `step_kernels` calls these kernels in each step, `tangents` and `records` some of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import Problem, Scratch
from stiction.laws.law_kernels import law_value, share_term
from stiction.numerics.callback import call
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = [
    "FIT",
    "FIT_NODES",
    "FIT_WEIGHTS",
    "energies",
    "evaluate",
    "expand",
    "fit_coefficients",
    "fit_forces",
    "load_at",
    "load_series",
    "power_series",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# a user's function is fitted on a step by its values at FIT Chebyshev nodes; more would lose
# digits in the change to powers of tau
FIT = 7
FIT_NODES = 0.5 * (1.0 - np.cos((2.0 * np.arange(FIT) + 1.0) * np.pi / (2.0 * FIT)))
# points, none of them a node, at which the fit is compared with the function
FIT_CHECKS = np.array([0.995, 0.06, 0.36, 0.64])
# friction may vary steeply at the start of slip and at a stop; 1 / 1.002 is the place of a stop in
# a step that is shortened to end just beyond it
MU_CHECKS = np.array([0.0, 0.06, 0.36, 0.64, 0.995, 1.0 / 1.002])
FIT_WEIGHTS = np.linalg.inv(np.vander(FIT_NODES, FIT, increasing=True))


# Passes of the fixed-point iteration for a fitted mu, which is Picard's. Each multiplies the error
# by about N |dmu/dw| tau / (m rate), and 60 passes reach 1e-15 if this factor is below 0.56.
# Otherwise the caller shortens the step
_PASSES = 60


@kernel
def load_at(p: Problem, t: float, segment: int) -> float:
    """Return the load [N] at time t, on the given segment."""
    f: float = p.segment_offset[segment] + p.segment_rate[segment] * (t - p.segment_time[segment])
    for j in range(p.sine_amplitude.size):
        f += p.sine_amplitude[j] * sin(p.sine_frequency[j] * t + p.sine_phase[j])
    if p.load_address != 0:
        f += call(p.load_address, t)
    return f


@kernel
def load_series(p: Problem, t: float, segment: int, f: Floats) -> None:
    """Fill f with the series of the load in tau (a user's part is added by `fit_forces`)."""
    for k in range(f.size):
        f[k] = 0.0
    f[0] = p.segment_offset[segment] + p.segment_rate[segment] * (t - p.segment_time[segment])
    f[1] = p.segment_rate[segment] / p.rate
    for j in range(p.sine_amplitude.size):
        angle = p.sine_frequency[j] * t + p.sine_phase[j]
        # coefficient k of A sin(w t + phi) is A (w / rate)^k / k! times the k-th derivative of sin
        parts = (sin(angle), cos(angle), -sin(angle), -cos(angle))
        factor = p.sine_amplitude[j]
        for k in range(f.size):
            f[k] += factor * parts[k % 4]
            factor *= p.sine_frequency[j] / (p.rate * (k + 1))


@kernel
def expand(
    p: Problem, t: float, active: Ints, count: int, mode: Ints, lead: Ints, s: Scratch
) -> None:
    """Fill the series of the active masses from the state in s.x[0], s.x[1].

    Parameters
    ----------
    active, count : indices of the masses whose series are not constant
    mode : (n,) -1, 0, 1
    lead : (n,) number of leading coefficients of the slip rate that are known to be zero; they are
        set to exactly zero, not left to rounding. Of a stuck mass: 1 if its reserve, the static
        bound minus the force that friction carries, is zero at the start of the step
    s : series; x by (order + 1, n + 2), drive by (order + 1, n), load by (order + 1,); mu by
        (n, order + 1), of mu if it is fitted, and of e with mu = mu_k + (mu_s - mu_k) e(w) for a
        law with a recursion
    """
    # local names for the arrays: reading fields of the tuple in the loop costs twenty times the
    # arithmetic, because every call of an inner function copies the whole tuple
    omega, x, mu, drive, load = p.rate, s.x, s.mu, s.drive, s.load
    # address of the recursion of e(w), 0 for none; whether mu is fitted; the parameters of the law
    # of mass i start at law_start + i step
    series_of_e, fitted, law_start, step = p.share_address, p.fitted, p.law_start, p.law_step
    link_k, link_c, weight, plate_k = p.link_k, p.link_c, p.load_vector, p.plate_k
    mass, normal, mu_kinetic = p.mass, p.normal, p.mu_kinetic
    # coefficient k of the forces gives coefficient k + 2 of the displacements
    for k in range(p.order - 1):
        rate = omega * (k + 1)
        scale = 1.0 / (omega * omega * (k + 1) * (k + 2))
        plate = 0.0
        if k == 0:
            plate = p.plate_speed * t
        elif k == 1:
            plate = p.plate_speed / omega
        for a in range(count):
            i = active[a]
            c = i + 1
            # coefficient k of the link forces, springs and dampers
            left = link_k[i] * (x[k, c] - x[k, c - 1])
            right = link_k[c] * (x[k, c + 1] - x[k, c])
            left += link_c[i] * rate * (x[k + 1, c] - x[k + 1, c - 1])
            right += link_c[c] * rate * (x[k + 1, c + 1] - x[k + 1, c])
            force = right - left + weight[i] * load[k] + plate_k[i] * (plate - x[k, c])
            drive[k, i] = force
            if mode[i] == 0:
                continue
            term = mu_kinetic[i] if k == 0 else 0.0
            if series_of_e != 0:
                # term k of e(w) needs the slip rate up to term k, that is x up to k + 1, which is
                # known
                w = mode[i] * (omega * x[1, c] - p.belt)
                law = law_start + i * step
                mu[i, k] = share_term(series_of_e, k, w, mode[i] * omega, x, mu, i, law)
                term += (p.mu_static[i] - mu_kinetic[i]) * mu[i, k]
            elif fitted:
                term = mu[i, k] if k < FIT else 0.0
            force -= mode[i] * normal[i] * term
            # leading zeros of the slip rate are exact
            if k + 1 < lead[i]:
                force = 0.0
            x[k + 2, c] = force / mass[i] * scale


@kernel(allocates=True)
def fit_forces(
    p: Problem, t: float, tau: float, active: Ints, count: int, mode: Ints, lead: Ints, s: Scratch
) -> float:
    """Fit a user's load and mu(v) on a step of length tau; return the relative misfit.

    The fit of mu and the motion are iterated to a fixed point. Beyond a stop, mu is continued to
    negative slip rates by reflection, which is smooth enough to locate the stop; the step does not
    use anything later.

    Returns
    -------
    Misfit of the load over the largest force of the step, of mu over its size if that is above
    one; inf if the iteration does not converge.
    """
    segment_load = s.load.copy()
    values = np.empty(FIT)
    # a load far below the static bound needs no relative accuracy
    misfit, scale = 0.0, 1e-300
    for i in range(p.mass.size):
        if p.load_vector[i] != 0.0:
            scale = max(scale, p.mu_static[i] * p.normal[i] / abs(p.load_vector[i]))
    # load: interpolated at the nodes and compared with the function at other points
    if p.load_address != 0:
        for q in range(FIT):
            values[q] = call(p.load_address, t + FIT_NODES[q] * tau / p.rate)
            scale = max(scale, abs(values[q]))
            if not np.isfinite(values[q]):
                # a NaN would pass every comparison below
                return np.inf
        fit_coefficients(values, tau, s.fit)
        for q in range(FIT_CHECKS.size):
            check = FIT_CHECKS[q] * tau
            value = call(p.load_address, t + check / p.rate)
            if not np.isfinite(value):
                return np.inf
            misfit = max(misfit, abs(_polynomial(s.fit, check) - value) / max(scale, abs(value)))
        for k in range(FIT):
            s.load[k] = segment_load[k] + s.fit[k]
    if not p.fitted:
        expand(p, t, active, count, mode, lead, s)
        return misfit
    for a in range(count):
        i = active[a]
        for k in range(s.mu.shape[1]):
            s.mu[i, k] = 0.0
        if mode[i] != 0:
            w = mode[i] * (p.rate * s.x[1, i + 1] - p.belt)
            s.mu[i, 0] = _mirrored_mu(p.mu_address, p.law_start + i * p.law_step, w)
    # fixed point: the series of the motion with the present mu(tau), then mu fitted along it
    for _ in range(_PASSES):
        expand(p, t, active, count, mode, lead, s)
        change, worst, size = 0.0, 0.0, 1.0
        for a in range(count):
            i = active[a]
            if mode[i] == 0:
                continue
            for q in range(FIT):
                w = mode[i] * _slip_rate(p, s, i, FIT_NODES[q] * tau)
                values[q] = _mirrored_mu(p.mu_address, p.law_start + i * p.law_step, w)
                size = max(size, abs(values[q]))
            fit_coefficients(values, tau, s.fit)
            if lead[i] >= 2:
                # the force balance at the start of slip is exact: leave its coefficient
                s.fit[0] = s.mu[i, 0]
            # change of each term at the end of the step
            power = 1.0
            for k in range(FIT):
                change = max(change, abs(s.fit[k] - s.mu[i, k]) * power)
                s.mu[i, k] = s.fit[k]
                power *= tau
            for q in range(MU_CHECKS.size):
                check = MU_CHECKS[q] * tau
                w = mode[i] * _slip_rate(p, s, i, check)
                wanted = _mirrored_mu(p.mu_address, p.law_start + i * p.law_step, w)
                worst = max(worst, abs(_polynomial(s.fit, check) - wanted))
        if change < 1e-15 * size:
            return max(misfit, worst / size)
        if not np.isfinite(change):
            break
    return np.inf


@kernel
def _mirrored_mu(address: int, row: int, w: float) -> float:
    """Return mu(w), for w < 0 continued by reflection at the point (0, mu(0))."""
    if w >= 0.0:
        return law_value(address, w, row)
    return 2.0 * law_value(address, 0.0, row) - law_value(address, -w, row)


@kernel
def fit_coefficients(values: Floats, tau: float, out: Floats) -> None:
    """Write the coefficients, in powers of tau, of the polynomial through values at the nodes."""
    scale = 1.0
    for k in range(FIT):
        total = 0.0
        for q in range(FIT):
            total += FIT_WEIGHTS[k, q] * values[q]
        out[k] = total * scale
        scale /= tau


@kernel
def _polynomial(c: Floats, tau: float) -> float:
    """Return the value at tau of a fitted polynomial, by Horner's rule."""
    total = 0.0
    for k in range(FIT - 1, -1, -1):
        total = total * tau + c[k]
    return total


@kernel
def _slip_rate(p: Problem, s: Scratch, i: int, tau: float) -> float:
    """Return the slip rate of mass i at tau, by its series [m/s]."""
    v = 0.0
    for k in range(p.order, 0, -1):
        v = v * tau + k * s.x[k, i + 1]
    return p.rate * v - p.belt


@kernel
def evaluate(
    p: Problem, tau: float, active: Ints, count: int, mode: Ints, s: Scratch, x: Floats, v: Floats
) -> None:
    """Write the state at tau to x and v (n + 2,); entries of inactive masses do not change.

    `active` lists the `count` masses whose series are not constant; `mode` (n,) is -1, 0 or 1.
    """
    for a in range(count):
        c = active[a] + 1
        place, speed = 0.0, 0.0
        # Horner's rule for displacement and velocity
        for k in range(p.order, 0, -1):
            place = (place + s.x[k, c]) * tau
            speed = speed * tau + k * s.x[k, c]
        x[c] = s.x[0, c] + place
        # exactly the belt speed: a run that starts here tests stick by equality
        v[c] = p.rate * speed if mode[c - 1] != 0 else p.belt


@kernel
def power_series(p: Problem, t: float, active: Ints, count: int, mode: Ints, s: Scratch) -> None:
    """Fill the series of work, viscous heat and friction heat since the step began.

    Each has 2 order coefficients in tau, without truncation: products of two series
    hold twice the frequency, so cutting them at `order` would lose digits.
    """
    for k in range(s.work.size):
        s.work[k] = 0.0
        s.viscous[k] = 0.0
    order, omega, x, work, heat = p.order, p.rate, s.x, s.work, s.heat
    damped = False
    for link in range(p.link_c.size):
        damped = damped or p.link_c[link] > 0.0
    # work of load, plate and belt, and friction heat, by products of series
    for a in range(count):
        i = active[a]
        c = i + 1
        if p.load_vector[i] != 0.0:
            _load_power(x, s.load, work, c, p.load_vector[i], order)
        # plate: the force k_p (V_p t - x) at the speed V_p, integrated term by term
        if p.plate_k[i] != 0.0 and p.plate_speed != 0.0:
            pull = p.plate_k[i] * p.plate_speed / omega
            work[1] += pull * (p.plate_speed * t - x[0, c])
            work[2] += 0.5 * pull * (p.plate_speed / omega - x[1, c])
            for k in range(2, order + 1):
                work[k + 1] -= pull * x[k, c] / (k + 1)
        if mode[i] == 0:
            # friction on a stuck mass is -R, so that the belt does the work -R V
            if p.belt != 0.0:
                for k in range(order - 1):
                    work[k + 1] -= s.drive[k, i] * p.belt / (omega * (k + 1))
            continue
        # friction power sigma N mu(w) w, with the coefficients of mu
        weight = mode[i] * p.normal[i]
        # mu is `first` plus `factor` times the series of the law or of a fit, if there is one
        if p.share_address != 0:
            terms, factor, first = order - 1, p.mu_static[i] - p.mu_kinetic[i], p.mu_kinetic[i]
        elif p.fitted:
            terms, factor, first = FIT, 1.0, 0.0
        else:
            terms, factor, first = 1, 0.0, p.mu_kinetic[i]
        _friction_power(x, s.mu, heat, work, i, order, terms, weight, factor, first, p.belt / omega)
    if damped:
        for a in range(count):
            # each active mass adds the damper on its left; the last of consecutive active masses
            # also adds the damper on its right
            i = active[a]
            _link_power(x, s.viscous, i, order, p.link_c[i] * omega)
            if a == count - 1 or active[a + 1] != i + 1:
                _link_power(x, s.viscous, i + 1, order, p.link_c[i + 1] * omega)


@kernel
def _load_power(x: Floats, load: Floats, work: Floats, c: int, weight: float, order: int) -> None:
    """Add the work of the load on the mass in column c, with weight b_i of the load vector.

    x (order + 1, n + 2) and `load` (order + 1,) are series; `work` (2 order,) receives the work.
    """
    # integral of b_i f dx, a product of two series
    for j in range(order - 1):
        if load[j] == 0.0:
            continue
        for k in range(1, order + 1):
            work[j + k] += weight * load[j] * k * x[k, c] / (j + k)


@kernel
def _link_power(x: Floats, viscous: Floats, link: int, order: int, factor: float) -> None:
    """Add the heat of one damper to its series `viscous` (2 order,).

    `factor` is its damping times the rate of tau; x (order + 1, n + 2) has the displacements.
    """
    if factor == 0.0:
        return
    # integral of c (v_{l+1} - v_l)^2: a product of two series
    for j in range(1, order + 1):
        one = factor * j * (x[j, link + 1] - x[j, link])
        if one == 0.0:
            continue
        for k in range(1, order + 1):
            viscous[j + k - 1] += one * k * (x[k, link + 1] - x[k, link]) / (j + k - 1)


@kernel
def _friction_power(
    x: Floats,
    mu: Floats,
    heat: Floats,
    work: Floats,
    i: int,
    order: int,
    terms: int,
    weight: float,
    factor: float,
    first: float,
    belt: float,
) -> None:
    """Fill the friction heat of a slipping mass and add the work of the belt on it.

    mu has `terms` coefficients factor * mu[i, j], plus `first` at j = 0; `weight` is the
    normal force with the sign of slip, `belt` the belt speed in units of tau. x (order + 1, n + 2)
    and mu (n, order + 1) are series; `heat` (2 order, n) and `work` (2 order,) are output.
    """
    for k in range(heat.shape[0]):
        heat[k, i] = 0.0
    c = i + 1
    for j in range(terms):
        # term j of sigma N mu times term k of dx, integrated
        one = weight * (factor * mu[i, j] + (first if j == 0 else 0.0))
        if one == 0.0:
            continue
        for k in range(1, order + 1):
            heat[j + k, i] += one * k * x[k, c] / (j + k)
        # the slip rate is v - V: subtract the motion of the belt
        heat[j + 1, i] -= one * belt / (j + 1)
        work[j + 1] -= one * belt / (j + 1)


@kernel
def energies(p: Problem, t: float, x: Floats, v: Floats) -> tuple[float, float]:
    """Return kinetic and stored energy [J] of the state x, v by (n + 2,)."""
    kinetic, stored = 0.0, 0.0
    n = p.mass.size
    for i in range(n):
        kinetic += 0.5 * p.mass[i] * v[i + 1] * v[i + 1]
        plate = p.plate_speed * t - x[i + 1]
        stored += 0.5 * p.plate_k[i] * plate * plate
    for link in range(n + 1):
        elongation = x[link + 1] - x[link]
        stored += 0.5 * p.link_k[link] * elongation * elongation
    return kinetic, stored

"""Slider behind a spring whose end is driven: the spring force at the rows of a measured curve.

The equations are m dw/dt = k u - N mu(w, z) and du/dt = v_drive - w, with spring extension u, slip
velocity w, state z of the friction law, and the speed v_drive of the end, constant between rows.
The classical Runge-Kutta method of order 4 integrates (u, w, z). Events (onset of slip, stop,
reversal, zero deflection) are located within a step. The step is a fraction of the fastest time
scale and depends continuously on all parameters, so that finite differences of the force are smooth
between events. `law_kernels` has the laws and their sources. Without mass, and for rate and state,
the derivative of the force balance replaces the equation of motion; then N mu + eta V = k u holds,
with the slip speed V and the impedance eta (radiation damping).
`models.Predictor` calls `follow_spring` and `massless_stick_slip`.
"""

from __future__ import annotations

import math

from stiction.fits.predicting.law_kernels import (
    BOUC_WEN,
    DAHL,
    LUGRE,
    RATE_STATE,
    STRIBECK,
    coefficient,
    kinetic,
    state_rate,
    stribeck_level,
)
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = ["follow_spring", "massless_stick_slip"]

# entries of r: stiffness [N/m], mass [kg], normal force [N] between two rows, impedance [N s/m],
# rate of the normal force [N/s]
STIFFNESS, MASS, NORMAL, IMPEDANCE, NORMAL_RATE = range(5)
# entries of y: extension of the spring [m]; slip velocity [m/s], for rate and state its logarithm
# ln V; state z of the law
EXTENSION, SPEED, STATE = range(3)
# step divided by the shortest time scale of the motion. Chosen: the error of a step of order 4 is
# of order 0.05^5 / 120 = 3e-9, below the noise of any measured force; laws without a stick mode
# take three times this step
_STEP_FRACTION = 0.05
# largest number of steps: in all, and on average per row; the larger bound counts. Chosen, so that
# parameters far from any solution do not hold up the search: the force is then NaN
_MOST_STEPS, _MOST_EACH = 200_000, 100


@kernel
def _rates(
    code: int, p: Vector, r: Vector, drive: float, s: float, u: float, w: float, z: float
) -> tuple[float, float, float]:
    """Return the time derivatives of (u, w, z): extension, slip velocity, state.

    `code` and `p` are the law (`law_kernels`), `r` the numbers of the rig and the load. `drive` is
    the speed of the end, `s` the sign of the slip. Without mass, and for rate and state, the slip
    velocity follows from the time derivative of the force balance k u = N mu.
    """
    k, m, n, loading = r[STIFFNESS], r[MASS], r[NORMAL], r[NORMAL_RATE]
    if code == RATE_STATE:
        a, b, length, mu0, v0, slip_law, regularised = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
        # w = ln V; the time derivative of k u = N mu(V, theta) + eta V gives dw/dt
        v = math.exp(w)
        part = v / length
        rate = math.exp(-z) - part
        if slip_law == 1.0:
            rate = -part * (w + z - math.log(length))
        # d mu / d (ln V) over a: 1 for the logarithm, e / sqrt(1 + e^2) if regularised
        regularisation = 1.0
        if regularised == 1.0:
            grown = mu0 + b * (z + math.log(v0 / length))
            power = w - math.log(2.0 * v0) + grown / a
            # beyond 20 the quotient is 1 to rounding: 1 - exp(-40) / 2
            if power < 20.0:
                e = math.exp(power)
                regularisation = e / math.sqrt(1.0 + e * e)
        pull_rate = k * (drive - v) - n * b * regularisation * rate
        if loading != 0.0:
            pull_rate -= loading * coefficient(code, p, v, z)
        return drive - v, pull_rate / (n * a * regularisation + r[IMPEDANCE] * v), rate
    if code == STRIBECK:
        return drive - w, (k * u - n * s * kinetic(p, max(s * w, 0.0))) / m, 0.0
    sigma0 = p[0]
    if m == 0.0:
        # dz per slip length; slip velocity from k (drive - slip) = d(N sigma0 z)/dt
        turn = state_rate(code, p, s, z, s) * s
        slip = (k * drive - loading * sigma0 * z) / (k + n * sigma0 * turn)
        return drive - slip, 0.0, turn * slip
    rate = state_rate(code, p, w, z, s)
    friction = sigma0 * z
    if code == LUGRE:
        sigma1, sigma2 = p[1], p[2]
        friction += sigma1 * rate + sigma2 * w
    return drive - w, (k * u - n * friction) / m, rate


@kernel
def _fastest_rate(code: int, p: Vector, r: Vector, drive: float, w: float, z: float) -> float:
    """Return a bound of the eigenvalues of the linearised equations at this state [1/s]."""
    k, m, n, loading = r[STIFFNESS], r[MASS], r[NORMAL], r[NORMAL_RATE]
    if code == RATE_STATE:
        a, b, length = p[0], p[1], p[2]
        v = math.exp(w)
        # direct effect N a + eta V: it divides the rates of spring and state; exp(-z) is 1 / theta
        direct = n * a + r[IMPEDANCE] * v
        rate = (v + abs(drive)) * (1.0 / length + k / direct) + math.exp(-z)
        # a changing normal force is a load as well
        rate += abs(loading) / direct
        return rate + v / length * (n * b) / direct
    if code == STRIBECK:
        mu_static, mu_kinetic, v_scale, viscous = p[0], p[1], p[2], p[4]
        # vibration, viscous friction, and the steepest weakening up to 6 v_s, beyond which exp(-6)
        # is left
        rate = math.sqrt(k / m) + n * viscous / m
        if abs(w) < 6.0 * v_scale:
            rate += n * abs(mu_static - mu_kinetic) / (v_scale * m)
        return rate
    sigma0 = p[0]
    # relaxation of the state per slip [1/m]
    if code == DAHL:
        mu = p[1]
        relaxation = sigma0 / mu
    elif code == LUGRE:
        relaxation = sigma0 / stribeck_level(p, abs(w))
    else:
        shape, beta, gamma, power = p[1], p[2], p[3], p[4]
        relaxation = (beta + abs(gamma)) * (1.0 if power == 1.0 else abs(z) + shape * 1e-12)
        if power != 1.0:
            # at the steady state (a / (beta + gamma))^(1/2)
            relaxation = max(relaxation, math.sqrt(shape * (beta + abs(gamma))))
    # without mass the slip velocity has the size of the speed of the end
    if m == 0.0:
        return relaxation * abs(drive - loading * sigma0 * z / k)
    # the bristle stiffness N sigma0 adds to that of the spring
    rate = math.sqrt((k + n * sigma0) / m) + relaxation * abs(w)
    if code == LUGRE:
        sigma1, sigma2 = p[1], p[2]
        rate += n * (sigma1 + sigma2) / m
    return rate


@kernel
def _step(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    u: float,
    w: float,
    z: float,
) -> tuple[float, float, float]:
    """Return (u, w, z) after a Runge-Kutta step of order 4 and length `h`."""
    half = 0.5 * h
    u1, w1, z1 = _rates(code, p, r, drive, s, u, w, z)
    u2, w2, z2 = _rates(code, p, r, drive, s, u + half * u1, w + half * w1, z + half * z1)
    u3, w3, z3 = _rates(code, p, r, drive, s, u + half * u2, w + half * w2, z + half * z2)
    u4, w4, z4 = _rates(code, p, r, drive, s, u + h * u3, w + h * w3, z + h * z3)
    sixth = h / 6.0
    return (
        u + sixth * (u1 + 2.0 * (u2 + u3) + u4),
        w + sixth * (w1 + 2.0 * (w2 + w3) + w4),
        z + sixth * (z1 + 2.0 * (z2 + z3) + z4),
    )


@kernel
def _root_time(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    u: float,
    w: float,
    z: float,
    of_speed: bool,
) -> float:
    """Return the time within `h` at which the slip velocity (`of_speed`), or else z, is zero."""
    _, end_w, end_z = _step(code, p, r, drive, s, h, u, w, z)
    # the sign changes in [0, h]; each trial is a Runge-Kutta step from the start
    low, high = 0.0, h
    f_low, f_high = (w, end_w) if of_speed else (z, end_z)
    t = h
    for _ in range(80):
        t = high - f_high * (high - low) / (f_high - f_low)
        if not (low < t < high):
            t = 0.5 * (low + high)
        _, now_w, now_z = _step(code, p, r, drive, s, t, u, w, z)
        f = now_w if of_speed else now_z
        if f == 0.0 or high - low <= 1e-14 * h:
            break
        # Illinois variant of regula falsi: halve the value at the retained end
        if (f < 0.0) == (f_low < 0.0):
            low, f_low = t, f
            f_high *= 0.5
        else:
            high, f_high = t, f
            f_low *= 0.5
    return t


@kernel
def _step_to_event(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    u: float,
    w: float,
    z: float,
) -> tuple[float, float, float, float]:
    """Take a step of at most `h` that ends at the first event; return its length [s] and u, w, z.

    Events: w = 0 (stop or reversal), and z = 0 of Bouc-Wen, where its rate has a kink.
    """
    u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
    if code == RATE_STATE:
        return h, u1, w1, z1
    if r[MASS] > 0.0 and w * w1 < 0.0:
        h = _root_time(code, p, r, drive, s, h, u, w, z, True)
        u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
        w1 = 0.0
    elif code == STRIBECK and w == 0.0 and s * w1 < 0.0:
        # the onset of slip is not admissible: friction exceeds the spring force at once
        return 0.0, u, w, z
    if code == BOUC_WEN and z * z1 < 0.0:
        h = _root_time(code, p, r, drive, s, h, u, w, z, False)
        u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
        z1 = 0.0
    return h, u1, w1, z1


@kernel
def _sign(w: float, rate: float) -> float:
    """Return the sign of the slip velocity, or of its rate if it is zero."""
    if w != 0.0:
        return 1.0 if w > 0.0 else -1.0
    return 1.0 if rate >= 0.0 else -1.0


@kernel
def _stick_time(p: Vector, r: Vector, drive: float, left: float, u: float) -> tuple[float, float]:
    """Return the duration of stick [s], at most `left` [s], and the extension at its end [m].

    drive, u : speed of the end of the spring [m/s], and extension at the start [m]

    Verified by: tests/unit/fits/test_spring_kernels.py::test_a_falling_normal_force_ends_stick
    """
    k, n, static = r[STIFFNESS], r[NORMAL], p[5]
    # stick ends at once if the normal force has fallen so far that friction cannot hold the spring;
    # the rounding error of u at the bound must not end it
    if abs(u) * k > static * n * (1.0 + 1e-12):
        return 0.0, u
    if drive == 0.0:
        return left, u
    s = 1.0 if drive > 0.0 else -1.0
    bound = s * static * n / k
    t = max((bound - u) / drive, 0.0)
    if t >= left:
        return left, u + drive * left
    return t, bound


@kernel
def follow_spring(
    code: int,
    p: Vector,
    r: Vector,
    y: Vector,
    dt: Vector,
    dx: Vector,
    normal: Vector,
    out: Vector,
) -> tuple[int, int]:
    """Set `out` to the spring force at the n rows [N]; return numbers of events and steps.

    Parameters
    ----------
    code, p : code and parameters of the law; see `law_kernels`
    r : (5,) stiffness [N/m], mass [kg], normal force [N] (set here), impedance [N s/m], rate of the
        normal force [N/s] (set here)
    y : (3,) at the first row the extension [m], the slip velocity w [m/s] (rate and state: ln of w
        in m/s), and the state of the law; a slider at rest begins in stick if the law has a stick
        mode (STRIBECK)
    dt, dx : (n,) time [s] and displacement [m] of the end since the previous row
    normal : (n,) normal force at the rows [N]

    Verified by: tests/exact/test_fits.py::test_a_pulled_slider_against_the_chain
    """
    events, steps = 0, 0
    u, w, z = y[EXTENSION], y[SPEED], y[STATE]
    stuck = code == STRIBECK and w == 0.0
    # slip phases with a stick mode end in events, and need smaller steps
    part = _STEP_FRACTION if code == STRIBECK else 3.0 * _STEP_FRACTION
    s = 1.0
    # a search may try parameters whose motion takes too many steps
    most = max(_MOST_STEPS, _MOST_EACH * out.size)
    r[NORMAL] = normal[0]
    out[0] = _spring_force(code, p, r, u, w, z)
    for i in range(1, out.size):
        # the mean normal force acts between two rows, and in the rate of a force balance its rate
        r[NORMAL] = 0.5 * (normal[i] + normal[i - 1])
        r[NORMAL_RATE] = (normal[i] - normal[i - 1]) / dt[i]
        left, drive = dt[i], dx[i] / dt[i]
        while left > 0.0:
            if stuck:
                t, u = _stick_time(p, r, drive, left, u)
                if t < left:
                    stuck, s = False, 1.0 if u > 0.0 else -1.0
                    events += 1
                left = left - t if t < left else 0.0
                continue
            if code != STRIBECK:
                s = _sign(drive, 0.0)
                if code != RATE_STATE and r[NORMAL_RATE] != 0.0:
                    s = _sign(drive - r[NORMAL_RATE] * p[0] * z / r[STIFFNESS], 0.0)
                if r[MASS] > 0.0:
                    _, acceleration, _ = _rates(code, p, r, drive, s, u, w, z)
                    s = _sign(w, acceleration)
            h = min(left, part / max(_fastest_rate(code, p, r, drive, w, z), 1e-300))
            t, u, w, z = _step_to_event(code, p, r, drive, s, h, u, w, z)
            left -= t
            steps += 1
            if steps > most or not math.isfinite(u + w + z):
                out[i:] = math.nan
                return events, steps
            # the slider has stopped: it sticks if the spring force is within the static bound
            if code == STRIBECK and w == 0.0:
                static = p[5]
                bound = static * r[NORMAL]
                stuck = abs(r[STIFFNESS] * u) <= bound * (1.0 + 1e-12)
                events += 1
                if not stuck:
                    s = 1.0 if u > 0.0 else -1.0
                elif t == 0.0:
                    # it sticks again at once: the end moves too slowly to resolve a slip phase
                    u += drive * left
                    left = 0.0
        r[NORMAL] = normal[i]
        out[i] = _spring_force(code, p, r, u, w, z)
    return events, steps


@kernel
def _spring_force(code: int, p: Vector, r: Vector, u: float, w: float, z: float) -> float:
    """Return the spring force: k u; for rate and state N mu + eta V."""
    if code == RATE_STATE:
        v = math.exp(w)
        return r[NORMAL] * coefficient(code, p, v, z) + r[IMPEDANCE] * v
    return r[STIFFNESS] * u


@kernel
def massless_stick_slip(
    p: Vector, stiffness: float, force: float, dx: Vector, normal: Vector, out: Vector
) -> int:
    """Set `out` to the spring force on a massless slider with two coefficients; return events.

    `p` holds mu_static and mu_kinetic, `force` is the spring force at the first row [N]; dx (n,) is
    the displacement of the end since the previous row [m], `normal` (n,) the normal force [N]. Each
    slip is the limit of vanishing mass: the force falls from mu_static N to (2 mu_kinetic -
    mu_static) N, by conservation of energy, and the slider sticks again. With equal coefficients
    the slider slips steadily at the bound.
    """
    mu_static, mu_kinetic = p[0], p[1]
    events = 0
    f = force
    out[0] = f
    for i in range(1, out.size):
        bound = mu_static * normal[i]
        drop = 2.0 * (mu_static - mu_kinetic) * normal[i]
        f += stiffness * dx[i]
        # the spring force exceeds the static bound if the end moves or the normal force falls
        s = 1.0 if f >= 0.0 else -1.0
        # with equal coefficients the force stays at the bound; coefficients that agree to nine
        # digits count as equal, because the number of slips in a row grows as 1 / drop
        if drop <= 1e-9 * bound:
            if s * f > bound:
                f = s * bound
        elif s * f > bound:
            # number of slips within this row
            times = math.floor((s * f - bound) / drop) + 1.0
            events += int(times)
            f -= s * times * drop
        out[i] = f
    return events

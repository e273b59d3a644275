"""Closed forms of friction chains: critical forces, quasistatic motion, one mass, the rod limit.

A chain has masses m_i with displacements x_i, springs k_i (and dampers c_i) from mass i - 1 to
mass i, and Coulomb friction with bounds mu_i N_i, N_i = m_i g. Spring 1 is fixed to the wall, and
the load f(t) pulls mass n away from it. R_i is the sum of all forces on mass i but friction:

    m_i x_i'' = R_i - mu_i N_i Sgn(x_i'),   R_i = T_(i+1) - T_i,
    T_i = k_i (x_i - x_(i-1)) + c_i (x_i - x_(i-1))',

with T_(n+1) = f and x_0 = 0. Arrays run over the masses, mass 1 first. Tests compare the methods of
`stiction.chains` with these results. The module uses NumPy only, so that no check is circular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "WeakeningSlide",
    "arrival_velocity",
    "critical_force",
    "damped_ramp",
    "energies_at_rest",
    "play",
    "quasistatic_rising",
    "rod_front",
    "rod_step",
    "rod_step_arrest",
    "step_response",
    "step_turning_points",
    "weakening_roots",
    "weakening_slide",
]

Floats = npt.NDArray[np.float64]


def critical_force(mass: npt.ArrayLike, mu: npt.ArrayLike, gravity: float = 9.81) -> Floats:
    """Return the slowly rising load [N] at which each mass of an unstressed chain first slips.

    F_i = g sum_{j >= i} mu_j m_j. The stiffnesses do not appear.

    Parameters
    ----------
    mass : (n,) [kg]
    mu : static coefficient [1], one or one per mass
    gravity : [m/s^2]

    Source: formulas sheet of the chains paper, section 3.
    Verified by: tests/exact/test_chain_closed_forms.py::test_critical_force
    """
    bound = np.asarray(mu) * np.asarray(mass, dtype=np.float64) * gravity
    return np.asarray(np.cumsum(bound[::-1])[::-1])


def play(force: npt.ArrayLike, half_width: npt.ArrayLike, start: npt.ArrayLike = 0.0) -> Floats:
    """Return the play operator of a load history, monotone between the given values.

    Without inertia and damping the force in link i of a chain is the play of the load with half
    width F_i, the critical force. It is constant while it differs from the load by less than the
    half width; otherwise it follows the load at that distance.

    Parameters
    ----------
    force : (t,) values of the load [N]
    half_width : (n,) F_i [N], >= 0
    start : (n,) link forces [N] at the first value, within a half width of it

    Returns
    -------
    (t, n) link forces [N].

    Source: formulas sheet, section 3: T_i = Play_{F_i}[f], exact for any history. The
    Masing rule is its first reversal from the virgin curve only.
    Verified by: tests/exact/test_chain_closed_forms.py::test_play_at_the_second_reversal
    """
    force, width = np.asarray(force, dtype=np.float64), np.asarray(half_width)
    out = np.empty((force.size, width.size))
    value = np.broadcast_to(np.asarray(start, dtype=np.float64), width.shape)
    for j, f in enumerate(force):
        value = np.minimum(np.maximum(value, f - width), f + width)
        out[j] = value
    return out


def quasistatic_rising(
    force: float, mass: npt.ArrayLike, stiffness: npt.ArrayLike, mu: float, gravity: float = 9.81
) -> Floats:
    """Return the displacements [m] after a slow rise of the load from 0 to `force` [N].

    T_i = max(0, f - F_i), x_i = sum_{l <= i} T_l / k_l.

    Parameters
    ----------
    mass : (n,) [kg]
    stiffness : (n,) [N/m]
    mu : coefficient [1]

    Source: formulas sheet, section 3.
    Verified by: tests/exact/test_chain_closed_forms.py::test_quasistatic_rising_ends_at_rest
    """
    tension = np.maximum(0.0, force - critical_force(mass, mu, gravity))
    return np.asarray(np.cumsum(tension / np.asarray(stiffness)))


def damped_ramp(
    t: npt.ArrayLike,
    rate: float,
    critical: npt.ArrayLike,
    stiffness: npt.ArrayLike,
    damping: npt.ArrayLike,
) -> tuple[Floats, Floats]:
    """Return displacements [m] and velocities [m/s] of a damped chain without inertia, f = r t.

    Each elongation obeys k d + c d' = max(0, r t - F_i) on its own:
    d = (r/k) (s - c/k (1 - exp(-k s / c))), s = t - F_i / r.

    Parameters
    ----------
    t : (t,) times [s]
    rate : r [N/s], > 0
    critical : (n,) F_i [N]
    stiffness, damping : (n,) [N/m], [N s/m] > 0

    Returns
    -------
    (t, n) displacements and (t, n) velocities.

    Source: formulas sheet, section 3, "with damping".
    Verified by: tests/exact/test_chain_closed_forms.py::test_damped_ramp_balances
    """
    k, c = np.asarray(stiffness, dtype=np.float64), np.asarray(damping, dtype=np.float64)
    since = np.asarray(t, dtype=np.float64)[:, None] - np.asarray(critical) / rate
    s = np.maximum(since, 0.0)
    decayed = -np.expm1(-k * s / c)
    d, d_rate = rate / k * (s - c / k * decayed), rate / k * decayed
    return np.cumsum(d, axis=1), np.cumsum(d_rate, axis=1)


def step_turning_points(k: float, force: float, bound: float, x0: float = 0.0) -> Floats:
    """Return the positions [m] at which one mass on a spring reverses after a step of the load.

    It oscillates about (f -/+ mu N)/k, so that each turning point is 2 mu N / k nearer to f/k than
    the one before. It stops for good at the first one where |f - k x| <= mu N.

    Parameters
    ----------
    k : stiffness [N/m]
    force : the load [N]
    bound : mu N [N], > 0
    x0 : start at rest [m]

    Returns
    -------
    (j,) turning points; the first is x0, the last is the position of rest.

    Raises
    ------
    ValueError : if the bound is not positive, so that the mass does not stop.

    Source: formulas sheet, sections 4 and 6, for one mass.
    Verified by: tests/exact/test_chain_closed_forms.py::test_step_of_one_mass
    """
    if not bound > 0.0:
        raise ValueError(f"step_turning_points: bound = {bound}; needs > 0 for a stop")
    turns = [float(x0)]
    while abs(force - k * turns[-1]) > bound:
        sign = np.sign(force - k * turns[-1])
        turns.append(float(2.0 * (force - sign * bound) / k - turns[-1]))
    return np.array(turns)


def step_response(
    t: npt.ArrayLike, m: float, k: float, force: float, bound: float, x0: float = 0.0
) -> tuple[Floats, Floats, float]:
    """Return x(t) [m], v(t) [m/s] and the stop time [s] of one mass after a step of the load.

    Each half oscillation lasts pi sqrt(m/k), so the stop time is a multiple of it.

    Parameters
    ----------
    t : (t,) times since the step [s]
    m : mass [kg]
    k, force, bound, x0 : see `step_turning_points`

    Verified by: tests/exact/test_chain_closed_forms.py::test_step_of_one_mass
    """
    t = np.asarray(t, dtype=np.float64)
    turns = step_turning_points(k, force, bound, x0)
    omega = np.sqrt(k / m)
    swing = np.pi / omega
    last = turns.size - 1
    if last == 0:
        return np.full(t.shape, turns[0]), np.zeros(t.shape), 0.0
    j = np.minimum((t / swing).astype(np.int64), last - 1)
    center, reach = 0.5 * (turns[j] + turns[j + 1]), 0.5 * (turns[j] - turns[j + 1])
    angle = np.minimum(t - j * swing, swing) * omega
    moving = t < last * swing
    x = np.where(moving, center + reach * np.cos(angle), turns[-1])
    v = np.where(moving, -reach * omega * np.sin(angle), 0.0)
    return x, v, float(last * swing)


def energies_at_rest(
    x: npt.ArrayLike, stiffness: npt.ArrayLike, force: float
) -> tuple[float, float, float]:
    """Return elastic energy, work and friction heat [J] of a chain that came to rest.

    The chain starts from x = 0, v = 0 under a constant load, without dampers. The work is f x_n;
    the work that is not stored in the springs is friction heat, whatever the motion.

    Parameters
    ----------
    x : (n,) displacements at rest [m]
    stiffness : (n,) [N/m]
    force : constant load [N]

    Source: Axioms 14(4) 299, section 6, (26); formulas sheet, section 4.
    Verified by: tests/exact/test_chain_closed_forms.py::test_reference_energies
    """
    x = np.asarray(x, dtype=np.float64)
    stretch = np.diff(x, prepend=0.0)
    stored = float(0.5 * np.sum(np.asarray(stiffness) * stretch**2))
    work = float(force * x[-1])
    return stored, work, work - stored


def arrival_velocity(
    before: npt.ArrayLike, drive: npt.ArrayLike, bound: npt.ArrayLike, mass: npt.ArrayLike
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return velocities [m/s] shortly before arrival at a state of rest, to first order.

    v_i(-s) = sigma_i s (mu N_i - sigma_i R_i) / m_i with sigma_i against R_i, so that all
    masses move, are braked, and stop together: every state of rest is reached.

    Parameters
    ----------
    before : s [s], time left until arrival
    drive, bound, mass : (n,) R_i [N], mu N_i [N], m_i [kg]

    Returns
    -------
    Velocities, and the signs sigma.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/chains/test_reachability.py::test_first_order_velocities
    """
    drive = np.asarray(drive, dtype=np.float64)
    sign = np.where(drive > 0.0, -1, 1).astype(np.int8)
    slow = (np.asarray(bound) - sign * drive) / np.asarray(mass)
    return np.asarray(sign * np.asarray(before) * slow), sign


# ---- the rod: the chain's limit for many masses


def rod_front(force: npt.ArrayLike, mu: float, weight: float) -> Floats:
    """Return the distance [m] of the slip front from the loaded end of a rod under a slow load.

    Parameters
    ----------
    force : load [N], >= 0 and never lower before
    mu : coefficient [1]
    weight : weight per length rho' g [N/m]

    Source: formulas sheet, section 3, continuum limit: s = f / (mu rho' g).
    Verified by: tests/exact/test_chain_closed_forms.py::test_chain_front_tends_to_the_rod
    """
    return np.asarray(force, dtype=np.float64) / (mu * weight)


def rod_step_arrest(
    force: float, mu: float, weight: float, wave_speed: float
) -> tuple[float, float]:
    """Return time [s] and front [m from the loaded end] at which a rod stops after a step.

    The front runs at the wave speed until s = 2 f / (mu rho' g); then all points stop at
    the same moment.

    Source: formulas sheet, section 3, continuum limit.
    Verified by: tests/exact/test_chain_closed_forms.py::test_rod_step_solves_the_wave_equation
    """
    front = 2.0 * force / (mu * weight)
    return front / wave_speed, front


def rod_step(
    t: float,
    s: npt.ArrayLike,
    force: float,
    mu: float,
    weight: float,
    line_mass: float,
    wave_speed: float,
) -> tuple[Floats, Floats]:
    """Return displacement [m] and velocity [m/s] of a long rod after a step of the load.

    Behind the front, s < c t, and until the stop,

        u = (f / EA) (c t - s) - mu g / (4 c^2) (c^2 t^2 - s^2),   u_t = f c / EA - mu g t / 2:

    all points of the moving part have the same velocity, which decreases to zero linearly.

    Parameters
    ----------
    t : time since the step [s]
    s : distance from the loaded end [m], rod longer than the stopping front
    force, mu : load [N], coefficient [1]
    weight, line_mass : per length, rho' g [N/m] and rho' [kg/m]
    wave_speed : c = sqrt(EA / rho') [m/s]

    Source: derived here from rho' u_tt - EA u_ss + mu rho' g Sgn(u_t) containing 0 with
    EA u_s(0) = -f; it gives the front and the stop of the formulas sheet, section 3.
    Verified by: tests/exact/test_chain_closed_forms.py::test_rod_step_solves_the_wave_equation
    """
    s = np.asarray(s, dtype=np.float64)
    stop, _ = rod_step_arrest(force, mu, weight, wave_speed)
    now = min(t, stop)
    stretch = force / (line_mass * wave_speed**2)
    brake = mu * weight / line_mass
    behind = s < wave_speed * now
    front = wave_speed * now
    u = stretch * (front - s) - brake / (4.0 * wave_speed**2) * (front**2 - s**2)
    speed = stretch * wave_speed - 0.5 * brake * now if t < stop else 0.0
    return np.where(behind, u, 0.0), np.where(behind, speed, 0.0)


# ---- one mass without inertia under weakening friction: several solutions


@dataclass(frozen=True)
class WeakeningSlide:
    """End of the sliding branch of one mass without inertia, under a constant load.

    Parameters
    ----------
    speed : slip speed at the end [m/s]
    force : smallest w = f - k x that slip can carry [N]
    x : displacement at which the mass must stick [m]
    duration : time from the start to the end [s]
    """

    speed: float
    force: float
    x: float
    duration: float


def weakening_roots(
    force: float, damping: float, normal: float, mu_static: float, mu_kinetic: float, v_scale: float
) -> Floats:
    """Return all v > 0 with c v + N mu(v) = w, rising, for exponential weakening.

    h(v) = c v + N (mu_k + (mu_s - mu_k) exp(-v / v_s)) is convex, so there are at most
    two: below its minimum an unstable one, above it a stable one.

    Parameters
    ----------
    force : w [N], what friction and damper must carry
    damping, normal : c [N s/m] > 0, N [N]
    mu_static, mu_kinetic, v_scale : the law [1, 1, m/s]

    Source: formulas sheet, section 1e.
    Verified by: tests/exact/test_chain_closed_forms.py::test_reference_branches
    """
    drop = normal * (mu_static - mu_kinetic)

    def gap(v: float) -> float:
        return damping * v + normal * mu_kinetic + drop * float(np.exp(-v / v_scale)) - force

    fold = max(0.0, v_scale * float(np.log(max(drop / (damping * v_scale), 1e-300))))
    far = fold + (abs(force) + drop + 1.0) / damping
    roots = [_bisect(gap, low, high) for low, high in ((0.0, fold), (fold, far))]
    # (at the minimum both roots are one)
    return np.unique([v for v in roots if v is not None and v > 0.0])


def weakening_slide(
    force: float,
    stiffness: float,
    damping: float,
    normal: float,
    law: tuple[float, float, float],
    x0: float = 0.0,
) -> WeakeningSlide:
    """Return the end of the sliding branch that starts at x0 under a constant load.

    The branch ends where h has its minimum, v = v_s ln(N (mu_s - mu_k) / (c v_s)); the
    time is the integral of h'(v) / (k v) down to there.

    Parameters
    ----------
    force : load f [N]
    stiffness, damping, normal : k [N/m], c [N s/m], N [N]
    law : mu_static, mu_kinetic, v_scale
    x0 : start [m]

    Raises
    ------
    ValueError : if h has no minimum at v > 0, or the force at the start is below it.

    Source: formulas sheet, section 1e, the one-mass example.
    Verified by: tests/exact/test_chain_closed_forms.py::test_reference_branches
    """
    mu_static, mu_kinetic, v_scale = law
    drop = normal * (mu_static - mu_kinetic)
    if not drop > damping * v_scale:
        raise ValueError(
            f"weakening_slide: N (mu_s - mu_k) = {drop}; needs more than c v_s = "
            f"{damping * v_scale}: only then does the branch end."
        )
    end = v_scale * float(np.log(drop / (damping * v_scale)))
    least = damping * (end + v_scale) + normal * mu_kinetic
    roots = weakening_roots(force - stiffness * x0, damping, normal, *law)
    if roots.size == 0:
        got = f"weakening_slide: f - k x0 = {force - stiffness * x0}"
        raise ValueError(f"{got}; needs at least {least} for slip")
    start = float(roots[-1])
    node, weight = np.polynomial.legendre.leggauss(40)
    # in ln v the integrand is smooth and bounded over any range of speeds
    edges = np.linspace(np.log(end), np.log(start), 9)
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    v = np.exp(middle + half * node)
    slope = damping - drop / v_scale * np.exp(-v / v_scale)
    duration = float(np.sum(half * weight * slope) / stiffness)
    return WeakeningSlide(end, least, (force - least) / stiffness, duration)


def _bisect(gap: object, low: float, high: float) -> float | None:
    """Return the root of `gap` in [low, high] by halving; None without a change of sign."""
    assert callable(gap)
    at_low, at_high = gap(low), gap(high)
    if at_low * at_high > 0.0 or high <= low:
        return None
    if at_low == 0.0 or at_high == 0.0:
        return low if at_low == 0.0 else high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if (gap(middle) > 0.0) == (at_low > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)

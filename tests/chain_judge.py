"""A second method for event-driven chains, without their code, and random degenerate thresholds.

Between the events of a run a chain under friction that does not depend on speed is linear. The
judge takes nothing but the times and kinds of the events, goes from one to the next by matrix
exponentials, and asks there what the model asks: masses at rest hold, moving masses go the way
they are said to go, slip begins at the bound and ends at rest. Constant friction has one motion,
so that a run which passes is that motion; under a jump the rule that a mass sticks as long as it
can takes its place.
"""

from dataclasses import dataclass

import numpy as np

import stiction as st

SIGN = {"slip-": -1, "stick": 0, "slip+": 1}


@dataclass
class Verdict:
    """What was found: the worst error in fractions of its scale, and the shortest stay in stick."""

    error: float
    where: str
    shortest: float
    final: np.ndarray


def exponential(a):
    """Return e^a by its series, halved until that is short, and squared."""
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(a).sum(axis=0).max(), 1e-300)))) + 1)
    part = term = np.eye(len(a))
    small = a / 2.0**halvings
    for k in range(1, 19):
        term = term @ small / k
        part = part + term
    for _ in range(halvings):
        part = part @ part
    return part


class Judge:
    """The equations of a chain with constant friction, as one linear system per set of modes."""

    def __init__(self, chain):
        self.chain, n = chain, chain.n_mass
        self.n, self.m = n, chain.masses
        self.k, self.c = chain.stiffness_matrix(), chain.damping_matrix()
        self.held = chain.friction.mu_static * chain.normal_forces
        self.slid = chain.friction.mu_kinetic * chain.normal_forces
        self.segments = chain.load.segments()
        self.sines = len(self.segments.amplitude)
        stiff = (np.diag(self.k) / self.m) ** 0.5 + np.diag(self.c) / self.m
        self.rate = stiff.max()
        self.response = 1.0 / stiff

    def matrices(self, mode, slope):
        """Return d/dt of (x, v, 1, straight load, sines, cosines), and the drives' rows."""
        n, s = self.n, self.sines
        size = 2 * n + 2 + 2 * s
        a, drive = np.zeros((size, size)), np.zeros((n, size))
        b = self.chain.load_weights
        drive[:, :n], drive[:, n : 2 * n] = -self.k, -self.c
        drive[:, 2 * n + 1] = b
        for j in range(s):
            drive[:, 2 * n + 2 + j] = b * self.segments.amplitude[j]
            w = self.segments.angular_frequency[j]
            a[2 * n + 2 + j, 2 * n + 2 + s + j] = w
            a[2 * n + 2 + s + j, 2 * n + 2 + j] = -w
        a[2 * n + 1, 2 * n] = slope
        a[:n, n : 2 * n] = np.eye(n)
        for i in range(n):
            if mode[i] != 0:
                a[n + i] = drive[i] / self.m[i]
                a[n + i, 2 * n] -= mode[i] * self.slid[i] / self.m[i]
        return a, drive

    def balance(self, a):
        """Return the units of the state: speeds, whatever the units of the chain."""
        n, top = self.n, slice(self.n, 2 * self.n)
        d = np.ones(len(a))
        d[:n] = self.rate
        for j in range(2 * n, len(a)):
            d[j] = np.abs(a[top, j]).max() / self.rate or 1.0
        d[2 * n + 2 + self.sines :] = d[2 * n + 2 : 2 * n + 2 + self.sines]
        d[2 * n + 1] = np.abs(self.chain.load_weights / self.m).max() / self.rate or 1.0
        # the straight load rises by its rate times 1
        d[2 * n] = max(d[2 * n], np.abs(a[2 * n + 1, 2 * n]) * d[2 * n + 1] / self.rate)
        return d

    def loaded(self, x, v, t, segment):
        p = self.segments
        straight = p.offset[segment] + p.rate[segment] * (t - p.time[segment])
        angle = p.angular_frequency * t + p.phase
        return np.concatenate([x, v, [1.0, straight], np.sin(angle), np.cos(angle)])

    def verdict(self, run, tolerance=1e-9):
        """Return what is wrong with a run, in fractions of the forces and speeds it met."""
        chain, n, log = self.chain, self.n, run.event_log
        start, end = float(run.time[0]), float(run.time[-1])
        belt = chain.belt_speed
        x, v = chain.x_start.copy(), chain.v_start.copy()
        mode = np.sign(v - belt).astype(int)
        inner = [t for t in self.segments.time if start < t < end]
        stops = np.unique(np.concatenate([log.time, inner, [start, end]]))
        self.worst, self.where = 0.0, ""
        force = np.abs(self.held) + np.abs(self.drive(x, v, start))
        force += (np.abs(self.k) @ np.abs(x)) + np.abs(chain.load_weights * chain.load.at(start))
        self.force = np.maximum(force, 1e-300)
        self.speed = np.maximum(np.abs(v) + abs(belt), self.force / self.m * self.response)
        since, shortest = np.full(n, -np.inf), np.inf
        row = 0
        for j, t in enumerate(stops):
            while row < len(log) and log.time[row] <= t:
                i = int(log.contact[row]) - 1
                if i >= 0:
                    before, after = SIGN[log.before[row]], SIGN[log.after[row]]
                    if before != mode[i]:
                        self.note(1.0, f"mass {i + 1} was not {log.before[row]} at {t}")
                    if before != 0:
                        self.note(abs(v[i] - belt) / self.speed[i], f"stop of {i + 1} at {t}")
                        v[i] = belt
                    mode[i] = after
                    if before == 0:
                        shortest = min(shortest, (t - since[i]) * self.rate)
                    if after == 0:
                        since[i] = t
                row += 1
            if j + 1 == len(stops):
                break
            self.rules(log, t, x, v, mode)
            x, v = self.go(t, stops[j + 1], x, v, mode)
        return Verdict(self.worst, self.where, shortest, np.concatenate([x, v]))

    def drive(self, x, v, t):
        return self.chain.load_weights * self.chain.load.at(t) - self.k @ x - self.c @ v

    def note(self, error, where):
        if not error <= self.worst:
            self.worst, self.where = float(error), where

    def rules(self, log, t, x, v, mode):
        """Slip begins, and goes over into slip the other way, at the bound and not before."""
        drive = self.drive(x, v, t)
        for row in np.flatnonzero(log.time == t):
            i = int(log.contact[row]) - 1
            if i >= 0 and mode[i] != 0:
                missing = (self.held[i] - mode[i] * drive[i]) / self.force[i]
                self.note(missing, f"slip of {i + 1} at {t} below the bound")

    def go(self, t, until, x, v, mode):
        """Go to the next event and look on the way."""
        n, belt = self.n, self.chain.belt_speed
        span = until - t
        if span <= 0.0:
            return x, v
        segment = max(int(np.searchsorted(self.segments.time, t, side="right")) - 1, 0)
        a, drives = self.matrices(mode, self.segments.rate[segment])
        z = self.loaded(x, v, t, segment)
        looks = min(max(12, int(span * self.rate * 3.0)), 400)
        # in units in which all entries are rates, so that none is lost beside the others
        d = self.balance(a)
        a = a * d[:, None] / d
        z, drives = z * d, drives / d
        step, early = exponential(a * (span / looks)), exponential(a * (span / looks * 1e-3))
        states = [early @ z]
        for _ in range(looks):
            z = step @ z
            states.append(z)
        states = np.array(states) / d
        drives, z = drives * d, z / d
        forces, slip = states @ drives.T, states[:, n : 2 * n] - belt
        # scales grow with what is met
        self.force = np.maximum(self.force, np.abs(forces).max(axis=0))
        reach = np.abs(states[:, :n]).max(axis=0)
        self.force = np.maximum(self.force, np.abs(self.k) @ reach)
        self.speed = np.maximum(self.speed, np.abs(slip).max(axis=0))
        for i in range(n):
            if mode[i] == 0:
                excess = (np.abs(forces[:, i]) - self.held[i]).max() / self.force[i]
                self.note(excess, f"{i + 1} held beyond its bound after {t}")
            else:
                back = (-mode[i] * slip[:, i]).max() / self.speed[i]
                self.note(back, f"{i + 1} slips the wrong way after {t}")
        return z[:n].copy(), z[n : 2 * n].copy()


# ---- random degenerate thresholds and grazing


def scaled(chain, t_end, rng):
    """Return the same chain in other units, mirrored or turned round, and its time."""
    mass, length, time = (
        10.0 ** rng.uniform(-4, 4, 3) if rng.random() < 0.6 else 2.0 ** rng.integers(-12, 13, 3)
    )
    if rng.random() < 0.3:
        mass = length = time = 1.0
    force, sign = mass * length / time**2, 1.0 if rng.random() < 0.5 else -1.0
    turned = rng.random() < 0.5
    order = slice(None, None, -1) if turned else slice(None)
    load = chain.load
    kinds = {
        st.Constant: lambda f: st.Constant(sign * f.value * force),
        st.Ramp: lambda f: st.Ramp(sign * f.rate * force / time, sign * f.start * force),
        st.chains.Sine: lambda f: st.chains.Sine(
            sign * f.amplitude * force, f.angular_frequency / time, f.phase
        ),
        st.chains.PiecewiseLinear: lambda f: st.chains.PiecewiseLinear(
            np.asarray(f.time) * time, sign * np.asarray(f.value) * force
        ),
    }
    load = kinds[type(load)](load)
    law = chain.law
    if isinstance(law, st.Coulomb):
        law = st.Coulomb(np.broadcast_to(law.mu, chain.n_mass)[order])
    else:
        law = st.StaticKinetic(
            np.broadcast_to(law.mu_static, chain.n_mass)[order],
            np.broadcast_to(law.mu_kinetic, chain.n_mass)[order],
        )
    springs = np.broadcast_to(chain.stiffness, chain.n_spring)[order] * force / length
    dampers = np.broadcast_to(chain.damping, chain.n_spring)[order] * force * time / length
    ends = {"left": "right", "right": "left"} if turned else {}
    other = st.Chain(
        mass=chain.masses[order] * mass,
        stiffness=springs,
        damping=dampers,
        load=load,
        law=law,
        x0=sign * chain.x_start[order] * length,
        v0=sign * chain.v_start[order] * length / time,
        supports=ends.get(chain.supports, chain.supports),
        load_vector=chain.load_weights[order],
        normal_force=chain.normal_forces[order] * force,
    )
    return other, t_end * time


def ramp_touches(rng):
    """Return one mass that starts and stops with every period of a ramp, without sticking."""
    m, k, n, mu = 10.0 ** rng.uniform(-1, 1, 4)
    rate = mu * n * 10.0 ** rng.uniform(-4, 1)
    chain = st.Chain(mass=[m], stiffness=k, normal_force=n, law=st.Coulomb(mu), load=st.Ramp(rate))
    return chain, mu * n / rate + 2.0 * np.pi * (m / k) ** 0.5 * rng.uniform(0.5, 20.0), 1


def tangent(rng, exponent):
    """Return one mass whose slip rate comes within 10^exponent of zero, and its exact events.

    k x = mu_k N + r t - k A sin(w t) and v = r / k + v1 cos(w t) with v1 = r / k (1 + e).
    """
    m, k, n, mu = 10.0 ** rng.uniform(-1, 1, 4)
    ratio, w = rng.uniform(0.1, 0.9), (k / m) ** 0.5
    rate = mu * n * w * 10.0 ** rng.uniform(-1.5, 1)
    e = 0.0 if exponent is None else rng.choice([-1.0, 1.0]) * 10.0**exponent
    law = st.StaticKinetic(mu, ratio * mu) if rng.random() < 0.7 else st.Coulomb(ratio * mu)
    chain = st.Chain(
        mass=[m],
        stiffness=k,
        normal_force=n,
        law=law,
        load=st.Ramp(rate, ratio * mu * n),
        v0=[rate / k * (2.0 + e)],
    )
    return chain, np.pi / w * rng.uniform(1.2, 1.9), e


def touched_bound(rng, exponent):
    """Return one mass under a sine that comes within 10^exponent of what friction holds."""
    m, k, n, mu = 10.0 ** rng.uniform(-1, 1, 4)
    w = (k / m) ** 0.5 * 10.0 ** rng.uniform(-1, 1)
    e = 0.0 if exponent is None else rng.choice([-1.0, 1.0]) * 10.0**exponent
    law = st.StaticKinetic(mu, rng.uniform(0.0, 0.9) * mu) if rng.random() < 0.5 else st.Coulomb(mu)
    load = st.chains.Sine(mu * n * (1.0 + e), w, rng.uniform(-0.9, 0.9))
    chain = st.Chain(mass=[m], stiffness=k, normal_force=n, law=law, load=load)
    return chain, 2.0 * np.pi / w * rng.uniform(0.5, 2.0), e


def tied(rng):
    """Return masses that start at their bounds, some without friction, under any load."""
    n = int(rng.integers(1, 6))
    supports = str(rng.choice(["left", "right", "both"]))
    springs = n + (supports == "both")
    even = rng.random() < 0.4
    mass = np.ones(n) if even else 10.0 ** rng.uniform(-1, 1, n)
    stiffness = np.full(springs, 20.0) if even else 10.0 ** rng.uniform(0, 3, springs)
    damping = 0.0 if rng.random() < 0.6 else float(rng.choice([0.1, 3.0]))
    mu = np.where(rng.random(n) < 0.3, 0.0, 0.3 if even else rng.uniform(0.05, 0.6, n))
    ratio = np.where(rng.random(n) < 0.3, 1.0, rng.uniform(0.0, 0.95, n))
    law = st.Coulomb(mu) if rng.random() < 0.6 else st.StaticKinetic(mu, mu * ratio)
    share = rng.choice([0.0, 1.0, 1.0, -1.0], n) if rng.random() < 0.5 else None
    start = float(rng.choice([0.0, 1.0, -2.0]))
    load = [
        st.Constant(start),
        st.Ramp(float(rng.choice([-1.0, 1.0])) * 10.0 ** rng.uniform(-3, 1), start),
        st.chains.Sine(
            rng.uniform(0.5, 20.0), rng.uniform(0.5, 5.0), rng.choice([0.0, 0.5]) * np.pi
        ),
        st.chains.PiecewiseLinear([0.0, 1.0, 2.0], [start, start + rng.uniform(-9, 9), start]),
    ][rng.integers(4)]
    chain = st.Chain(
        mass=mass,
        stiffness=stiffness,
        damping=damping,
        law=law,
        load=load,
        supports=supports,
        load_vector=share,
        normal_force=mass * 10.0,
    )
    # drives at their bounds (all, or some of them), or at nothing
    sign = rng.choice([-1.0, 1.0, 1.0, 0.0], n)
    drives = sign * chain.stick_bound
    x = np.linalg.solve(chain.stiffness_matrix(), chain.load_weights * chain.load.at(0.0) - drives)
    moving = np.where(rng.random(n) < 0.2, rng.uniform(-1.0, 1.0, n), 0.0)
    spec = {
        "mass": mass,
        "stiffness": stiffness,
        "damping": damping,
        "law": law,
        "load": load,
        "supports": supports,
        "load_vector": share,
        "normal_force": mass * 10.0,
        "x0": x,
        "v0": moving if rng.random() < 0.3 else 0.0,
    }
    return st.Chain(**spec), float(10.0 ** rng.uniform(-1, 1))


def together(rng):
    """Return a symmetric chain pulled at both ends: its halves do the same at the same instants."""
    n = int(rng.integers(2, 6))
    half = 10.0 ** rng.uniform(-1, 1, (n + 1) // 2)
    mass = np.concatenate([half, half[: n // 2][::-1]])
    ends = 10.0 ** rng.uniform(0, 2, (n + 2) // 2)
    stiffness = np.concatenate([ends, ends[: (n + 1) // 2][::-1]])
    share = np.zeros(n)
    share[0] = share[-1] = 1.0
    mu = float(rng.choice([0.0, 0.1, 0.4]))
    law = st.Coulomb(mu) if rng.random() < 0.5 else st.StaticKinetic(mu, 0.5 * mu)
    load = st.chains.Sine(rng.uniform(1.0, 30.0), rng.uniform(0.3, 5.0))
    chain = st.Chain(
        mass=mass, stiffness=stiffness, law=law, load=load, supports="both", load_vector=share
    )
    return chain, float(rng.uniform(1.0, 10.0))


FAMILIES = ("ramp", "tangent", "bound", "tied", "together")


def judged(seed):
    """Return what is wrong with one random case: "" if nothing, and what it was."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[int(rng.integers(len(FAMILIES)))]
    exponent = None if rng.random() < 0.4 else rng.uniform(-17.0, -2.0)
    expected, e = None, 0.0
    if family == "ramp":
        chain, t_end, expected = ramp_touches(rng)
    elif family == "tangent":
        chain, t_end, e = tangent(rng, exponent)
    elif family == "bound":
        chain, t_end, e = touched_bound(rng, exponent)
    else:
        chain, t_end = (tied if family == "tied" else together)(rng)
    chain, t_end = scaled(chain, t_end, rng)
    save = int(rng.choice([2, 11, 201]))
    run = st.solve(chain, st.EventDriven(), (0.0, t_end), save=save, throw=False)
    return family, chain, t_end, run, wrong(family, chain, run, expected, e)


def wrong(family, chain, run, expected, e):
    """Return in words what is wrong with a run."""
    if not run.status.ok:
        return f"{run.status.name}: {run.reason}"
    reported = {loss.kind for loss in run.determinism.losses}
    verdict = Judge(chain).verdict(run)
    if verdict.error > 1e-9:
        return f"{verdict.error:.1e}: {verdict.where}"
    if verdict.shortest < 1e-6 and not (family == "tangent" and e > 3e-14):
        return f"a stay in stick of {verdict.shortest:.1e}"
    moved = [kind for kind in run.event_log.kind if kind != "stop"]
    if expected is not None and moved != ["slip"] * expected:
        return f"{len(moved)} events, not {expected}"
    if family == "tangent":
        jump = chain.law.has_jump
        if jump and abs(e) < 1e-15 and reported != {"grazing_slip"}:
            return "a touch was not reported"
        if reported and (not jump or abs(e) > 1e-10):
            return "a loss where there is none"
        if abs(e) > 1e-10 and ("stick" in moved) != (e > 0.0):
            return "stick" if e < 0.0 else "no stick"
    if not run.audit.ok:
        return "audit"
    return ""

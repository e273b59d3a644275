"""Every branch of random chains of one to three masses, against Newton's method from many starts.

For each pattern of stick and slip the equations are solved from thousands of starts, spread over
twelve decades of speed. It shares no code with the package. Whatever balances and is not among the
branches is reported, and so is a branch that does not balance.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
from tally import Tally

from stiction import Chain, ExponentialWeakening
from stiction.chains.branching import branches

STARTS = 1500


def problem(rng: np.random.Generator) -> dict[str, object]:
    """Return a random chain, a load and a place; dampers, friction and units vary widely."""
    n = int(rng.integers(1, 4))
    mu_static = rng.uniform(0.2, 0.5, n)
    kind = rng.integers(5)
    share = rng.uniform(0.1, 0.9, n) if kind else np.where(rng.random(n) < 0.5, 1.0, 0.3)
    length, force = 10.0 ** rng.uniform(-3, 3, 2)
    scale = length * 10.0 ** (rng.uniform(-4, 2) if kind == 1 else rng.uniform(-1.7, -0.5, n))
    damping = 10.0 ** rng.uniform(-2.0, 0.3, n)
    if kind == 2 and n > 1:
        damping[rng.integers(n)] = 0.0
    normal = rng.uniform(0.5, 2.0, n)
    if kind == 3 and n > 1:
        normal[rng.integers(n)] = 0.0
    return {
        "mass": np.ones(n),
        "stiffness": force / length,
        "damping": damping * force / length,
        "normal_force": normal * force,
        "law": ExponentialWeakening(mu_static, mu_static * share, scale),
        "force": float(rng.uniform(-1.0, 1.0)) * force,
        "x": rng.uniform(-0.4, 0.4, n) * length,
    }


def by_many_starts(chain: Chain, drive: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the velocities that Newton's method finds and that solve the inclusion."""
    n, law = chain.n_mass, chain.law
    static, kinetic, scale = (
        np.broadcast_to(value, n) for value in (law.mu_static, law.mu_kinetic, law.v_scale)
    )
    c, normal, bound = chain.damping_matrix(), chain.normal_forces, static * chain.normal_forces
    size = np.abs(drive).max() + bound.max()
    found: list[np.ndarray] = []
    for signs in itertools.product((-1.0, 0.0, 1.0), repeat=n):
        sign = np.array(signs)
        a = np.flatnonzero(sign)
        if a.size == 0:
            if (np.abs(drive) <= bound * (1 + 1e-12)).all():
                found.append(np.zeros(n))
            continue
        part = c[np.ix_(a, a)] * np.outer(sign[a], sign[a])
        drop, low = (normal * (static - kinetic))[a], (normal * kinetic)[a]
        s = scale[a] * 10.0 ** rng.uniform(-6.0, 6.0, (STARTS, a.size))
        half = STARTS // 2
        s[:half] = scale[a] * 10.0 ** rng.uniform(-2.0, 2.0, (half, a.size))
        with np.errstate(all="ignore"):
            for _ in range(80):
                fading = drop * np.exp(-s / scale[a])
                f = s @ part.T + low + fading - sign[a] * drive[a]
                h = part - np.eye(a.size) * (fading / scale[a])[:, None, :]
                try:
                    step = np.linalg.solve(h, f[:, :, None])[:, :, 0]
                except np.linalg.LinAlgError:
                    h = h + np.eye(a.size) * 1e-9 * np.abs(h).max()
                    step = np.linalg.solve(h, f[:, :, None])[:, :, 0]
                # never farther than to a tenth of a speed
                s = np.where(s - step > 0.1 * s, s - step, 0.1 * s)
            f = s @ part.T + low + drop * np.exp(-s / scale[a]) - sign[a] * drive[a]
        good = (np.abs(f).max(axis=1) < 1e-12 * size) & (s > 1e-9 * scale[a]).all(axis=1)
        for root in s[good]:
            v = np.zeros(n)
            v[a] = sign[a] * root
            rest = np.abs(drive - c @ v)
            if (rest <= bound + 1e-12 * size)[sign == 0].all():
                near = [np.abs(v - w) <= 1e-6 * (np.abs(v) + np.abs(w)) for w in found]
                if not any(one.all() for one in near):
                    found.append(v)
    return found


def imbalance(chain: Chain, drive: np.ndarray, v: np.ndarray) -> float:
    """Return by how much a branch does not balance, over the size of its forces."""
    law, bound, damped = chain.law, chain.stick_bound, chain.damping_matrix() @ v
    mu = law.mu_kinetic + (law.mu_static - law.mu_kinetic) * np.exp(-np.abs(v) / law.v_scale)
    rest = drive - damped
    slip = np.abs(rest - mu * chain.normal_forces * np.sign(v))
    off = np.where(v != 0, slip, np.maximum(np.abs(rest) - bound, 0.0))
    return float(off.max() / (np.abs(drive).max() + bound.max() + np.abs(damped).max()))


def campaign(problems: int = 300, seed: int = 1) -> tuple[str, int]:
    """Count branches that are missed or do not balance."""
    rng, tally = np.random.default_rng(seed), Tally()
    for q in range(problems):
        made = problem(rng)
        force, x = made.pop("force"), made.pop("x")
        chain = Chain(**made)
        begin = time.perf_counter()
        found = branches(chain, force, x)
        tally.most("seconds", time.perf_counter() - begin)
        mine = [branch.velocity for branch in found.branches]
        tally.add("branches", len(mine))
        drive = force * chain.load_weights - chain.stiffness_matrix() @ x
        for v in mine:
            off = imbalance(chain, drive, v)
            tally.must(off <= 1e-11, "does not balance", q, v, off)
        for v in by_many_starts(chain, drive, rng):
            near = [np.abs(v - w) <= 1e-5 * (np.abs(v) + np.abs(w)) for w in mine]
            known = any(one.all() for one in near)
            tally.must(known, "missed", q, v, f"certified {found.certified}", mine)
        if not found.certified:
            tally.add("not certified")
            print(q, "not certified", chain.damping, chain.normal_force, chain.law, drive)
    return tally.result()

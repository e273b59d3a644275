"""Three schemes for stick and slip on one small system: order, energy, events, cost.

::

    python benchmarks/slip_schemes.py

Two masses on springs; friction holds the first back by at most mu N, N swinging with the second.
`halves` is the scheme of the rods: forces of the law at the start of a step, impulses that bring
what sticks to rest at its end, steps cut where the contact changes. `alpha` is the nonsmooth
generalised-alpha method (Chen, Acary, Virlez and Bruels 2013), `jean` that of Moreau and Jean with
theta = 1/2, a projection of the velocities at the end of a step. The reference is `halves` at a
step 64 times smaller than the smallest. The contact of rods adds only that u has two components.
"""

from __future__ import annotations

import numpy as np

K, KC, KZ, MU, N0, KN = 40.0, 25.0, 60.0, 0.8, 6.0, 12.0
START, END = np.array([0.0, 0.35, 1.0, 0.0]), 3.0
calls = 0


def force(q):
    """Return the forces of the springs."""
    global calls
    calls += 1
    x, z = q
    return np.array([-K * x + KC * (z - x), -KC * (z - x) - KZ * z])


def bound(q):
    """Return mu N."""
    return MU * max(N0 + KN * q[1], 0.0)


def energy(q, v):
    """Return the energy of masses and springs."""
    return 0.5 * (v @ v + K * q[0] ** 2 + KC * (q[1] - q[0]) ** 2 + KZ * q[1] ** 2)


def law(q, v, f, slips):
    """Return the friction force of a state, its mode, and how far stick is beyond the bound."""
    b = bound(q)
    if slips and v[0] != 0.0:
        return -b * np.sign(v[0]), True, 0.0
    beyond = abs(f[0]) - b
    return (-f[0], False, beyond) if beyond <= 0.0 else (-b * np.sign(f[0]), True, beyond)


def one(state, h):
    """Take a step of two halves; return the new state, and what reports where a change was."""
    q, v, f, t, slips, beyond, heat = state
    middle = v + 0.5 * h * (f + np.array([t, 0.0]))
    heat = heat - 0.25 * h * t * (v[0] + middle[0]) * slips
    q = q + h * middle
    f = force(q)
    end = middle + 0.5 * h * f
    b, reported = 0.5 * h * bound(q), 0.0
    if not slips:
        p = -end[0]
    else:
        # against the slip; what would turn it round brings it to rest
        sign = np.sign(v[0]) if v[0] != 0.0 else -np.sign(t)
        p = -b * sign
        if (end[0] + p) * sign <= 0.0:
            reported, p = abs(end[0] + p), -end[0]
    now = np.array([end[0] + p, end[1]])
    heat = heat - 0.5 * p * (middle[0] + now[0]) * slips
    t, new, beyond = law(q, now, f, slips and reported == 0.0)
    return (q, now, f, t, new, beyond, heat), reported


def halves(h):
    """Return (state, heat, events) by the scheme of the rods."""
    q, v = START[:2], START[2:]
    f = force(q)
    t, slips, beyond = law(q, v, f, True)
    state, now, events = (q, v, f, t, slips, beyond, 0.0), 0.0, []
    for n in range(round(END / h)):
        left = h
        for _ in range(8):
            new, reported = one(state, left)
            if new[4] == state[4] and reported == 0.0:
                state = new
                break
            # where the slip ends, or stick is no longer enough
            low, high = (-abs(state[1][0]), reported) if state[4] else (state[5], new[5])
            part = -low / (high - low) if high > low and low < 0.0 else 1.0
            for _k in range(6):
                length = min(part + 0.002, 1.0) * left
                cut, rest = one(state, length)
                if cut[4] != state[4] or rest > 0.0:
                    break
                part = min(part + 0.02, 1.0)
            if cut[4] != state[4]:
                events.append((n + 1) * h - left + part * left)
            state, left = cut, left - length
            if left <= 1e-9 * h:
                break
        now += h
    return np.concatenate(state[:2]), state[6], events


def implicit(h, alpha):
    """Return (state, heat, events) by generalised-alpha, or by Moreau and Jean's method."""
    rho = 0.8
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    q, v = START[:2], START[2:]
    a = smooth = force(q)
    heat, events, slips = 0.0, [], True
    for n in range(round(END / h)):
        next_q, next_a, w = q + h * v, a, np.zeros(2)
        for _ in range(60):
            before = next_q
            if alpha:
                new = force(next_q)
                next_a = ((1 - af) * new + af * smooth - am * a) / (1 - am)
                free = v + h * ((1 - gamma) * a + gamma * next_a)
            else:
                new = force(0.5 * (q + next_q))
                free = v + h * new
            b = h * bound(next_q if alpha else 0.5 * (q + next_q))
            w = np.array([np.clip(-free[0], -b, b), 0.0])
            next_v = free + w
            if alpha:
                next_q = q + h * v + h * h * ((0.5 - beta) * a + beta * next_a) + 0.5 * h * w
            else:
                next_q = q + 0.5 * h * (v + next_v)
            if np.abs(next_q - before).max() < 1e-14:
                break
        heat -= 0.5 * w[0] * (v[0] + next_v[0])
        now = bool(abs(next_v[0]) > 1e-12)
        if now != slips:
            events.append((n + 1) * h)
        q, v, a, smooth, slips = next_q, next_v, next_a, new, now
    return np.concatenate([q, v]), heat, events


def main() -> None:
    """Print a table."""
    global calls
    exact, hot, when = halves(END / 600 / 8 / 64)
    print(f"{len(when)} events, heat {hot:.9f} of {energy(START[:2], START[2:]):.6f} J")
    print("scheme    step      state     heat      times     ledger    events  forces per step")
    for name, run in (
        ("halves", halves),
        ("alpha", lambda h: implicit(h, True)),
        ("jean", lambda h: implicit(h, False)),
    ):
        for k in range(4):
            h, calls = END / 600 / 2**k, 0
            x, heat, events = run(h)
            same = len(events) == len(when)
            times = np.abs(np.array(events) - when).max() if same else np.nan
            open_ = energy(x[:2], x[2:]) + heat - energy(START[:2], START[2:])
            print(
                f"{name:8s} {h:8.1e} {np.abs(x - exact).max():9.1e} {abs(heat - hot):9.1e} "
                f"{times:9.1e} {abs(open_):9.1e} {len(events):6d} {calls * h / END:8.2f}"
            )


if __name__ == "__main__":
    main()

"""Derivatives of chains and flows against runs of 40 digits with located events.

Chains under a sine and relays are linear in each mode: z' = M z, where z is the state with a
constant and the two waves of the load. Taylor series carry z, Newton's method locates the
events, and differences of runs over 1e-12 give 20 digits of each derivative.
"""

from decimal import Decimal as D
from decimal import localcontext

import numpy as np
import pytest

import stiction as st

DIGITS, STEP = 45, D("1e-12")


def zeros(*shape):
    """Return an array of Decimals."""
    return np.full(shape, D(0), dtype=object)


def carried(matrix, t, z):
    """Return e^(M t) z by Taylor series over parts of the time."""
    largest = max(sum(abs(x) for x in row) for row in matrix) * abs(t)
    parts = int(largest) + 1
    small = t / parts
    for _ in range(parts):
        term, k = z, 0
        while np.max(np.abs(term)) > D("1e-44"):
            k += 1
            term = (matrix @ term) * (small / k)
            z = z + term
    return z


def sign_of(x):
    """Return -1, 0 or 1."""
    return int(x > 0) - int(x < 0)


def located(matrix, z, rows, left, pieces=24):
    """Return time and index of the first row of `rows` whose product with z changes its sign.

    The step ends at `left`, where there is none.
    """
    small = left / pieces
    step = carried(matrix, small, np.array(np.eye(len(z), dtype=int) * D(1), dtype=object))
    now, at = z, D(0)
    for _ in range(pieces):
        after = step @ now
        crossed = []
        for k, row in enumerate(rows):
            old, new = row @ now, row @ after
            # zero to rounding: the event at which it begins
            if abs(old) > D("1e-25") and old * new < 0:
                t = small * old / (old - new)
                for _ in range(9):
                    there = carried(matrix, t, now)
                    t -= (row @ there) / (row @ matrix @ there)
                crossed.append((t, k))
        if crossed:
            t, k = min(crossed)
            return at + t, k
        now, at = after, at + small
    return left, -1


def row_of(n, entries):
    """Return a row with some entries."""
    row = zeros(n)
    for j, value in entries.items():
        row[j] += value
    return row


# ---- chains


def chain_run(p, end):
    """Return the end, the event times and the order of events of a chain.

    p : masses, springs from the left wall, damping of each, mu, load (amplitude, frequency), x, v
    """
    mass, k, c, mu, (amplitude, omega), x0, v0 = p
    n = len(mass)
    wide = 2 * n + 3
    # states: positions, velocities, a one, cosine and sine of the load
    free = zeros(wide, wide)
    force = []
    for i in range(n):
        free[i, n + i] = 1
        r = {2 * n + 2: amplitude if i == n - 1 else D(0)}
        for link, other, sign in ((i, i - 1, 1), (i + 1, i + 1, 1)):
            if link >= n:
                continue
            for shift, value in ((0, k[link]), (n, c[link])):
                r[shift + i] = r.get(shift + i, 0) - sign * value
                if other >= 0:
                    r[shift + other] = r.get(shift + other, 0) + sign * value
        force.append(row_of(wide, r))
    free[2 * n + 1, 2 * n + 2], free[2 * n + 2, 2 * n + 1] = -omega, omega
    bound = [mu * 10 * one for one in mass]
    z = np.array([*x0, *v0, D(1), D(1), D(0)], dtype=object)
    modes = [sign_of(v) for v in v0]
    t, times, order = D(0), [], []
    while True:
        matrix, rows = free.copy(), []
        for i in range(n):
            if modes[i] == 0:
                rows += [(i, 1, force[i] - row_of(wide, {2 * n: bound[i]}))]
                rows += [(i, -1, force[i] + row_of(wide, {2 * n: bound[i]}))]
                matrix[i, n + i] = 0
                continue
            for j in range(wide):
                matrix[n + i, j] = force[i][j] / mass[i]
            matrix[n + i, 2 * n] -= modes[i] * bound[i] / mass[i]
            rows.append((i, 0, row_of(wide, {n + i: 1})))
        dt, which = located(matrix, z, [row for _, _, row in rows], end - t)
        z, t = carried(matrix, dt, z), t + dt
        if which < 0:
            return [z[j] for j in range(2 * n)], times, order
        i, sign, _ = rows[which]
        pull = force[i] @ z
        if modes[i] != 0:
            z[n + i] = D(0)
            sign = 0 if abs(pull) < bound[i] else sign_of(pull)
        modes[i] = sign
        times.append(t)
        order.append((i, sign))


def chain_case(seed):
    """Return a chain, its numbers and its directions."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 3
    mass, k = rng.uniform(0.5, 2.0, n), rng.uniform(4.0, 12.0, n)
    c, mu = rng.uniform(0.0, 0.3, n), rng.uniform(0.03, 0.15)
    load = rng.uniform(3.0, 8.0), rng.uniform(0.7, 1.6)
    x0, v0 = rng.uniform(-0.5, 0.5, n), rng.choice([-1, 1], n) * rng.uniform(0.3, 1.0, n)
    chain = st.Chain(
        mass=mass,
        stiffness=k,
        damping=c,
        gravity=10.0,
        law=st.Coulomb(mu),
        load=st.chains.Sine(load[0], load[1], 0.0),
        load_vector=[0.0] * (n - 1) + [1.0],
        x0=x0,
        v0=v0,
    )
    exact = [[D(float(y)) for y in group] for group in (mass, k, c, [mu], load, x0, v0)]
    return chain, exact


CHAIN = {"law.mu": (3, 0), "mass[0]": (0, 0), "stiffness[0]": (1, 0), "load.amplitude": (4, 0)}
CHAIN |= {"load.angular_frequency": (4, 1), "x0[0]": (5, 0), "v0[0]": (6, 0)}


# a part of 1/24 of the time left has at most one event of each function
@pytest.mark.parametrize("seed", [0, 3, 4, 5, 6, 7, 9, 10, 11])
def test_chains(seed):
    with localcontext() as context:
        context.prec = DIGITS
        chain, numbers = chain_case(seed)

        def run(p):
            return chain_run([*p[:3], p[3][0], p[4], *p[5:]], D(6))

        assert compared(chain, st.chains.EventDriven(), 6.0, numbers, CHAIN, run) < 1e-10


# ---- relays


def relay_run(p, end):
    """Return the end, event times and order of x' = A x - b sgn(h), h = c x - d, with sliding."""
    (a, b, c, (d,), x0), n = p, len(p[1])
    wide = n + 1
    z = np.array([*x0, D(1)], dtype=object)
    h = row_of(wide, {**dict(enumerate(c)), n: -d})
    sides = {}
    for s in (1, -1):
        sides[s] = zeros(wide, wide)
        for i in range(n):
            for j in range(n):
                sides[s][i, j] = a[n * i + j]
            sides[s][i, n] = -s * b[i]
    lie = {s: h @ sides[s] for s in (1, -1)}
    gap = 2 * sum(x * y for x, y in zip(b, c, strict=True))
    slide = zeros(wide, wide)
    # b c' lies in the gap of the Lie derivatives: x' = A x - b (c A x) / (c b)
    for i in range(n):
        for j in range(wide):
            mean = (lie[1][j] + lie[-1][j]) / gap
            slide[i, j] = (sides[1][i, j] + sides[-1][i, j]) / 2 - b[i] * mean
    mode, t, times, order = sign_of(h @ z), D(0), [], []
    while True:
        matrix = sides[mode] if mode else slide
        rows = [h] if mode else [lie[1], lie[-1]]
        dt, which = located(matrix, z, rows, end - t)
        z, t = carried(matrix, dt, z), t + dt
        if which < 0:
            return [z[j] for j in range(n)], times, order
        if mode:
            other = lie[-mode] @ z
            mode = 0 if other * mode > 0 else -mode
        else:
            mode = 1 if which == 0 else -1
        times.append(t)
        order.append(mode)


def relay_case(seed):
    """Return a relay, its numbers and its directions."""
    rng = np.random.default_rng(100 + seed)
    n = 2 + seed % 2
    a = (rng.normal(size=(n, n)) - 0.4 * np.eye(n)).ravel()
    b, c, d = rng.normal(size=n), rng.normal(size=n), 0.3 * rng.normal(size=1)
    if b @ c < 0.0:
        b = -b
    x0 = rng.normal(size=n)
    size = n * n

    def side(s):
        if n == 2:
            return lambda x, p: [
                p[0] * x[0] + p[1] * x[1] - s * p[4],
                p[2] * x[0] + p[3] * x[1] - s * p[5],
            ]
        return lambda x, p: [
            p[0] * x[0] + p[1] * x[1] + p[2] * x[2] - s * p[9],
            p[3] * x[0] + p[4] * x[1] + p[5] * x[2] - s * p[10],
            p[6] * x[0] + p[7] * x[1] + p[8] * x[2] - s * p[11],
        ]

    plane = {
        2: lambda x, p: p[6] * x[0] + p[7] * x[1] - p[8],
        3: lambda x, p: p[12] * x[0] + p[13] * x[1] + p[14] * x[2] - p[15],
    }[n]
    flow = st.PiecewiseSmooth(
        h=plane,
        f_plus=side(1.0),
        f_minus=side(-1.0),
        x0=x0,
        parameters=np.concatenate([a, b, c, d]),
    )
    names = {"x0[0]": (4, 0), "p[1]": (0, 1), f"p[{size}]": (1, 0), f"p[{size + n}]": (2, 0)}
    names |= {f"p[{size + 2 * n}]": (3, 0)}
    exact = [[D(float(y)) for y in group] for group in (a, b, c, d, x0)]
    return flow, exact, names


@pytest.mark.parametrize("seed", [0, *range(2, 10)])
def test_relays(seed):
    with localcontext() as context:
        context.prec = DIGITS
        flow, numbers, names = relay_case(seed)
        method = st.switching.EventDriven(rtol=1e-13)
        off = compared(flow, method, 3.0, numbers, names, lambda p: relay_run(p, D(3)))
        assert off < 1e-10


def compared(system, method, end, numbers, names, run):
    """Return the relative difference of derivatives from those of long arithmetic."""
    found = system.tangents(method, (0.0, end), list(names))
    assert found.failures == ()
    value, times, order = run(numbers)
    np.testing.assert_allclose(found.final, np.array(value, dtype=float), atol=1e-10)
    assert len(found.events) == len(times)
    step = STEP
    expected, moments = [], []
    for group, place in names.values():
        ends = []
        for sign in (1, -1):
            moved = [list(part) for part in numbers]
            moved[group][place] += sign * step
            ends.append(run(moved))
            assert ends[-1][2] == order
        for k, out in ((0, expected), (1, moments)):
            pairs = zip(ends[0][k], ends[1][k], strict=True)
            out.append([float((a - b) / (2 * step)) for a, b in pairs])
    by = np.array(expected).T
    off = np.abs(found.final_by - by).max() / np.abs(by).max()
    if times:
        given, by = np.array([e.time_by for e in found.events]), np.array(moments).T
        off = max(off, np.abs(given - by).max() / max(np.abs(by).max(), 1.0))
    return off

"""Second methods that share no code with the package: slow, dense, plain.

`dense_events` integrates a chain with SciPy's DOP853 between events that SciPy locates,
from matrices written out here. Its friction, modes and loads are its own.
"""

import numpy as np
from scipy.integrate import solve_ivp


def matrices(n, springs, left, right):
    """Return the dense stiffness (or damping) matrix of links with walls."""
    ends = [springs[0]] if left else [0.0]
    inner = list(springs[left : left + n - 1])
    ends_right = [springs[-1]] if right else [0.0]
    links = np.array(ends + inner + ends_right)
    k = np.zeros((n, n))
    for i in range(n):
        k[i, i] = links[i] + links[i + 1]
        if i + 1 < n:
            k[i, i + 1] = k[i + 1, i] = -links[i + 1]
    return k


def dense_events(
    m,
    k_matrix,
    c_matrix,
    force,
    normal,
    mu_s,
    mu,
    x0,
    v0,
    t_end,
    belt=0.0,
    max_step=0.02,
    most=400,
):
    """Return (t, x, v at t_end, events) of M v' + C v + K x + N mu Sgn(v - belt) = force(t).

    events: list of (time, mass from 1, kind, new mode). `force` maps t to (n,).
    """
    m, normal, mu_s = (np.asarray(a, float) for a in (m, normal, mu_s))
    n = m.size
    t, x, v = 0.0, np.array(x0, float), np.array(v0, float)
    bound = mu_s * normal

    def drive(time, x, v):
        return force(time) - k_matrix @ x - c_matrix @ v

    def settle(i, r):
        return 0 if abs(r) <= bound[i] * (1 + 1e-13) else int(np.sign(r))

    mode = np.zeros(n, int)
    r = drive(t, x, v)
    events = []
    for i in range(n):
        w = v[i] - belt
        if w != 0:
            mode[i] = int(np.sign(w))
        else:
            mode[i] = settle(i, r[i])
            if mode[i]:
                events.append((0.0, i + 1, "slip", mode[i]))
    for _ in range(most):

        def rhs(time, y, mode=mode):
            x, v = y[:n], y[n:]
            r = drive(time, x, v)
            a = (r - mode * normal * mu(np.abs(v - belt))) / m
            return np.concatenate([np.where(mode == 0, belt, v), np.where(mode == 0, 0.0, a)])

        checks = []
        for i in range(n):
            if mode[i]:
                checks.append(lambda time, y, i=i, sign=mode[i]: sign * (y[n + i] - belt))
            else:
                checks.append(lambda time, y, i=i: bound[i] - abs(drive(time, y[:n], y[n:])[i]))
            checks[-1].terminal, checks[-1].direction = True, -1
        out = solve_ivp(
            rhs,
            (t, t_end),
            np.concatenate([x, v]),
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            events=checks,
            max_step=max_step,
        )
        t, y = out.t[-1], out.y[:, -1]
        x, v = y[:n].copy(), y[n:].copy()
        if out.status == 0:
            return t, x, v, events
        hit = [i for i in range(n) if out.t_events[i].size and out.t_events[i][-1] >= t - 1e-12]
        for i in hit:
            if mode[i]:
                v[i] = belt
        r = drive(t, x, v)
        new = mode.copy()
        for i in hit:
            new[i] = settle(i, r[i]) if mode[i] else int(np.sign(r[i]))
            if new[i] != mode[i]:
                kind = "slip" if mode[i] == 0 else ("stick" if new[i] == 0 else "reverse")
                events.append((t, i + 1, kind, int(new[i])))
        mode = new
    raise RuntimeError("too many events")

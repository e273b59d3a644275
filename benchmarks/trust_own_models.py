"""A disc brake from plain functions beside SciPy with hand-written events, at the same error.

Five states, Stribeck friction in a helper function, 64 events in 200 units of time. The error is
the largest difference of the events' times from a run at rtol 1e-14; SciPy and ours take turns, and
the shortest processor time of each counts. Then 1,000 sets of parameters, and how often Numba was
called.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from scipy.integrate import solve_ivp
from tally import Tally

import stiction as st

VALUES = {"k_x": 1.0, "c_x": 0.02, "k_y": 2.0, "c_y": 0.02, "k_c": 0.9, "load": 1.2}
VALUES |= {"mu_s": 0.5, "mu_k": 0.25, "v_s": 0.3, "speed": 0.4}
START, END = [0.0, 0.4, 0.0, 0.0, 0.4], 200.0
GRADIENT = np.array([0.0, -1.0, 0.0, 0.0, 1.0])


def weakening(v, p):
    return p.mu_k + (p.mu_s - p.mu_k) * np.exp(-((v / p.v_s) ** 2))


def on(side):
    def field(x, p):
        pull = side * weakening(x[4] - x[1], p) * (p.load + p.k_c * x[2])
        pad = -p.k_x * x[0] - p.c_x * x[1] + pull
        normal = -p.k_y * x[2] - p.c_y * x[3] - 0.8 * p.k_c * x[0]
        return [x[1], pad, x[3], normal, 0.5 * (p.speed - x[4]) - 0.05 * pull]

    return field


def brake(**changed):
    return st.PiecewiseSmooth(
        h=lambda x: x[4] - x[1],
        f_plus=on(1.0),
        f_minus=on(-1.0),
        x0=START,
        mode="slide",
        parameters={**VALUES, **changed},
    )


def by_hand(p, rtol, atol):
    """Return the times of the events by SciPy's DOP853, as a user would write it."""
    up, down = on(1.0), on(-1.0)

    def slopes(x):
        return GRADIENT @ np.array(up(x, p)), GRADIENT @ np.array(down(x, p))

    def slide(_t, x):
        a, b = np.array(up(x, p)), np.array(down(x, p))
        la, lb = GRADIENT @ a, GRADIENT @ b
        return (lb * a - la * b) / (lb - la)

    def event(function, direction):
        function.terminal, function.direction = True, direction
        return function

    leave = [
        event(lambda _t, x: slopes(x)[0], 1),
        event(lambda _t, x: slopes(x)[1], -1),
    ]
    t, x, mode, found = 0.0, np.array(START), 0, []
    while t < END:
        field = slide if mode == 0 else lambda _t, y, f=(up if mode > 0 else down): f(y, p)
        land = [event(lambda _t, y: y[4] - y[1], -mode)]
        ways = leave if mode == 0 else land
        z = solve_ivp(field, (t, END), x, "DOP853", rtol=rtol, atol=atol, events=ways)
        x, t = z.y[:, -1], float(z.t[-1])
        if z.status != 1:
            break
        found.append(t)
        a, b = slopes(x)
        mode = (1 if len(z.t_events[0]) else -1) if mode == 0 else (0 if a < 0.0 < b else mode)
    return np.array(found)


def campaign(sets: int = 1000) -> tuple[str, int]:
    """Print times and errors; solve `sets` sets of parameters, which must compile nothing."""
    tally, system = Tally(), brake()
    p = system.functions._given_p
    span = (0.0, END)

    def ours(rtol):
        run = st.solve(system, st.EventDriven(rtol=rtol), t_span=span, save=2)
        return run.events["time"].to_numpy()

    exact = ours(1e-14)
    best = {}
    cases = {"SciPy 1e-10": lambda: by_hand(p, 1e-10, 1e-12), "ours 1e-10": lambda: ours(1e-10)}
    cases["ours 5e-11"] = lambda: ours(5e-11)
    for _ in range(12):
        for name, run in cases.items():
            for _ in range(1 if name.startswith("SciPy") else 5):
                begin = time.thread_time()
                found = run()
                spent = time.thread_time() - begin
                error = float(np.max(np.abs(found - exact)))
                best[name] = (min(spent, best.get(name, (np.inf,))[0]), error)
    for name, (spent, error) in best.items():
        ratio = best["SciPy 1e-10"][0] / spent
        print(f"{name}: {1e3 * spent:.2f} ms, error {error:.1e}, {ratio:.1f} times SciPy")
        tally.most(f"error of {name}", error)

    calls, real = [], numba.cfunc
    numba.cfunc = lambda *a, **k: (calls.append(a), real(*a, **k))[1]
    begin = time.thread_time()
    for mu_k in np.linspace(0.2, 0.3, sets):
        st.solve(system.with_parameters(mu_k=mu_k), t_span=(0.0, 20.0), save=2)
    print(f"{sets} sets: {time.thread_time() - begin:.2f} s of CPU time")
    tally.must(not calls, "compiled again", len(calls))
    return tally.result()

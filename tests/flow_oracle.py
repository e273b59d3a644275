"""A slow event solver for flows with one plane surface: SciPy, restarted at every event.

It shares no code with the package. Sliding follows Filippov's convex combination.
"""

import numpy as np
from scipy.integrate import solve_ivp

TIGHT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}


def follow(plus, minus, normal, x, t_end, most=60):
    """Return rows (time, from, to) for x' = plus(x) or minus(x), normal.x > 0 or < 0."""
    fields = {1: plus, -1: minus}

    def into(x, side):
        return float(normal @ fields[side](x))

    def sliding(t, x):
        up, down = into(x, 1), into(x, -1)
        return (up * minus(x) - down * plus(x)) / (up - down)

    mode, t, found = int(np.sign(normal @ x)), 0.0, []
    while len(found) < most:
        if mode:
            field = lambda t, x, f=fields[mode]: f(x)  # noqa: E731
            monitor = [lambda t, x: float(normal @ x)]
            monitor[0].direction = -mode
        else:
            field = sliding
            monitor = [lambda t, x: into(x, 1), lambda t, x: into(x, -1)]
        for event in monitor:
            event.terminal = True
        run = solve_ivp(field, (t, t_end), x, events=monitor, max_step=0.05, **TIGHT)
        if run.status == 0:
            return found
        t, x = float(run.t[-1]), run.y[:, -1]
        x = x - normal * (normal @ x) / (normal @ normal)
        if mode:
            after = -mode if into(x, -mode) * -mode > 0.0 else 0
        else:
            after = 1 if run.t_events[0].size else -1
        found.append((t, mode, after))
        mode = after
    return found

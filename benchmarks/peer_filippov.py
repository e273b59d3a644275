"""A block on a belt by other means: SciPy with events, a DISODE45-type code, smoothed friction.

The block starts stuck at x = 0. What is asked for is the state at the end and, where there is
stick at all, every event. The right sides handed to SciPy are plain Python: for two states they
take less time than the call of a compiled one.
"""

import math
import os

import numpy as np
import scipy
from protocol import serve
from scipy.integrate import solve_ivp

MOST_EVENTS = 1000


def with_events(problem, settings):
    """Return a call that stops at every change of mode and starts again."""
    mu0, alpha, vb, t_end = (problem[name] for name in ("mu0", "alpha", "belt_speed", "t_end"))

    def stuck(t, y):
        return (vb, 0.0)

    def forwards(t, y):
        return (y[1], -y[0] - mu0 + alpha * (y[1] - vb))

    def backwards(t, y):
        return (y[1], -y[0] + mu0 + alpha * (y[1] - vb))

    def room(t, y):
        return mu0 - abs(y[0])

    def slip(t, y):
        return y[1] - vb

    def falling(t, y):
        return y[1] - vb

    for monitored, direction in ((room, -1), (slip, 1), (falling, -1)):
        monitored.terminal, monitored.direction = True, direction
    fields = {0: (stuck, room), -1: (backwards, slip), 1: (forwards, falling)}

    def call():
        t, y, mode = 0.0, (0.0, vb), 0
        events, restarts, calls = [], 0, 0
        while True:
            field, monitored = fields[mode]
            run = solve_ivp(
                field,
                (t, t_end),
                y,
                method=settings["method"],
                events=monitored,
                rtol=settings["rtol"],
                atol=settings["atol"],
            )
            calls += run.nfev
            restarts += 1
            if run.status != 1:
                break
            t, x = float(run.t_events[0][0]), float(run.y_events[0][0][0])
            y = (x, vb)
            kind = "leave" if mode == 0 else "slide"
            mode = (-1 if x > 0.0 else 1) if mode == 0 else 0
            if mode == 0 and abs(x) > mu0:
                raise RuntimeError("the block meets the belt where it cannot stick")
            events.append((t, 1, kind, mode))
            if len(events) > MOST_EVENTS:
                raise RuntimeError("too many events")
        counts = {"restarts": restarts, "right_sides": calls}
        return {"x": [run.y[0, -1]], "v": [run.y[1, -1]], "events": events, "counts": counts}

    return call


def filippov(problem, settings):
    """Return a call of the DISODE45-type code, compiled or as plain Python."""
    if not settings["compiled"]:
        # read by Numba when it is imported, which nothing has done so far
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    from filippov_steps import integrate

    p = np.array([problem["mu0"], problem["alpha"], problem["belt_speed"]])

    def call():
        x = np.array([0.0, problem["belt_speed"]])
        rows, counts = np.empty((MOST_EVENTS, 2)), np.zeros(2, dtype=np.int64)
        found = integrate(
            x,
            problem["t_end"],
            p,
            settings["rtol"],
            settings["atol"],
            settings["polish"],
            rows,
            counts,
        )
        events = [
            (float(t), 1, "leave" if mode else "slide", int(mode)) for t, mode in rows[:found]
        ]
        work = {"steps": int(counts[0]), "right_sides": int(counts[1])}
        return {"x": [float(x[0])], "v": [float(x[1])], "events": events, "counts": work}

    return call


def smoothed(problem, settings):
    """Return a call that integrates friction tanh(slip / width) with LSODA: no stick, no events.

    The second state is the slip u = x' - vb: with x' itself LSODA gives up at small widths.
    """
    mu0, alpha, vb, t_end = (problem[name] for name in ("mu0", "alpha", "belt_speed", "t_end"))
    # it imports Numba, which the code above must not find imported
    from peer_scipy import integrated

    width = settings["width"]

    def right_side(t, y):
        x, u = y
        return (vb + u, -x - (mu0 - alpha * abs(u)) * math.tanh(u / width))

    def jacobian(t, y):
        u = y[1]
        wave = math.tanh(u / width)
        slope = (mu0 - alpha * abs(u)) * (1.0 - wave * wave) / width
        return ((0.0, 1.0), (-1.0, alpha * math.copysign(1.0, u) * wave - slope))

    jacobian = (jacobian, None, None)
    call = integrated(right_side, jacobian, (0.0, 0.0), [t_end], t_end, settings)

    def end():
        states, counts = call()
        return {"x": [states[-1, 0]], "v": [states[-1, 1] + vb], "counts": counts}

    return end


def prepare(problem, settings):
    """Return the call that `settings` ask for."""
    kinds = {"events": with_events, "filippov": filippov, "smoothed": smoothed}
    return kinds[settings["kind"]](problem, settings)


if __name__ == "__main__":
    serve(prepare, {"scipy": scipy.__version__})

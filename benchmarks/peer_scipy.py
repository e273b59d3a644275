"""SciPy as a careful user would employ it: smoothed friction, or events and restarts.

Right sides and Jacobians are compiled with Numba, so that SciPy is not charged for slow
Python in the model. The state is (x_1, v_1, x_2, v_2, ...): the Jacobian is banded, and
LSODA gets this setting. Smoothed friction is tanh(v / width): there is no stick, so no events.
"""

import numba
import numpy as np
import scipy
from protocol import bounds, serve, tridiagonal
from scipy.integrate import odeint, solve_ivp

LOWER, UPPER = 3, 1


@numba.njit(cache=True)
def smooth_right_side(t, y, mass, stiffness, bound, f0, rate, width):
    n = mass.size
    out = np.empty(2 * n)
    for i in range(n):
        x, v = y[2 * i], y[2 * i + 1]
        force = -stiffness[i] * (x - (y[2 * i - 2] if i > 0 else 0.0))
        if i + 1 < n:
            force += stiffness[i + 1] * (y[2 * i + 2] - x)
        else:
            force += f0 + rate * t
        out[2 * i] = v
        out[2 * i + 1] = (force - bound[i] * np.tanh(v / width)) / mass[i]
    return out


@numba.njit(cache=True)
def smooth_jacobian(y, mass, stiffness, bound, width, packed):
    """Return the Jacobian, dense or packed by diagonals as LSODA wants it."""
    n = mass.size
    shift = UPPER if packed else 0
    out = np.zeros((LOWER + UPPER + 1 if packed else 2 * n, 2 * n))
    for i in range(n):
        right = stiffness[i + 1] if i + 1 < n else 0.0
        slope = bound[i] / width / np.cosh(min(abs(y[2 * i + 1]) / width, 300.0)) ** 2
        row = 2 * i + 1
        entries = (
            (2 * i, 2 * i + 1, 1.0),
            (row, 2 * i - 2, stiffness[i] / mass[i]),
            (row, 2 * i, -(stiffness[i] + right) / mass[i]),
            (row, 2 * i + 1, -slope / mass[i]),
            (row, 2 * i + 2, right / mass[i]),
        )
        for r, c, value in entries:
            if 0 <= c < 2 * n:
                out[r - c + shift if packed else r, c] = value
    return out


def smoothed(problem, settings):
    """Return a call that integrates the smoothed problem with LSODA or Radau."""
    mass, stiffness = np.array(problem["mass"]), np.array(problem["stiffness"])
    width, bound = settings["width"], bounds(problem)
    model = (mass, stiffness, bound, problem["f0"], problem["rate"], width)

    def right_side(t, y):
        return smooth_right_side(t, y, *model)

    def dense(t, y):
        return smooth_jacobian(y, mass, stiffness, bound, width, False)

    def packed(t, y):
        return smooth_jacobian(y, mass, stiffness, bound, width, True)

    banded = settings["method"] != "Radau"
    samples, start = problem["samples"], np.zeros(2 * mass.size)
    jacobian = (packed, LOWER, UPPER) if banded else (dense, None, None)
    call = integrated(right_side, jacobian, start, samples, problem["t_end"], settings)

    def states():
        y, counts = call()
        return {"x": y[:, 0::2], "v": y[:, 1::2], "counts": counts}

    return states


def integrated(right_side, jacobian, start, samples, t_end, settings):
    """Return a call of odeint or solve_ivp that returns states at the sample times, and counts.

    Parameters
    ----------
    jacobian : the function, and how many diagonals below and above it has; None where it is dense
    """
    of, low, high = jacobian
    near = {"rtol": settings["rtol"], "atol": settings["atol"]}
    bands = {} if low is None else {"lband": low, "uband": high}

    def by_odeint():
        times, more = np.concatenate([[0.0], samples]), {"ml": low, "mu": high, "tfirst": True}
        states, info = odeint(
            right_side, start, times, Dfun=of, **near, **more, mxstep=10_000_000, full_output=True
        )
        if info["message"] != "Integration successful.":
            raise RuntimeError(info["message"])
        names = {"steps": "nst", "right_sides": "nfe", "jacobians": "nje"}
        return states[1:], {name: int(info[key][-1]) for name, key in names.items()}

    def by_solve_ivp():
        times = samples if samples[-1] == t_end else [*samples, t_end]
        more = {"method": settings["method"], "t_eval": times, "jac": of}
        run = solve_ivp(right_side, (0.0, t_end), start, **near, **more, **bands)
        if not run.success:
            raise RuntimeError(run.message)
        counts = {"right_sides": run.nfev, "jacobians": run.njev, "factorisations": run.nlu}
        return run.y.T[: len(samples)], counts

    return by_odeint if settings["method"] == "odeint" else by_solve_ivp


# ---- set-valued friction with SciPy's own events


@numba.njit(cache=True)
def mode_right_side(t, y, matrix, mass, bound, f0, rate, mode):
    n = mass.size
    out = np.zeros(2 * n)
    for i in range(n):
        if mode[i] != 0:
            force = -mode[i] * bound[i]
            for j in range(max(i - 1, 0), min(i + 2, n)):
                force -= matrix[i, j] * y[j]
            if i == n - 1:
                force += f0 + rate * t
            out[i] = y[n + i]
            out[n + i] = force / mass[i]
    return out


@numba.njit(cache=True)
def drive(t, y, matrix, f0, rate, i):
    n = matrix.shape[0]
    force = f0 + rate * t if i == n - 1 else 0.0
    for j in range(max(i - 1, 0), min(i + 2, n)):
        force -= matrix[i, j] * y[j]
    return force


def with_events(problem, settings):
    """Return a call that stops at every change of mode and starts again."""
    matrix, mass, bound = tridiagonal(problem), np.array(problem["mass"]), bounds(problem)
    f0, rate, t_end = problem["f0"], problem["rate"], problem["t_end"]
    n, samples = mass.size, np.array(problem["samples"])

    def monitor(i, mode):
        if mode[i] == 0:

            def room(t, y):
                return bound[i] - abs(drive(t, y, matrix, f0, rate, i))
        else:
            sign = mode[i]

            def room(t, y):
                return sign * y[n + i]

        room.terminal, room.direction = True, -1
        return room

    def call():
        t, y, mode = 0.0, np.zeros(2 * n), np.zeros(n, np.int64)
        loaded = abs(drive(0.0, y, matrix, f0, rate, n - 1)) > bound[-1]
        mode[-1] = loaded
        out = np.zeros((samples.size, 2 * n))
        events, steps, calls = [], 0, 0
        while t < t_end:
            if not mode.any() and rate == 0.0:
                out[samples > t] = y
                break
            run = solve_ivp(
                mode_right_side,
                (t, t_end),
                y,
                method=settings["method"],
                args=(matrix, mass, bound, f0, rate, mode),
                events=[_ignore_arguments(monitor(i, mode)) for i in range(n)],
                t_eval=[*samples[samples > t]],
                rtol=settings["rtol"],
                atol=settings["atol"],
                max_step=settings["max_step"],
            )
            calls += run.nfev
            steps += 1
            rows = np.isin(samples, run.t)
            if rows.any():
                out[rows] = run.y.T
            if run.status != 1:
                break
            i = next(j for j in range(n) if run.t_events[j].size)
            t, y = run.t_events[i][-1], run.y_events[i][-1].copy()
            force = drive(t, y, matrix, f0, rate, i)
            kind = "slip"
            if mode[i] != 0:
                y[n + i] = 0.0
                kind = "stick" if abs(force) <= bound[i] else "reverse"
            mode[i] = 0 if kind == "stick" else int(np.sign(force))
            events.append((t, i + 1, kind, int(mode[i])))
            if len(events) > settings["most_events"]:
                raise RuntimeError(f"more than {settings['most_events']} events")
        onset = np.full(n, np.nan)
        if loaded:
            onset[-1] = 0.0
        for time, i, kind, _ in events:
            if kind == "slip" and np.isnan(onset[i - 1]):
                onset[i - 1] = time
        counts = {"restarts": steps, "right_sides": calls}
        x, v = out[:, :n], out[:, n:]
        return {"x": x, "v": v, "events": events, "onset": onset, "counts": counts}

    return call


def _ignore_arguments(event):
    def monitored(t, y, *_):
        return event(t, y)

    monitored.terminal, monitored.direction = True, -1
    return monitored


def prepare(problem, settings):
    """Return the call that `settings` ask for."""
    return (with_events if settings["kind"] == "events" else smoothed)(problem, settings)


if __name__ == "__main__":
    serve(prepare, {"scipy": scipy.__version__, "numba": numba.__version__})

"""A block on a belt: the problem, its exact answer, the error measure, and the peers' settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from peers import Peer

from stiction.exact.switching import belt_cycle

Event = tuple[float, int, str, int]


@dataclass(frozen=True)
class Belt:
    """x'' + x = -(mu0 - alpha |u|) sgn(u), u = x' - vb, from stick at x = 0; scaled units."""

    name: str = "belt"
    mu0: float = 1.0
    alpha: float = 0.1
    belt_speed: float = 0.5
    t_end: float = 20.0

    def plain(self) -> dict:
        """Return the numbers for a solver in another process."""
        return asdict(self)


@dataclass(frozen=True)
class Exact:
    """Events in order, and the state at the end."""

    events: list[Event]
    x: float
    v: float


def exact(belt: Belt) -> Exact:
    """Return the answer in closed form.

    The block rides on the belt to x = mu0, slips for `slip_time`, and sticks again where it
    needs `stick_time` to be back at x = mu0.
    """
    cycle = belt_cycle(belt.mu0, belt.alpha, belt.belt_speed)
    events: list[Event] = []
    leave = belt.mu0 / belt.belt_speed
    while leave < belt.t_end:
        events.append((leave, 1, "leave", -1))
        if leave + cycle.slip_time < belt.t_end:
            events.append((leave + cycle.slip_time, 1, "slide", 0))
        leave += cycle.period
    if not events:
        return Exact([], belt.belt_speed * belt.t_end, belt.belt_speed)
    last, _, kind, _ = events[-1]
    t = belt.t_end - last
    if kind == "slide":
        return Exact(events, cycle.x_stick + belt.belt_speed * t, belt.belt_speed)
    half, w = 0.5 * belt.alpha, float(np.sqrt(1.0 - 0.25 * belt.alpha**2))
    scale = belt.belt_speed / w * np.exp(half * t)
    force = -scale * np.sin(w * t)
    slip = scale * (w * np.cos(w * t) - half * np.sin(w * t)) - belt.belt_speed
    # the equation itself gives x from x''
    x = belt.mu0 + belt.alpha * slip - force
    return Exact(events, float(x), float(belt.belt_speed + slip))


def errors(
    events: Sequence[Event] | None, x: float, v: float, want: Exact
) -> tuple[float, float | None]:
    """Return the error of the last state, and of event times; inf for another sequence."""
    state = max(abs(x - want.x), abs(v - want.v))
    if events is None:
        return state, None
    if [tuple(e[1:]) for e in events] != [e[1:] for e in want.events]:
        return state, float("inf")
    gaps = [abs(a[0] - b[0]) for a, b in zip(events, want.events, strict=True)]
    return state, max(gaps, default=0.0)


# ---- the peers


def restarted(method: str, rtol: float) -> Peer:
    settings = {"kind": "events", "method": method, "rtol": rtol, "atol": rtol}
    return Peer(
        f"SciPy {method}, events + restart", f"rtol {rtol:.0e}", "peer_filippov.py", settings
    )


def filippov(compiled: bool, polish: bool, rtol: float) -> Peer:
    settings = {"kind": "filippov", "compiled": compiled, "polish": polish}
    settings |= {"rtol": rtol, "atol": rtol}
    name = "DISODE45-type, " + ("compiled loop" if compiled else "plain Python")
    where = "step meets the event" if polish else "events on the interpolant"
    return Peer(name, f"{where}, rtol {rtol:.0e}", "peer_filippov.py", settings)


def smoothed(method: str, width: float, rtol: float) -> Peer:
    settings = {"kind": "smoothed", "method": method, "width": width}
    settings |= {"rtol": rtol, "atol": rtol * 1e-2}
    name = "SciPy odeint (LSODA)" if method == "odeint" else f"SciPy solve_ivp {method}"
    setting = f"tanh {width:.0e}, rtol {rtol:.0e}"
    return Peer(f"{name}, smoothed", setting, "peer_filippov.py", settings)


def peers(quick: bool) -> list[Peer]:
    """Return the points that are measured; the loosest good tolerance is read from them."""
    tolerances = (1e-10,) if quick else (1e-8, 1e-9, 3e-10, 1e-10, 3e-11, 1e-11, 1e-12)
    some = tolerances if quick else (1e-9, 3e-10, 1e-10, 3e-11, 1e-11)
    found = [restarted(method, r) for method in ("DOP853", "RK45", "LSODA") for r in tolerances]
    found += [filippov(True, polish, r) for polish in (False, True) for r in some]
    found += [filippov(False, polish, r) for polish in (False, True) for r in some[1:4] or some]
    widths = (1e-6,) if quick else (1e-4, 1e-6, 1e-8)
    found += [smoothed("odeint", width, rtol) for width in widths for rtol in (1e-6, 1e-9)]
    found += [smoothed("LSODA", width, 1e-9) for width in widths]
    return found

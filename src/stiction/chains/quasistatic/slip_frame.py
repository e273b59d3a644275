"""Quasistatic chain in slip coordinates, segments of solutions, and the recorder of a run.

With y = x - V t (V the speed of the belt) the slip rates are y', and

    C y' + K y + N mu Sgn(y')  contains  q(t) = b f(t) + q0 + q1 t

where q1 = kp Vp - V K 1 and q0 = -V C 1 come from the plate and the belt (kp and Vp the springs and
the speed of the plate, b f the load, 1 a vector of ones). C and K are damping and stiffness of the
links, K with the plate springs; N mu are the bounds of friction in slip. `Frame` has the arrays of
this equation; every algorithm of this folder except `play` solves in these coordinates. All of them
record samples, events and energies by `Recorder`. Series are coefficients by rising power of the
elapsed fraction of an interval, in the last axis.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import Elastic, links_pull
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents
from stiction.chains.polynomials import FIT, FIT_NODES, derivative, fitted, powers
from stiction.chains.quasistatic.load_path import left_value
from stiction.core.audit import Check
from stiction.core.determinism import Loss
from stiction.core.ledger import Ledger
from stiction.core.run import Request
from stiction.errors import Status

__all__ = ["Frame", "LoadSeries", "Recorder", "Span", "Step"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
State = tuple[Floats, Floats, Floats, Floats, Floats]

# numbers that the quadrature of energies evaluates at once, to bound its memory (chosen)
_CHUNK = 1 << 16
# terms of the series of a load: exact to rounding for sines on up to a few radians
_TERMS = 31


@dataclass(frozen=True, eq=False)
class LoadSeries:
    """The load on a time interval, as a power series in the elapsed fraction of the interval.

    Parameters
    ----------
    t, h : start and length of the interval [s]
    terms : (count,) coefficients by rising power [N]; exact to rounding for lines, and for sines on
        up to a few radians
    misfit : error of the fit of a user's load at probes [N]
    """

    t: float
    h: float
    terms: Floats
    misfit: float = 0.0

    def at(self, t: Floats) -> Floats:
        """Return the load [N] at (m,) times [s]."""
        return np.asarray(self.terms @ powers((t - self.t) / self.h, self.terms.size))

    def rate(self, t: float) -> float:
        """Return the rate of the load [N/s]."""
        power = ((t - self.t) / self.h) ** np.arange(self.terms.size)
        return float(self._derivative @ power) / self.h

    @functools.cached_property
    def _derivative(self) -> Floats:
        return derivative(self.terms)

    def shortened(self, h: float) -> LoadSeries:
        """Return the same load on the first `h` seconds."""
        terms = self.terms * (h / self.h) ** np.arange(self.terms.size)
        return dataclasses.replace(self, h=h, terms=terms)


class Frame:
    """The arrays of a chain of n masses in slip coordinates.

    Attributes
    ----------
    k, c : (n + 1,) stiffness [N/m] and damping [N s/m] of the links
    plate, load_vector, bound : (n,) plate springs [N/m], load weights [1], static bounds [N]
    free : (n,) whether a mass has no friction
    q0, q1 : (n,) constant [N] and rate [N/s] of q by belt and plate
    fastest, stiffest : largest angular frequency of the load [rad/s]; largest sum of the springs
        at a mass [N/m]
    """

    def __init__(self, chain: Chain) -> None:
        self.chain, self.n = chain, chain.n_mass
        self.elastic = Elastic(chain, "Quasistatic")
        self.k, self.c = chain.link_stiffness, chain.link_damping
        self.plate, self.load_vector = chain.plate_springs, chain.load_weights
        self.bound = np.asarray(chain.stick_bound)
        self.free = self.bound == 0.0
        self.belt, self.plate_speed = chain.belt_speed, chain.plate_speed
        one = np.ones(self.n)
        self.q0 = -self.belt * links_pull(self.c, one)
        self.q1 = self.plate * self.plate_speed - self.belt * self.elastic.force(one)
        self.segments = chain.load.segments()
        sines = np.abs(self.segments.angular_frequency[self.segments.amplitude != 0.0])
        self.fastest = float(np.max(sines, initial=0.0))
        self.stiffest = float(np.max(self.k[:-1] + self.k[1:] + self.plate))

    def stiff(self, y: Floats) -> Floats:
        """Return K y."""
        return self.elastic.force(y)

    def damp(self, v: Floats) -> Floats:
        """Return C v."""
        return links_pull(self.c, v)

    def drive(self, t: float, y: Floats, *, left: bool = False) -> Floats:
        """Return R = q(t) - K y [N]; with the load just before t if asked."""
        f = left_value(self.segments, t) if left else float(self.segments.at(t))
        return np.asarray(self.load_vector * f + self.q0 + self.q1 * t - self.stiff(y))

    def load_series(self, t: float, h: float) -> LoadSeries:
        """Return the load of one segment from t [s] on for h seconds."""
        segments, order = self.segments, np.arange(_TERMS)
        terms = np.zeros(_TERMS)
        j = max(int(np.searchsorted(segments.time, t, side="right")) - 1, 0)
        terms[0] = segments.offset[j] + segments.rate[j] * (t - segments.time[j])
        terms[1] = segments.rate[j] * h
        factorial = np.concatenate([[1.0], np.cumprod(order[1:], dtype=np.float64)])
        for a, w, p in zip(
            segments.amplitude, segments.angular_frequency, segments.phase, strict=True
        ):
            terms += a * (w * h) ** order / factorial * np.sin(w * t + p + 0.5 * np.pi * order)
        if segments.function is None:
            return LoadSeries(t, h, terms)
        series = fitted(np.array([float(segments.function(t + h * s)) for s in FIT_NODES]))
        # chosen: fractions of the interval, between the nodes of the fit
        probe = np.array([0.02, 0.35, 0.6, 0.98])
        values = np.array([float(segments.function(t + h * s)) for s in probe])
        misfit = float(np.max(np.abs(series @ powers(probe, FIT) - values)))
        terms[:FIT] += series
        return LoadSeries(t, h, terms, misfit)

    def drift(self, load: LoadSeries, t: float) -> Floats:
        """Return q'(t) [N/s] on the interval of a load."""
        return np.asarray(self.load_vector * load.rate(t) + self.q1)

    def push_series(self, load: LoadSeries) -> Floats:
        """Return the (n, count) series of q on the interval of a load."""
        q = np.multiply.outer(self.load_vector, load.terms)
        q[:, 0] += self.q0 + self.q1 * load.t
        q[:, 1] += self.q1 * load.h
        return q

    def stored(self, t: Floats, x: Floats) -> Floats:
        """Return the elastic energy [J] of (m, n) displacements at (m,) times."""
        edge = np.zeros((x.shape[0], 1))
        elongation = np.diff(np.concatenate([edge, x, edge], axis=1), axis=1)
        plate = self.plate_speed * t[:, None] - x
        links = np.sum(self.k * elongation**2, axis=1) + np.sum(self.plate * plate**2, axis=1)
        return np.asarray(0.5 * links)


class Span(Protocol):
    """A smooth segment of a solution, in a parameter u that increases with time."""

    u: tuple[float, float]
    nodes: int

    def parameter(self, t: Floats) -> Floats:
        """Return the parameters of times t [s] inside the segment."""

    def state(self, u: Floats) -> State:
        """Return time, dt/du (m,), and slip, slip rate, friction (n, m)."""


@dataclass(eq=False)
class Step:
    """A segment by power series in its elapsed fraction u.

    Parameters
    ----------
    t, h : start and length of the series [s]
    y, force : (n, count) coefficients of the slips [m] and of minus the friction [N]
    u : first and last fraction of the segment
    nodes : number of Gauss nodes for its energies
    """

    t: float
    h: float
    y: Floats
    force: Floats
    u: tuple[float, float]
    nodes: int

    def parameter(self, t: Floats) -> Floats:
        """Return the fraction of the segment at the times `t` [s]."""
        return (t - self.t) / self.h

    def state(self, u: Floats) -> State:
        """Return the state at the values u (m,) of the stage variable.

        They are time [s] and dt/du (m,); slip [m], slip rate [m/s] and friction [N] (n, m).
        """
        p = powers(u, self.y.shape[1])
        rate = np.full(u.size, self.h)
        slip = derivative(self.y) @ p / self.h
        return self.t + self.h * u, rate, self.y @ p, slip, -(self.force @ p)


@dataclass(eq=False)
class _Log:
    """Columns of the recorded mode changes, as in `outcome.RawEvents`."""

    time: list[float]
    mass: list[int]
    before: list[int]
    after: list[int]
    x: list[float]
    v: list[float]
    left: list[float]
    right: list[float]


class Recorder:
    """Recorder of samples, energies (by Gauss quadrature) and events.

    Attributes
    ----------
    filled : number of saved samples
    so_far : (n + 2,) external work, viscous heat and friction heat of each mass since the start [J]
    """

    def __init__(self, frame: Frame, request: Request) -> None:
        self.frame, self.request = frame, request
        samples, n = request.save.size, frame.n
        self.time = request.save.copy()
        self.x, self.v = np.empty((samples, n)), np.empty((samples, n))
        self.mode, self.friction = np.zeros((samples, n), np.int8), np.empty((samples, n))
        self.work, self.viscous, self.heat = (
            np.zeros(samples),
            np.zeros(samples),
            np.zeros((samples, n)),
        )
        self.filled = 0
        self.so_far = np.zeros(n + 2)
        self.log = _Log([], [], [], [], [], [], [], [])

    def first(self, span: Span, mode: Signs) -> None:
        """Save the start, with the velocities just after it."""
        self.filled = 1
        self.save(slice(0, 1), span.state(np.array([span.u[0]])), mode, self.so_far)

    def add_segment(self, span: Span, mode: Signs) -> None:
        """Add a segment: its samples and its energies."""
        u0, u1 = span.u
        ends, _, *_ = span.state(np.array([u0, u1]))
        # a segment that ends at a save time may miss it by rounding
        reached = float(ends[1]) + 1e-13 * (self.request.t_end - self.request.t_start)
        stop = max(int(np.searchsorted(self.time, reached, side="right")), self.filled)
        samples, self.filled = slice(self.filled, stop), stop
        saves = self.time[samples]
        at = np.clip(span.parameter(saves), u0, u1) if saves.size else np.empty(0)
        total = self.so_far + np.cumsum(self._integrals(span, np.r_[u0, at, u1]), axis=0)
        self.so_far = total[-1]
        if saves.size:
            self.save(samples, span.state(at), mode, total[:-1])

    def last(self, t: float, y: Floats, w: Floats, friction: Floats, mode: Signs) -> None:
        """Save the state at which a run ends early, if it is not saved yet.

        y, w, friction, mode : (n,) slips [m], slip rates [m/s], friction [N], modes
        """
        if self.filled == 0 or self.time[self.filled - 1] < t:
            samples = slice(self.filled, self.filled + 1)
            self.time[self.filled], self.filled = t, samples.stop
            none = np.empty(0)
            self.save(
                samples, (none, none, y[:, None], w[:, None], friction[:, None]), mode, self.so_far
            )

    def save(self, samples: slice, state: State, mode: Signs, total: Floats) -> None:
        """Save samples.

        Parameters
        ----------
        samples : which of the saved times
        state : as `Span.state` gives it
        mode : (n,), or (m, n)
        total : (m, n + 2) work, viscous heat and friction heats [J] since the start
        """
        frame, (_, _, y, w, friction) = self.frame, state
        self.x[samples] = y.T + frame.belt * self.time[samples, None]
        self.v[samples], self.friction[samples] = w.T + frame.belt, friction.T
        self.mode[samples] = np.where(frame.free, np.sign(w.T), mode)
        self.work[samples], self.viscous[samples] = total[..., 0], total[..., 1]
        self.heat[samples] = total[..., 2:]

    def event(
        self, t: float, i: int, modes: tuple[int, int], state: tuple[float, float, float, float]
    ) -> None:
        """Record a mode change of mass i; `state` is x, v, friction before and friction after."""
        log = self.log
        log.time.append(t)
        log.mass.append(i)
        log.before.append(modes[0])
        log.after.append(modes[1])
        for column, entry in zip((log.x, log.v, log.left, log.right), state, strict=True):
            column.append(entry)

    def changes(
        self,
        t: float,
        modes: tuple[Signs, Signs],
        state: tuple[Floats, Floats],
        friction: tuple[Floats, Floats],
    ) -> None:
        """Record all mode changes at time t, except of masses without friction.

        Parameters
        ----------
        t : time [s]
        modes : before and after
        state : displacements [m] and velocities just before [m/s]
        friction : on each mass, before and after [N]
        """
        before, after = modes
        for i in np.flatnonzero((before != after) & ~self.frame.free).tolist():
            x, v, old, new = (float(column[i]) for column in (*state, *friction))
            self.event(t, i, (int(before[i]), int(after[i])), (x, v, old, new))

    def history(
        self,
        status: Status,
        reason: str,
        stop_time: float | None,
        stats: dict[str, int | float],
        losses: list[Loss],
        checks: Sequence[Check],
    ) -> ChainHistory:
        """Return the history of the recorded run."""
        samples, log = slice(0, self.filled), self.log
        time, x = self.time[samples], self.x[samples]
        ledger = Ledger(
            time=time,
            kinetic=np.zeros(time.size),
            stored=self.frame.stored(time, x),
            external_work=self.work[samples],
            friction_heat=self.heat[samples],
            viscous_heat=self.viscous[samples],
        )
        events = RawEvents(
            time=np.array(log.time, dtype=np.float64),
            mass=np.array(log.mass, dtype=np.int64),
            before=np.array(log.before, dtype=np.int64),
            after=np.array(log.after, dtype=np.int64),
            x=np.array(log.x, dtype=np.float64),
            v=np.array(log.v, dtype=np.float64),
            friction_left=np.array(log.left, dtype=np.float64),
            friction_right=np.array(log.right, dtype=np.float64),
        )
        return ChainHistory(
            time=time,
            x=x,
            v=self.v[samples],
            mode=self.mode[samples],
            friction=self.friction[samples],
            events=events,
            stop_time=stop_time,
            energy=ledger,
            stats=stats,
            status=status,
            reason=reason,
            losses=losses,
            checks=checks,
            inertia=False,
        )

    # ---- inner parts

    def _integrals(self, span: Span, points: Floats) -> Floats:
        """Return (points - 1, n + 2) gains of work, viscous heat and friction heats."""
        node, weight = np.polynomial.legendre.leggauss(span.nodes)
        out = np.zeros((points.size - 1, self.frame.n + 2))
        each = max(1, _CHUNK // (span.nodes * self.frame.n))
        for begin in range(0, points.size - 1, each):
            part = points[begin : begin + each + 1]
            half, middle = 0.5 * np.diff(part), 0.5 * (part[1:] + part[:-1])
            u = (middle[:, None] + half[:, None] * node).ravel()
            powers = self._powers(*span.state(u))
            scaled = powers.reshape(-1, half.size, node.size) * (half[:, None] * weight)
            out[begin : begin + half.size] = scaled.sum(axis=2).T
        return out

    def _powers(self, t: Floats, rate: Floats, y: Floats, w: Floats, friction: Floats) -> Floats:
        """Return (n + 2, m) powers, times dt/du: external, of dampers, of friction on each mass.

        t, rate, y, w, friction : as `Span.state` returns them
        """
        frame = self.frame
        v, x = w + frame.belt, y + frame.belt * t
        work = np.asarray(frame.segments.at(t)) * (frame.load_vector @ v)
        if frame.plate_speed != 0.0:
            pull = frame.plate[:, None] * (frame.plate_speed * t - x)
            work = work + frame.plate_speed * pull.sum(axis=0)
        if frame.belt != 0.0:
            work = work + frame.belt * friction.sum(axis=0)
        edge = np.zeros((1, t.size))
        elongation = np.diff(np.concatenate([edge, v, edge]), axis=0)
        viscous = frame.c @ elongation**2
        return np.asarray(np.vstack([work, viscous, -friction * w]) * rate)

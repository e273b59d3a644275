"""Set-up of a theta run: arrays of kernels, modes at the start, and the first sample.

A step of length h solves A w + friction(w) contains q for the slip rates w at t + theta h, with
A = M / (theta h) + C + theta h (K + K_plate): masses M, damping C and stiffness K of the links,
stiffness K_plate of the plate springs. The arrays are the tuples of `state`. A mass with zero slip
rate sticks at the start if the force on it is within its static bound. `theta.integrator` and
`blocks.theta` call these functions before the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.loads import LoadSegments
from stiction.chains.model import Chain
from stiction.core.run import Request
from stiction.laws.friction import Friction
from stiction.laws.smoothed import SmoothSign, SquareRootSign, TanhSign

if TYPE_CHECKING:
    from stiction.chains.blocks.stack import Stack
    from stiction.chains.theta.state import Events, Problem, Saved, Work
    from stiction.laws.compiled import CompiledLaw
    from stiction.numerics.callback import Callback

__all__ = [
    "Scheme",
    "begin",
    "begin_work",
    "callbacks",
    "first_modes",
    "make_law",
    "make_problem",
    "make_saved",
    "make_work",
]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scheme:
    """Parameters of a theta scheme, as in `ThetaStepper` and `RegularizedTheta`.

    shape : smooth sign function; None for set-valued friction
    creep : slip rate above which a mass counts as slipping, with a smooth sign function [m/s]
    """

    name: str
    step: float
    theta: float
    most_iterations: int
    tolerance: float
    max_steps: int
    max_events: int
    shape: SmoothSign | None = None
    smoothing: float = 1.0
    line_search: bool = True
    creep: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether friction is set-valued."""
        return self.shape is None


def callbacks(chain: Chain, scheme: Scheme) -> dict[str, Callback]:
    """Return callbacks of the user's functions for kernels."""
    from stiction.numerics.callback import Callback

    shape, width = scheme.shape, scheme.smoothing
    sign: Callable[[float], float] | None = None
    slope: Callable[[float], float] | None = None
    if shape is not None and not isinstance(shape, (SquareRootSign, TanhSign)):
        own = shape

        def sign(w: float) -> float:
            return float(own.sign(w, width))

        def slope(w: float) -> float:
            return float(own.slope(w, width))

    return {
        "load": Callback(chain.load.segments().function, "UserLoad.function"),
        "sign": Callback(sign, f"{scheme.name}.shape.sign"),
        "sign_slope": Callback(slope, f"{scheme.name}.shape.slope"),
    }


def make_law(chain: Chain, request: Request, scheme: Scheme) -> CompiledLaw:
    """Return the compiled friction law, with its initial states."""
    from stiction.laws.compiled import CompiledLaw

    asked = () if chain.law.constant else ("mu", "slope", "static")
    h = _steps(scheme, request)[1]
    return CompiledLaw(chain.friction, asked, theta=scheme.theta, h=h)


def _steps(scheme: Scheme, request: Request) -> tuple[int, float]:
    """Return the number of steps and their length [s]."""
    return request.number_of_steps(scheme.name, scheme.step, scheme.max_steps)


def make_problem(
    chain: Chain,
    request: Request,
    scheme: Scheme,
    calls: Mapping[str, Callback],
    law: CompiledLaw,
) -> Problem:
    """Return the problem; raise ModelError for too many steps."""
    from stiction.chains.theta import smooth_kernels as smooth
    from stiction.chains.theta.state import Problem

    segments = chain.load.segments()
    varies = segments.rate.any() or segments.amplitude.any() or np.ptp(segments.offset) > 0.0
    n_step, h = _steps(scheme, request)
    number = smooth.USER_SHAPE
    if scheme.shape is None or isinstance(scheme.shape, SquareRootSign):
        number = smooth.SQUARE_ROOT
    elif isinstance(scheme.shape, TanhSign):
        number = smooth.TANH
    return Problem(
        n=chain.n_mass,
        t_start=float(request.t_start),
        t_end=float(request.t_end),
        n_step=n_step,
        h=h,
        theta=float(scheme.theta),
        rate=1.0 / scheme.theta if scheme.theta else 0.0,
        belt=chain.belt_speed,
        plate_speed=chain.plate_speed,
        plates=bool(chain.plate_springs.any()),
        steady=segments.function is None and not varies,
        load_address=calls["load"].address,
        constant=chain.law.constant,
        jump=chain.law.has_jump,
        law_start=law.start,
        law_step=law.step,
        mu_address=law.mu,
        slope_address=law.slope,
        static_address=law.static,
        commit_address=law.commit,
        event_address=law.event,
        n_state=law.n_state,
        first_state=law.first_state,
        exact=scheme.exact,
        tolerance=float(scheme.tolerance),
        most=scheme.most_iterations,
        line_search=scheme.line_search,
        shape=number,
        width=float(scheme.smoothing),
        sign_address=calls["sign"].address,
        sign_slope_address=calls["sign_slope"].address,
        creep=float(scheme.creep),
    )


def make_work(
    chain: Chain | Stack, load: LoadSegments, mu_kinetic: Floats, p: Problem, law: Floats
) -> Work:
    """Return the arrays of a run, with the initial state.

    Those of many chains have a leading axis, except for the law and the work arrays.

    Parameters
    ----------
    law : (n, numbers) parameters and states of each contact
    """
    from stiction.chains.theta import state

    n, many = p.n, chain.masses.shape[:-1]
    # rows at a distance of a multiple of 4096 bytes (512 numbers) would share cache sets, which
    # hold few lines; so the distance of long rows is 40 numbers more than a multiple of 512
    width = n + 1 if n < 512 else n + 1 + (39 - n) % 512
    # a step is M (v_th - v_0) / (theta h) = f(x_0 + theta h v_th); with theta = 0 the unknown is
    # v_1, and M / h takes the place of M / (theta h)
    inertia = chain.masses / (p.h * (p.theta or 1.0))
    work = state.Work(
        segments=state.LoadSegment.table(load.time.shape),
        sines=state.Sine.table(load.amplitude.shape),
        f=np.zeros((*many, state.F_ROWS, width)),
        m=np.zeros((*many, state.M_ROWS, width), np.int8),
        lists=state.Listed.table(n + 1),
        law=law,
        progress=state.Progress.table(many or 1),
    )
    for name in ("time", "offset", "rate"):
        work.segments[name] = getattr(load, name)
    work.sines["amplitude"], work.sines["phase"] = load.amplitude, load.phase
    work.sines["frequency"] = load.angular_frequency
    masses, motion = work.masses, work.motion
    for row, values in (
        (masses.mass, chain.masses),
        (masses.stiffness, chain.link_stiffness),
        (masses.damping, chain.link_damping),
        (masses.load_vector, chain.load_weights),
        (masses.plate_stiffness, chain.plate_springs),
        (masses.normal_force, chain.normal_forces),
        (masses.mu_kinetic, mu_kinetic),
        (masses.inertia, inertia),
        (masses.pivot, inertia + p.theta * p.h * chain.plate_springs),
        (masses.stick_bound, chain.stick_bound),
        (work.system.coupling, chain.link_damping + p.theta * p.h * chain.link_stiffness),
        (motion.x, chain.x_start),
        (motion.slip_rate, chain.v_start - p.belt),
    ):
        row[..., : values.shape[-1]] = values
    work.modes.free[:] = 1
    return work


def make_saved(chain: Chain | Stack, law: Friction, save: Floats) -> Saved:
    """Return arrays for the states at the save times; many chains get a leading axis."""
    from stiction.chains.theta.state import N_SUMS, Saved

    *many, n = chain.masses.shape
    count = (*many, save.size)
    return Saved(
        time=np.array(save),
        x=np.empty((*count, n)),
        v=np.empty((*count, n)),
        mode=np.empty((*count, n), np.int8),
        friction=np.empty((*count, n)),
        heat=np.empty((*count, n)),
        sums=np.empty((*count, N_SUMS)),
        # states of the law, and last the static bound
        state=np.empty((*count, n, law.n_state + 1 if law.states else 0)),
    )


def begin(
    chain: Chain, scheme: Scheme, p: Problem, work: Work, saved: Saved, events: Events
) -> None:
    """Decide the initial modes and write the first sample.

    A mass beyond its bound at the start is released, with an event at that time.
    """
    from stiction.chains.theta.step_kernels import jump_states

    n, now, t = p.n, work.progress[0], p.t_start
    x, u = work.motion.x[:n], work.motion.slip_rate[:n]
    full = chain.normal_forces * chain.friction.mu(u)
    # regularised friction follows from the slip rate; set-valued friction balances the drive in
    # stick, and masses beyond their bound are released
    if scheme.shape is not None:
        mode = np.where(np.abs(u) > scheme.creep, np.sign(u), 0.0)
        friction = -full * scheme.shape.sign(u, scheme.smoothing)
    else:
        drive = chain.drive(t, x, chain.v_start)
        released, mode = first_modes(drive, chain.stick_bound, u)
        friction = np.where(mode == 0, -drive, -mode * full)
        start = np.flatnonzero(released)
        count = start.size
        before = -mode[start] * chain.stick_bound[start]
        events.values[:count] = np.column_stack(
            [np.full(count, t), x[start], chain.v_start[start], before, friction[start]]
        )
        events.changes[:count] = np.column_stack([start, np.zeros(count), mode[start]])
        now.events = count
        if p.event_address and count:
            jump_states(p, events, 0, count)
    begin_work(chain, p, work, saved, mode, friction, chain.load.at(t))
    if chain.law.states:
        # the last column is the static bound
        states = slice(p.first_state, p.first_state + p.n_state)
        saved.state[0, :, :-1], saved.state[0, :, -1] = work.law[:, states], chain.stick_bound


def first_modes(drive: Floats, bound: Floats, u: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which masses are released at the start, and the modes of all masses, (..., n).

    Parameters
    ----------
    drive, bound, u : (..., n) forces without friction and static bounds [N], slip rates [m/s]
    """
    # a stick force at its bound but for rounding does not release a mass
    released = (u == 0.0) & (np.abs(drive) > bound * (1.0 + 1e-14))
    return released, np.where(released, np.sign(drive), np.sign(u))


def begin_work(
    chain: Chain | Stack,
    p: Problem,
    work: Work,
    saved: Saved,
    mode: Floats,
    friction: Floats,
    load: Floats,
) -> None:
    """Write initial modes, friction and load to the arrays of a run, or of many.

    mode, friction, load : (..., n), (..., n) [N], (...) [N]; ... is empty for one run
    """
    from stiction.chains.theta.state import KINETIC, STORED

    n, t, now, motion = p.n, p.t_start, work.progress, work.motion
    x, u = motion.x[..., :n], motion.slip_rate[..., :n]
    work.modes.now[..., :n], motion.friction[..., :n] = mode, friction
    now["slipping"] = np.count_nonzero(mode, axis=-1)
    now["piece"] = np.maximum((work.segments["time"] <= t).sum(axis=-1) - 1, 0)
    now["load"], now["rest_since"], now["saved"] = load, t, 1
    # a step that misses a save time by rounding ends at it
    now["save_at"] = saved.time[1] - 1e-9 * p.h
    edge = np.zeros((*x.shape[:-1], 1))
    elongation = np.diff(np.concatenate([edge, x, edge], axis=-1), axis=-1)
    plate = p.plate_speed * t - x
    stored = np.sum(chain.link_stiffness * elongation**2, axis=-1)
    now["stored"] = 0.5 * (stored + np.sum(chain.plate_springs * plate**2, axis=-1))
    now["kinetic"] = 0.5 * np.sum(chain.masses * chain.v_start**2, axis=-1)
    # kinetic energy relative to the belt, because slip rates are rounded
    seen = 0.5 * np.sum(chain.masses * u**2, axis=-1)
    now["scale"] = np.maximum(np.maximum(now["kinetic"], now["stored"]), seen)
    saved.x[..., 0, :], saved.v[..., 0, :], saved.mode[..., 0, :] = x, chain.v_start, mode
    saved.friction[..., 0, :], saved.heat[..., 0, :], saved.sums[..., 0, :] = friction, 0.0, 0.0
    saved.sums[..., 0, KINETIC], saved.sums[..., 0, STORED] = now["kinetic"], now["stored"]

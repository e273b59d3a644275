"""March a fault from event to event, keep what was asked for, and go on from a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, check_count, like, put_back, refused
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request, Run
from stiction.errors import ModelError, Status, explain
from stiction.faults import rate_kernels as rk
from stiction.faults import stepper_kernels as sk
from stiction.faults.model import Cells, FaultSystem
from stiction.faults.outcome import History, build_run
from stiction.laws.rate_and_state import SLIP
from stiction.numerics.checks import MOST_WORK

if TYPE_CHECKING:
    from stiction.faults.methods import Cycles

__all__ = ["march_of", "numbers_of", "run_cycles"]

Floats = npt.NDArray[np.float64]

# a call of the kernel lasts a few tenths of a second, so that Ctrl-C and checkpoints wait no longer
_PRODUCTS_PER_CALL = 2_000_000
_BUFFER = 1024
# rows of the trace: so far apart in ln V or ln theta, and farther when there are too many
_APART, _MOST_TRACED = 0.05, 50_000
# extremes and the trace begin with infinity
_UNBOUNDED = (*range(sk.V_LEAST, sk.MU_MOST + 1), sk.TRACED_V, sk.TRACED_AGE)
# slip along the fault is kept at so many of the first events
_MOST_PROFILES = 200
_REASONS = {
    sk.STEP_TOO_SMALL: (Status.NO_CONTINUATION, "the steps became shorter than time can tell"),
    sk.NOT_FINITE: (Status.NOT_FINITE, "the state left the range of finite numbers"),
    sk.OPENED: (Status.NO_CONTINUATION, "the pore pressure reached the normal stress"),
}


def run_cycles(system: FaultSystem, method: Cycles, request: Request) -> Run:
    """Return the run of a fault, or of a slider on a spring."""
    cells = system.assembled()
    walk = _Walk(cells, method, request)
    walk.go()
    return build_run(system, cells, method, walk.history())


class _Walk:
    """The arrays of a march, and who multiplies by the stiffness."""

    def __init__(self, system: Cells, method: Cycles, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        self.stiffness = system.stiffness()
        self.march = march_of(system, request)
        self.events: list[Floats] = []
        self.trace = np.zeros((0, sk.TRACE_COLUMNS))
        self.profiles: list[Floats] = []
        self.status, self.reason = Status.SOLVED, "the end time was reached"
        self._begin()

    def _begin(self) -> None:
        m, n, request = self.march, self.system.n, self.request
        v, theta = self.system.start()
        state = m.work[sk.STATE]
        state[:n], state[n : 2 * n] = np.log(v), np.log(theta)
        m.work[sk.TRIAL] = state
        m.pull[:] = v - self.system.plate_speed
        m.number[:] = numbers_of(self.system, self.method, request)
        mu = self.system.law.coefficient(v, theta)
        sigma = self.system.sigma - self.system.pore_pressure(request.t_start)
        if not (sigma > 0.0).all():
            got, needs = f"{sigma.min():.4g} Pa at the start", "more than 0 in every cell"
            where, why = "Fault.normal_stress less pore pressure", "friction needs a closed fault."
            raise ModelError(explain(where, got, needs, why, "begin earlier, or inject less."))
        m.stress_start[:] = mu * sigma + self.system.damping * v
        m.number[sk.OWN] = abs(self._product(np.eye(1, n)[0])[0])

    def go(self) -> None:
        """March to the end, or to where it stops."""
        code = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        m = self.march
        if code in _REASONS:
            self.status, self.reason = _REASONS[code]
        if self.status is not Status.SOLVED:
            self.reason += f" at t = {m.number[sk.TIME]:.9g} s"
        elif m.counts[sk.SAVED] < m.saves.size:
            # the last time may be missed by rounding; the march has ended there
            m.kept[m.counts[sk.SAVED] :] = m.work[sk.STATE]
            m.counts[sk.SAVED] = m.saves.size

    def _loop(self) -> Generator[Pause, None, int]:
        """March slice after slice, and return why that ended."""
        m, method = self.march, self.method
        resumed = self._resume()
        cost = self.system.n**2 if isinstance(self.stiffness, np.ndarray) else 50 * self.system.n
        slice_of = max(20, _PRODUCTS_PER_CALL // (cost + 20))
        # the rate of stress at the start is known before anything is asked
        if not resumed:
            m.stress_rate[:] = self._product(m.pull)
        code = sk.PAUSE
        while code == sk.PAUSE:
            left = method.max_steps - int(m.counts[sk.STEPS])
            if left <= 0 or self._seen > method.max_events:
                what = "max_steps" if left <= 0 else "max_events"
                self.status, self.reason = Status.WORK_LIMIT, f"{what} was reached"
                break
            m.counts[sk.LEFT] = min(slice_of, left)
            code = self._slice()
            self._drain()
            begin, end = self.request.t_start, self.request.t_end
            part = float((m.number[sk.TIME] - begin) / (end - begin))
            note = f"{m.counts[sk.STEPS]} steps, {self._seen} events"
            # the state of a run that ended is none to go on from
            yield Pause(part, note, self._pack if code == sk.PAUSE else None)
        return code

    def _product(self, slip: Floats) -> Floats:
        if isinstance(self.stiffness, np.ndarray):
            return np.asarray(self.stiffness @ slip)
        return self.stiffness(slip)

    def _slice(self) -> int:
        """March for some steps and return why it stopped."""
        m = self.march
        if isinstance(self.stiffness, np.ndarray):
            return int(sk.march_dense(m, self.stiffness))
        code = sk.advance(m)
        while code == sk.NEED:
            m.stress_rate[:] = self.stiffness(m.pull)
            code = sk.advance(m)
        return int(code)

    @property
    def _seen(self) -> int:
        return sum(len(part) for part in self.events)

    def _drain(self) -> None:
        m = self.march
        if m.counts[sk.EVENTS]:
            self.events.append(m.events[: m.counts[sk.EVENTS]].copy())
            if len(m.events) == 1 and len(self.profiles) < _MOST_PROFILES:
                self.profiles.append(self._slips(m.work[sk.PASSED : sk.PASSED + 1]).copy())
            m.counts[sk.EVENTS] = 0
        self.trace = np.vstack([self.trace, m.trace[: m.counts[sk.TRACED]]])
        m.counts[sk.TRACED] = 0
        if len(self.trace) > _MOST_TRACED:
            self.trace = self.trace[::2].copy()
            m.number[sk.APART] *= 2.0

    # ---- checkpoint

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        m = self.march
        return {"work": m.work, "number": m.number, "counts": m.counts}

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        saved = int(self.march.counts[sk.SAVED])
        rows = np.vstack([*self.events, np.zeros((0, sk.EVENT_COLUMNS))])
        return {**self._arrays(), "kept": self.march.kept[:saved], "events": rows} | {
            "trace": self.trace,
            "profiles": self._profiles(),
        }

    def _profiles(self) -> Floats:
        return np.vstack([*self.profiles, np.zeros((0, self.system.n))])

    def _resume(self) -> bool:
        """Take up the state of a checkpoint; return whether there was one."""
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return False
        self._check(kept)
        put_back(self._arrays(), kept, inf=True)
        saved = int(self.march.counts[sk.SAVED])
        self.march.kept[:saved] = kept["kept"]
        self.events, self.trace = [kept["events"]], kept["trace"]
        self.profiles = [row[None, :] for row in kept["profiles"]]
        return True

    def _check(self, kept: dict[str, npt.NDArray[Any]]) -> None:
        """Refuse a checkpoint whose arrays are not those of `_pack`."""
        m, n = self.march, self.system.n
        forms = {
            "work": like(m.work),
            "number": like(m.number, inf=_UNBOUNDED),
            "counts": like(m.counts, within=(-1, MOST_WORK)),
            "kept": Form(("saved", self.system.state_size)),
            "events": Form(("events", sk.EVENT_COLUMNS), nan=(sk.E_LARGEST,)),
            "trace": Form(("trace", sk.TRACE_COLUMNS)),
            "profiles": Form(("profiles", n)),
        }
        sizes, counts = check_arrays(kept, forms), kept["counts"]
        check_count("counts", int(counts[sk.SAVED]) - sizes["saved"], 0, 0)
        check_count("counts", int(counts[sk.SAVED]), 0, m.saves.size)
        for name, at in (("events", sk.E_TIME), ("trace", sk.T_TIME)):
            if (np.diff(kept[name][:, at]) < 0.0).any():
                raise refused(name, "times that fall", "times one after the other")
        # an onset has no slip yet, and the first arrest may have no onset before it
        arrests = kept["events"][1:]
        if np.isnan(arrests[arrests[:, sk.E_UP] == 0.0, sk.E_LARGEST]).any():
            raise refused("events", "an arrest without a slip", "the slip of every event")
        # a checkpoint is left between two steps, with empty buffers
        for at, only in ((sk.STAGE, -1), (sk.EVENTS, 0), (sk.TRACED, 0)):
            check_count("counts", int(counts[at]), only, only)

    # ---- what came out

    def history(self) -> History:
        """Return what the march computed."""
        m = self.march
        saved = int(m.counts[sk.SAVED])
        time, states = m.saves[:saved], m.kept[:saved]
        if self.status is not Status.SOLVED and m.number[sk.TIME] > time[-1]:
            time = np.append(time, m.number[sk.TIME])
            states = np.vstack([states, m.work[sk.STATE]])
        return History(
            time=time,
            states=states,
            stress=np.array([self._product(row) for row in self._slips(states)]),
            events=np.vstack([*self.events, np.zeros((0, sk.EVENT_COLUMNS))]),
            trace=self.trace,
            profiles=self._profiles(),
            number=m.number.copy(),
            counts=m.counts.copy(),
            status=self.status,
            reason=self.reason,
        )

    def _slips(self, states: Floats) -> Floats:
        n = self.system.n
        return states[:, 2 * n : 3 * n]


def march_of(system: Cells, request: Request) -> sk.March:
    """Return the arrays of a march, with the numbers of the cells, before its start."""
    n, size = system.n, system.state_size
    return sk.March(
        work=np.zeros((sk.WORK_ROWS, size)),
        par=_parameters(system),
        forms=np.array([system.law.regularised, system.law.evolution == SLIP], dtype=np.int64),
        fluid=system.fluid,
        stress_rate=np.zeros(n),
        pull=np.zeros(n),
        stress_start=np.zeros(n),
        speed=np.zeros(n),
        number=np.zeros(sk.NUMBERS),
        counts=np.zeros(sk.COUNTS, dtype=np.int64),
        saves=np.array(request.save, dtype=np.float64),
        kept=np.zeros((len(request.save), size)),
        # the slip of many cells is kept at every event, before the next one
        events=np.zeros((_BUFFER if n == 1 else 1, sk.EVENT_COLUMNS)),
        trace=np.zeros((_BUFFER, sk.TRACE_COLUMNS)),
    )


def numbers_of(system: Cells, method: Cycles, request: Request) -> Floats:
    """Return the entries of `number` at the start of a march."""
    number = np.zeros(sk.NUMBERS)
    number[sk.TIME], number[sk.T_END] = request.t_start, request.t_end
    number[sk.RTOL], number[sk.PLATE] = method.rtol, system.plate_speed
    number[sk.LEVEL] = method.level
    for low, high in ((sk.V_LEAST, sk.V_MOST), (sk.AGE_LEAST, sk.AGE_MOST)):
        number[low], number[high] = np.inf, -np.inf
    number[sk.MU_LEAST], number[sk.MU_MOST] = np.inf, -np.inf
    number[sk.TRACED_V], number[sk.TRACED_AGE], number[sk.APART] = np.inf, np.inf, _APART
    return number


def _parameters(system: Cells) -> Floats:
    """Return the table that kernels read."""
    n, law = system.n, system.law.spread(system.n)
    par = np.zeros((rk.PAR_ROWS, n))
    par[rk.A], par[rk.B], par[rk.LENGTH], par[rk.MU0] = (
        law[name] for name in ("a", "b", "length", "mu0")
    )
    par[rk.SPEED0], par[rk.SIGMA], par[rk.ETA] = system.law.speed0, system.sigma, system.damping
    par[rk.TOTAL] = system.sigma
    for i in range(n):
        speed0, length = par[rk.SPEED0, i], par[rk.LENGTH, i]
        par[rk.LN_RATIO, i], par[rk.LN_SPEED0, i] = math.log(speed0 / length), math.log(speed0)
        par[rk.LN_LENGTH, i] = math.log(length)
    return par

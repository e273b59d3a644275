"""Time integration of a fault over earthquake cycles: loop, buffers, checkpoints.

`run_cycles` converts the system to arrays (`state.MethodState`), calls the steps of
`stepper_kernels` in slices, and returns the run that `outcome` builds. A slice is a kernel call of
bounded work, after which progress is reported and a checkpoint may be written. With a dense
stiffness the kernel multiplies; with a `Convolution` it returns NEED and Python multiplies.
`methods.Cycles.solve` calls it.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Log, StateArray, check_count, refused, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request, Run
from stiction.errors import ModelError, Status
from stiction.faults import stepper_kernels as sk
from stiction.faults.model import Cells, FaultSystem
from stiction.faults.outcome import History, build_run
from stiction.faults.rate_kernels import Cell
from stiction.faults.state import Event, MethodState, Progress, Sample
from stiction.laws.rate_and_state import SLIP, RateAndState
from stiction.numerics.arrays import Table
from stiction.numerics.checks import MOST_WORK

if TYPE_CHECKING:
    from stiction.faults.methods import Cycles

__all__ = ["cells_of", "method_state_of", "run_cycles", "start_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# multiplications in one kernel call, some tenths of a second: interrupts are handled between calls
_PRODUCTS_PER_CALL = 2_000_000
# entries of the buffers of events (of a slider) and of the trace
_BUFFER = 1024
# change of ln V or ln theta between samples of the trace, doubled if they are too many. Chosen for
# a smooth curve in figures
_TRACE_DISTANCE, _MOST_TRACED = 0.05, 50_000
# number of events whose slip profile is saved
_MOST_PROFILES = 200
# status and reason of a run that ends with an error code of `advance`
_REASONS = {
    sk.STEP_TOO_SMALL: (
        Status.NO_CONTINUATION,
        "the steps became shorter than the resolution of time",
    ),
    sk.NOT_FINITE: (Status.NOT_FINITE, "the state is not finite"),
    sk.OPENED: (Status.NO_CONTINUATION, "the pore pressure reached the normal stress"),
}


def run_cycles(system: FaultSystem, method: Cycles, request: Request) -> Run:
    """Return the run of a fault or of a spring slider."""
    cells = system.assembled()
    integrator = _Integrator(cells, method, request)
    integrator.run()
    return build_run(system, cells, method, integrator.history())


class _Integrator:
    """The integration of one system: arrays, stiffness, events, trace, checkpoint."""

    def __init__(self, system: Cells, method: Cycles, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        self.stiffness = system.stiffness()
        self.arrays = method_state_of(system, method, request)
        self.events, self.trace = Log(Event.table(0)), Log(Sample.table(0))
        self.profiles = Log(np.zeros((0, system.n)))
        self.status, self.reason = Status.SOLVED, "the end time was reached"
        self._begin()

    def _begin(self) -> None:
        """Set the initial state; raise ModelError if the fault is open."""
        m, n, request = self.arrays, self.system.n, self.request
        v, theta = self.system.start()
        m.state[:n], m.state[n : 2 * n] = np.log(v), np.log(theta)
        m.trial[:] = m.state
        m.operand[:] = v - self.system.plate_speed
        mu = self.system.law.coefficient(v, theta)
        sigma = self.system.sigma - self.system.pore_pressure(request.t_start)
        if not (sigma > 0.0).all():
            got, needs = f"{sigma.min():.4g} Pa at the start", "more than 0 in every cell"
            where, why = "Fault.normal_stress minus pore pressure", "an open fault has no friction."
            try_ = "begin earlier, inject less, or give a higher normal stress."
            raise ModelError(where, got, needs, why, try_)
        m.cells["stress_start"] = mu * sigma + self.system.damping * v
        m.progress[0].own_stiffness = abs(self._product(np.eye(1, n)[0])[0])

    def run(self) -> None:
        """Integrate to the end time, or to a failure."""
        code = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        m, now = self.arrays, self.arrays.progress[0]
        if code in _REASONS:
            self.status, self.reason = _REASONS[code]
        if self.status is not Status.SOLVED:
            self.reason += f" at t = {now.time:.9g} s"
        elif now.saved < m.saves.size:
            # rounding may skip the last saved time: it is the end of the integration
            m.saved_states[now.saved :] = m.state
            now.saved = m.saves.size

    def _loop(self) -> Generator[Pause, None, int]:
        """Integrate in slices of bounded work; return the code of the last kernel call."""
        m, now, method = self.arrays, self.arrays.progress[0], self.method
        resumed = self._resume()
        cost = self.system.n**2 if isinstance(self.stiffness, np.ndarray) else 50 * self.system.n
        slice_of = max(20, _PRODUCTS_PER_CALL // (cost + 20))
        # the stress rate of the initial state is the first product
        if not resumed:
            m.stress_rate[:] = self._product(m.operand)
        code = sk.PAUSE
        while code == sk.PAUSE:
            left, room = method.max_steps - int(now.steps), self._room()
            if left <= 0 or room <= 0:
                self._stop_at("max_steps" if left <= 0 else "max_events")
                break
            now.left = min(slice_of, left)
            # a slice ends where its buffer is full
            self.arrays = m._replace(events=m.events[:room])
            code = self._integrate_slice()
            self._collect()
            begin, end = self.request.t_start, self.request.t_end
            fraction = float((now.time - begin) / (end - begin))
            note = f"{now.steps} steps, {len(self.events)} events"
            # a run that has ended leaves no checkpoint
            yield Pause(fraction, note, self._state if code == sk.PAUSE else None)
        if code == sk.DONE and self._room() <= 0:
            self._stop_at("max_events")
        return code

    def _room(self) -> int:
        """Return the number of events after which the run ends by `max_events`."""
        return self.method.max_events + 1 - len(self.events)

    def _stop_at(self, limit: str) -> None:
        """End the run by a bound on the work."""
        self.status, self.reason = Status.WORK_LIMIT, f"{limit} was reached"

    def _product(self, slip: Floats) -> Floats:
        """Return (n,) stresses of (n,) slips, or stress rates of slip rates."""
        if isinstance(self.stiffness, np.ndarray):
            return np.asarray(self.stiffness @ slip)
        return self.stiffness(slip)

    def _integrate_slice(self) -> int:
        """Integrate one slice; return the code of the kernel."""
        m = self.arrays
        if isinstance(self.stiffness, np.ndarray):
            return int(sk.integrate_dense(m, self.stiffness))
        code = sk.advance(m)
        while code == sk.NEED:
            m.stress_rate[:] = self.stiffness(m.operand)
            code = sk.advance(m)
        return int(code)

    def _collect(self) -> None:
        """Move events and samples of the trace from the buffers to the logs."""
        m, now = self.arrays, self.arrays.progress[0]
        self.events.add(m.events[: now.events])
        if now.events and self.system.n > 1 and len(self.profiles) < _MOST_PROFILES:
            self.profiles.add(m.cells["event_slip"][None])
        self.trace.add(m.trace[: now.traced])
        now.events = now.traced = 0
        if len(self.trace) > _MOST_TRACED:
            self.trace.rows = self.trace.rows[::2].copy()
            now.apart *= 2.0

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint."""
        m, bounds = self.arrays, (-1, MOST_WORK)
        return {
            "progress": StateArray(m.progress, within=bounds),
            "stages": StateArray(m.stages),
            "state": StateArray(m.state),
            "onset": StateArray(m.cells["onset_slip"]),
            "kept": StateArray(m.saved_states, "saved", m.progress[0].saved),
            "events": StateArray(self.events, nan=("largest",), within=bounds),
            "trace": StateArray(self.trace),
            "profiles": StateArray(self.profiles),
        }

    def _resume(self) -> bool:
        """Restore the state of a checkpoint; return whether there is one."""
        state = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if state is None:
            return False
        sizes = restore(self._state(), state)
        now, events, trace = self.arrays.progress[0], self.events.rows, self.trace.rows
        check_count("progress", now.saved, sizes["saved"], sizes["saved"])
        # the initial state is traced, and every onset is counted
        check_count("trace", len(trace), 1, MOST_WORK)
        onsets = int((events["up"] == 1).sum())
        check_count("events", onsets, now.onsets, now.onsets)
        for name, table in (("events", events), ("trace", trace)):
            if (np.diff(table["time"]) < 0.0).any():
                raise refused(name, "decreasing times", "increasing times")
        # an onset has no slip since the onset, and the first arrest may have no onset before it
        if np.isnan(events["largest"][1:][events["up"][1:] == 0]).any():
            raise refused("events", "an arrest without a slip", "the slip of every event")
        # a checkpoint is written between two steps, with empty buffers
        for at, only in (("stage", -1), ("events", 0), ("traced", 0)):
            check_count("progress", int(getattr(now, at)), only, only)
        return True

    # ---- results

    def history(self) -> History:
        """Return the arrays of the integration."""
        m, now = self.arrays, self.arrays.progress[0]
        time, states = m.saves[: now.saved], m.saved_states[: now.saved]
        # a run may fail before its first state is saved
        if self.status is not Status.SOLVED and (not time.size or now.time > time[-1]):
            time = np.append(time, now.time)
            states = np.vstack([states, m.state])
        return History(
            time=time,
            states=states,
            stress=np.array([self._product(slip) for slip in self._slips(states)]),
            events=self.events.rows,
            trace=self.trace.rows,
            profiles=self.profiles.rows,
            progress=now,
            status=self.status,
            reason=self.reason,
        )

    def _slips(self, states: Floats) -> Floats:
        """Return (t, n) slip less that of the plates from states (t, 4 n + 2)."""
        n = self.system.n
        return states[:, 2 * n : 3 * n]


def method_state_of(system: Cells, method: Cycles, request: Request) -> MethodState:
    """Return the arrays of an integration, with parameters of the cells but no initial state."""
    n, size, law = system.n, system.state_size, system.law
    return MethodState(
        progress=start_of(system, method, request),
        stages=np.zeros((7, size)),
        next_stage=np.zeros(size),
        state=np.zeros(size),
        next_state=np.zeros(size),
        trial=np.zeros(size),
        cells=cells_of(law, system.sigma, system.damping),
        fluid=system.fluid,
        stress_rate=np.zeros(n),
        operand=np.zeros(n),
        saves=np.array(request.save, dtype=np.float64),
        saved_states=np.zeros((len(request.save), size)),
        # events of a fault are collected one by one, each with its slip profile
        events=Event.table(_BUFFER if n == 1 else 1),
        trace=Sample.table(_BUFFER),
    )


def start_of(system: Cells, method: Cycles, request: Request) -> Table[Progress]:
    """Return the step control at the start: a table of one element."""
    progress = Progress.table()
    now = progress[0]
    now.time, now.t_end = request.t_start, request.t_end
    now.rtol, now.level, now.plate_speed = method.rtol, method.level, system.plate_speed
    now.traced_v, now.traced_age, now.apart = np.inf, np.inf, _TRACE_DISTANCE
    now.v_least = now.age_least = now.mu_least = np.inf
    now.v_most = now.age_most = now.mu_most = now.v_peak = -np.inf
    return progress


def cells_of(law: RateAndState, sigma: Floats, eta: Floats | float) -> Table[Cell]:
    """Return n cells under a law, with (n,) normal stresses [Pa] and damping [Pa s/m]."""
    cells, numbers = Cell.table(sigma.size), law.spread(sigma.size)
    for name, values in numbers.items():
        cells[name] = values
    cells["regularised"], cells["slip_law"] = law.regularised, law.evolution == SLIP
    cells["ln_ratio"] = _logarithms(law.speed0 / numbers["length"])
    cells["ln_speed0"], cells["ln_length"] = math.log(law.speed0), _logarithms(numbers["length"])
    cells["eta"], cells["normal_stress"], cells["sigma"] = eta, sigma, sigma
    return cells


def _logarithms(values: Floats) -> Floats:
    """Return ln of every value; NaN for values that are not positive and finite."""
    return np.array([math.log(x) if 0.0 < x < math.inf else math.nan for x in values.tolist()])

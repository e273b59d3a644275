"""Time integration of rods by the leapfrog, from one saved time to the next.

A step of length h is a kick v+ = v- + h M^-1 (f + J^T lam) with J (v+ + v-) = 0, and a drift of the
positions at constant v: v velocities, M masses and inertias, f elastic forces and loads, lam the
contact forces, J v the slip velocities. Velocities belong to the middle of a step, so a sample at
its end has their mean before and after a kick.

`LeapfrogStepper` assembles the rods, takes steps (`stepper_kernels`), treats events and searches
between them, and records states, events, extremes and checkpoints. `VelocityVerletStepper` and the
midpoint rule derive from it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import Log, StateArray, check_count, refused, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import ModelError, Status
from stiction.numerics.arrays import Struct
from stiction.numerics.checks import MOST_WORK
from stiction.rods import rod_kernels as rk
from stiction.rods.assembly import Flat, assemble, third_directors
from stiction.rods.contact import gauss_seidel_kernels as tk
from stiction.rods.contact import kernels as ck
from stiction.rods.contact import observe_kernels as ok
from stiction.rods.contact.overlap import deepest, refuse_overlap
from stiction.rods.contact.state import ContactState
from stiction.rods.driving_kernels import (
    Switches,
    add_damping,
    add_loads,
    clamp_energy,
    clamp_rates,
    clamp_velocities,
    follow_clamps,
    internal_damping,
    power,
)
from stiction.rods.leapfrog import impact_kernels as ik
from stiction.rods.leapfrog import stepper_kernels as mk
from stiction.rods.leapfrog.checkpoint import check_open_contacts
from stiction.rods.leapfrog.history import RodHistory
from stiction.rods.leapfrog.steps import step_length
from stiction.rods.model import Rods
from stiction.rods.rod import Turned
from stiction.rods.rod_kernels import State
from stiction.rods.stability import step_limit
from stiction.rods.state import extremes_kernels as xk
from stiction.rods.state.record import InternalForces, StateRecord

if TYPE_CHECKING:
    from stiction.rods.methods import RollingLeapfrog

__all__ = ["LeapfrogStepper"]

Floats = npt.NDArray[np.float64]

_EVENTS = 4096
_MOST_EVENTS = 1_000_000
_REASONS = {
    mk.LEFT_ROD: "a contact came too near to the end of a rod",
    mk.SINGULAR: "the axes at a contact no longer have a unique pair of closest points",
    mk.NEAR_PARALLEL: "two rods came within 10 degrees of parallel at a contact point",
    mk.NOT_FINITE: "the state left the range of finite numbers",
}


class Progress(Struct):
    """Progress of a run.

    projected : kinetic energy removed at the start to satisfy the rolling constraint [J]
    limit : displacement of nodes after which contacts are searched again [m]
    reached : number of saved times reached after the first
    steps, searches : numbers of steps and of searches for contacts
    """

    projected: float
    limit: float
    reached: int
    steps: int
    searches: int


class LeapfrogStepper:
    """Stepper of one run: arrays that the kernels change in place, and records.

    Parameters
    ----------
    rods, method, request : the model, the method, and the times of the run
    limited : whether the step must be below the stability limit

    Attributes
    ----------
    save, counts, h : (t,) saved times [s], (t - 1,) steps between them, (t,) step lengths [s]; the
        last length is repeated
    v_old, p_old, built : (3, slots) velocities before the last kick; nodes at the last search
    scratch, work, sums, tally : see `stepper_kernels.Workspace`
    position, energy, heat, momentum, contact : records by saved time, as in `RodHistory`

    In the methods k is the number of a saved time or of the interval after it, `now` a time [s].
    """

    reasons = _REASONS

    def __init__(
        self, rods: Rods, method: RollingLeapfrog, request: Request, limited: bool = True
    ) -> None:
        self.rods, self.method, self.request = rods, method, request
        self.flat: Flat = assemble(rods)
        self.save = np.asarray(request.save, dtype=np.float64)
        # clamps start to move at the start of the run; histories have the time of the run
        driven = self.flat.driven
        driven["since"][driven["last"] == driven["first"]] = self.save[0]
        _refuse_turned(rods, float(self.save[0]))
        spans = np.diff(self.save)
        span = float(self.save[-1] - self.save[0])
        self.step = step_length(rods, method, span, limited)
        self.counts = np.maximum(1, np.ceil(spans / self.step - 1e-9)).astype(np.int64)
        self.h = np.append(spans / self.counts, 0.0)
        self.h[-1] = self.h[-2]
        slots = self.flat.r.shape[1]
        self.scratch = np.zeros((mk.SCRATCH_ROWS, slots))
        self.work = np.zeros((mk.WORK_ROWS, slots))
        self.v_old, self.p_old, self.built = mk.earlier_of(self.scratch)
        self.v_old[:], self.p_old[:], self.built[:] = self.flat.v, self.flat.p, self.flat.r
        self.contact_state = ContactState(rods, self.flat)
        self.sums, self.tally = mk.Sums.table(), tk.Tally.table()
        self.written = np.zeros(1, dtype=np.int64)
        self.events = Log(ik.Event.table(0))
        self.buffer = ik.Event.table(max(_EVENTS, 8 * self.contact_state.size))
        self.status, self.reason = Status.SOLVED, "the end time was reached"
        self.progress = Progress.table()
        self.now = self.progress[0]
        # penetration over the smaller radius, its time [s], numbers of the bodies
        self.overlap = np.zeros(4)
        self.parallel = np.array([1.0, 0.0])
        self.flags = Switches(*self.flat.flags, method.shake)
        self.mobility = self.flat.mobility(float(self.h[0]))
        f = self.flat
        self.forcing = mk.Forcing(
            f.drag, f.constant, f.loads, f.times, f.factors, f.driven, *f.flags
        )
        # about a tenth of a second of work
        self.most_steps = max(1, 2_000_000 // slots)
        self._make_room()

    def _make_room(self) -> None:
        """Allocate the arrays of saved states."""
        t, c = len(self.save), self.contact_state.size
        self.position = np.zeros((t, self.flat.nodes.size, 3))
        self.energy, self.heat = np.zeros((t, 6)), np.zeros((t, c))
        self.momentum = np.zeros((t, 6))
        names: tuple[str, ...] = ("s1", "s2", "s1_rate", "s2_rate", "lambda_n", "gap")
        names += (
            "rolling_residual",
            "friction_ratio",
            "det_A",
            "crossing_angle",
            "slip_speed",
            "contact_mode",
            "line_contact",
            "at_end",
            "normal_force",
            "first_body",
            "second_body",
            "contact_impact_loss",
        )
        self.contact = {name: np.full((t, c), np.nan) for name in names}
        for name in ("contact_force", "contact_point", "slip_velocity", "contact_impulse"):
            self.contact[name] = np.full((t, c, 3), np.nan)
        self.record = StateRecord(self.rods, self.flat, t)

    # ---- the start

    def _project_start(self) -> None:
        """Make velocities consistent with the contacts."""
        f, contact_state = self.flat, self.contact_state
        # moving clamps have their velocity from the start: their energy is not work of the first
        # step
        now = float(self.save[0])
        clamp_velocities(f.r, f.q, f.v, f.p, f.driven, f.times, f.factors, now)
        contact_state.refuse_or_close()
        mobility = f.mobility(0.0)
        self._settle_slipping(mobility)
        contact_state.contacts["impact_loss"] = contact_state.contacts["impact_impulse"] = 0.0
        rolls = contact_state.contacts["mode"] == ck.ROLL
        if np.isinf(contact_state.contacts["friction"][rolls]).all():
            before = float(contact_state.survey(f.v, f.p).kinetic)
            ok.project(f.q, contact_state.contacts, mobility, f.v, f.p)
            self.now.projected += before - float(contact_state.survey(f.v, f.p).kinetic)

    def _start(self) -> None:
        """Set the initial state and forces, and save the first sample."""
        f = self.flat
        self._project_start()
        self._observe(0, f.v.copy(), f.p.copy())
        self._note_start()
        refuse_overlap(self.overlap, f.rods)
        h = float(self.h[0])
        # the second half of the work of clamps in the first kick is added with their next velocity
        self.tally[0].last_kick = h
        # half a step backwards and forwards with the exact accelerations, so that the contact force
        # has no alternating error
        av, ap = self._accelerations(f.v, f.p, float(self.save[0]))
        self.v_old[:], self.p_old[:] = f.v - 0.5 * h * av, f.p - 0.5 * h * ap
        # the work of half a step, from the mean of the powers before and after it
        self._add_work(0.25 * h)
        f.v[:] += 0.5 * h * av
        f.p[:] += 0.5 * h * ap
        self._add_work(0.25 * h)
        if not f.driven.size:
            return
        # prescribed motions act on contacts from the start, at the mean of their velocities then
        # and in the first step
        contact_state, v, p = self.contact_state, f.v.copy(), f.p.copy()
        follow_clamps(f.r, f.q, v, p, f.driven, f.times, f.factors, float(self.save[0]), h)
        contact_state.impulse[:] = 0.5 * h * contact_state.force
        for now in ((f.v, f.p), (v, p)):
            work = tk.drive_work(f.q, contact_state.contacts, self.mobility, *now)
            self.sums[0].external += 0.5 * work
        contact_state.impulse[:] = 0.0

    def _begin_at(self, now: float, part: int) -> None:
        """Set time and phase of the step; `part` is a phase of `stepper_kernels`, such as KICK."""
        self.sums[0].time, self.tally[0].next_part, self.tally[0].lost = now, part, -1

    def _discard_half_kick(self) -> None:
        """Set the work of the last kick to zero, because all of it is complete."""
        for name in ("external_kick", "viscous_kick", "algorithmic_kick"):
            self.sums[name] = 0.0

    def _note_start(self) -> None:
        """Record extremes of the initial contact forces, which are not those of a kick."""
        before = self.contact_state.impulse.copy()
        self.contact_state.impulse[:] = self.contact_state.force
        self._note_extremes(1.0, float(self.save[0]))
        self.contact_state.impulse[:] = before

    def _note_extremes(self, rate: float, now: float) -> None:
        """Record extremes of contacts; forces are `rate` [1/s] times impulses, or stored if 0."""
        xk.update_extremes(self._tables()[2], self.flat.v, self.flat.driven, rate, now)

    def _save_events(self) -> None:
        """Append the events that the kernels recorded."""
        self.events.add(self.buffer[: self.written[0]])
        self.written[0] = 0

    def _settle_slipping(self, mobility: Floats) -> None:
        """Start approaching contacts with a friction law by an impact; open separating ones."""
        f, contact_state = self.flat, self.contact_state
        scale = max(float(np.abs(f.v).max()), 1e-300)
        for c in range(contact_state.size):
            one = contact_state.contacts[c]
            if one.mode < ck.ROLL or one.may_open == 0:
                continue
            speed = float(ik.approach_speed(f.q, one, f.v, f.p))
            if speed > 1e-12 * scale and np.isfinite(one.friction):
                # this loss precedes the ledger, as does the projection of rolling contacts
                self.now.projected += tk.solve_impact(
                    f.q, contact_state.contacts, mobility, f.v, f.p, c, True, self.tally[0]
                )
            elif speed < -1e-12 * scale:
                one.mode = ck.OPEN

    def _accelerations(
        self, v: Floats, p: Floats, now: float, kick: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Return accelerations of v and p (3, slots), with contact forces of rolling.

        kick : length of the last kick [s]; internal damping is that predicted in it; 0: at v and p
        """
        f, contact_state = self.flat, self.contact_state
        force, torque = rk.forces_of(self.scratch)
        self._update_forces(now)
        self._resist(v, p, kick)
        av, ap = force * f.material.free, torque * f.material.turns
        # clamps and partners accelerate contacts; their own velocities are set, not integrated
        clamp_rates(f.r, f.q, av, ap, f.driven, f.times, f.factors, now)
        ok.contact_forces(
            f.q,
            contact_state.contacts,
            f.mobility(0.0),
            v,
            p,
            av,
            ap,
            contact_state.given,
            contact_state.force,
            np.zeros(10),
        )
        av[:, f.material.free == 0.0] = 0.0
        ap[:, f.material.turns == 0.0] = 0.0
        return av, ap

    def _resist(self, v: Floats, p: Floats, kick: float = 0.0) -> None:
        """Add drag and internal damping to the forces; `kick` as of `_accelerations`."""
        f, on = self.flat, self.flags
        force, torque = rk.forces_of(self.scratch)
        fe, te = mk.damping_of(self.scratch)
        if on.retarded and kick > 0.0:
            start, late = (self.v_old, self.p_old), f.drags.retardation
            add_damping(f.r, f.q, *start, kick, f.mat, late, force, torque, fe, te, self.work)
        elif on.retarded:
            internal_damping(f.r, f.q, v, p, f.mat, f.drags.retardation, fe, te)
            force += fe
            torque += te
        if on.damped:
            axis = third_directors(f.q)
            spin = p - 0.5 * (p * axis).sum(axis=0) * axis
            force -= f.drags.node * v
            torque -= f.drags.element * spin

    def _update_forces(self, now: float) -> None:
        """Set elastic forces plus loads of the present state in scratch, and loads alone."""
        self.sums[0].time, self.tally[0].next_part = now, mk.FORCES
        self._take_steps(1.0, 1.0, 1.0, 1, self.forcing)

    def _add_work(self, duration: float) -> None:
        """Add the work of loads and damping in a duration [s] at the present velocities."""
        f = self.flat
        on = self.flags
        force, torque, fe, te = (np.zeros_like(f.v) for _ in range(4))
        if on.loaded:
            now = float(self.save[0])
            add_loads(force, torque, f.constant, f.loads, f.times, f.factors, now, fe, te)
            self.sums[0].external += duration * power(f.q, f.v, f.p, fe, te)
        fe, te = np.zeros_like(f.v), np.zeros_like(f.v)
        if on.retarded:
            internal_damping(f.r, f.q, f.v, f.p, f.mat, f.drags.retardation, fe, te)
        if on.damped:
            axis = third_directors(f.q)
            fe -= f.drags.node * f.v
            te -= f.drags.element * (f.p - 0.5 * (f.p * axis).sum(axis=0) * axis)
        if on.retarded or on.damped:
            self.sums[0].viscous -= duration * power(f.q, f.v, f.p, fe, te)

    # ---- integration

    def integrate(self) -> None:
        """Integrate to the end time, or to the time at which the model is no longer valid."""
        run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, None]:
        """Integrate from each saved time to the next."""
        if not self._resume():
            self._start()
        for k in range(self.now.reached, len(self.counts)):
            if not (yield from self._interval(k)):
                return
            self.contact_state.given[:] = self.contact_state.impulse / self._last(k)
            self.now.reached = k + 1
            self._observe(k + 1, *self._mean_velocities(float(self.save[k + 1])))
            if not np.all(np.isfinite(self.energy[k + 1])):
                self._stop(mk.NOT_FINITE, -1, float(self.save[k + 1]))
                return
            yield Pause((k + 1.0) / len(self.counts), f"{self.now.steps} steps", self._state)

    def _mean_velocities(self, now: float) -> tuple[Floats, Floats]:
        """Return v and p at time `now`: means before and after the last kick, of clamps theirs."""
        f = self.flat
        v, p = 0.5 * (self.v_old + f.v), 0.5 * (self.p_old + f.p)
        clamp_velocities(f.r, f.q, v, p, f.driven, f.times, f.factors, now)
        return v, p

    def _last(self, k: int) -> float:
        """Return the length of the last kick of interval k: half of its step and half the next."""
        return 0.5 * float(self.h[k] + self.h[k + 1])

    def _pause(self, k: int, part: float) -> Pause:
        """Return a pause within interval k, without a checkpoint."""
        return Pause((k + part) / len(self.counts), f"{self.now.steps} steps")

    def _interval(self, k: int) -> Generator[Pause, None, bool]:
        """Integrate from saved time k to the next; return False if the model is no longer valid."""
        left, h = int(self.counts[k]), float(self.h[k])
        while left > 0:
            # short calls allow an interrupt and a report of progress
            steps = min(left, self.most_steps)
            self._begin_at(self.save[k + 1] - left * h, mk.DRIFT)
            last = self._last(k) if steps == left else h
            code, done, contact = self._take_steps(h, last, 2.0 * last - h, steps, self.forcing)
            self.now.steps += done
            left -= done
            if code == mk.SEARCH:
                self._search()
            elif code in _REASONS:
                self._stop(code, contact, float(self.save[k + 1]) - left * h)
                return False
            if self._too_many_events(k):
                return False
            yield self._pause(k, 1.0 - left / int(self.counts[k]))
        return True

    def _too_many_events(self, k: int) -> bool:
        """Return whether the event log is full; then set the status of the run."""
        if len(self.events) <= _MOST_EVENTS:
            return False
        self.status = Status.WORK_LIMIT
        self.reason = f"more than {_MOST_EVENTS} events before t = {self.save[k + 1]:.9g} s"
        return True

    def _tables(self) -> tuple[State, mk.Constants, ck.ContactSet, mk.Workspace]:
        """Return the arguments of the step kernels: state, constants, contacts, workspace."""
        f, t = self.flat, self.contact_state
        # only contacts up to the last used one; the others are empty until the next search
        used = np.flatnonzero(t.contacts["mode"] != ck.EMPTY)
        n = int(used[-1]) + 1 if used.size else 0
        return (
            State(f.r, f.q, f.v, f.p),
            mk.Constants(f.mat, self.mobility),
            ck.ContactSet(t.contacts[:n], t.trial, t.extremes[:n]),
            mk.Workspace(self.scratch, self.work, self.sums, self.tally),
        )

    def _take_steps(
        self, h: float, last: float, next_drift: float, steps: int, forcing: mk.Forcing
    ) -> tuple[int, int, int]:
        """Take steps of h, the last kick of length `last`; return code, steps, contact."""
        state, table, contact_set, workspace = self._tables()
        shake, limit, done = self.method.shake, self.contact_state.limit, 0
        while True:
            code, more = mk.integrate(
                state,
                table,
                forcing,
                contact_set,
                workspace,
                shake,
                h,
                last,
                next_drift,
                steps - done,
                limit,
            )
            done += int(more)
            if code != mk.MODE_CHANGE:
                break
            ik.note_ends(contact_set, float(self.sums[0].time), self.buffer, self.written)
            if self.written[0] > len(self.buffer) // 2:
                self._save_events()
        self._save_events()
        return int(code), done, int(self.tally[0].lost)

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays that kernels change in place, and the records so far."""
        t, upto = self.contact_state, self.now.reached + 1
        # each interval repeats the search for lost contacts
        self.now.limit, self.tally[0].lost = t.limit, -1
        mine = ("v_old", "p_old", "built", "sums", "overlap")
        return {
            "progress": StateArray(self.progress, inf=("limit",), within=(0, MOST_WORK)),
            **{name: StateArray(getattr(self.flat, name)) for name in "rqvp"},
            # perfect friction has an infinite coefficient
            "contacts": StateArray(t.contacts, inf=("friction",), within=(ck.EMPTY, MOST_WORK)),
            "contacts_given": StateArray(t.given),
            "contacts_extremes": StateArray(t.extremes, within=(0, MOST_WORK)),
            "tally": StateArray(self.tally, within=(-1, MOST_WORK)),
            **{name: StateArray(getattr(self, name)) for name in mine},
            # velocity Verlet starts a step with the forces at the end of the last step
            "forces": StateArray(self.scratch[: mk.SAVED_ROWS]),
            "position": StateArray(self.position, "saved", upto),
            "energy": StateArray(self.energy, "saved", upto),
            "seen_heat": StateArray(self.heat, "saved", upto),
            "momentum": StateArray(self.momentum, "saved", upto),
            # an open contact has no forces to record
            **{
                f"contact_{name}": StateArray(values, "saved", upto, nan=True)
                for name, values in self.contact.items()
            },
            **self.record.state(upto),
            "events": StateArray(self.events, inf=True, nan=True, within=(0, MOST_WORK)),
        }

    def _resume(self) -> bool:
        """Restore the state from a checkpoint; return whether there was one."""
        saved = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if saved is None:
            return False
        sizes = restore(self._state(), saved)
        self.contact_state.limit = self.now.limit
        check_open_contacts(saved)
        check_count("progress", self.now.reached + 1, sizes["saved"], sizes["saved"])
        self._check_contacts()
        return True

    def _check_contacts(self) -> None:
        """Raise StoreError for contacts of bodies that do not exist or have other elements."""
        contacts, flat = self.contact_state.contacts, self.flat
        bodies = contacts["bodies"]
        if bodies.size:
            check_count("contacts", int(bodies.min()), 0, flat.first.size - 1)
            check_count("contacts", int(bodies.max()), 0, flat.first.size - 1)
        held = contacts["mode"] != ck.EMPTY
        same = (contacts["first"] == flat.first[bodies])[held].all()
        if not (same and (contacts["elements"] == flat.count[bodies])[held].all()):
            raise refused("contacts", "elements of no rod", "elements of the rods in contact")

    def _search(self) -> None:
        """Search for overlaps and new contacts, and store the present nodes."""
        self.built[:] = self.flat.r
        self._look_for_overlap(float(self.sums[0].time))
        if self.rods.search is not None:
            self.contact_state.search(self.flat)
            self.now.searches += 1

    def _stop(self, code: int, contact: int, now: float) -> None:
        """Set status and reason of an end at time `now`, for a code and a contact."""
        where = f" (contact {contact + 1})" if contact >= 0 else ""
        self.reason = f"{_REASONS[code]}{where} at t = {now:.9g} s"
        bad = code == mk.NOT_FINITE
        self.status = Status.NOT_FINITE if bad else Status.NO_CONTINUATION
        if not bad:
            self._look_for_overlap(now)
        if code == mk.NEAR_PARALLEL:
            self.parallel[:] = self.contact_state.contacts[contact].sine, now

    # ---- records

    def _observe(self, k: int, v: Floats, p: Floats) -> None:
        """Save sample k, with velocities v and p at its time."""
        f, t = self.flat, self.contact_state
        self.position[k] = f.r[:, f.nodes].T
        part, totals, sums = 0.5 if k else 0.0, t.survey(v, p), self.sums[0]
        # clamps have their mean velocity over a drift in `flat`: the difference is work of drives
        gained = 0.0
        if f.driven.size:
            gained = clamp_energy(f.q, v, p, f.mat, f.driven)
            gained -= clamp_energy(f.q, f.v, f.p, f.mat, f.driven)
        self.energy[k] = (
            totals.kinetic,
            totals.stored,
            sums.external - sums.external_kick + gained,
            sums.viscous - part * sums.viscous_kick,
            sums.impact,
            sums.algorithmic - part * sums.algorithmic_kick,
        )
        self.heat[k] = t.contacts["heat"] - part * t.contacts["kick_heat"]
        self.momentum[k, :3], self.momentum[k, 3:] = totals.momentum, totals.angular_momentum
        now = float(self.save[k])
        self._look_for_overlap(now)
        # restore scratch afterwards: the next step needs the forces of the last kick
        saved = self.scratch.copy()
        self._accelerations(v, p, now, self._damped_over(k))
        t.observe(k, self.contact)
        inner = InternalForces(*rk.forces_of(self.scratch), *mk.strains_of(self.scratch))
        contact_loads = t.contact_loads(self.contact["contact_force"][k])
        self.record.record(k, now, v, p, inner, contact_loads)
        self.scratch[:] = saved

    def _damped_over(self, k: int) -> float:
        """Return the length of the kick before sample k, in which damping is predicted [s]."""
        return self._last(k - 1) if k else 0.0

    def _look_for_overlap(self, now: float) -> None:
        """Record the largest penetration of any two bodies, and its time."""
        depth, a, b = deepest(self.flat)
        if not depth <= self.overlap[0]:
            self.overlap[:] = depth, now, a + 1, b + 1

    def history(self) -> RodHistory:
        """Return the records up to the last saved time that the run reached."""
        upto = self.now.reached + 1
        events, tally = self.events.rows, self.tally[0]
        end = self.save[upto - 1]
        return RodHistory(
            time=self.save[:upto],
            position=self.position[:upto],
            energy=self.energy[:upto],
            heat=self.heat[:upto],
            momentum=self.momentum[:upto],
            contact={name: values[:upto] for name, values in self.contact.items()},
            events=events[events["time"] <= end + 1e-12 * abs(end)],
            pairs=self.contact_state.contacts["bodies"] + 1,
            first=self.flat.first,
            ds=self.flat.ds,
            stats={
                "steps": int(self.now.steps),
                "step": float(self.h[:-1].max()),
                "step_limit": min(step_limit(rod) for rod in self.rods.rods),
                "searches": int(self.now.searches),
                "most_sweeps": int(tally.most_sweeps),
            },
            status=self.status,
            reason=self.reason,
            checks=(
                Check(
                    "contacts_solved",
                    bool(tally.unconverged == 0),
                    float(tally.unconverged),
                    0.0,
                    None,
                    "number of velocity updates (kicks) and impacts in which the coupled contacts "
                    "did not converge, and of kicks after which gaps did not close",
                    kind=Kind.CONVERGENCE,
                ),
            ),
            projected=float(self.now.projected),
            overlap=self.overlap,
            parallel=self.parallel,
            extremes=self.contact_state.extremes,
            rolling=float(tally.rolling_slip),
            state=self.record.variables(upto),
        )


def _refuse_turned(rods: Rods, start: float) -> None:
    """Raise ModelError if a clamp is not at its initial orientation at the start time [s]."""
    for number, rod in enumerate(rods.rods, 1):
        for end in (rod.left, rod.right):
            if not isinstance(end, Turned):
                continue
            angle = float(np.interp(start, end.times, end.angles))
            if angle != 0.0:
                raise ModelError(
                    "Turned.angles",
                    f"{angle:.6g} rad at the start of the run (rod {number})",
                    f"0 rad at t = {start:.6g} s",
                    "angles are measured from the initial orientation of the clamp.",
                    "let the history begin at the start of the run, with the angle 0.",
                )

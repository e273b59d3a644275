"""Time integration of rods whose contacts may slip or open, from one saved time to the next.

A step of length h is half kick, drift, half kick, v' = v + M^-1 (h f(r) / 2 + J^T P),
r+ = r + h v', v+ = v' + M^-1 (h f(r+) / 2 + J^T P+): positions r, velocities v, masses and inertias
M, elastic forces and loads f, contact impulses P and P+, slip velocities J v
(`velocity_verlet_kernels`). This module takes steps until a contact penetrates, changes its mode,
or has moved so far that contacts must be searched again. `event_localisation_kernels` then locates
penetrations and mode changes within the step. If all contacts roll, `LeapfrogStepper` is used
instead.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.driver import Pause
from stiction.core.run import Request, Run
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.overlap import refuse_overlap
from stiction.rods.leapfrog import event_localisation_kernels as uk
from stiction.rods.leapfrog import impact_kernels as ik
from stiction.rods.leapfrog import stepper_kernels as mk
from stiction.rods.leapfrog import velocity_verlet_kernels as hk
from stiction.rods.leapfrog.history import RodHistory
from stiction.rods.leapfrog.run import LeapfrogStepper
from stiction.rods.leapfrog.steps import changes_modes
from stiction.rods.model import RodSystem

if TYPE_CHECKING:
    from stiction.rods.methods import RollingLeapfrog

__all__ = ["VelocityVerletStepper", "run_leapfrog"]

Floats = npt.NDArray[np.float64]

# an initial slip velocity below this fraction of the largest velocity counts as stick
_STILL = 1e-12


class VelocityVerletStepper(LeapfrogStepper):
    """Velocity Verlet stepper: positions and velocities belong to the same time.

    In `LeapfrogStepper` velocities belong to the middle of a step.
    """

    def _saved_step(self) -> hk.SavedStep:
        """Return the arrays for the start of a step, allocated at first use."""
        if not hasattr(self, "saved_step"):
            slots, size = self.flat.r.shape[1], self.contact_state.size
            self.saved_step = hk.SavedStep(
                np.zeros((hk.SAVED_STEP_ROWS, slots)),
                ck.Contact.table(size),
                ck.Contact.table(size),
                mk.Sums.table(),
                np.zeros(10),
            )
            _, _, undamped_mobility = hk.rates_of(self.saved_step.rows)
            undamped_mobility[:] = self.flat.mobility(0.0)
        return self.saved_step

    def _start(self) -> None:
        """Set the initial modes and forces, and save the first sample."""
        f = self.flat
        self._project_start()
        self.sums[0].time = self.save[0]
        state, table, contact_set, workspace = self._tables()
        saved, forcing = self._saved_step(), self.forcing
        still = _STILL * max(float(np.abs(f.v).max()), 1e-300)
        log = (self.buffer, self.written)
        uk.initialise_modes(state, table, forcing, contact_set, workspace, saved, still, *log)
        self._save_events()
        self.v_old[:], self.p_old[:] = f.v, f.p
        self._observe(0, f.v.copy(), f.p.copy())
        self._note_extremes(0.0, float(self.save[0]))
        refuse_overlap(self.overlap, f.rods)

    def history(self) -> RodHistory:
        """Return the history, including slips that have begun but are not in the event log."""
        contacts, seen = self.contact_state.contacts, super().history()
        begun = np.flatnonzero(contacts["unreported_slip"] == ck.SLIP_UNREPORTED)
        events = ik.Event.table(len(seen.events) + begun.size)
        events[: len(seen.events)] = seen.events
        for event, c in zip(events[len(seen.events) :], begun.tolist(), strict=True):
            k = contacts[c]
            event.time, event.contact, event.kind = k.onset_time, c, ik.SLIPS
            event.before, event.after, event.pressing = ck.ROLL, ck.SLIP, k.onset_force
            event.place = k.onset_place
        events = events[np.argsort(events["time"], kind="stable")]
        pressed, gave = (float(contacts[n].sum()) for n in ("normal_impulse", "friction_work"))
        excess = float(contacts["excess_impulse"].sum()) / pressed if pressed > 0.0 else 0.0
        return replace(seen, events=events, excess=excess, given=gave)

    def _accelerations(
        self, v: Floats, p: Floats, now: float, kick: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Set the contact forces to those at the end of the last step; return v and p unchanged."""
        self._resist(v, p)
        self.contact_state.force[:] = self.contact_state.contacts["force"]
        return v, p

    def _observe(self, k: int, v: Floats, p: Floats) -> None:
        """Save sample k, with the present velocities in place of v and p."""
        # velocities belong to the saved time: v and p, means of half steps, are not needed
        super()._observe(k, self.flat.v, self.flat.p)

    def _interval(self, k: int) -> Generator[Pause, None, bool]:
        """Integrate from saved time k to the next; return False if the model is no longer valid."""
        left, h = int(self.counts[k]), float(self.h[k])
        state, table, contact_set, workspace = self._tables()
        saved, forcing, log = self._saved_step(), self.forcing, (self.buffer, self.written)
        while left > 0:
            # whole steps, until an event, a search, or the saved time
            self.sums[0].time, self.tally[0].lost = self.save[k + 1] - left * h, -1
            steps = min(left, self.most_steps)
            full_step, limit = (h if self.method.shake else 0.0), self.contact_state.limit
            code, done = hk.integrate_velocity_verlet(
                state, table, forcing, contact_set, workspace, saved, full_step, h, steps, limit
            )
            self.now.steps += int(done)
            left -= int(done)
            if code in (mk.PENETRATION, mk.MODE_CHANGE):
                # split the last step at its events
                step = self.now.steps
                code = uk.process_events(
                    state,
                    table,
                    forcing,
                    contact_set,
                    workspace,
                    saved,
                    full_step,
                    h,
                    code,
                    step,
                    *log,
                )
                self._save_events()
                if code == ck.INSIDE:
                    self.now.steps += 1
                    left -= 1
                    self._note_extremes(0.0, float(self.sums[0].time))
                    far = limit > 0.0 and mk.has_moved(self.flat.r, self.built, limit)
                    lost = limit > 0.0 and self.tally[0].lost == -2
                    code = mk.SEARCH if far or lost else mk.DONE
            if code == mk.SEARCH:
                self._search()
                state, table, contact_set, workspace = self._tables()
            elif code in self.reasons:
                self._stop(code, int(self.tally[0].lost), float(self.sums[0].time))
                return False
            if self._too_many_events(k):
                return False
            yield self._pause(k, 1.0 - left / int(self.counts[k]))
        self.v_old[:], self.p_old[:] = self.flat.v, self.flat.p
        self._discard_half_kick()
        return True


def run_leapfrog(system: RodSystem, method: RollingLeapfrog, request: Request) -> Run:
    """Return the run of `system`: velocity Verlet if contacts may slip or open, else leapfrog."""
    from stiction.rods.outcome import build_run

    rods = system.assembled()
    stepper = (VelocityVerletStepper if changes_modes(rods) else LeapfrogStepper)(
        rods, method, request
    )
    stepper.integrate()
    return build_run(system, rods, method, stepper.history())

"""Run of a rod on a rigid plane: integration between saved times, checkpoints and results.

Each node has the gap g and the slip velocity u_t of the point below it, and the impulse P of a half
kick. Where g is closed, 0 <= P_n _|_ u_n + e u_n- >= 0 with the normal velocity u_n, u_n- before an
impact and the restitution e (`stepper_kernels` adds tangential restitution); |P_t| <= mu P_n, at
its bound and against u_t where u_t is not 0.
b1 and b2 are tangents of the plane, n its normal. `run_on_plane` assembles the rod, calls
`stepper_kernels.integrate` from one saved time to the next, and returns positions, contact
quantities of all nodes, events, energy ledger and audit.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import Log, StateArray, check_count, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Request, Run, Variable
from stiction.errors import ModelError, Status
from stiction.numerics.arrays import Struct, Table
from stiction.numerics.checks import MOST_WORK
from stiction.numerics.shown import counted
from stiction.rods.assembly import assemble
from stiction.rods.driving_kernels import add_loads
from stiction.rods.model import Rods
from stiction.rods.plane import kernels as pk
from stiction.rods.plane import stepper_kernels as mk
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.rod_kernels import elastic
from stiction.rods.stability import step_limit
from stiction.rods.state.record import InternalForces, StateRecord

if TYPE_CHECKING:
    from stiction.rods.methods import PlaneLeapfrog

__all__ = ["run_on_plane"]

Floats = npt.NDArray[np.float64]

# work of a kernel call, a few tenths of a second: the longest delay of Ctrl-C and checkpoints
_NODE_STEPS_PER_CALL = 1_000_000

_KINDS = ("close", "open", "slip", "stick", "bounce")
_MAY_BE_INFINITE = ("last_impact", "friction", "bound")
_MODES = ("open", "roll", "slip")
_REASONS = {
    pk.NOT_FINITE: (Status.NOT_FINITE, "the state left the range of finite numbers"),
    pk.TOO_MANY_STEPS: (Status.WORK_LIMIT, "max_steps was reached"),
}


def run_on_plane(system: RodOnPlane, method: PlaneLeapfrog, request: Request) -> Run:
    """Return the run of `system`."""
    stepper = _PlaneStepper(system, method, request)
    stepper.integrate()
    return stepper.run()


def _step(system: RodOnPlane, method: PlaneLeapfrog) -> float:
    """Return the longest step [s]; raise ModelError if it exceeds the stability limit."""
    limit = step_limit(system.rod)
    if method.step is None:
        return method.fraction * limit
    if method.step > limit:
        raise ModelError(
            "PlaneLeapfrog.step",
            f"{method.step} s",
            f"at most {limit:.6g} s, the stability limit of the rod",
            "beyond this limit the fastest wave of the elements grows without bound.",
            f"give {0.5 * limit:.3g}.",
        )
    return method.step


def _basis(normal: Floats) -> Floats:
    """Return (3, 3) n, b1, b2, right-handed with n x b1 = b2."""
    n = normal / np.linalg.norm(normal)
    helper = np.eye(3)[int(np.argmin(np.abs(n)))]
    b1 = np.cross(helper, n)
    b1 /= np.linalg.norm(b1)
    return np.array([n, b1, np.cross(n, b1)])


class Progress(Struct):
    """Progress of a run: saved times reached after the first, and steps."""

    reached: int
    steps: int


class _PlaneStepper:
    """The stepper of a run; kernels change its arrays in place.

    Attributes
    ----------
    basis : (3, 3) rows n, b1, b2 of the plane
    contacts, tallies, buffer : tables `Node` (slots,), `Tally` (1,) and `Event` of `kernels`
    scratch : see `stepper_kernels`
    position, force : (saved, nodes, 3) [m], contact force [N] in space
    energy : (saved, 5) kinetic, stored, external work, impact loss, numerical dissipation [J]
    heat, gap, mode : (saved, nodes) friction heat [J], gap [m], mode
    slip : (saved, nodes, 2) slip velocity along b1, b2 [m/s]
    momentum : (saved, 3) [kg m/s]
    """

    def __init__(self, system: RodOnPlane, method: PlaneLeapfrog, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        rods = Rods((system.rod,), gravity=system.gravity)
        self.flat = assemble(rods)
        # slots of nodes: a clamp has an additional slot without a node
        self.nodes = self.flat.nodes
        self.step = _step(system, method)
        size = self.flat.r.shape[1]
        self.size = size
        self.basis = _basis(np.asarray(system.normal))
        self.contacts = pk.Node.table(size)
        self.contacts["last_impact"], self.contacts["friction"] = -np.inf, np.inf
        if system.friction is not None:
            mu = np.array(system.friction.table(self.nodes.size).mu_static)
            self.contacts["friction"] = mu.max()
            self.contacts["friction"][self.nodes] = mu
        self.planes = self._planes()
        self.plane = self.planes[0]
        self.scratch = np.zeros((mk.SCRATCH_SIZE, size))
        # there is no half kick before the first step
        before_v, before_p = mk.velocities_before(self.scratch)
        before_v[:], before_p[:] = self.flat.v, self.flat.p
        self.tallies = pk.Tally.table()
        self.tally = self.tallies[0]
        self.tally.time, self.tally.fresh, self.tally.shortest = request.t_start, 1, np.inf
        self.buffer = pk.Event.table(max(4096, 8 * size))
        self.written = np.zeros(1, dtype=np.int64)
        self.events = Log(pk.Event.table(0))
        self.progress = Progress.table()
        self.now = self.progress[0]
        self.status, self.reason = Status.SOLVED, "the end time was reached"
        count, size = len(request.save), self.nodes.size
        self.record = StateRecord(rods, self.flat, count)
        # the first saved state is that before an impact at the start
        self.start = self.flat.v.copy(), self.flat.p.copy()
        self.position = np.zeros((count, size, 3))
        self.energy, self.heat = np.zeros((count, 5)), np.zeros((count, size))
        self.force = np.zeros((count, size, 3))
        self.gap, self.slip = np.zeros((count, size)), np.zeros((count, size, 2))
        self.mode = np.zeros((count, size), dtype=np.int8)
        self.momentum = np.zeros((count, 3))

    def _planes(self) -> Table[pk.Plane]:
        """Return the constants of the kernels, in one element."""
        system, planes = self.system, pk.Plane.table()
        plane = planes[0]
        plane.radius, plane.step = system.rod.section.radius, self.step
        plane.friction = self.contacts["friction"].max()
        plane.restitution = system.restitution
        plane.tangential_restitution = system.tangential_restitution
        plane.normal, plane.tangents = self.basis[0], self.basis[1:]
        plane.origin = np.asarray(system.point)
        return planes

    def integrate(self) -> None:
        """Integrate to the end, or to the first failure."""
        run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, None]:
        """Integrate from each saved time to the next, in calls of bounded work."""
        f, save, resumed = self.flat, self.request.save, self._resume()
        motion = mk.Motion(f.r, f.q, f.v, f.p)
        forcing = mk.Forcing(f.constant, f.loads, f.times, f.factors)
        if not resumed:
            self._observe(0)
            self._close_at_start()
            self._first_forces(forcing)
        steps_per_call = max(200, _NODE_STEPS_PER_CALL // self.size)
        for k in range(self.now.reached + 1, len(save)):
            code = pk.EVENTS_FULL
            while code == pk.EVENTS_FULL:
                steps_left = self.method.max_steps - self.now.steps
                code, done = mk.integrate(
                    motion,
                    float(save[k]),
                    min(steps_per_call, steps_left),
                    self.planes,
                    f.mat,
                    forcing,
                    self.scratch,
                    self.contacts,
                    self.tallies,
                    self.buffer,
                    self.written,
                )
                self.now.steps += done
                self.events.add(self.buffer[: self.written[0]])
                if code == pk.TOO_MANY_STEPS and done < steps_left:
                    code = pk.EVENTS_FULL
                if code == pk.EVENTS_FULL:
                    part = (float(self.tally.time) - save[k - 1]) / (save[k] - save[k - 1])
                    done, note = (k - 1 + part) / (len(save) - 1), f"{self.now.steps} steps"
                    yield Pause(done, note, self._state)
            if code in _REASONS:
                self.status, cause = _REASONS[code]
                self.reason = f"{cause} at t = {self.tally.time:.9g} s"
                return
            self.now.reached = k
            self._observe(k)
            yield Pause(k / (len(save) - 1), f"{self.now.steps} steps", self._state)

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint."""
        upto, modes = self.now.reached + 1, (pk.OPEN, pk.SLIP)
        names = ("position", "energy", "heat", "force", "gap", "slip", "momentum")
        return {
            "progress": StateArray(self.progress, within=(0, self.method.max_steps)),
            **{name: StateArray(getattr(self.flat, name)) for name in "rqvp"},
            # infinite: time of an impact before the first one; mu and bounds without slip
            "contacts": StateArray(self.contacts, inf=_MAY_BE_INFINITE, within=modes),
            "scratch": StateArray(self.scratch),
            "tally": StateArray(self.tallies, inf=("shortest",), within=(0, MOST_WORK)),
            **{f"seen_{name}": StateArray(getattr(self, name), "saved", upto) for name in names},
            "seen_mode": StateArray(self.mode, "saved", upto, within=modes),
            **self.record.state(upto),
            "events": StateArray(self.events, nan=True),
        }

    def _resume(self) -> bool:
        """Restore the state of a checkpoint; return whether there was one."""
        checkpoint = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if checkpoint is None:
            return False
        sizes = restore(self._state(), checkpoint)
        check_count("progress", self.now.reached + 1, sizes["saved"], sizes["saved"])
        return True

    def _close_at_start(self) -> None:
        """Close contacts at the start, with an impact if a node approaches or must not slip."""
        f, mode = self.flat, self.contacts["mode"]
        _, un, slip = self._survey()
        rigid, small = bool(np.isinf(self.plane.friction)), 1e-12 * float(np.abs(f.v).max())
        near = self.system.gaps(f.r.T) <= pk.SHALLOW * self.plane.radius
        # a support carries the load of its node, without a contact
        closed = near & (un <= small) & (f.material.free > 0.0)
        speed = np.linalg.norm(slip, axis=1)
        mode[closed] = pk.ROLL
        if not rigid:
            mode[closed & (speed > small)] = pk.SLIP
        arrive = closed & (un < -small)
        mode[arrive] = pk.OPEN
        if arrive.any() or (rigid and speed[closed].max(initial=0.0) > small):
            self.contacts["arrives"] = arrive
            mk.apply_impact(
                f.q,
                f.v,
                f.p,
                self.plane,
                f.mat,
                self.contacts,
                self.scratch,
                self.tally,
                1.0,
                self.buffer,
                self.written,
            )
            self.events.add(self.buffer[: self.written[0]])

    def _survey(self) -> tuple[tuple[float, float], Floats, Floats]:
        """Return energies, normal velocities (nodes,) and slip velocities (nodes, 2)."""
        f, contacts, slip = self.flat, self.contacts.copy(), np.empty((self.size, 2))
        energies = mk.survey(mk.Motion(f.r, f.q, f.v, f.p), self.plane, f.mat, contacts, slip)
        return energies, contacts["normal_velocity"], slip

    def _first_forces(self, forcing: mk.Forcing) -> None:
        """Evaluate the initial contact forces by a short trial kick, on copies."""
        f, w = self.flat, mk.TRIAL_PART * self.step
        contacts, tallies = self.contacts.copy(), self.tallies.copy()
        tallies["trial"] = 1
        mk.integrate(
            mk.Motion(f.r, f.q, f.v.copy(), f.p.copy()),
            float(self.tally.time),
            0,
            self.planes,
            f.mat,
            forcing,
            self.scratch,
            contacts,
            tallies,
            self.buffer,
            self.written,
        )
        self.contacts["force"] = contacts["impulse"] / w
        self.force[0] = self._force()
        self.mode[0] = self.contacts["mode"][self.nodes]
        self._record(0)

    def _force(self) -> Floats:
        """Return (nodes, 3) contact forces on the rod in the last step [N]."""
        return np.asarray(self.contacts["force"][self.nodes] @ self.basis)

    def _observe(self, k: int) -> None:
        """Save the quantities of sample k."""
        f, nodes = self.flat, self.nodes
        self.position[k] = f.r[:, nodes].T
        energies, _, slip = self._survey()
        self.slip[k] = slip[nodes]
        tally = self.tally
        self.energy[k] = (*energies, tally.external, tally.impact, tally.algorithmic)
        self.heat[k] = self.contacts["heat"][nodes]
        self.momentum[k] = f.v @ f.material.mass
        self.mode[k] = self.contacts["mode"][nodes]
        self.force[k] = self._force()
        self.gap[k] = self.system.gaps(self.position[k])
        self._record(k)

    def _record(self, k: int) -> None:
        """Save motion, internal forces and reactions of a saved time."""
        f, now = self.flat, float(self.request.save[k])
        pull, moment, force, torque, fe, te = np.zeros((6, 3, self.size))
        elastic(f.r, f.q, f.mat, pull, moment, force, torque)
        add_loads(force, torque, f.constant, f.loads, f.times, f.factors, now, fe, te)
        push, twist = np.zeros((2, 3, self.size))
        push[:, self.nodes] = self.force[k].T
        # the contact point is one radius below the node: torque on the frames beside it
        turn = self.plane.radius * np.cross(push.T, self.basis[0]).T
        turn[:, 1:-1] *= 0.5
        twist[:, :-1] += turn[:, :-1]
        twist[:, :-1] += turn[:, 1:]
        v, p = (f.v, f.p) if k else self.start
        self.record.record(k, now, v, p, InternalForces(force, torque, pull, moment), (push, twist))

    # ---- results

    def run(self) -> Run:
        """Return the results up to the last saved time reached."""
        upto = self.now.reached + 1
        time = self.request.save[:upto]
        kinetic, stored, work, impact, algorithmic = self.energy[:upto].T
        energy = Ledger(
            time=time,
            kinetic=kinetic,
            stored=stored,
            external_work=work,
            friction_heat=self.heat[:upto],
            impact_loss=impact,
            algorithmic=algorithmic,
        )
        return Run.of(
            self.system,
            self.method,
            status=self.status,
            reason=self.reason,
            time=time,
            variables=self._variables(upto),
            final={"x": self.position[upto - 1].ravel().copy()},
            event_log=self._event_log(),
            energy=energy,
            checks=self._checks(energy),
            quantities=self._quantities(energy, upto),
            stats={
                "events": len(self.events),
                "steps": int(self.now.steps),
                "step": self.step,
                "shortest_step": float(self.tally.shortest) if self.now.steps else self.step,
                "most_sweeps": int(self.tally.sweeps),
            },
            citations=("strings",),
            size=counted(self.nodes.size, "node"),
        )

    def _variables(self, upto: int) -> dict[str, Variable]:
        """Return the variables of the first `upto` samples."""
        size, each = self.nodes.size, ("time", "contact")
        number, radius = np.ones(size, dtype=np.int64), np.full(size, self.plane.radius)
        normal = self.force[:upto] @ self.basis[0]
        tangential = self.force[:upto] - normal[:, :, None] * self.basis[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(normal > 0.0, np.linalg.norm(tangential, axis=2) / normal, np.nan)
        point = self.position[:upto] - self.plane.radius * self.basis[0]
        speed = np.linalg.norm(self.slip[:upto], axis=2)
        slip_vector = self.slip[:upto] @ self.basis[1:]
        nodes = ("time", "node", "axis")
        return self.record.variables(upto) | {
            "position": Variable(self.position[:upto], nodes, "m", "nodes of the axis"),
            "rod_of_node": Variable(number, ("node",), "1", "number of the rod"),
            "radius_of_node": Variable(radius, ("node",), "m", "radius of the rod"),
            "momentum": Variable(self.momentum[:upto], ("time", "axis"), "kg m/s", "of the rod"),
            "lambda_n": Variable(-normal, each, "N", "normal force, positive in tension"),
            "normal_force": Variable(normal, each, "N", "normal force, positive in compression"),
            "gap": Variable(
                self.gap[:upto], each, "m", "distance of the rod's surface from the plane"
            ),
            "friction_ratio": Variable(ratio, each, "1", "tangential over normal force"),
            "slip_speed": Variable(speed, each, "m/s", "speed of the surface over the plane"),
            "contact_mode": Variable(self.mode[:upto], each, "1", "0 open, 1 rolls, 2 slips"),
            "contact_force": Variable(self.force[:upto], (*each, "axis"), "N", "on the rod"),
            "slip_velocity": Variable(
                slip_vector, (*each, "axis"), "m/s", "of the surface over the plane"
            ),
            "contact_point": Variable(point, (*each, "axis"), "m", "one radius below the node"),
        }

    def _event_log(self) -> EventLog:
        """Return the event log of the nodes."""
        events = self.events.rows
        closes, normal = np.isin(events["kind"], (pk.CLOSES, pk.BOUNCES)), events["normal"]
        return EventLog(
            events["time"].copy(),
            events["node"] + 1 - int(self.nodes[0]),
            [_MODES[mode] for mode in events["before"].tolist()],
            [_MODES[mode] for mode in events["after"].tolist()],
            [_KINDS[int(kind)] for kind in events["kind"].tolist()],
            {
                "normal": np.where(closes, np.nan, normal),
                "closing_speed": np.where(closes, -normal, np.nan),
                "slip_speed": events["slip_speed"].copy(),
            },
            {"normal": "N", "closing_speed": "m/s", "slip_speed": "m/s"},
        )

    def _checks(self, energy: Ledger) -> tuple[Check, ...]:
        """Return the audit checks."""
        rod, tally = self.system.rod, self.tally
        most = max(float(tally.normal_force), 1e-290)
        # strains and positions have rounding errors; the energy of a rod at rest is rounding
        pressed = float(np.linalg.norm(self.force, axis=2).sum(axis=1).max(initial=0.0))
        noise = (1e-26 * rod.section.axial_stiffness + 2.2e-16 * pressed) * rod.rest_length
        at_rest = energy.scale <= noise
        scale = np.inf if at_rest else max(energy.scale, 1e-290)
        gained, scheme = float(tally.given) / scale, float(tally.cost) / scale
        slip_vector = float(tally.excess) / most
        unconverged = float(self.tally.unconverged)
        deep = float(max(0.0, -self.tally.depth)) / float(self.plane.radius)
        closed, mu = 0.0 if at_rest else energy.imbalance_rel, float(self.plane.friction)
        return (
            Check(
                "ledger_closes",
                bool(closed <= 1e-3),
                closed,
                1e-3,
                None,
                "energy imbalance over the energy, at the saved times",
            ),
            Check("no_overlap", None, None, None, None, "self-contact is not checked"),
            Check(
                "friction_dissipates",
                bool(gained <= 1e-14),
                gained,
                1e-14,
                float(tally.given_time) if gained > 0.0 else None,
                "negative friction heat of all steps, over the energy",
            ),
            Check(
                "numerical_dissipation_small",
                bool(scheme <= 1e-3),
                scheme,
                1e-3,
                None,
                "numerical dissipation at changes of mode, over the energy",
            ),
            Check(
                "contacts_solved",
                bool(unconverged <= 0.0),
                unconverged,
                0.0,
                None,
                "number of velocity updates (kicks) that did not converge",
                kind=Kind.CONVERGENCE,
            ),
            Check(
                "no_interpenetration",
                bool(deep <= 1e-3),
                deep,
                1e-3,
                None,
                "deepest overlap over the radius",
            ),
            Check(
                "friction_within_bound",
                bool(slip_vector <= 1e-9),
                slip_vector,
                1e-9,
                float(tally.excess_time) if slip_vector > 0.0 else None,
                f"largest friction in excess of mu N, with mu = {mu:.6g}",
            ),
        )

    def _quantities(self, energy: Ledger, upto: int) -> dict[str, Quantity]:
        """Return the quantities of the run."""
        largest = float(np.linalg.norm(self.force[:upto], axis=2).max())
        heat = float(energy.total_friction_heat[-1])
        lost = float(energy.impact_loss[-1])
        return {
            "largest_contact_force": Quantity(largest, "N", "of one node, over the saved times"),
            "friction_heat": Quantity(heat, "J", "in all"),
            "impact_loss": Quantity(lost, "J", "in all"),
        }

"""Run a rod on a plane from one saved time to the next, and name what came out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, Status, explain
from stiction.results.audit import Check
from stiction.results.events import EventLog
from stiction.results.ledger import Ledger
from stiction.results.run import Quantity, Request, Run, Variable, counted
from stiction.rods.assembly import assemble
from stiction.rods.model import Rods
from stiction.rods.plane import kernels as pk
from stiction.rods.plane import march_kernels as mk
from stiction.rods.plane.model import PlaneLeapfrog, RodOnPlane
from stiction.rods.rod_kernels import kinetic_energy, stored_energy
from stiction.rods.stability import step_limit

__all__ = ["run_on_plane"]

Floats = npt.NDArray[np.float64]

_KINDS = ("close", "open", "slip", "stick", "bounce")
_MODES = ("open", "roll", "slip")
_REASONS = {
    pk.NOT_FINITE: (Status.NOT_FINITE, "the state left the range of finite numbers"),
    pk.TOO_MANY_STEPS: (Status.WORK_LIMIT, "max_steps was reached"),
}


def run_on_plane(system: RodOnPlane, method: PlaneLeapfrog, request: Request) -> Run:
    """Return the run of `system`."""
    walk = _Walk(system, method, request)
    walk.go()
    return walk.run()


def _step(system: RodOnPlane, method: PlaneLeapfrog) -> float:
    limit = step_limit(system.rod)
    if method.step is None:
        return method.part * limit
    if method.step > limit:
        raise ModelError(
            explain(
                "PlaneLeapfrog.step",
                f"{method.step} s",
                f"at most {limit:.6g} s, the stability limit of the rod",
                "beyond it the fastest wave of the elements grows without bound.",
                f"give {0.5 * limit:.3g}.",
            )
        )
    return method.step


def _basis(normal: Floats) -> Floats:
    """Return n, b1, b2 as rows, right-handed with n x b1 = b2."""
    n = normal / np.linalg.norm(normal)
    helper = np.eye(3)[int(np.argmin(np.abs(n)))]
    b1 = np.cross(helper, n)
    b1 /= np.linalg.norm(b1)
    return np.array([n, b1, np.cross(n, b1)])


class _Walk:
    """The state of a run: arrays that the kernels change in place."""

    def __init__(self, system: RodOnPlane, method: PlaneLeapfrog, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        self.flat = assemble(Rods((system.rod,), gravity=system.gravity))
        self.step = _step(system, method)
        size = self.flat.r.shape[1]
        self.size = size
        self.origin = np.array(system.point, dtype=np.float64)
        self.basis = _basis(np.asarray(system.normal))
        self.a = system.rod.section.radius
        self.node = np.zeros((8, size))
        self.node[mk.HIT] = -np.inf
        mu = np.full(size, np.inf)
        if system.friction is not None:
            mu = np.array(system.friction.table(size).mu_static)
        self.node[mk.MU] = mu
        self.law = np.array([mu.max(), system.restitution, system.tangential_restitution])
        self.modes = np.zeros(size, dtype=np.int64)
        self.branch = np.zeros(size, dtype=np.int64)
        self.before, self.P, self.press = (np.zeros((3, size)) for _ in range(3))
        self.x, self.z, self.m, self.bias = (np.zeros((2, size)) for _ in range(4))
        self.gram, self.scratch = np.zeros((3, size)), np.zeros((18, size))
        self.v_old, self.p_old = self.flat.v.copy(), self.flat.p.copy()
        self.sums = np.zeros(3)
        self.worst = np.array([0.0, 0.0, 0.0, np.inf])
        self.clock = np.array([request.t_start, 0.0, 1.0])
        self.buffer = np.zeros((max(4096, 8 * size), pk.EVENT_COLUMNS))
        self.events: list[Floats] = []
        self.steps, self.reached = 0, 0
        self.status, self.reason = Status.SOLVED, "the end time was reached"
        count = len(request.save)
        self.position = np.zeros((count, size, 3))
        self.energy, self.heat = np.zeros((count, 5)), np.zeros((count, size))
        self.force = np.zeros((count, size, 3))
        self.gap, self.slip = np.zeros((count, size)), np.zeros((count, size, 2))
        self.mode = np.zeros((count, size), dtype=np.int8)
        self.momentum = np.zeros((count, 3))

    def go(self) -> None:
        """March to the end, or to where it stops."""
        f, save = self.flat, self.request.save
        world = (self.basis, self.a, f.mat, self.law)
        work = (
            self.node, self.branch, self.before, self.P, self.x, self.z, self.m, self.gram,
            self.bias, self.sums, self.worst,
        )  # fmt: skip
        forcing = (f.constant, f.loads, f.times, f.factors)
        self._observe(0)
        now = float(save[0])
        self._begin(world, work)
        mk.forces(f.r, f.q, f.mat, forcing, now, self.scratch)
        self._first_forces(world, work)
        for k in range(1, len(save)):
            code = pk.EVENTS_FULL
            while code == pk.EVENTS_FULL:
                most = self.method.max_steps - self.steps
                code, done, written = mk.march(
                    f.r, f.q, f.v, f.p, self.v_old, self.p_old, self.clock, float(save[k]),
                    self.step, most, self.origin, world, forcing, self.modes, self.scratch, work,
                    self.press, self.buffer,
                )  # fmt: skip
                self.steps += done
                self.events.append(self.buffer[:written].copy())
            if code in _REASONS:
                self.status, what = _REASONS[code]
                self.reason = f"{what} at t = {self.clock[pk.NOW]:.9g} s"
                return
            self.reached = k
            self._observe(k)
            self.request.progress(k / (len(save) - 1), f"{self.steps} steps")

    def _begin(self, world: tuple[object, ...], work: tuple[Any, ...]) -> None:
        """Close what touches at the start, with an impact if it comes down or must not slip."""
        f = self.flat
        un, slip = self._slip()
        rigid, small = bool(np.isinf(self.law[0])), 1e-12 * float(np.abs(f.v).max())
        touches = (self.system.gaps(f.r.T) <= pk.SHALLOW * self.a) & (un <= small)
        speed = np.linalg.norm(slip, axis=1)
        self.modes[touches] = pk.ROLL
        if not rigid:
            self.modes[touches & (speed > small)] = pk.SLIP
        arrive = touches if rigid else touches & (un < -small)
        if arrive.any() and ((rigid and speed[touches].max() > small) or un[arrive].min() < -small):
            written = mk.collide(
                f.q, f.v, f.p, float(self.clock[pk.NOW]), world, self.modes, arrive, 1.0,
                self.step, work, self.buffer, 0,
            )  # fmt: skip
            self.events.append(self.buffer[:written].copy())

    def _slip(self) -> tuple[Floats, Floats]:
        """Return normal velocities (nodes,) and slip velocities (nodes, 2)."""
        f, un = self.flat, np.zeros(self.size)
        x, z = self.x.copy(), self.z.copy()
        pk.slips(f.q, f.v, f.p, self.basis, self.a, self.size, un, x, z)
        return un, np.array([pk.slip_at(i, self.size, x, z) for i in range(self.size)])

    def _first_forces(self, world: tuple[object, ...], work: tuple[Any, ...]) -> None:
        """Find the contact forces at the start, on copies of what a kick changes."""
        f, w = self.flat, 1e-3 * self.step
        pk.turn_table(f.q, self.basis, self.a, f.mat, self.size, self.m, self.gram)
        copies = tuple(array.copy() for array in work)
        touching = self.modes != pk.OPEN
        mk.half_kick(f.q, f.v.copy(), f.p.copy(), w, world, touching, 1.0, self.scratch, copies)
        self.press[:] = copies[3] / w
        self.force[0] = self.press.T @ self.basis
        self.mode[0] = self.modes

    def _observe(self, k: int) -> None:
        f = self.flat
        self.position[k] = f.r.T
        kinetic = float(kinetic_energy(f.q, f.v, f.p, f.mat))
        self.energy[k] = (kinetic, float(stored_energy(f.r, f.q, f.mat)), *self.sums)
        self.heat[k] = self.node[mk.HEAT]
        self.momentum[k] = f.v @ f.mat[9]
        self.mode[k] = self.modes
        self.force[k] = self.press.T @ self.basis
        self.gap[k] = self.system.gaps(self.position[k])
        self.slip[k] = self._slip()[1]

    # ---- what came out

    def run(self) -> Run:
        """Return everything up to the last saved time that was reached."""
        upto = self.reached + 1
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
            checks=self._checks(energy, upto),
            quantities=self._quantities(energy, upto),
            stats={
                "events": int(sum(len(part) for part in self.events)),
                "steps": self.steps,
                "step": self.step,
                "shortest_step": float(self.worst[pk.SHORTEST]) if self.steps else self.step,
                "most_sweeps": int(self.worst[pk.SWEEPS]),
            },
            citations=("gay-balmaz-2012",),
            size=counted(self.size, "node"),
        )

    def _variables(self, upto: int) -> dict[str, Variable]:
        size, each = self.size, ("time", "contact")
        number, radius = np.ones(size, dtype=np.int64), np.full(size, self.a)
        normal = self.force[:upto] @ self.basis[0]
        along = self.force[:upto] - normal[:, :, None] * self.basis[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(normal > 0.0, np.linalg.norm(along, axis=2) / normal, np.nan)
        place = self.position[:upto] - self.a * self.basis[0]
        speed = np.linalg.norm(self.slip[:upto], axis=2)
        nodes = ("time", "node", "axis")
        return {
            "position": Variable(self.position[:upto], nodes, "m", "nodes of the axis"),
            "rod_of_node": Variable(number, ("node",), "1", "number of the rod"),
            "radius_of_node": Variable(radius, ("node",), "m", "radius of the rod"),
            "momentum": Variable(self.momentum[:upto], ("time", "axis"), "kg m/s", "of the rod"),
            "lambda_n": Variable(-normal, each, "N", "normal force, positive if it pulls"),
            "gap": Variable(self.gap[:upto], each, "m", "distance of the surface from the plane"),
            "friction_ratio": Variable(ratio, each, "1", "tangential over normal force"),
            "slip_speed": Variable(speed, each, "m/s", "speed of the surface over the plane"),
            "contact_mode": Variable(self.mode[:upto], each, "1", "0 open, 1 rolls, 2 slips"),
            "contact_force": Variable(self.force[:upto], (*each, "axis"), "N", "on the rod"),
            "contact_point": Variable(place, (*each, "axis"), "m", "one radius below the node"),
        }

    def _event_log(self) -> EventLog:
        rows = np.vstack([*self.events, np.zeros((0, pk.EVENT_COLUMNS))])
        return EventLog(
            rows[:, 0].copy(),
            rows[:, 1].astype(np.int64) + 1,
            [_MODES[int(v)] for v in rows[:, 2]],
            [_MODES[int(v)] for v in rows[:, 3]],
            [_KINDS[int(v)] for v in rows[:, 4]],
            {"normal": rows[:, 5].copy(), "slip_speed": rows[:, 6].copy()},
            {"normal": "N, or m/s when it closes", "slip_speed": "m/s"},
        )

    def _checks(self, energy: Ledger, upto: int) -> tuple[Check, ...]:
        scale = max(energy.scale, 1e-290)
        gained = float(np.max(-np.diff(energy.friction_heat, axis=0), initial=0.0)) / scale
        scheme = float(np.abs(energy.algorithmic).max()) / scale
        bound = float(self.law[0])
        over = self._bound_broken(upto)
        rows = (
            ("ledger_closes", energy.imbalance_rel, 1e-3, "energy imbalance over the energy"),
            ("friction_dissipates", gained, 1e-14, "heat that friction gave back"),
            ("scheme_loss_small", scheme, 1e-3, "energy that changes of mode cost the scheme"),
            ("contacts_solved", float(self.worst[pk.STUCK]), 0.0, "kicks that did not converge"),
            (
                "no_interpenetration",
                float(max(0.0, -self.worst[pk.DEPTH])) / self.a,
                1e-3,
                "deepest overlap over the radius",
            ),
            ("friction_within_bound", over, 1e-9, f"friction beyond mu N, mu = {bound:.6g}"),
        )
        return tuple(
            Check(name, bool(value <= limit), value, limit, None, text)
            for name, value, limit, text in rows
        )

    def _bound_broken(self, upto: int) -> float:
        """Return by how much friction forces are larger than mu N, relative to the largest."""
        if np.isinf(self.law[0]):
            return 0.0
        normal = self.force[:upto] @ self.basis[0]
        along = np.linalg.norm(self.force[:upto] - normal[:, :, None] * self.basis[0], axis=2)
        over = float(np.max(along - self.node[mk.MU] * normal, initial=0.0))
        return over / max(float(normal.max(initial=0.0)), 1e-290)

    def _quantities(self, energy: Ledger, upto: int) -> dict[str, Quantity]:
        largest = float(np.linalg.norm(self.force[:upto], axis=2).max())
        heat = float(energy.total_friction_heat[-1])
        lost = float(energy.impact_loss[-1])
        return {
            "largest_contact_force": Quantity(largest, "N", "of one node, over the saved times"),
            "friction_heat": Quantity(heat, "J", "in all"),
            "impact_loss": Quantity(lost, "J", "in all"),
        }

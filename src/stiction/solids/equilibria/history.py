"""What is kept while a solid is followed: rows of curves, tractions, energies, snapshots."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.determinism import Loss
from stiction.errors import Status
from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ContactPass
from stiction.solids.contact.partners import Boundary
from stiction.solids.equilibria.newton import forces_met
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.readings import columns, covered, force_on, forces_between, lengths
from stiction.solids.equilibria.work_integrals import (
    force_of,
    left_over,
    moment_on_circle,
    reaction,
    unbalanced,
    works_of,
)
from stiction.solids.membranes.quantities import slack

__all__ = [
    "PULLS",
    "Energies",
    "Extremes",
    "Recorder",
    "Row",
    "contact_energies",
    "energies_at",
    "fracture_energy",
    "missing_energy",
    "sprung",
    "step_energies",
]

Floats = npt.NDArray[np.float64]

# part of T_max from which a point counts as pulled
PULLS = 0.2
_PLANE = 2
# part of the time span by which times may differ that are meant to be the same
_SAME = 1e-12


class Energies(NamedTuple):
    """Energies of a state, and what has been spent since the start [J/m]."""

    stored: float
    adhesive: float
    work: float
    heat: tuple[float, ...]
    algorithmic: float
    reciprocity: float
    # of every condition, in their order
    works: tuple[float, ...] = ()
    kinetic: float = 0.0
    viscous: float = 0.0


class Row(NamedTuple):
    """One accepted state."""

    time: float
    curves: dict[str, float]
    points: dict[str, Floats]
    energy: Energies
    iterations: int


def energies_at(problem: Problem, trial: Trial, t: float) -> Energies:
    """Return the energies of a state at a time at which nothing has been spent yet."""
    stored, adhesive = problem.stored(trial)
    heats = tuple(0.0 for _ in problem.assembled.pairs)
    works = (0.0,) * len(problem.assembled.all_conditions)
    return Energies(stored + problem.grounded(trial, t), adhesive, 0.0, heats, 0.0, 0.0, works)


def step_energies(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    last: Energies,
    rough: bool = False,
) -> Energies:
    """Return the energies after a step, work and heat by the trapezoidal rule.

    Parameters
    ----------
    before, after : the accepted states at both ends of the step
    times : when
    last : the energies before
    rough : leave out what is out of balance within the step, which takes many forces to find

    Notes
    -----
    Heat is that of the return map, threshold times slip at the end of the step, which is never
    negative. The difference to the trapezoidal rule is of first order in the step and is told as
    `algorithmic`, with what springs of stick gain where they count per current area; what is
    left over falls as the step squared. Between two deformable bodies the two passes do not
    follow from one potential, and friction on a rigid circle acts at a gap from where slip is
    counted: the work of tractions that neither energy nor heat accounts for is told as
    `reciprocity` and counts as algorithmic too. Where bodies touch by virtual work alone it is
    the work of what is out of balance between both ends, found from forces: see `unbalanced`.

    Source: formulas sheet, section 4.
    Verified by: tests/convergence/test_solids.py::test_ledger_closes_at_second_order
    """
    stored, adhesive = problem.stored(after)
    works = works_of(problem, before, after, times)
    spent = 0.5 * float(np.sum((before.internal + after.internal) * (after.u - before.u)))
    grounded = problem.grounded(after, times[1])
    now = Energies(stored + grounded, adhesive, math.fsum(works), last.heat, 0.0, 0.0, works)
    step = contact_energies(problem, before, after, times, last, now, spent)
    scale = max(abs(now.stored), abs(now.adhesive), abs(last.work), problem.deepest)
    turned = abs(now.stored - last.stored) + abs(now.adhesive - last.adhesive) + abs(now.work)
    open_ = 0.0
    if problem.joined and not rough:
        open_ = unbalanced(problem, before, after, times, scale, turned)
        open_ -= left_over(problem, before, after, times[0])
    return step._replace(
        work=last.work + step.work,
        algorithmic=last.algorithmic + step.algorithmic + open_,
        reciprocity=last.reciprocity + step.reciprocity + open_,
        works=tuple(w + dw for w, dw in zip(last.works, works, strict=True)),
    )


def sprung(last: Energies, changes: dict[int, float]) -> Energies:
    """Return the energies after springs were taken off or put on, which is work of theirs.

    Parameters
    ----------
    changes : of the energy of springs, by condition [J/m]
    """
    works = [w + changes.get(number, 0.0) for number, w in enumerate(last.works)]
    total = math.fsum(changes.values())
    return last._replace(stored=last.stored + total, work=last.work + total, works=tuple(works))


def contact_energies(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    last: Energies,
    now: Energies,
    spent: float,
) -> Energies:
    """Return the energies of one step with what contact did in it; see `step_energies`.

    Parameters
    ----------
    last : the energies before
    now : stored and adhesive energy after the step, and the work done in it, of each
        condition too
    spent : work that went into the bodies in the step [J/m]
    """
    work, works = now.work, now.works
    moved = problem.unknowns.displacements(after.u) - problem.unknowns.displacements(before.u)
    ramp = problem.assembled.attraction
    heat = list(last.heat)
    algorithmic = reciprocity = 0.0
    for i, p in enumerate(problem.passes):
        a, b = before.outs[i], after.outs[i]
        share = p.energy_fraction
        change = ramp.at(times[1]) - ramp.at(times[0])
        if change:
            by_ramp = a[:, k.BY_ATTRACTION].sum() + b[:, k.BY_ATTRACTION].sum()
            work += 0.5 * share * change * float(by_ramp)
        h = b[:, k.HEAT]
        heat[problem.contact_of_pass[i]] += share * float(h.sum())
        if not p.mortar:
            slid = 0.5 * float(
                np.sum((_friction(a, p.dim) - _friction(b, p.dim)) * b[:, columns(k.SLIP_X, p.dim)])
            )
        else:
            slid = 0.5 * float(
                np.sum((a[:, k.FRICTION_FORCE] - b[:, k.FRICTION_FORCE]) * b[:, k.SLIP_STEP])
            )
        if p.contact.friction.per_current_area:
            slid -= _spread_springs(p, a, b)
        if p.hard:
            # pressures do no work; their trapezoidal rule does, where gaps open or close
            slid -= _work_of_pressures(a, b)
        algorithmic += share * slid
        if p.partner.rigid and p.partner.shape[0] != 0.0:
            # friction acts at a gap from the curve on which slip is counted
            at = columns(k.X, p.dim)
            way = b[:, at] - a[:, at] - moved[p.partner.node]
            taken = 0.5 * float(np.sum((_friction(a, p.dim) + _friction(b, p.dim)) * way))
            # what turns the circle moves the surface that friction holds on to
            motor = problem.holding.turned.get(problem.contact_of_pass[i])
            taken += works[motor[0]] if motor is not None and works else 0.0
            springs = float(b[:, k.SPRING].sum() - a[:, k.SPRING].sum())
            reciprocity += taken - springs - float(h.sum()) - slid
    if any(p.is_half_pass for p in problem.passes):
        # what the tractions of the passes took out of the bodies, against what is accounted for
        change = now.adhesive - last.adhesive + problem.springs(after) - problem.springs(before)
        change += problem.grounded(after, times[1]) - problem.grounded(before, times[0])
        new_heat = sum(heat) - sum(last.heat)
        reciprocity = work - spent - change - new_heat - algorithmic
    return now._replace(
        work=work,
        heat=tuple(heat),
        algorithmic=algorithmic + reciprocity,
        reciprocity=reciprocity,
    )


def missing_energy(before: Energies, after: Energies) -> tuple[float, float]:
    """Return the energy a step does not account for, and how much it turned over [J/m].

    Between two deformable bodies the work that the two passes do not share is counted as missing
    here: a jump hides in it.
    """
    change = after.stored + after.adhesive - before.stored - before.adhesive
    work = after.work - before.work
    lost = after.algorithmic - before.algorithmic - (after.reciprocity - before.reciprocity)
    spent = sum(after.heat) - sum(before.heat) + lost
    return abs(change - work + spent), abs(change) + abs(work) + abs(spent)


def _friction(out: Floats, dim: int) -> Floats:
    """Return the friction that resists slip at every point, (p, d) [N/m]."""
    normal = out[:, columns(k.NORMAL_X, dim)]
    pressure = out[:, [k.WEIGHT]] * out[:, [k.PRESSURE]] * normal
    return np.asarray(pressure - out[:, columns(k.FORCE_X, dim)])


def _work_of_pressures(a: Floats, b: Floats) -> float:
    """Return the work of pressures on gaps by the trapezoidal rule [J/m]."""
    both = np.isfinite(a[:, k.GAP]) & np.isfinite(b[:, k.GAP])
    a, b = a[both], b[both]
    mean = 0.5 * a[:, k.WEIGHT] * (a[:, k.PRESSURE] + b[:, k.PRESSURE])
    return float(np.sum(mean * (b[:, k.GAP] - a[:, k.GAP])))


def _spread_springs(p: ContactPass, a: Floats, b: Floats) -> float:
    """Return what springs of stick gain because the area they count on grows [J/m].

    Tractions do not follow from this part of the energy; it vanishes with a stiff penalty. The
    trapezoidal rule of (t j) . dt against d(t . t j / 2) leaves t_0 . t_1 (j_1 - j_0) / 2.
    """
    stretches = a[:, k.OWN_STRETCH], b[:, k.OWN_STRETCH]
    if p.mortar:
        both = a[:, k.FRICTION_FORCE] * b[:, k.FRICTION_FORCE]
    else:
        both = np.sum(_friction(a, p.dim) * _friction(b, p.dim), axis=1)
    per = 2.0 * p.contact.tangential_stiffness * a[:, k.WEIGHT] * stretches[0] * stretches[1]
    return float(np.sum(both * (stretches[1] - stretches[0]) / per))


@dataclass
class Extremes:
    """What the audit asks of all accepted states, whether or not their rows are kept.

    Parameters
    ----------
    pressure : largest pressure over T_max [1], and when
    gap : smallest gap [m], more by what hard contact may overlap, and when
    tension : smallest principal tension of membranes over E T [1], and when
    jacobian : least over largest Jacobian of an element [1], and when
    pulled : (p,) points that were pulled by more than a part of T_max at any time
    residual : largest residual of an accepted step over the forces that measure it [1]
    unbalanced : the same, as a force [N/m]
    force : largest force that met another in balance [N/m]
    backward : largest error of a linear solve, as a part of its numbers [1]
    """

    pressure: tuple[float, float] = (-np.inf, 0.0)
    gap: tuple[float, float] = (np.inf, 0.0)
    tension: tuple[float, float] = (np.inf, 0.0)
    jacobian: tuple[float, float] = (np.inf, 0.0)
    pulled: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    residual: float = 0.0
    unbalanced: float = 0.0
    force: float = 0.0
    backward: float = 0.0

    def see(self, t: float, points: dict[str, Floats], strongest: Floats, overlap: Floats) -> None:
        """Take a state into account.

        Parameters
        ----------
        points : tractions and gaps of the state, (p,) each
        strongest : (p,) T_max of the law at every point [Pa]
        overlap : (p,) by which points may lie inside their partner [m]
        """
        pressure = points["normal_traction"] / strongest
        worst, least = float(pressure.max()), float((points["gap"] + overlap).min())
        if worst > self.pressure[0]:
            self.pressure = (worst, t)
        if least < self.gap[0]:
            self.gap = (least, t)
        pulled = pressure < -PULLS
        self.pulled = self.pulled | pulled if self.pulled.size else pulled


class Stray(NamedTuple):
    """The boundaries that came nearest without being a pair: when, and how far beyond the cut-off.

    Parameters
    ----------
    first, second : their numbers in the contact among many, -1 where none came near
    """

    time: float
    beyond: float
    first: int
    second: int


@dataclass
class Recorder:
    """Collects rows, snapshots and losses of a run.

    Notes
    -----
    `path` has every accepted step, without its points: quantities, events and audit come from
    it. `rows` are those that were asked for.

    Parameters
    ----------
    problem : the equations
    wanted : times at which the state is asked for; rows are kept at these alone
    every_step : keep a row at every accepted step instead
    snapshots : about how many pictures of the whole body are kept
    end : time of the last picture
    unmet : residual of the step at which the path was given up [1]
    bent : time of every accepted step, then energy and excess of each body; see `parasitic`
    """

    problem: Problem
    wanted: Floats
    every_step: bool
    snapshots: int
    end: float
    rows: list[Row] = field(default_factory=list)
    path: list[Row] = field(default_factory=list)
    extremes: Extremes = field(default_factory=Extremes)
    pictures: list[tuple[float, Floats]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    status: Status = Status.SOLVED
    reason: str = ""
    stats: dict[str, int | float] = field(default_factory=dict)
    last: Row | None = None
    unmet: float = 0.0
    missed: list[tuple[int, float]] = field(default_factory=list)
    bent: list[Floats] = field(default_factory=list)
    balances: dict[int, list[tuple[Floats, Floats]]] = field(default_factory=dict)
    strays: dict[int, Stray] = field(default_factory=dict)
    unseen: str = ""

    def __post_init__(self) -> None:
        begin = float(self.wanted[0])
        self._picture_times = np.linspace(begin, self.end, max(2, self.snapshots))
        self._span = abs(self.end - begin)

    def same(self, t: float) -> float:
        """Return by how much times may differ from t that are meant to be the same."""
        return _SAME * max(self._span, abs(t))

    def add(
        self,
        state: State,
        trial: Trial,
        energy: Energies,
        iterations: int,
        residual: float = 0.0,
        at: float | None = None,
        extra: dict[str, float] | None = None,
    ) -> None:
        """Keep an accepted state, if it is wanted.

        Parameters
        ----------
        at : time of the row; None takes that of the program
        extra : more curves of the row
        """
        t = state.time if at is None else at
        curves = {**self._curves(trial, state.time), **(extra or {})}
        self.last = Row(t, curves, self._points(trial), energy, iterations)
        self.path.append(self.last._replace(points={}))
        self._see(t, trial, residual)
        moved = self.problem.unknowns.displacements(trial.u)
        self.bent.append(np.append(t, self.problem.excess.at(moved)))
        x = self.problem.places(trial.u)
        lost = sum(
            p.without_projection(x, f)
            for p, f in zip(self.problem.passes, trial.founds, strict=True)
        )
        self.missed.append((lost, t))
        for i, strays in enumerate(self.problem.strays):
            found = Stray(t, *strays.nearest(x))
            self.strays[i] = min(self.strays.get(i, found), found, key=lambda one: one.beyond)
        for i, contact in enumerate(self.problem.assembled.pairs):
            if isinstance(contact.partner, Boundary):
                pair = forces_between(self.problem, trial, i)
                self.balances.setdefault(i, []).append(pair)
        if self.every_step or (at is None and self.asks_for(t)):
            self.rows.append(self.last)
        due = self._picture_times[len(self.pictures) :]
        if due.size and t >= due[0] - self.same(t):
            # times passed in one step count as taken
            moved = self.problem.unknowns.displacements(state.u)
            for _ in range(int(np.sum(due <= t + self.same(t)))):
                self.pictures.append((t, moved.copy()))

    def asks_for(self, t: float) -> bool:
        """Return whether a row is wanted at a time."""
        return bool(np.any(np.abs(self.wanted - t) <= self.same(t)))

    def asked_between(self, low: float, high: float) -> list[float]:
        """Return the times inside an interval at which rows are wanted."""
        if self.every_step:
            return []
        inside = (self.wanted > low + self.same(low)) & (self.wanted < high - self.same(high))
        return [float(t) for t in self.wanted[inside]]

    def between(self, trial: Trial, t: float, energy: Energies, iterations: int) -> None:
        """Keep a row between two accepted steps; nothing else hears of it."""
        self.rows.append(Row(t, self._curves(trial, t), self._points(trial), energy, iterations))

    def _see(self, t: float, trial: Trial, residual: float) -> None:
        assert self.last is not None
        seen, problem = self.extremes, self.problem
        if self.last.points:
            seen.see(t, self.last.points, problem.strongest, problem.overlap)
        least = slack(problem, trial)
        if least < seen.tension[0]:
            seen.tension = (least, t)
        least = problem.least_jacobian(trial.u)
        if not least >= seen.jacobian[0]:
            seen.jacobian = (least, t)
        met = forces_met(problem, trial)
        seen.residual = max(seen.residual, residual)
        seen.unbalanced = max(seen.unbalanced, residual * max(met, problem.smallest_force))
        seen.force = max(seen.force, met)

    def keep_last(self) -> None:
        """Keep the row of the last accepted state, if it is not kept yet."""
        if self.last is not None and (not self.rows or self.rows[-1].time != self.last.time):
            self.rows.append(self.last)

    def finish(self) -> None:
        """Keep the last state, however the run ended."""
        self.keep_last()
        seen: dict[float, Floats] = dict(self.pictures)
        self.pictures = sorted(seen.items())

    def _curves(self, trial: Trial, t: float) -> dict[str, float]:
        problem = self.problem
        readings = problem.assembled.readings
        found: dict[str, float] = {"displacement": t}
        if readings.displacement is not None:
            condition = problem.assembled.all_conditions[readings.displacement]
            found["displacement"] = condition.program.at(t)  # type: ignore[attr-defined]
        if problem.passes and not readings.support:
            force = force_on(problem, trial, readings.contact, readings.body)
        elif readings.displacement is not None:
            condition = problem.assembled.all_conditions[readings.displacement]
            force = force_of(problem, trial, t, condition)
        else:
            nodes = np.flatnonzero(problem.fixed.any(axis=1))
            force = trial.residual[nodes].sum(axis=0)
        for name, part in zip("xyz", force, strict=False):
            found[f"force_{name}"] = float(part)
        for i, place in enumerate(readings.reactions, start=1):
            for name, value in reaction(problem, trial, place).items():
                found[f"reaction_{i}_{name}"] = value
        for contact, (number, _) in problem.holding.turned.items():
            found[f"torque_{number + 1}"] = moment_on_circle(problem, trial, contact)
        if problem.passes and problem.dim > _PLANE:
            i = self._pass_number()
            found.update(covered(problem, i, trial, t))
        elif problem.passes:
            i = self._pass_number()
            p = problem.passes[i]
            x = problem.places(trial.u)
            long = lengths(p, trial.outs[i], trial.founds[i], x)
            found["contact_length"] = long.nominal if readings.nominal else long.current
            found["nominal_contact"], found["sticking_length"] = long.nominal, long.sticking
            friction = not isinstance(p.contact.friction, Frictionless)
            if friction and t <= p.contact.friction_from:
                # friction has not begun: nothing has slid against it
                found["sticking_length"] = long.nominal
            found["contact_left"], found["contact_right"] = long.left, long.right
            if p.partner.rigid:
                moved = problem.unknowns.displacements(trial.u)
                found["normal_displacement"] = float(moved[p.partner.node, 1])
        return found

    def _pass_number(self) -> int:
        readings = self.problem.assembled.readings
        pairs = list(zip(self.problem.contact_of_pass, self.problem.body_of_pass, strict=True))
        wanted = (readings.contact, readings.body)
        return pairs.index(wanted) if wanted in pairs else 0

    def _points(self, trial: Trial) -> dict[str, Floats]:
        if not trial.outs:
            return {}
        out = np.concatenate(trial.outs)
        both = zip(self.problem.passes, trial.outs, strict=True)
        normal, shear = zip(*(p.shown(part) for p, part in both), strict=True)
        depth = {"surface_z": out[:, k.Z].copy()} if self.problem.dim > _PLANE else {}
        return {
            "gap": out[:, k.GAP].copy(),
            "normal_traction": np.concatenate(normal),
            "tangential_traction": np.concatenate(shear),
            "slides": out[:, k.STATE].copy(),
            "surface_x": out[:, k.X].copy(),
            "surface_y": out[:, k.Y].copy(),
            **depth,
        }


def fracture_energy(path: list[Row], first: float, rows: list[Row], nominal: str) -> Floats:
    """Return d(work - stored)/d(peeled length) at rows, over a few steps; NaN where nothing peels.

    Parameters
    ----------
    path : every accepted step
    first : length of contact from which peeling counts [m]
    nominal : name of the curve of contact
    """
    peeled = first - np.array([row.curves[nominal] for row in path])
    spent = np.array([row.energy.work - row.energy.stored for row in path])
    out = np.full(peeled.size, np.nan)
    for i in range(peeled.size):
        low, high = max(i - 2, 0), min(i + 2, peeled.size - 1)
        length = peeled[high] - peeled[low]
        if peeled[low] > 1e-3 * max(peeled[-1], 1e-300) and length > 1e-4 * peeled.max():
            out[i] = (spent[high] - spent[low]) / length
    steps, times = (np.array([row.time for row in of]) for of in (path, rows))
    return np.asarray(np.interp(times, steps, out))

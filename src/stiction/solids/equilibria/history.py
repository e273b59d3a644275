"""The record of a run, and the energy balance of its steps.

The recorder stores samples of curves and tractions, snapshots of bodies, extremes for the audit,
and losses of determinism. Energies of a step follow from the states at both of its ends; work and
heat are sums over the steps. The energy balance is

    stored + adhesive + kinetic + heat + viscous + algorithmic - work = const.,

and its largest violation is the imbalance that the audit reports. `step_energies` returns the
terms after a step. Steppers call `Recorder.add` for each accepted state, and `outcome.run` turns
the record into the `Run`. Columns of the point values `trial.point_values[i]` (p, OUT) are those of
`contact.sweeps`.

A pass is the integration of one contact pair over one of its boundaries, with p points.
"""

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
from stiction.solids.equilibria.newton import force_norm
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.readings import (
    columns,
    contact_areas,
    force_on,
    forces_between,
    lengths,
)
from stiction.solids.equilibria.work_integrals import (
    condition_works,
    force_of_condition,
    moment_on_circle,
    reaction,
    residual_work,
    unbalanced_work,
)
from stiction.solids.membranes.quantities import slack

__all__ = [
    "PULLS",
    "Energies",
    "Extremes",
    "Recorder",
    "Sample",
    "after_spring_change",
    "contact_energies",
    "energies_at",
    "fracture_energy",
    "missing_energy",
    "step_energies",
]

Floats = npt.NDArray[np.float64]

# tension over T_max from which a point counts as in tension
PULLS = 0.2
_PLANE = 2
# difference over the time span up to which two times count as equal
_TIME_TOLERANCE = 1e-12


class Energies(NamedTuple):
    """Energies of a state, and work and heat since the start [J/m], in space [J].

    Parameters
    ----------
    stored, adhesive : elastic energy of bodies, springs and stick springs; adhesive energy
    work, heat : external work, and friction heat of each contact
    algorithmic : energy dissipated by the time discretisation
    reciprocity : work of contact forces that no energy or heat accounts for, see `step_energies`
    condition_work : work of each condition, in their order
    kinetic, viscous : kinetic energy, and dissipation of dampers
    """

    stored: float
    adhesive: float
    work: float
    heat: tuple[float, ...]
    algorithmic: float
    reciprocity: float
    condition_work: tuple[float, ...] = ()
    kinetic: float = 0.0
    viscous: float = 0.0


class Sample(NamedTuple):
    """One recorded state.

    Parameters
    ----------
    time : program time, or time along the path
    curves : values of the curves by name
    points : (p,) values at contact points by name
    energy : energies, work and heat
    iterations : Newton iterations of its step
    """

    time: float
    curves: dict[str, float]
    points: dict[str, Floats]
    energy: Energies
    iterations: int


def energies_at(problem: Problem, trial: Trial, t: float) -> Energies:
    """Return the energies of the initial state: work and heat are zero."""
    stored, adhesive = problem.stored(trial)
    heats = tuple(0.0 for _ in problem.assembled.pairs)
    parts = (0.0,) * len(problem.assembled.all_conditions)
    return Energies(stored + problem.ground_energy(trial, t), adhesive, 0.0, heats, 0.0, 0.0, parts)


def step_energies(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    last: Energies,
    rough: bool = False,
) -> Energies:
    """Return the energies after a step; work follows the trapezoidal rule.

    Parameters
    ----------
    problem : the equations
    before, after : the accepted states at both ends of the step
    times : at both ends
    last : the energies before
    rough : omit the work of unbalanced forces within the step, whose integration takes many
        evaluations of forces

    Notes
    -----
    The balance is stored + adhesive + kinetic energy + heat + viscous heat + algorithmic = work.
    Heat is that of the return map: sliding threshold at the end of the step times slip, never
    negative. `algorithmic` is a sum of these terms: + (t_n - t_n+1) . slip / 2, the difference
    between the trapezoidal rule and this heat, of first order in the step; - the energy that the
    stick springs (the tangential penalty) gain when they count per current area; - with hard
    contact the work that the trapezoidal rule gives for pressures where gaps open or close;
    + `reciprocity`. The remaining error falls as the step squared.

    `reciprocity` is the work of tractions that neither energy nor heat accounts for. It has two
    sources: two-half-pass contact has no potential, and friction on a rigid circle acts at a gap
    from the curve on which slip is measured. With the mortar method `reciprocity` is the work of
    unbalanced forces between both ends of the step: see `unbalanced_work`.

    Source: docs/formulas/solids.md, section 4.
    Verified by: tests/convergence/test_solids.py::test_ledger_closes_at_second_order
    """
    stored, adhesive = problem.stored(after)
    parts = condition_works(problem, before, after, times)
    internal_work = 0.5 * float(np.sum((before.internal + after.internal) * (after.u - before.u)))
    grounded = problem.ground_energy(after, times[1])
    now = Energies(stored + grounded, adhesive, math.fsum(parts), last.heat, 0.0, 0.0, parts)
    step = contact_energies(problem, before, after, times, last, now, internal_work)
    scale = max(abs(now.stored), abs(now.adhesive), abs(last.work), problem.largest_adhesion_work)
    exchanged = abs(now.stored - last.stored) + abs(now.adhesive - last.adhesive) + abs(now.work)
    loose = 0.0
    if problem.mortar_only and not rough:
        loose = unbalanced_work(problem, before, after, times, scale, exchanged)
        # in load steps no condition does this work; in dynamics it is that of inertia, which the
        # kinetic energy contains
        loose -= residual_work(problem, before, after, times[0])
    return step._replace(
        work=last.work + step.work,
        algorithmic=last.algorithmic + step.algorithmic + loose,
        reciprocity=last.reciprocity + step.reciprocity + loose,
        condition_work=tuple(w + dw for w, dw in zip(last.condition_work, parts, strict=True)),
    )


def after_spring_change(last: Energies, changes: dict[int, float]) -> Energies:
    """Return the energies after springs were removed or added; their energy is work.

    Parameters
    ----------
    changes : of the energy of springs, by condition [J/m]
    """
    parts = [w + changes.get(number, 0.0) for number, w in enumerate(last.condition_work)]
    total = math.fsum(changes.values())
    return last._replace(
        stored=last.stored + total, work=last.work + total, condition_work=tuple(parts)
    )


def contact_energies(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    last: Energies,
    now: Energies,
    internal: float,
) -> Energies:
    """Return the energies of one step, including those of contact; see `step_energies`.

    Parameters
    ----------
    problem, before, after, times : as in `step_energies`
    last : the energies before
    now : stored and adhesive energy after the step, and the work of the step
    internal : work of internal forces in the step [J/m]
    """
    work, parts = now.work, now.condition_work
    du = problem.unknowns.displacements(after.u) - problem.unknowns.displacements(before.u)
    ramp = problem.assembled.attraction
    heat = list(last.heat)
    algorithmic = reciprocity = 0.0
    for i, p in enumerate(problem.passes):
        a, b = before.point_values[i], after.point_values[i]
        weight = p.energy_fraction
        change = ramp.at(times[1]) - ramp.at(times[0])
        if change:
            by_ramp = a[:, k.BY_ATTRACTION].sum() + b[:, k.BY_ATTRACTION].sum()
            work += 0.5 * weight * change * float(by_ramp)
        # heat of the return map, and its difference to the work by the trapezoidal rule
        h = b[:, k.HEAT]
        heat[problem.contact_of_pass[i]] += weight * float(h.sum())
        if not p.mortar:
            excess = 0.5 * float(
                np.sum((_friction(a, p.dim) - _friction(b, p.dim)) * b[:, columns(k.SLIP_X, p.dim)])
            )
        else:
            excess = 0.5 * float(
                np.sum((a[:, k.FRICTION_FORCE] - b[:, k.FRICTION_FORCE]) * b[:, k.SLIP_STEP])
            )
        if p.contact.friction.per_current_area:
            excess -= _stick_spring_gain(p, a, b)
        if p.hard:
            # exact pressures do no work; the trapezoidal rule gives some where gaps open or close
            excess -= _pressure_work(a, b)
        algorithmic += weight * excess
        if p.partner.rigid and p.partner.shape[0] != 0.0:
            # friction acts at a gap from the curve on which slip is measured
            position_columns = columns(k.X, p.dim)
            path = b[:, position_columns] - a[:, position_columns] - du[p.partner.node]
            friction = 0.5 * float(np.sum((_friction(a, p.dim) + _friction(b, p.dim)) * path))
            # a rotating circle moves the surface on which friction acts
            motor = problem.conditions.rotations.get(problem.contact_of_pass[i])
            friction += parts[motor[0]] if motor is not None and parts else 0.0
            springs = float(b[:, k.SPRING].sum() - a[:, k.SPRING].sum())
            reciprocity += friction - springs - float(h.sum()) - excess
    if any(p.is_half_pass for p in problem.passes):
        # work of the tractions of both passes less energy, heat and algorithmic terms
        change = now.adhesive - last.adhesive + problem.stick_energy(after)
        change -= problem.stick_energy(before)
        change += problem.ground_energy(after, times[1]) - problem.ground_energy(before, times[0])
        new_heat = sum(heat) - sum(last.heat)
        reciprocity = work - internal - change - new_heat - algorithmic
    return now._replace(
        work=work, heat=tuple(heat), algorithmic=algorithmic + reciprocity, reciprocity=reciprocity
    )


def missing_energy(before: Energies, after: Energies) -> tuple[float, float]:
    """Return the energy missing in the balance of a step, and the energy exchanged in it [J/m].

    `before` and `after` are the energies at both ends of the step. The work that counts as
    `reciprocity` is missing too, because a jump contributes to it.
    """
    change = after.stored + after.adhesive - before.stored - before.adhesive
    work = after.work - before.work
    numerical = after.algorithmic - before.algorithmic - (after.reciprocity - before.reciprocity)
    dissipated = sum(after.heat) - sum(before.heat) + numerical
    return abs(change - work + dissipated), abs(change) + abs(work) + abs(dissipated)


def _friction(out: Floats, dim: int) -> Floats:
    """Return the friction force at every point, against slip, (p, d) [N/m]."""
    normal = out[:, columns(k.NORMAL_X, dim)]
    pressure = out[:, [k.WEIGHT]] * out[:, [k.PRESSURE]] * normal
    return np.asarray(pressure - out[:, columns(k.FORCE_X, dim)])


def _pressure_work(a: Floats, b: Floats) -> float:
    """Return the work of pressures on gaps by the trapezoidal rule [J/m]."""
    both = np.isfinite(a[:, k.GAP]) & np.isfinite(b[:, k.GAP])
    a, b = a[both], b[both]
    mean = 0.5 * a[:, k.WEIGHT] * (a[:, k.PRESSURE] + b[:, k.PRESSURE])
    return float(np.sum(mean * (b[:, k.GAP] - a[:, k.GAP])))


def _stick_spring_gain(p: ContactPass, a: Floats, b: Floats) -> float:
    """Return the energy that stick springs gain with the current area [J/m].

    Tractions do not follow from this part of the energy, which vanishes with a stiff penalty. The
    trapezoidal rule for (t j) . dt differs from d(t . t j / 2) by t_0 . t_1 (j_1 - j_0) / 2.
    """
    stretches = a[:, k.OWN_STRETCH], b[:, k.OWN_STRETCH]
    if p.mortar:
        products = a[:, k.FRICTION_FORCE] * b[:, k.FRICTION_FORCE]
    else:
        products = np.sum(_friction(a, p.dim) * _friction(b, p.dim), axis=1)
    stiffness = 2.0 * p.contact.tangential_stiffness * a[:, k.WEIGHT] * stretches[0] * stretches[1]
    return float(np.sum(products * (stretches[1] - stretches[0]) / stiffness))


@dataclass
class Extremes:
    """Extremes over all accepted states, for the audit; unsaved states count too.

    Parameters
    ----------
    pressure : largest pressure over T_max [1], and its time
    gap : smallest sum of the gap and the admissible penetration of hard contact [m], and its time
    tension : smallest principal tension of membranes over E T [1], and its time
    jacobian : smallest over largest Jacobian of an element [1], and its time
    in_tension : (p,) points whose tension exceeded a fraction of T_max at any time
    residual : largest residual of an accepted step over its scale [1]
    unbalanced : largest residual of an accepted step, as a force [N/m]
    largest_force : largest norm of forces in equilibrium [N/m]
    backward : largest backward error of a linear solve, relative to the entries of the system [1]
    """

    pressure: tuple[float, float] = (-np.inf, 0.0)
    gap: tuple[float, float] = (np.inf, 0.0)
    tension: tuple[float, float] = (np.inf, 0.0)
    jacobian: tuple[float, float] = (np.inf, 0.0)
    in_tension: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    residual: float = 0.0
    unbalanced: float = 0.0
    largest_force: float = 0.0
    backward: float = 0.0

    def update(
        self, t: float, points: dict[str, Floats], max_tensions: Floats, overlap: Floats
    ) -> None:
        """Update the extremes with a state.

        Parameters
        ----------
        t : its time
        points : tractions and gaps of the state, (p,) each
        max_tensions : (p,) T_max of the law at every point [Pa]
        overlap : (p,) admissible penetration [m]
        """
        pressure = points["normal_traction"] / max_tensions
        largest, smallest = float(pressure.max()), float((points["gap"] + overlap).min())
        if largest > self.pressure[0]:
            self.pressure = (largest, t)
        if smallest < self.gap[0]:
            self.gap = (smallest, t)
        tensile = pressure < -PULLS
        self.in_tension = self.in_tension | tensile if self.in_tension.size else tensile


class NearestUnpaired(NamedTuple):
    """The closest approach of two boundaries of a `ContactAmong` without an active pair.

    Parameters
    ----------
    time : of the closest approach
    excess_gap : lower bound of the distance minus the range of the law [m]; negative if contact
        forces may be missing
    first, second : numbers of the boundaries in the contact, -1 if none came near
    """

    time: float
    excess_gap: float
    first: int
    second: int


@dataclass
class Recorder:
    """Records samples, snapshots and losses of determinism of a run.

    Notes
    -----
    `path` holds every accepted step without its point values; quantities, events and audit come
    from it. `samples` holds the states at the requested times.

    Parameters
    ----------
    problem : the equations
    save_times : times of the samples
    every_step : save a sample at every accepted step instead
    snapshots : approximate number of snapshots of the bodies
    end : time of the last snapshot
    failed_residual : residual of the last failed step [1]
    without_partner : number of points without a closest point, and time, of every accepted step
    parasitic : time of every accepted step, then strain energy and its parasitic part of each body
    contact_forces : by contact, the forces on both of its sides at every accepted step [N/m]
    unpaired : by contact among many, the closest approach of boundaries that are no pair
    """

    problem: Problem
    save_times: Floats
    every_step: bool
    snapshots: int
    end: float
    samples: list[Sample] = field(default_factory=list)
    path: list[Sample] = field(default_factory=list)
    extremes: Extremes = field(default_factory=Extremes)
    pictures: list[tuple[float, Floats]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    status: Status = Status.SOLVED
    reason: str = ""
    stats: dict[str, int | float] = field(default_factory=dict)
    last: Sample | None = None
    failed_residual: float = 0.0
    without_partner: list[tuple[int, float]] = field(default_factory=list)
    parasitic: list[Floats] = field(default_factory=list)
    contact_forces: dict[int, list[tuple[Floats, Floats]]] = field(default_factory=dict)
    unpaired: dict[int, NearestUnpaired] = field(default_factory=dict)
    unseen: str = ""

    def __post_init__(self) -> None:
        begin = float(self.save_times[0])
        self._picture_times = np.linspace(begin, self.end, max(2, self.snapshots))
        self._span = abs(self.end - begin)

    def tolerance(self, t: float) -> float:
        """Return the difference from t up to which another time counts as equal."""
        return _TIME_TOLERANCE * max(self._span, abs(t))

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
        """Record an accepted state, and save it as a sample if its time is requested.

        Parameters
        ----------
        state, trial, energy : the accepted state
        iterations, residual : Newton iterations of its step, and residual over the forces [1]
        at : time of the sample; None takes program time
        extra : further curves of the sample
        """
        t = state.time if at is None else at
        curves = {**self._curves(trial, state.time), **(extra or {})}
        self.last = Sample(t, curves, self._points(trial), energy, iterations)
        self.path.append(self.last._replace(points={}))
        self._update_extremes(t, trial, residual)
        displacements = self.problem.unknowns.displacements(trial.u)
        self.parasitic.append(np.append(t, self.problem.bending_excess.at(displacements)))
        x = self.problem.positions(trial.u)
        projected = zip(self.problem.passes, trial.closest_points, strict=True)
        lost = sum(p.without_projection(x, found) for p, found in projected)
        self.without_partner.append((lost, t))
        for i, near in enumerate(self.problem.unpaired):
            nearest = NearestUnpaired(t, *near.nearest(x))
            self.unpaired[i] = min(
                self.unpaired.get(i, nearest), nearest, key=lambda approach: approach.excess_gap
            )
        for i, contact in enumerate(self.problem.assembled.pairs):
            if isinstance(contact.partner, Boundary):
                pair = forces_between(self.problem, trial, i)
                self.contact_forces.setdefault(i, []).append(pair)
        if self.every_step or (at is None and self.is_save_time(t)):
            self.samples.append(self.last)
        due = self._picture_times[len(self.pictures) :]
        if due.size and t >= due[0] - self.tolerance(t):
            # a step over several picture times has one picture for all of them
            displacements = self.problem.unknowns.displacements(state.u)
            for _ in range(int(np.sum(due <= t + self.tolerance(t)))):
                self.pictures.append((t, displacements.copy()))

    def is_save_time(self, t: float) -> bool:
        """Return whether a sample is requested at a time."""
        return bool(np.any(np.abs(self.save_times - t) <= self.tolerance(t)))

    def save_times_between(self, low: float, high: float) -> list[float]:
        """Return the times inside an interval at which samples are requested."""
        if self.every_step:
            return []
        between = (self.save_times > low + self.tolerance(low)) & (
            self.save_times < high - self.tolerance(high)
        )
        return [float(t) for t in self.save_times[between]]

    def add_between(self, trial: Trial, t: float, energy: Energies, iterations: int) -> None:
        """Save a sample between two accepted steps; path and extremes do not contain it."""
        sample = Sample(t, self._curves(trial, t), self._points(trial), energy, iterations)
        self.samples.append(sample)

    def _update_extremes(self, t: float, trial: Trial, residual: float) -> None:
        """Update the extremes for the audit with an accepted state."""
        assert self.last is not None
        seen, problem = self.extremes, self.problem
        if self.last.points:
            seen.update(t, self.last.points, problem.max_tensions, problem.overlap)
        least = slack(problem, trial)
        if least < seen.tension[0]:
            seen.tension = (least, t)
        least = problem.least_jacobian(trial.u)
        if not least >= seen.jacobian[0]:
            seen.jacobian = (least, t)
        force = force_norm(problem, trial)
        seen.residual = max(seen.residual, residual)
        seen.unbalanced = max(seen.unbalanced, residual * max(force, problem.force_floor))
        seen.largest_force = max(seen.largest_force, force)

    def save_last(self) -> None:
        """Save the last accepted state as a sample, if it is not saved yet."""
        if self.last is not None and (not self.samples or self.samples[-1].time != self.last.time):
            self.samples.append(self.last)

    def finish(self) -> None:
        """Save the last state, however the run ended."""
        self.save_last()
        unique: dict[float, Floats] = dict(self.pictures)
        self.pictures = sorted(unique.items())

    def _curves(self, trial: Trial, t: float) -> dict[str, float]:
        """Return the curves of a state by name: displacement, forces, contact, reactions."""
        problem = self.problem
        readings = problem.assembled.readings
        curves: dict[str, float] = {"displacement": t}
        if readings.displacement is not None:
            condition = problem.assembled.all_conditions[readings.displacement]
            curves["displacement"] = condition.program.at(t)  # type: ignore[attr-defined]
        # the reported force: of the contact, of a condition, or of all supports
        if problem.passes and not readings.support:
            force = force_on(problem, trial, readings.contact, problem.assembled.read_body)
        elif readings.displacement is not None:
            condition = problem.assembled.all_conditions[readings.displacement]
            force = force_of_condition(problem, trial, t, condition)
        else:
            supports = np.where(problem.fixed, trial.residual, 0.0)
            force = problem.unknowns.nodal_forces(supports).sum(axis=0)
        for name, component in zip("xyz", force, strict=False):
            curves[f"force_{name}"] = float(component)
        for i, place in enumerate(readings.reactions, start=1):
            for name, value in reaction(problem, trial, place).items():
                curves[f"reaction_{i}_{name}"] = value
        for contact, (number, _) in problem.conditions.rotations.items():
            curves[f"torque_{number + 1}"] = moment_on_circle(problem, trial, contact)
        # size of contact: areas in space, lengths in the plane
        if problem.passes and problem.dim > _PLANE:
            i = self._pass_number()
            curves.update(contact_areas(problem, i, trial, t))
        elif problem.passes:
            i = self._pass_number()
            p = problem.passes[i]
            x = problem.positions(trial.u)
            extent = lengths(p, trial.point_values[i], trial.closest_points[i], x)
            curves["contact_length"] = extent.nominal if readings.nominal else extent.current
            curves["nominal_contact"], curves["sticking_length"] = extent.nominal, extent.sticking
            friction = not isinstance(p.contact.friction, Frictionless)
            if friction and t <= self.problem.friction_from(p.contact):
                # before friction acts, all of the contact counts as sticking
                curves["sticking_length"] = extent.nominal
            curves["contact_left"], curves["contact_right"] = extent.left, extent.right
            if p.partner.rigid:
                displacements = problem.unknowns.displacements(trial.u)
                curves["normal_displacement"] = float(displacements[p.partner.node, 1])
        return curves

    def _pass_number(self) -> int:
        """Return the number of the pass of the reported contact on the reported body."""
        assembled, contacts = self.problem.assembled, self.problem.contact_of_pass
        pairs = list(zip(contacts, self.problem.body_of_pass, strict=True))
        contact = assembled.readings.contact
        wanted = (contact, assembled.read_body)
        # a single pass of a contact computes both sides
        return pairs.index(wanted) if wanted in pairs else contacts.index(contact)

    def _points(self, trial: Trial) -> dict[str, Floats]:
        """Return the saved variables of contact points by name, (p,) each."""
        if not trial.point_values:
            return {}
        values = np.concatenate(trial.point_values)
        both = zip(self.problem.passes, trial.point_values, strict=True)
        normal, shear = zip(*(p.shown(part) for p, part in both), strict=True)
        depth = {"surface_z": values[:, k.Z].copy()} if self.problem.dim > _PLANE else {}
        return {
            "gap": values[:, k.GAP].copy(),
            "normal_traction": np.concatenate(normal),
            "tangential_traction": np.concatenate(shear),
            "slides": values[:, k.STATE].copy(),
            "surface_x": values[:, k.X].copy(),
            "surface_y": values[:, k.Y].copy(),
            **depth,
        }


def fracture_energy(path: list[Sample], first: float, samples: list[Sample], curve: str) -> Floats:
    """Return d(work - stored)/d(peeled length) at the samples [J/m^2]; NaN where nothing peels.

    Parameters
    ----------
    path : every accepted step
    first : length of contact from which peeling counts [m]
    curve : name of the curve of contact
    """
    peeled = first - np.array([sample.curves[curve] for sample in path])
    spent = np.array([sample.energy.work - sample.energy.stored for sample in path])
    release_rate = np.full(peeled.size, np.nan)
    for i in range(peeled.size):
        low, high = max(i - 2, 0), min(i + 2, peeled.size - 1)
        length = peeled[high] - peeled[low]
        # chosen: only where peeling has begun and proceeds, so that the quotient is no noise
        if peeled[low] > 1e-3 * max(peeled[-1], 1e-300) and length > 1e-4 * peeled.max():
            release_rate[i] = (spent[high] - spent[low]) / length
    steps, times = (np.array([sample.time for sample in of]) for of in (path, samples))
    return np.asarray(np.interp(times, steps, release_rate))

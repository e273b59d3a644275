"""PyElastica: two crossed Cosserat rods that touch, by position Verlet and its rod-rod contact.

Its contact is a penalty force with a damper, without friction; every pair of elements of the two
rods is looked at in every step. Rods of one simulation share one block of memory, the loop over
steps is written out, nothing is called back: the way its documentation advises.
"""

import importlib.metadata

import elastica
import numpy as np
from elastica.contact_utils import _find_min_dist
from protocol import serve


class Simulator(
    elastica.BaseSystemCollection, elastica.Constraints, elastica.Contact, elastica.CallBacks
):
    """Rods, clamps and contact; the mixins are the package's own way."""


def rod(problem, direction, height):
    """Return a straight rod, stretched between its clamps."""
    n, length = problem["elements"], problem["length"]
    direction, up = np.array(direction), np.array([0.0, 0.0, 1.0])
    start = -0.5 * length * direction + height * up
    made = elastica.CosseratRod.straight_rod(
        n,
        start,
        direction,
        up,
        length,
        problem["radius"],
        problem["density"],
        youngs_modulus=problem["young"],
        shear_modulus=problem["young"] / (2.0 * (1.0 + problem["poisson"])),
    )
    # the lengths above stay its rest lengths
    made.position_collection[:2] *= problem["stretch"]
    return made


def build(problem):
    """Return the simulator, ready to step, and its rods; the first one moves."""
    angle = np.deg2rad(problem["degrees"])
    one = rod(problem, (1.0, 0.0, 0.0), 0.0)
    two = rod(problem, (np.cos(angle), np.sin(angle), 0.0), 2.0 * problem["radius"])
    x = np.linspace(0.0, 1.0, problem["elements"] + 1)
    middle = 0.5 * (x[:-1] + x[1:])
    half, whole = np.sin(np.pi * x), np.sin(2.0 * np.pi * x)
    one.velocity_collection[:] = np.stack([0.0 * x, 0.7 * whole + 0.5 * half, half])
    one.velocity_collection[:, [0, 1, -2, -1]] = 0.0
    # rates are in the frames of the elements; the third director lies along the rod
    one.omega_collection[2] = 2.0 * np.sin(np.pi * middle)
    one.omega_collection[2, [0, -1]] = 0.0
    simulator = Simulator()
    for each in (one, two):
        simulator.append(each)
        simulator.constrain(each).using(
            elastica.FixedConstraint,
            constrained_position_idx=(0, 1, -2, -1),
            constrained_director_idx=(0, -1),
        )
    simulator.detect_contact_between(one, two).using(
        elastica.RodRodContact, k=problem["contact_stiffness"], nu=0.0
    )
    simulator.finalize()
    return simulator, (one, two)


def state(each):
    """Return the arrays that say how a rod lies and moves."""
    return (
        each.position_collection,
        each.director_collection,
        each.velocity_collection,
        each.omega_collection,
    )


def energy(problem, rods):
    """Return kinetic plus elastic energy [J], that of the penalty springs included."""
    for each in rods:
        each.compute_internal_forces_and_torques(0.0)
    held = sum(
        each.compute_translational_energy()
        + each.compute_rotational_energy()
        + each.compute_bending_energy()
        + each.compute_shear_energy()
        for each in rods
    )
    one, two = rods
    x, y = one.position_collection, two.position_collection
    apart = np.linalg.norm(x[:, :-1, None] - y[:, None, :-1], axis=0)
    reach = (one.radius + one.lengths)[:, None] + two.radius + two.lengths
    for i, j in np.argwhere(apart < reach):
        along, across = x[:, i + 1] - x[:, i], y[:, j + 1] - y[:, j]
        gap = _find_min_dist(x[:, i].copy(), along, y[:, j].copy(), across)[0]
        depth = one.radius[i] + two.radius[j] - np.linalg.norm(gap)
        held += 0.5 * problem["contact_stiffness"] * max(depth, 0.0) ** 2
    return float(held)


def advance(simulator, step, count):
    """Take `count` steps."""
    stepper, time = elastica.PositionVerlet(), np.float64(0.0)
    for _ in range(count):
        time = stepper.step(simulator, time, step)


def drift(problem, step, count):
    """Return the largest change of the energy on the way, over that at the start."""
    with np.errstate(all="ignore"):
        simulator, rods = build(problem)
        before, worst = energy(problem, rods), 0.0
        for _ in range(20):
            advance(simulator, step, count // 20)
            change = abs(energy(problem, rods) / before - 1.0)
            worst = max(worst, change) if np.isfinite(change) else np.inf
            if not worst < 10.0:
                return float("inf")
    return worst


def step_limit(problem, low, span):
    """Return the longest step of a geometric row (10 %) that does not blow up within `span`."""
    step = low
    while drift(problem, 1.1 * step, int(span / step)) < 1.0 and step < 1e3 * low:
        step *= 1.1
    return step


def prepare(problem, settings):
    """Return a call that steps on, or that finds the longest stable step and the drift."""
    step = settings["step"]
    if settings["task"] == "limit":
        longest = step_limit(problem, settings["low"], settings["span"])
        lost = drift(problem, step, int(settings["drift_span"] / step))
        counts = {"step_limit": longest, "energy_drift": lost}
        return lambda: {"x": [], "v": [], "counts": counts}
    simulator, rods = build(problem)
    saved = [[array.copy() for array in state(each)] for each in rods]

    def go():
        # every call steps over the same motion, which begins with the rods touching
        for each, arrays in zip(rods, saved, strict=True):
            for array, start in zip(state(each), arrays, strict=True):
                array[:] = start
        advance(simulator, step, settings["steps"])
        if not np.isfinite(rods[0].position_collection).all():
            raise RuntimeError("blew up")
        gap = _gap(rods)
        return {"x": [], "v": [], "counts": {"steps": settings["steps"], "gap": gap}}

    return go


def _gap(rods):
    """Return how far apart the nearest nodes of the two axes are [m]."""
    one, two = (each.position_collection for each in rods)
    return float(np.linalg.norm(one[:, :, None] - two[:, None, :], axis=0).min())


if __name__ == "__main__":
    serve(prepare, {"pyelastica": importlib.metadata.version("pyelastica")})

"""What cosseratbench 0.3 would say of exact answers to two of its problems.

Its references leave things out: that of the hanging cable has no bending and no shear, and the
lift of the crossing is read half an element beside the middle. So the measure of an exact answer
is not zero, and a solver that comes below it does so by errors that cancel.
"""

from __future__ import annotations

import numpy as np
from cosseratbench import Scenario, Trajectory
from cosseratbench.experiments import catenary, crossing
from scipy.integrate import solve_bvp

SHEAR_FACTOR = 27.0 / 28.0


def hanging(scenario: Scenario, elements: int) -> Trajectory:
    """Return the cable at rest with bending and shear, a boundary value problem (Reissner)."""
    rod = scenario.rods[0]
    weight = rod.material.density * rod.area * float(np.linalg.norm(scenario.gravity))
    axial, bend = (rod.material.youngs_modulus * x for x in (rod.area, rod.second_moment_of_area))
    shear = SHEAR_FACTOR * rod.material.shear_modulus * rod.area
    span = rod.centerline[-1][0] - rod.centerline[0][0]

    def rates(s, y, p):
        across, c, d = weight * s - p[1], np.cos(y[2]), np.sin(y[2])
        longer, leaning = 1.0 + (p[0] * c + across * d) / axial, (across * c - p[0] * d) / shear
        x, z = longer * c - leaning * d, longer * d + leaning * c
        return np.vstack([x, z, y[3] / bend, p[0] * z - across * x])

    def ends(a, b, p):
        return np.array([a[0], a[1], a[3], b[0] - span, b[1], b[3]])

    # the flexible cable is the first guess
    flexible = catenary.reference_curve(rod, weight / (rod.material.density * rod.area), span, 801)
    s = np.linspace(0.0, rod.length, 801)
    angle = np.arctan2(np.gradient(flexible[:, 2], s), np.gradient(flexible[:, 0], s))
    guess = np.vstack([flexible[:, 0], flexible[:, 2], angle, bend * np.gradient(angle, s)])
    pull = 0.5 * weight * rod.length / abs(np.tan(angle[0]))
    found = solve_bvp(
        rates, ends, s, guess, p=[pull, 0.5 * weight * rod.length], tol=1e-9, max_nodes=100_000
    )
    assert found.success, found.message
    at = found.sol(np.linspace(0.0, rod.length, elements + 1))
    return still([np.stack([at[0], 0.0 * at[0], at[1]], axis=1)])


def crossed(scenario: Scenario, elements: int) -> Trajectory:
    """Return nodes that stand exactly on the reference curves of the crossing."""
    young, drop = scenario.rods[0].material.youngs_modulus, -scenario.rods[1].centerline[0][2]
    arc, *curves = crossing._shapes(young, drop, 2 * crossing.RADIUS)
    at = np.linspace(0.0, crossing.LENGTH, elements + 1)
    return still([np.stack([np.interp(at, arc, x) for x in curve.T], axis=1) for curve in curves])


def still(nodes: list[np.ndarray]) -> Trajectory:
    """Return rods that do not move."""
    shapes = tuple(np.stack([x, x]) for x in nodes)
    frames = tuple(np.zeros((2, len(x) - 1, 3)) for x in nodes)
    return Trajectory(np.array([0.0, 1.0]), shapes, frames)


EXACT = {"catenary": hanging, "crossing": crossed}

"""This package as a solver of cosseratbench 0.3, whose own code judges what comes out.

cosseratbench holds the problems, the references and the measures; peers are the solvers that it
has adapters for. Errors are compared at equal elements, so nothing here but the number of elements
is chosen per problem: the step is half the stability limit, and where a problem asks for rest,
drag is that of critical damping of its slowest mode, as in the adapters of the peers.
"""

from __future__ import annotations

import numpy as np
from cosseratbench import Capability, Scenario, Trajectory
from cosseratbench.scenario import End, EndCondition, Motion, Rod

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    Curve,
    Free,
    Pinned,
    PointForce,
    Rods,
    RollingLeapfrog,
    Turned,
)
from stiction.rods.rod import RodEnd

ENDS = {
    EndCondition.FREE: Free,
    EndCondition.PINNED: Pinned,
    EndCondition.CLAMPED: Clamped,
}


def turned(motion: Motion) -> Turned:
    """Return the clamp that a motion describes, if it only turns about one axis."""
    turns = np.asarray(motion.rotation)
    axis = turns[np.argmax((turns**2).sum(axis=1))]
    slides = motion.slides_along is not None
    way = motion.axis if slides else axis / np.linalg.norm(axis)
    angles = turns @ way
    if np.any(motion.displacement) or not np.allclose(np.outer(angles, way), turns, atol=1e-12):
        raise NotImplementedError("clamps that move, or turn about changing axes, are not built")
    return Turned(way, motion.times, angles, slides=slides)


def held(spec: Rod, end: End) -> RodEnd:
    """Return what holds an end."""
    motion = spec.motion(end)
    return ENDS[spec.condition(end)]() if motion is None else turned(motion)


def ours(spec: Rod, elements: int, rate: float, correction: float | None) -> CosseratRod:
    """Return one of our rods; `rate` is that at which drag takes momentum [1/s]."""
    material = spec.material
    poisson = 0.5 * material.youngs_modulus / material.shear_modulus - 1.0
    section = CircularSection(spec.radius, material.youngs_modulus, poisson, material.density)
    return CosseratRod(
        section,
        Curve(spec.nodes(elements)),
        length=spec.length,
        elements=elements,
        left=held(spec, End.START),
        right=held(spec, End.END),
        loads=[PointForce(load.force, at=float(load.at is End.END)) for load in spec.loads],
        drag=rate * section.line_density,
        rotational_drag=rate * section.line_inertia,
        first_director=spec.normal,
        end_correction=correction,
    )


class StictionSolver:
    """Rods of this package, by its leapfrog."""

    name = "stiction"
    backend_version = st.__version__
    capabilities = frozenset({Capability.STRETCH, Capability.SHEAR, Capability.ROD_CONTACT})

    def __init__(
        self,
        time_step_scale: float = 1.0,
        contact_curve: str = "spline",
        end_correction: float | None = None,
    ) -> None:
        self.part, self.contact_curve = 0.5 * time_step_scale, contact_curve
        self.end_correction = end_correction

    def run(self, scenario: Scenario, *, n_elements: int, n_frames: int) -> Trajectory:
        """Return the motion at evenly spaced times."""
        if scenario.obstacles:
            raise NotImplementedError("obstacles are not part of this adapter")
        rate = 2.0 * scenario.slowest_frequency() if scenario.quasi_static else 0.0
        rods = [ours(spec, n_elements, rate, self.end_correction) for spec in scenario.rods]
        search = None
        if len(rods) > 1 or scenario.self_contact:
            # without friction
            friction = st.Coulomb(0.0)
            search = ContactSearch(friction=friction, self_contact=scenario.self_contact)
        more = {"search": search, "contact_curve": self.contact_curve}
        system = Rods(rods, gravity=scenario.gravity, **more)
        method = RollingLeapfrog(fraction=self.part)
        run = st.solve(system, method, (0.0, scenario.duration), save=n_frames)
        data, of = run.data, run.data.rod_of_node.values
        w, x, y, z = np.moveaxis(data.frame.values, -1, 0)
        first = np.stack(
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)], axis=-1
        )
        ends = of[data.nodes_of_element.values[:, 0] - 1]
        numbers = range(1, len(rods) + 1)
        return Trajectory(
            run.time,
            tuple(data.position.values[:, of == i] for i in numbers),
            tuple(first[:, ends == i] for i in numbers),
        )

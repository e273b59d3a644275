"""Ropes wound around a cylinder, and runs of rods in contact along arcs with short names."""

from types import SimpleNamespace

import numpy as np

import stiction as st
from stiction.errors import SolveError
from stiction.exact.rods import capstan_exponent
from stiction.rods import (
    ContactSearch,
    CosseratRod,
    Curve,
    CylinderPartner,
    Driven,
    Free,
    ImplicitEuler,
    PointForce,
    Quasistatic,
    Rods,
)

STRAND = 8


def wound(turn, spacing, pitch=0.0):
    """Return nodes of a helix on radius 1 with straight strands, and directions of both ends.

    Parameters
    ----------
    turn : of the tangent along the helix [rad]
    """
    rise = np.arctan(pitch / (2.0 * np.pi))
    length = turn / np.cos(rise) ** 2
    count = round(length / spacing)
    azimuth = np.linspace(0.0, length * np.cos(rise), count + 1)
    arc = np.stack([np.cos(azimuth), np.sin(azimuth), azimuth * np.tan(rise)], axis=1)
    ends = [
        np.array([-np.cos(rise) * np.sin(a), np.cos(rise) * np.cos(a), np.sin(rise)])
        for a in azimuth[[0, -1]]
    ]
    far = np.arange(1, STRAND + 1)[:, None] * length / count
    before, after = arc[0] - far[::-1] * ends[0], arc[-1] + far * ends[1]
    return np.concatenate([before, arc, after]), ends[0], ends[1]


def capstan(
    mu, turn, radius, spacing, *, pitch=0.0, bending=1e-3, twist=0.1, stiffness=1e3, pull=2.0
):
    """Return a rope on a drum with the slack tension 1, the drum, and the exact ratio.

    The axis of the rope lies on radius 1. Its driven end moves fast enough to slip everywhere
    within a second.
    """
    nodes, back, ahead = wound(turn, spacing, pitch)
    curvature = 1.0 / (1.0 + (pitch / (2.0 * np.pi)) ** 2)
    exponent = capstan_exponent(mu, radius * curvature)
    ratio = np.exp(exponent * turn)
    axial = stiffness * ratio
    section = st.rods.GivenSection(axial, axial, bending, twist, outer_radius=radius)
    elements = len(nodes) - 1
    strand = STRAND * np.linalg.norm(nodes[1] - nodes[0])
    # what tensions beyond that of the slack side stretch, and some more
    stretch = ((ratio - 1.0) * (1.0 / exponent / curvature + strand) - turn / curvature) / axial
    rope = CosseratRod(
        section,
        Curve(nodes),
        elements=elements,
        left=Free(),
        right=Driven(velocity=(pull * stretch * ahead).tolist()),
        loads=[PointForce((-back).tolist(), at=0.0)],
    )
    low, high = nodes[:, 2].min() - 3.0, nodes[:, 2].max() + 3.0
    return rope, CylinderPartner([0.0, 0.0, low], [0.0, 0.0, high], 1.0 - radius), ratio


NAMES = {"section_force": "internal_force", "mode": "contact_mode", "slip": "slip_length"}
SAME = ("position", "velocity", "tension", "gap", "normal_force", "contact_force", "strain")
SAME += ("bending_strain", "clamp_force", "clamp_moment", "residual")


def wrapped_path(
    rods, partners, times, *, friction=None, self_contact=False, inertia=False, steps=50, **more
):
    """Return the arrays of a run, of one rod or several, also of one whose audit failed."""
    rods = [rods] if isinstance(rods, CosseratRod) else rods
    search = ContactSearch(friction or st.Coulomb(0.0), self_contact=self_contact)
    span = times[0], times[-1]
    method = ImplicitEuler((span[1] - span[0]) / steps, **more) if inertia else None
    method = method or Quasistatic(steps, **more)
    system = Rods(rods, search=search, partners=partners)
    run = st.solve(system, method, span, save=times, throw=False)
    names = {name: name for name in SAME} | NAMES
    arrays = {name: run.variables[variable].values for name, variable in names.items()}
    node = run.variables["node_of_contact"].values - 1
    counts = [rod.elements for rod in rods]
    starts = np.cumsum([0, *(n + 1 for n in counts)])
    force = np.linalg.norm(arrays["section_force"], axis=2)
    path = SimpleNamespace(
        **arrays,
        time=run.time,
        node=node,
        partner=np.where(
            run.variables["second_body"].values > len(rods),
            run.variables["second_body"].values - len(rods) - 1,
            run.variables["second_body"].values - 1 + len(partners),
        ),
        run=run,
        end_load=lambda: (run.variables["end_force"].values, run.variables["end_moment"].values),
        energy=run.energy,
        audit=run.audit,
        losses=run.determinism.losses,
        **run.stats,
        nodes_of=lambda rod: slice(int(starts[rod]), int(starts[rod + 1])),
    )
    if force[:, 0].all():
        path.force_ratio = force[:, counts[0] - 1] / force[:, 0]
    if not run.status.complete and not run.determinism.losses:
        raise SolveError(run.reason, run, path)
    return path

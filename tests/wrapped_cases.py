"""Ropes wound around a cylinder: the mesh, the closed form, and the path of a pull."""

import numpy as np

import stiction as st
from stiction.exact.rods import capstan_exponent
from stiction.rods import CosseratRod, Curve, CylinderPartner, Driven, Free, PointForce

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

"""Audit of elements: positive Jacobians, volumetric locking, shear locking in bending."""

from __future__ import annotations

import numpy as np

from stiction.core.audit import Check, Kind
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.model import Membrane
from stiction.solids.three_d.model import SweptBody

__all__ = ["locking", "shear_locking", "unfolded"]

# ratio of moduli beyond which linear elements lock: 5 % too stiff in bending with eight over the
# height (nu = 0.45), 13 % at 25, 24 % at 50
_MOST_RATIO = 10.0

# largest parasitic fraction of a body's strain energy, and the fraction of the largest energy of a
# run from which a state counts
_LARGEST_PARASITIC, _STRAINED = 0.1, 0.01
# fraction of the largest energy of a run, kinetic included, below which a body is unstrained
_UNSTRAINED = 1e-12


def locking(problem: Problem) -> list[Check]:
    """Check that fully integrated linear elements are not nearly incompressible."""
    ratios = []
    for part, body in zip(problem.parts, problem.assembled.bodies, strict=True):
        if isinstance(body, Membrane):
            continue
        # linear quadrilaterals have four nodes; linear triangles three, and no fewer points
        quads, triangles = (any(b.nodes.shape[1] == n for b in part.blocks) for n in (4, 3))
        if isinstance(body, SweptBody):
            quads, triangles = body.element.ORDER == 1, False
        fully_integrated = not (body.element.reduced or body.element.BENDS)
        locks = triangles or (quads and fully_integrated)
        if locks and not body.plane_stress:
            shear, bulk = body.material.moduli()
            ratios.append(bulk / shear)
    if not ratios:
        return []
    note = (
        "bulk over shear modulus of bodies of linear elements without reduced=True; beyond, "
        "bodies bend and give way too little"
    )
    worst = max(ratios)
    return [Check("volume_does_not_lock", worst <= _MOST_RATIO, worst, _MOST_RATIO, None, note)]


def shear_locking(record: Recorder, scale: float) -> list[Check]:
    """Check the parasitic shear energy of linear elements in bending, which a beam does not have.

    It follows from the displacements at every step. Its fraction of the strain energy is about the
    relative error of the stiffness; without bending it is zero. States with little of the energy of
    the run do not count.

    Parameters
    ----------
    scale : largest energy of the run, kinetic included [J/m]

    Verified by: tests/audit/test_solids.py::test_linear_elements_that_bend
    """
    if not record.parasitic:
        return []
    steps = np.array(record.parasitic)
    time, energy, parasitic = steps[:, 0], steps[:, 1::2], steps[:, 2::2]
    if not energy.size or not energy.max() > 0.0:
        return []
    strained = (energy >= _STRAINED * energy.max(axis=0)) & (energy >= _STRAINED**2 * energy.max())
    # strains of bodies in free flight are residuals
    strained &= energy >= _UNSTRAINED * scale
    fractions = np.where(strained, parasitic / np.where(strained, energy, 1.0), 0.0)
    step, body = np.unravel_index(int(np.argmax(fractions)), fractions.shape)
    worst = float(max(0.0, fractions[step, body]))
    note = (
        f"part of the strain energy of a body that its linear elements hold in bending and a beam "
        f"does not, here of body {body}; beyond, it is too stiff by more than a tenth: take finer "
        "cells, or elements of second order"
    )
    ok = worst <= _LARGEST_PARASITIC
    return [Check("bending_does_not_lock", ok, worst, _LARGEST_PARASITIC, float(time[step]), note)]


def unfolded(problem: Problem, record: Recorder) -> list[Check]:
    """Check that the Jacobian of every element was positive everywhere, at every step.

    It may be positive at all integration points of an element and negative elsewhere.

    Verified by: tests/audit/test_solids.py::test_a_curved_element_is_folded_between_its_points
    """
    least, at = record.extremes.jacobian
    if not np.isfinite(least) or not any(part.hulls for part in problem.parts):
        return []
    note = "least over largest Jacobian of any element, deformed; not above 0 it is folded"
    return [Check("elements_unfolded", least > 0.0, least, 0.0, at, note, kind=Kind.CONDITION)]

"""Audit of elements: positive Jacobians, volumetric locking, shear locking in bending.

Volumetric locking is judged by the ratio of bulk to shear modulus, shear locking by the parasitic
energy of `elements.parasitic`, and positive Jacobians by the bounds of `shape_functions.jacobians`.
`outcome.run` adds these checks to the audit of a run.
"""

from __future__ import annotations

import numpy as np

from stiction.core.audit import Check, Kind
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.model import Membrane
from stiction.solids.three_d.model import SweptBody

__all__ = ["locking", "shear_locking", "unfolded"]

# ratio of bulk to shear modulus beyond which linear elements lock. With eight elements over the
# height, bending is 5 % too stiff at a ratio of 10 (nu = 0.45), 13 % at 25, 24 % at 50
_MOST_RATIO = 10.0

# largest parasitic fraction of a body's strain energy; fraction of the largest strain energy in a
# run below which a state is not checked
_LARGEST_PARASITIC, _STRAINED = 0.1, 0.01
# fraction of the largest energy of a run, kinetic included, below which a body is unstrained
_UNSTRAINED = 1e-12


def locking(problem: Problem) -> list[Check]:
    """Check volumetric locking: the ratio of bulk to shear modulus of fully integrated elements.

    Only linear elements in plane strain or in three dimensions are checked.
    """
    ratios = []
    for body in problem.assembled.bodies:
        if isinstance(body, Membrane):
            continue
        linear, reduced = body.element.ORDER == 1, body.element.reduced
        # plane triangles have one point in any case; wedges have two
        in_space = isinstance(body, SweptBody)
        triangles = linear and body.mesh.triangles.any() and not (in_space and reduced)
        quads = linear and not (reduced or body.element.BENDS or body.mesh.triangles.all())
        if (triangles or quads) and not body.plane_stress:
            shear, bulk = body.material.moduli()
            ratios.append((bulk / shear, triangles))
    if not ratios:
        return []
    worst, triangles = max(ratios)
    note = (
        "bulk over shear modulus of bodies with fully integrated linear elements; beyond the "
        f"limit they are too stiff: take {'second order' if triangles else 'reduced=True'}"
    )
    return [Check("volume_does_not_lock", worst <= _MOST_RATIO, worst, _MOST_RATIO, None, note)]


def shear_locking(record: Recorder, scale: float) -> list[Check]:
    """Check shear locking: the parasitic shear energy of linear elements in bending.

    It is computed from the displacements at every step, and is zero without bending. Its fraction
    of the strain energy is about the relative error of the stiffness. States with less than 1 % of
    the largest strain energy of the run are not checked.

    Parameters
    ----------
    record : its `parasitic` has time, then strain energy and parasitic part of each body, per step
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
        f"parasitic shear energy of linear elements in bending over the strain energy, of body "
        f"{body}; beyond the limit its stiffness is in error by more than a tenth: take finer "
        "cells, in the section too, or elements of second order"
    )
    ok = worst <= _LARGEST_PARASITIC
    return [Check("bending_does_not_lock", ok, worst, _LARGEST_PARASITIC, float(time[step]), note)]


def unfolded(problem: Problem, record: Recorder) -> list[Check]:
    """Check that the Jacobian was positive in all of every element, at every step.

    It may be positive at all integration points of an element and negative between them.

    Verified by: tests/audit/test_solids.py::test_a_curved_element_is_folded_between_its_points
    """
    least, at = record.extremes.jacobian
    if not np.isfinite(least) or not any(part.hulls for part in problem.parts):
        return []
    note = (
        "smallest over largest Jacobian of the worst deformed element; an element is folded "
        "unless this ratio is > 0"
    )
    return [Check("elements_unfolded", least > 0.0, least, 0.0, at, note, kind=Kind.CONDITION)]

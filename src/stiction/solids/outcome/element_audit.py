"""What the audit asks of elements: that none is folded, and that none locks."""

from __future__ import annotations

import numpy as np

from stiction.core.audit import Check, Kind
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.model import Membrane
from stiction.solids.space.model import SweptBody

__all__ = ["locking", "shear_locking", "unfolded"]

# ratio of moduli beyond which linear elements lock: 5 % too stiff in bending with eight over the
# height (nu = 0.45), 13 % at 25, 24 % at 50
_LOCKS = 10.0

# part of the energy of a body beyond which bending makes it too stiff, and the part of the largest
# energy of a run from which a state counts
_PARASITIC, _COUNTS = 0.1, 0.01
# part of the largest energy of a run, of motion too, below which a body is not strained
_RESTS = 1e-12


def locking(problem: Problem) -> list[Check]:
    """Tell linear elements, integrated in full, that are asked to keep their volume."""
    ratios = []
    for part, body in zip(problem.parts, problem.assembled.bodies, strict=True):
        if isinstance(body, Membrane):
            continue
        # linear quadrilaterals have four nodes; linear triangles three, and no fewer points
        quads, triangles = (any(b.nodes.shape[1] == n for b in part.blocks) for n in (4, 3))
        if isinstance(body, SweptBody):
            quads, triangles = body.element.ORDER == 1, False
        whole = not (body.element.reduced or body.element.BENDS)
        locks = triangles or (quads and whole)
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
    return [Check("volume_does_not_lock", worst <= _LOCKS, worst, _LOCKS, None, note)]


def shear_locking(record: Recorder, scale: float) -> list[Check]:
    """Tell whether linear elements of a body hold energy in bending that a beam does not.

    It is found from displacements at every step: elements that lock where nothing bends hold no
    such energy, and others are too stiff by about this part. States with little of the energy of
    the run say nothing.

    Parameters
    ----------
    scale : largest energy of the run, of motion too [J/m]

    Verified by: tests/audit/test_solids.py::test_linear_elements_that_bend
    """
    if not record.bent:
        return []
    rows = np.array(record.bent)
    time, energy, more = rows[:, 0], rows[:, 1::2], rows[:, 2::2]
    if not energy.size or not energy.max() > 0.0:
        return []
    counts = (energy >= _COUNTS * energy.max(axis=0)) & (energy >= _COUNTS**2 * energy.max())
    # bodies that fly have strains of what is left out of balance
    counts &= energy >= _RESTS * scale
    shares = np.where(counts, more / np.where(counts, energy, 1.0), 0.0)
    step, body = np.unravel_index(int(np.argmax(shares)), shares.shape)
    worst = float(max(0.0, shares[step, body]))
    note = (
        f"part of the strain energy of a body that its linear elements hold in bending and a beam "
        f"does not, here of body {body}; beyond, it is too stiff by more than a tenth: take finer "
        "cells, or elements of second order"
    )
    ok = worst <= _PARASITIC
    return [Check("bending_does_not_lock", ok, worst, _PARASITIC, float(time[step]), note)]


def unfolded(problem: Problem, record: Recorder) -> list[Check]:
    """Tell whether the Jacobian of every element was positive everywhere, at every step.

    Integration points may be right side out where other points of an element are not.

    Verified by: tests/audit/test_solids.py::test_a_curved_element_is_folded_between_its_points
    """
    least, at = record.extremes.jacobian
    if not np.isfinite(least) or not any(part.hulls for part in problem.parts):
        return []
    note = "least over largest Jacobian of any element, deformed; not above 0 it is folded"
    return [Check("elements_unfolded", least > 0.0, least, 0.0, at, note, kind=Kind.CONDITION)]

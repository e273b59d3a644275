"""What the audit asks of elements: that none is folded, and that none locks."""

from __future__ import annotations

import numpy as np

from stiction.results.audit import Check
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.model import Membrane
from stiction.solids.space.model import SweptBody

__all__ = ["locking", "unfolded"]

# ratio of moduli beyond which linear elements lock: 5 % too stiff in bending with eight over the
# height (nu = 0.45), 13 % at 25, 24 % at 50
_LOCKS = 10.0


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
        locks = triangles or (quads and not body.element.reduced)
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


def unfolded(problem: Problem, record: Recorder) -> list[Check]:
    """Tell whether the Jacobian of every element was positive everywhere, at every step.

    Integration points may be right side out where other points of an element are not.

    Verified by: tests/audit/test_solids.py::test_a_curved_element_is_folded_between_its_points
    """
    least, at = record.extremes.jacobian
    if not np.isfinite(least) or not any(part.hulls for part in problem.parts):
        return []
    note = "least over largest Jacobian of any element, deformed; not above 0 it is folded"
    return [Check("elements_unfolded", least > 0.0, least, 0.0, at, note)]

"""Reported quantities in three dimensions: contact areas, units, and the audit of membranes.

Contact areas in space correspond to contact lengths in the plane. The audit checks that no membrane
is compressed, since it would wrinkle, and that elements resolve the length over which a membrane
lifts off its partner at a peeling front, sqrt(E T r0 / T_max). `outcome.run` calls these functions.
Names and units of curves in the plane (`extents`, `units_of`) are here too, beside those in space.

E is Young's modulus, T the thickness, r0 the range of adhesion and T_max its largest tension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.run import Quantity
from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.membranes.kinematics import principal
from stiction.solids.membranes.model import Membrane

if TYPE_CHECKING:
    from stiction.solids.equilibria.history import Recorder, Sample
    from stiction.solids.equilibria.problem import Problem, Trial

__all__ = [
    "CURVES",
    "Extents",
    "extents",
    "quantities",
    "resolution",
    "slack",
    "tension_check",
    "units_of",
]

Floats = npt.NDArray[np.float64]

_PLANE = 2
# admissible compression over E T: discretisation errors cause half of it at a clamped end
_SLACK = 1e-2

CURVES = {
    "force_z": ("force", "force on the body along the third axis"),
    "contact_area": ("area", "area on which the gap is below gap_max"),
    "nominal_area": ("area", "area of contact on the reference boundary"),
    "sticking_area": ("area", "area of stick on the reference boundary"),
    "peeled_area": ("area", "contact lost since the start, on the reference boundary"),
    "sliding_area": ("area", "contact at the start that no longer sticks"),
}


class Extents(NamedTuple):
    """Names of the curves of the size of contact: lengths in the plane, areas in space."""

    current: str
    nominal: str
    sticking: str
    peeled: str
    slid: str


_LENGTHS = Extents(
    "contact_length", "nominal_contact", "sticking_length", "peeling_length", "sliding_length"
)
_AREAS = Extents("contact_area", "nominal_area", "sticking_area", "peeled_area", "sliding_area")


def extents(dim: int) -> Extents:
    """Return the names of the curves of contact for bodies of `dim` components."""
    return _LENGTHS if dim == _PLANE else _AREAS


def units_of(dim: int, plain: bool) -> dict[str, str]:
    """Return the unit of each kind of quantity; in the plane forces and energies are per width.

    The unit of time is that of a program; a motion has its own.

    Parameters
    ----------
    dim : number of components, 2 or 3
    plain : whether all quantities are dimensionless
    """
    per = "/m" if dim == _PLANE else ""
    units = {
        "length": "m",
        "area": "m^2",
        "time": "1",
        "force": f"N{per}",
        "stress": "Pa",
        "tension": "N/m",
        "energy": "J/m^2",
        "work": f"J{per}",
        "moment": f"N m{per}",
        "drive": "m",
    }
    return {"1": "1", **(dict.fromkeys(units, "1") if plain else units)}


def slack(problem: Problem, trial: Trial) -> float:
    """Return the smallest principal tension of all membranes over E T [1]; inf without membranes.

    Tensions are averaged over each element, because discretisation errors oscillate within one.
    """
    sheets = getattr(problem.bulk, "sheets", [])
    u = problem.unknowns.displacements(trial.u)
    least = np.inf
    for sheet in sheets:
        tension_scale = 3.0 * sheet.shear * sheet.thickness
        fractions = sheet.weights / sheet.weights.sum(axis=1, keepdims=True)
        means = (principal(sheet, u)[0] * fractions).sum(axis=1)
        least = min(least, float(means.min()) / tension_scale)
    return least


def tension_check(record: Recorder) -> list[Check]:
    """Check that no membrane is compressed: it would wrinkle, which the model cannot represent."""
    least, when = record.extremes.tension
    if not np.isfinite(least):
        return []
    note = "smallest principal tension of an element over E T; a membrane wrinkles if negative"
    ok = least >= -_SLACK
    return [
        Check(
            "membrane_in_tension",
            ok,
            least,
            -_SLACK,
            None if ok else when,
            note,
            kind=Kind.AT_LEAST,
        )
    ]


def quantities(
    problem: Problem,
    path: list[Sample],
    record: Recorder,
    curves: dict[str, Floats],
    units: dict[str, str],
) -> dict[str, Quantity]:
    """Return the quantities of contact in space: areas, smallest gap, friction heat.

    Parameters
    ----------
    problem, record : the discrete equations, and the record of the run
    path : accepted steps from the begin of the results on
    curves : (t,) by name, over the same steps
    units : unit of each kind of quantity
    """
    names, u, readings = extents(problem.dim), curves["displacement"], problem.assembled.readings
    length = units["time" if readings.displacement is None else "length"]
    contact, stuck = curves[names.nominal], curves[names.sticking]
    slid = np.flatnonzero((stuck[1:] <= 0.0) & (stuck[:-1] > 0.0) & (contact[1:] > 0.0))
    at = float(u[slid[0] + 1]) if slid.size else None
    law = problem.assembled.pairs[readings.contact].adhesion
    # hard contact has no gap to compare with
    least = record.extremes.gap[0] / law.gap_eq if law.gap_eq > 0.0 else None
    heat = np.array([sum(row.energy.heat) for row in path])
    peeled = curves[names.peeled]
    inside = (peeled > 0.3 * contact[0]) & (peeled < 0.7 * contact[0])
    rate = None
    if inside.sum() > 2 and np.ptp(peeled[inside]) > 0.0:
        rate = float(np.polyfit(peeled[inside], heat[inside], 1)[0])
    work = float(-np.asarray(law.potential(law.gap_eq)))
    return {
        "full_sliding_at": Quantity(at, length, "displacement at the start of full sliding"),
        "contact_area_initial": Quantity(
            float(contact[0]), units["area"], "contact area at the start"
        ),
        "contact_area_final": Quantity(
            float(contact[-1]), units["area"], "contact area at the end"
        ),
        "smallest_gap": Quantity(least, "1", "smallest gap over the equilibrium gap"),
        "heat_per_area": Quantity(rate, units["energy"], "friction heat per peeled area"),
        "work_of_adhesion": Quantity(work, units["energy"], "work of adhesion of the normal law"),
    }


def resolution(problem: Problem, record: Recorder, i: int) -> list[Check]:
    """Compare the elements of a membrane in contact `i` with the length over which it lifts off.

    Under a tension N the gap at the peeling front grows over the length sqrt(N r0 / T_max), with
    the range r0 and the strength T_max of adhesion. The check takes N = E T and requires two
    elements over this length. Elements may be long parallel to the front, so that their shorter
    sides count.
    """
    found: list[Check] = []
    first = 0
    for p, number, b in zip(
        problem.passes, problem.contact_of_pass, problem.body_of_pass, strict=True
    ):
        mine = slice(first, first + p.count)
        first += p.count
        body = problem.assembled.bodies[b]
        if number != i or not isinstance(body, Membrane):
            continue
        # shorter sides of elements, at each contact point
        law, side = p.contact.adhesion, p.own.lengths.min(axis=1)
        sides = np.repeat(side, p.own.areas.shape[1])
        pulled = record.extremes.in_tension[mine] if record.extremes.in_tension.size else None
        if not getattr(law, "adhesive", True):
            pass
        elif pulled is None or not pulled.any():
            note = "no contact element was under tension"
            found.append(Check("front_resolved", None, None, 1.0, None, note))
        else:
            front = float(np.sqrt(body.tension * law.length / law.max_tension))
            ratio = 2.0 * float(sides[pulled].max()) / front
            note = (
                "largest short side of elements under tension over half of the length sqrt(E "
                "T r0 / T_max) of the front, with the membrane stiffness E T"
            )
            found.append(Check("front_resolved", ratio <= 1.0, ratio, 1.0, None, note))
        if not isinstance(p.contact.friction, Frictionless):
            stiff = p.contact.tangential_stiffness * float(side.min()) ** 2 / body.tension
            note = "tangential stiffness in stick over that of one contact element, E T/h^2"
            found.append(
                Check(
                    "penalty_stiff_enough", stiff >= 0.3, stiff, 0.3, None, note, kind=Kind.AT_LEAST
                )
            )
    return found

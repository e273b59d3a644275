"""Whether bodies may rest where they are, and whether they must.

They *may* rest if contact forces exist that balance all loads inside the friction cones; in the
plane a linear programme decides. They *must* rest if no other acceleration obeys Coulomb's law:
that is the uniqueness of the velocities of the frictional contact problem. A pile that may rest and
of which it is not proven that it must can also move under the same loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.contacts import local_problem, name_of, surfaces_of
from stiction.bodies.impulse_kernels import contact_rows, contact_velocities
from stiction.bodies.model import ROUNDED, RigidBodies
from stiction.bodies.springs import Springs
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.uniqueness import uniqueness

__all__ = ["Rest", "rests", "steepest_rest"]

Floats = npt.NDArray[np.float64]

# largest imbalance of a solution of the linear programme, as a fraction of the load of each body.
# Chosen
_FEASIBLE = 1e-10
# least load, over the largest one, of which that fraction is taken: rounding of forces that a light
# body carries between heavy ones is no imbalance. Chosen
_LIGHT = 1e-6
# largest factor of the second load of the linear programme: the tangent of a right angle
_STEEPEST = 1e6
# status of the linear programme: solved, infeasible
_SOLVED, _INFEASIBLE = 0, 2


@dataclass(frozen=True)
class Rest:
    """Whether bodies rest.

    Attributes
    ----------
    may : whether forces that balance the loads exist
    must : "yes", or "not decided"; "no" where they may not
    why : what proves `must`
    pairs : (n,) names of the bodies of each contact
    forces : (n, 2) admissible normal and tangential forces of least total normal force [N]; None
        where there are none
    """

    may: bool
    must: str
    why: str
    pairs: tuple[str, ...]
    forces: Floats | None

    def __repr__(self) -> str:
        if not self.may:
            return "<Rest: no admissible forces balance the loads>"
        must = "they must rest" if self.must == "yes" else "whether they must is not decided"
        return f"<Rest: the bodies may rest; {must}: {self.why}>"


def rests(system: RigidBodies) -> Rest:
    """Return whether bodies may rest and must rest in their places at the start.

    Velocities at the start, and those of supports, are ignored. Surfaces touch whose gap is at most
    1e-6 of the smallest thickness of a body, as coordinates with six digits have it. Forces balance
    each body to 1e-10 of its load, or to 1e-16 of the largest load if that is more.

    Raises
    ------
    ModelError : on bodies in space.
    SolveError : if the linear programme neither finds forces nor proves that there are none.

    Verified by: tests/exact/test_rigid_bodies.py::test_arches_of_least_thickness

    Examples
    --------
    >>> import stiction as st
    >>> box = st.bodies.RigidBody(st.bodies.Box(1.0, 1.0), position=[0.0, 0.5])
    >>> st.bodies.rests(st.bodies.RigidBodies([box], [st.bodies.Support()])).may
    True
    """
    _refuse_space("rests.system", system)
    contacts, rows, loads, scale = _balance(system)
    found = _programme(system, contacts, rows, -loads[:, None] / scale)
    pairs = tuple(
        f"{name_of(system.n, int(c.first))} on {name_of(system.n, int(c.second))}" for c in contacts
    )
    if found is None:
        return Rest(False, "no", "no admissible forces balance the loads", pairs, None)
    forces = found[: 2 * len(contacts)].reshape(-1, 2) * scale
    answer, why = _must(system, contacts, loads, forces)
    return Rest(True, answer, why, pairs, forces)


def is_balanced(system: RigidBodies) -> bool:
    """Return whether the bodies may rest, without asking whether they must."""
    contacts, rows, loads, scale = _balance(system)
    return _programme(system, contacts, rows, -loads[:, None] / scale) is not None


def steepest_rest(system: RigidBodies) -> float:
    """Return the largest angle by which gravity may turn, to the right, while the bodies may rest.

    It turns counterclockwise: gravity that points down then has a part to the right.

    The bodies and supports are tilted together. nan if they may not rest untilted.

    Returns
    -------
    Angle [rad], at most pi / 2.

    Raises
    ------
    ModelError : on bodies in space, and if loads beside gravity act.
    SolveError : if the linear programme neither finds an angle nor proves that there is none.

    Verified by: tests/exact/test_rigid_bodies.py::test_a_box_tips_or_slides
    """
    _refuse_space("steepest_rest.system", system)
    if system.springs or any(np.any(body.force) or body.moment for body in system.bodies):
        got, needs = "loads beside gravity", "gravity alone"
        why = (
            "a tilt rotates the direction of gravity only; other loads would keep their directions."
        )
        try_ = "remove `springs`, `force` and `moment`."
        raise ModelError("steepest_rest.system", got, needs, why, try_)
    contacts, rows, loads, scale = _balance(system)
    # gravity turned by a is g (cos a + sin a turned by a right angle): over cos a it is linear
    turned = np.zeros_like(loads)
    down = loads.reshape(-1, 3)
    turned.reshape(-1, 3)[:, 0], turned.reshape(-1, 3)[:, 1] = -down[:, 1], down[:, 0]
    right = np.stack([-loads, -turned], axis=1) / scale
    found = _programme(system, contacts, rows, right)
    if found is None:
        return float("nan")
    # at its bound the factor is not limited by the contacts
    return 0.5 * np.pi if found[-1] > 0.999 * _STEEPEST else float(np.arctan(found[-1]))


def _refuse_space(where: str, system: object) -> None:
    """Raise an error on anything but bodies in the plane."""
    if not isinstance(system, RigidBodies):
        got, why = f"{type(system).__name__}", "a linear programme has friction in a plane only."
        try_ = "give a motion in a plane as RigidBodies, or solve a run by TimeStepper."
        raise ModelError(where, got, "RigidBodies", why, try_)


def _balance(system: RigidBodies) -> tuple[Table[Contact], Floats, Floats, float]:
    """Return contacts, J^T of bodies as a matrix (3 n, 2 c), loads (3 n,) and their size [N]."""
    surfaces = surfaces_of(system)
    places = system.places()
    contacts = surfaces.contacts(places, ROUNDED * system.size)
    rows = np.zeros((3 * system.n, 2 * len(contacts)))
    contact_rows(contacts, system.n, rows)
    loads = system.loads()
    if system.springs:
        loads += Springs(system).loads(places, np.zeros_like(places))[0][: system.n]
    loads = loads.ravel()
    return contacts, rows, loads, float(np.abs(loads).max()) or 1.0


def _mu(system: RigidBodies, contacts: Table[Contact]) -> Floats:
    """Return (c,) coefficients of friction."""
    return np.asarray(system.contact_numbers()[0][contacts["first"], contacts["second"]])


def _programme(
    system: RigidBodies, contacts: Table[Contact], rows: Floats, right: Floats
) -> Floats | None:
    """Return forces (and the factor of further loads) that balance; None where there are none.

    Parameters
    ----------
    right : (3 n, 1 or 2) what forces must balance. One column: their total normal force is least;
        two: the second one is multiplied by a factor >= 0, which is largest
    """
    from scipy.optimize import linprog

    count = rows.shape[1] // 2
    if count == 0:
        # without contacts only loads that vanish are balanced
        return None if right.any() else np.full(right.shape[1] - 1, _STEEPEST)
    # moments over the sizes of the bodies, so that all equations are forces; these over the loads
    units = np.ones((system.n, 3))
    units[:, 2] = [body.shape.reach for body in system.bodies]
    own = np.abs(right.reshape(system.n, 3, -1) / units[..., None]).max(axis=(1, 2))
    units *= np.maximum(own, _LIGHT * (own.max() or 1.0))[:, None]
    scaled, right = rows / units.reshape(-1, 1), right / units.reshape(-1, 1)
    factor = right.shape[1] - 1
    equations = np.concatenate([scaled, -right[:, 1:]], axis=1) if factor else scaled
    mu = _mu(system, contacts)
    cone = np.zeros((2 * count, 2 * count + factor))
    for c in range(count):
        cone[2 * c : 2 * c + 2, 2 * c] = -mu[c]
        cone[2 * c, 2 * c + 1], cone[2 * c + 1, 2 * c + 1] = 1.0, -1.0
    cost = np.zeros(2 * count + factor)
    if factor:
        cost[-1] = -1.0
    else:
        cost[: 2 * count : 2] = 1.0
    bounds: list[Any] = [(0.0, None), (None, None)] * count + [(0.0, _STEEPEST)] * factor
    found = linprog(
        cost,
        A_ub=cone,
        b_ub=np.zeros(2 * count),
        A_eq=equations,
        b_eq=right[:, 0],
        bounds=bounds,
        method="highs",
        options={
            "primal_feasibility_tolerance": _FEASIBLE,
            "dual_feasibility_tolerance": _FEASIBLE,
        },
    )
    if found.status not in (_SOLVED, _INFEASIBLE):
        raise SolveError(
            explain(
                "RigidBodies",
                f"no answer of the linear programme ({found.message})",
                "forces that balance the loads, or a proof that there are none",
                "loads or sizes of the bodies may differ by too many orders of magnitude.",
                "give bodies of similar weights, or solve a run by TimeStepper.",
            )
        )
    return np.asarray(found.x) if found.status == _SOLVED else None


def _must(
    system: RigidBodies, contacts: Table[Contact], loads: Floats, forces: Floats
) -> tuple[str, str]:
    """Return whether zero velocities are the only solution of the contact problem."""
    if not len(contacts):
        return "yes", "the loads on each body cancel"
    mass = np.array([[b.mass, b.mass, b.moment_of_inertia] for b in system.bodies])
    pushed = np.zeros((len(system.bodies) + len(system.supports), 3))
    pushed[: system.n] = loads.reshape(-1, 3) / mass
    q = np.zeros((len(contacts), 2))
    contact_velocities(contacts, pushed, q)
    inverse = np.concatenate([1.0 / mass, np.zeros((len(system.supports), 3))])
    local = local_problem(contacts, inverse, system.n, q, _mu(system, contacts))
    answer = uniqueness(local, forces).velocities
    return ("yes" if answer.answer == "unique" else "not decided"), answer.criterion

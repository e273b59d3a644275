"""Equilibria of rigid bodies: whether they may rest where they are, and whether they must.

Bodies *may* rest if contact forces r inside the friction cones balance all loads f,

    J^T r + f = 0,   |r_t| <= mu r_n,

with the coefficient of friction mu, r_n and r_t along the normal and the tangent of each contact,
and J^T the loads on bodies by unit contact forces.

In the plane a linear programme decides (limit analysis with friction, as Livesley 1978 for arches);
in space linear programmes with cutting planes decide (`friction_problem.programmes`). Bodies *must*
rest if no other acceleration obeys Coulomb's law: that is the uniqueness of the velocities of the
frictional contact problem (`friction_problem.uniqueness`). A pile that may rest and of which it is
not proven that it must can also move under the same loads.

`rests` returns both answers, `steepest_rest` the largest tilt at which the first one is yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stiction.bodies.contacts import name_of
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.model import ROUNDED, RigidBodies
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.arrays import Table
from stiction.numerics.checks import numbers
from stiction.numerics.friction_problem.programmes import Optimum, cone_rows, maximise
from stiction.numerics.friction_problem.uniqueness import unique_velocities

if TYPE_CHECKING:
    from stiction.bodies.space.mechanics import SpatialMechanics
    from stiction.bodies.space.model import SpatialBodies

__all__ = ["Rest", "rests", "steepest_rest"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# least load, over the largest one, of which an imbalance is taken: rounding of forces that a light
# body carries between heavy ones is no imbalance. Chosen
_LIGHT = 1e-6
# largest factor of the second load of the linear programme: the tangent of a right angle
_STEEPEST = 1e6
# coefficient of friction of a pyramid of eight faces inside the cone, over that of the cone
_INSIDE = float(np.cos(np.pi / 8))
# most linear programmes with cuts. Chosen
_MOST_ROUNDS = 300
# largest cosine of the angle between gravity and a direction normal to it. Chosen
_ALONG = 1e-9


@dataclass(frozen=True)
class Rest:
    """Whether bodies rest.

    Attributes
    ----------
    may : whether forces that balance the loads exist
    must : "yes", or "not decided"; "no" where they may not
    why : the criterion that proves `must`
    pairs : (n,) names of the bodies of each contact
    forces : (n, 2) admissible normal and tangential forces of least total normal force [N], in
        space any admissible ones, (n, 3) on the first bodies in the axes of space; None where there
        are none
    """

    may: bool
    must: str
    why: str
    pairs: tuple[str, ...]
    forces: Floats | None

    def __repr__(self) -> str:
        if not self.may:
            return "<Rest: no admissible forces balance the loads>"
        must = (
            "they must rest" if self.must == "yes" else "it is not decided whether they must rest"
        )
        return f"<Rest: the bodies may rest; {must}: {self.why}>"


class _Statics(NamedTuple):
    """Closed contacts of bodies at rest, and the loads that their forces balance.

    A contact has d force components, 2 in the plane and 3 in space; a body has k loads, 3 or 6.

    Attributes
    ----------
    m : masses, loads and surfaces of the whole system
    contacts : (c,) table
    mu : (c,) coefficients of friction
    rows : (n, k, c, d) J^T: loads on bodies by unit forces of contacts [1], [m]
    loads : (n, k) loads on bodies; in space moments are about principal axes [N], [N m]
    reach : (n,) sizes of the bodies [m]
    hinged : (n, k, h) G^T: loads on bodies by unit forces of the h conditions of hinges
    links : (l, 2) numbers of the bodies and supports that hinges join
    """

    m: Mechanics | SpatialMechanics
    contacts: Table[Any]
    mu: Floats
    rows: Floats
    loads: Floats
    reach: Floats
    hinged: Floats
    links: Wholes

    def groups(self) -> Iterator[tuple[Wholes, _Statics]]:
        """Return the numbers of contacts and the statics of each group of bodies that touch.

        Bodies that a hinge joins are in one group.
        """
        n, first, second = len(self.loads), self.contacts["first"], self.contacts["second"]
        pairs = np.concatenate([np.stack([first, second], axis=1), self.links])
        pairs = pairs[pairs[:, 1] < n]
        links = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
        count, group = connected_components(links, directed=False)
        for k in range(count):
            bodies, own = np.flatnonzero(group == k), np.flatnonzero(group[first] == k)
            contacts, rows = self.contacts[own], self.rows[bodies][:, :, own]
            loads, reach = self.loads[bodies], self.reach[bodies]
            mine = group[self.links[:, 0]] == k
            each = np.repeat(mine, self.hinged.shape[2] // max(len(mine), 1))
            hinged, links = self.hinged[bodies][:, :, each], self.links[mine]
            yield own, _Statics(self.m, contacts, self.mu[own], rows, loads, reach, hinged, links)


def rests(system: RigidBodies | SpatialBodies) -> Rest:
    """Return whether bodies may rest and must rest in their places at the start.

    Velocities at the start, and those of supports, are ignored. Surfaces touch whose gap is at most
    1e-6 of the smallest thickness of a body, as coordinates with six digits have it. Forces balance
    each body to 1e-10 of its load, or to 1e-16 of the largest load if that is more. In space they
    lie within the cones to 1e-9 of the largest load of bodies that touch each other.

    Raises
    ------
    SolveError : if the linear programmes neither find forces nor prove that there are none.

    Verified by: tests/exact/test_rigid_bodies.py::test_arches_of_least_thickness,
    tests/exact/test_rest_in_space.py::test_a_box_on_a_slope

    Examples
    --------
    >>> import stiction as st
    >>> box = st.bodies.RigidBody(st.bodies.Box(1.0, 1.0), position=[0.0, 0.5])
    >>> st.bodies.rests(st.bodies.RigidBodies([box], [st.bodies.Support()])).may
    True
    """
    statics = _statics(system)
    n, contacts = system.n, statics.contacts
    forces = _forces(statics)
    pairs = tuple(f"{name_of(n, int(c.first))} on {name_of(n, int(c.second))}" for c in contacts)
    if forces is None:
        return Rest(False, "no", "no admissible forces balance the loads", pairs, None)
    answer, why = _must(statics, forces)
    if not isinstance(system, RigidBodies):
        forces = statics.m.in_axes(contacts, forces)
    return Rest(True, answer, why, pairs, forces)


def is_balanced(system: RigidBodies | SpatialBodies) -> bool:
    """Return whether the bodies may rest, without asking whether they must."""
    return _forces(_statics(system)) is not None


def steepest_rest(
    system: RigidBodies | SpatialBodies, towards: Sequence[float] | None = None
) -> float:
    """Return the largest angle by which gravity may turn while the bodies may rest.

    The bodies and supports are tilted together. nan if they may not rest under the given gravity.

    Parameters
    ----------
    towards : direction to which gravity turns, normal to it, in space only; of any length. In the
        plane gravity turns counterclockwise: if it points down, it then has a part to the right

    Returns
    -------
    Angle [rad], at most pi / 2.

    Raises
    ------
    ModelError : if loads beside gravity act, or a direction is missing or along gravity.
    SolveError : if the linear programmes neither find an angle nor prove that there is none.

    Verified by: tests/exact/test_rigid_bodies.py::test_a_box_tips_or_slides,
    tests/exact/test_rest_in_space.py::test_a_box_tips_or_slides_in_space
    """
    if getattr(system, "springs", ()) or any(
        np.any(body.force) or np.any(body.moment) for body in system.bodies
    ):
        got, needs = "loads beside gravity", "gravity alone"
        why = (
            "a tilt rotates the direction of gravity only; other loads would keep their directions."
        )
        try_ = "remove `springs`, `force` and `moment`."
        raise ModelError("steepest_rest.system", got, needs, why, try_)
    statics = _statics(system)
    # unit vector normal to gravity to which it turns
    side = _direction(system, towards)
    if _forces(statics) is None:
        return float("nan")
    # gravity turned by a is g (cos a + sin a turned by a right angle): over cos a it is linear
    least = _STEEPEST
    for _, group in statics.groups():
        turned = np.zeros_like(group.loads)
        weights = np.linalg.norm(group.loads[:, : len(side)], axis=1)
        turned[:, : len(side)] = weights[:, None] * side
        found = _programme(group, np.stack([group.loads, turned], axis=2))
        # forces balance it untilted, but for rounding
        least = min(least, 0.0 if found is None else max(0.0, float(found[-1])))
    # at its bound the factor is not limited by the contacts
    return 0.5 * np.pi if least > 0.999 * _STEEPEST else float(np.arctan(least))


def _direction(system: RigidBodies | SpatialBodies, towards: object) -> Floats:
    """Return the unit vector to which gravity turns."""
    down = np.asarray(system.gravity, dtype=np.float64)
    where, try_ = "steepest_rest.towards", "give [1.0, 0.0, 0.0]."
    why = "gravity turns towards this direction."
    if isinstance(system, RigidBodies):
        if towards is not None:
            raise ModelError(
                where, repr(towards), "None for bodies in the plane", why, "leave this value out."
            )
        return np.array([-down[1], down[0]]) / (np.linalg.norm(down) or 1.0)
    if towards is None:
        raise ModelError(where, "None", "a direction in space", why, try_)
    given = numbers(where, towards, size=3, why=why, try_=try_)
    largest = float(np.abs(given).max())
    if largest == 0.0:
        raise ModelError(where, "a vector of length 0", "a direction", why, try_)
    given = given / largest
    given /= np.linalg.norm(given)
    if abs(given @ down) > _ALONG * np.linalg.norm(down):
        got, needs = "a direction that is not normal to gravity", "a direction normal to gravity"
        raise ModelError(where, got, needs, why, try_)
    return np.asarray(given)


def _statics(system: RigidBodies | SpatialBodies) -> _Statics:
    """Return closed contacts and loads of bodies at rest at the start."""
    m: Mechanics | SpatialMechanics
    if isinstance(system, RigidBodies):
        m = Mechanics(system)
    else:
        from stiction.bodies.space.mechanics import SpatialMechanics

        m = SpatialMechanics(system)
    q, v = m.start()
    pose, still = m.pose(0.0, q), np.zeros_like(m.velocity(v))
    contacts: Table[Any] = m.contacts(pose, ROUNDED * system.size)
    rows = np.zeros((*v.shape, len(contacts), m.components))
    # J^T by columns of J: the velocities of contacts if one component of one body moves
    for place in np.ndindex(v.shape):
        unit = still.copy()
        unit[place] = 1.0
        rows[place] = m.contact_velocities(contacts, unit)
    loads = m.given_loads(q)
    if m.springs is not None:
        loads = loads + m.springs.loads(pose, still)[0][: m.n]
    hinged, links = np.zeros((*v.shape, 0)), np.zeros((0, 2), dtype=np.int64)
    if m.hinges is not None:
        if m.hinges.sine.any():
            got, needs = "hinges with friction", "hinges without friction"
            why = "the friction bound of a hinge is not a convex function of the forces."
            name = f"{type(system).__name__}.hinges"
            raise ModelError(name, got, needs, why, "remove `law` of the hinges.")
        hinged, links = m.hinges.rows(pose).T.reshape(*still.shape, -1)[: m.n], m.hinges.ends
    mu, reach = m.mu(contacts), m.reach[: m.n]
    return _Statics(m, contacts, mu, rows, loads, reach, hinged, links)


def _forces(statics: _Statics) -> Floats | None:
    """Return (c, d) admissible forces that balance the loads [N]; None where there are none.

    Groups of bodies that do not touch each other are separate programmes, each with the scale of
    its own loads.
    """
    forces = np.zeros(statics.rows.shape[2:])
    for own, group in statics.groups():
        found = _programme(group, group.loads[..., None])
        if found is None:
            return None
        forces[own] = found.reshape(len(own), -1) if len(own) else 0.0
    return forces


def _programme(statics: _Statics, loads: Floats) -> Floats | None:
    """Return forces (and the factor of further loads) that balance; None where there are none.

    Parameters
    ----------
    loads : (n, k, 1 or 2) that forces balance. One column: their total normal force is least; two:
        the second one is multiplied by a factor >= 0, which is largest
    """
    d, count, hinged = statics.m.components, statics.rows[0, 0].size, statics.hinged.shape[2]
    factor, scale = loads.shape[2] - 1, float(np.abs(loads).max()) or 1.0
    right = -loads / scale
    if count + hinged == 0:
        # without contacts only loads that vanish are balanced
        return None if right.any() else np.full(factor, _STEEPEST)
    # moments over the sizes of the bodies, so that all equations are forces; these over the loads
    units = np.ones(right.shape[:2])
    units[:, d:] = statics.reach[:, None]
    own = np.abs(right / units[..., None]).max(axis=(1, 2))
    units *= np.maximum(own, _LIGHT * (own.max() or 1.0))[:, None]
    every = np.concatenate(
        [statics.rows.reshape(units.size, -1), statics.hinged.reshape(units.size, -1)], axis=1
    )
    scaled = every / units.reshape(-1, 1)
    right = right.reshape(-1, 1 + factor) / units.reshape(-1, 1)
    # unknown forces of contacts, then of hinges, then the factor
    size = count + hinged + factor
    parts = np.eye(size)

    # inequalities |r_t| <= part mu r_n: all around the cones, or those that the point `at` violates
    def cones(at: Floats | None, part: float = 1.0) -> tuple[Floats, Floats]:
        rows = [np.zeros((0, size))]
        # cones have no constants: their violation is relative to the largest force
        at = None if at is None else at / max(1.0, float(np.abs(at).max()))
        for c, mu in enumerate(part * statics.mu):
            normal, tangents = parts[d * c], parts[d * c + 1 : d * c + d]
            rows.append(cone_rows((normal, 0.0), (tangents, np.zeros(d - 1)), float(mu), at)[0])
        found = np.concatenate(rows)
        return found, np.zeros(len(found))

    def solved(objective: Floats, part: float = 1.0) -> Optimum:
        first = cones(None, part)
        return maximise(
            objective,
            np.concatenate([limits, first[0]]),
            np.concatenate([bounds, first[1]]),
            cones,
            equal=(np.concatenate([scaled, -right[:, 1:]], axis=1), right[:, 0]),
            rounds=_MOST_ROUNDS,
        )

    # least total normal force with r_n >= 0; or the largest factor, from 0 to _STEEPEST
    objective = np.zeros(size)
    limits = -parts[:count:d]
    bounds = np.zeros(len(limits))
    if factor:
        objective[-1] = 1.0
        limits = np.concatenate([limits, -parts[-1:], parts[-1:]])
        bounds = np.append(bounds, [0.0, _STEEPEST])
    else:
        objective[:count:d] = -1.0
    if d == 3 and not factor:
        # pyramids inside the cones: forces in these need no cuts
        found = solved(objective, _INSIDE)
        if found.status != "optimal":
            found = solved(np.zeros(size))
    else:
        found = solved(objective)
    if found.status not in ("optimal", "infeasible"):
        raise _not_decided(found.status)
    if found.status == "infeasible":
        return None
    return np.append(scale * found.point[:count], found.point[count + hinged :])


def _not_decided(status: str) -> SolveError:
    """Return the error if the linear programmes have no answer."""
    return SolveError(
        explain(
            "rests",
            f"no answer of the linear programmes ({status})",
            "forces that balance the loads, or a proof that there are none",
            "loads or sizes of bodies that touch may differ by too many orders of magnitude; "
            "in space the answer may lie within rounding of the friction bound, or friction "
            "may be at its bound at many contacts.",
            "change the coefficients of friction a little, or solve a run by TimeStepper.",
        )
    )


def _must(statics: _Statics, forces: Floats) -> tuple[str, str]:
    """Return whether zero velocities are the only solution of the contact problem, and why.

    The first entry is "yes" or "not decided", the second one the criterion that decided.
    """
    m, contacts = statics.m, statics.contacts
    if len(statics.links):
        return "not decided", "bodies with hinges are not examined"
    if not len(contacts):
        return "yes", "the loads on each body cancel"
    pushed = np.zeros_like(m.inverse)
    pushed[: m.n] = statics.loads * m.inverse[: m.n]
    q = m.contact_velocities(contacts, pushed)
    answer = unique_velocities(m.problem(contacts, q), forces)
    return ("yes" if answer.answer == "unique" else "not decided"), answer.criterion

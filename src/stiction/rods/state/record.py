"""Saved state of rods: motion, internal forces, reactions and constants, as named variables.

`_COLUMNS` lists the variables with units and meaning; an array has the shape (saved times, parts,
components). The energy ledger can be recomputed from them. The steppers of `leapfrog`, `midpoint`
and `plane` call `StateRecord.record` at each saved time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import StateArray
from stiction.core.run import Variable
from stiction.rods.assembly import Flat, third_directors
from stiction.rods.contact.kernels import PLANE, SPHERE
from stiction.rods.driving_kernels import add_loads
from stiction.rods.model import Rods
from stiction.rods.supports.reactions import PIN, reactions, supports_of

__all__ = ["InternalForces", "StateRecord", "partner_variables"]

Floats = npt.NDArray[np.float64]

_SHAPES = "1 a cylinder, 2 a sphere, 3 a plane"
# name: (first dimension, dimension of the components, unit, meaning)
_COLUMNS: dict[str, tuple[str, str, str, str]] = {
    "velocity": ("node", "axis", "m/s", "of the nodes"),
    "frame": (
        "element",
        "quaternion",
        "1",
        "quaternion of the directors, w x y z; the third is normal to the section",
    ),
    "angular_velocity": ("element", "axis", "rad/s", "of the frames, in space"),
    "internal_force": (
        "element",
        "axis",
        "N",
        "elastic, of the part of the rod after this place on the part before",
    ),
    "internal_moment": (
        "node",
        "axis",
        "N m",
        "elastic, of the part of the rod after this place on the part before",
    ),
    "clamp_force": ("clamp", "axis", "N", "reaction of the support of an end on the rod"),
    "clamp_moment": ("clamp", "axis", "N m", "reaction about the end node; 0 at a pin"),
    "clamp_frame": (
        "clamp",
        "quaternion",
        "1",
        "quaternion of the frame held by the support, w x y z",
    ),
    "clamp_angular_velocity": ("clamp", "axis", "rad/s", "of the frame held by the support"),
    "partner_velocity": ("partner", "axis", "m/s", "of the pivot of a rigid partner"),
    "partner_angular_velocity": ("partner", "axis", "rad/s", "of a rigid partner"),
    "varying_force": ("node", "axis", "N", "loads on the nodes that vary in time"),
    "applied_moment": ("element", "axis", "N m", "loads on the frames"),
}
_COUNTS = {"axis": 3, "quaternion": 4}


def partner_variables(
    points: Floats, shape: npt.NDArray[np.int64], radius: Floats
) -> dict[str, Variable]:
    """Return the variables of rigid partners.

    Parameters
    ----------
    points : (t, partner, 2, 3) two points [m]: both ends of the axis of a cylinder; the centre of a
        sphere, twice; a point of a plane, and a second one above it along the normal
    shape : (partner,) 1 a cylinder, 2 a sphere, 3 a plane
    radius : (partner,) 0 of a plane [m]
    """
    meaning = "ends of a cylinder; centre of a sphere; a plane, and a point above it"
    return {
        "partner_point": Variable(points, ("time", "partner", "end", "axis"), "m", meaning),
        "partner_shape": Variable(shape, ("partner",), "1", _SHAPES),
        "partner_radius": Variable(radius.copy(), ("partner",), "m", "0 of a plane"),
    }


class InternalForces:
    """Internal forces and loads of rods at one time, without contact forces.

    Parameters
    ----------
    force, torque : (3, slots) on nodes [N] and elements [N m], without contact forces
    pull, moment : (3, slots) elastic stress resultants (tension and shear) of elements [N], moments
        of joints [N m]
    """

    def __init__(self, force: Floats, torque: Floats, pull: Floats, moment: Floats) -> None:
        self.force, self.torque, self.pull, self.moment = force, torque, pull, moment


class StateRecord:
    """The state of all rods at the saved times.

    Parameters
    ----------
    rods, flat : the rods, and their arrays
    saves : number of saved times
    """

    def __init__(self, rods: Rods, flat: Flat, saves: int) -> None:
        self.rods, self.flat = rods, flat
        counts = [rod.elements for rod in rods.rods]
        starts = zip(flat.first, counts, strict=False)
        self.elements = np.concatenate([np.arange(i, i + n) for i, n in starts])
        self.supports = supports_of(rods, flat)
        self.varying = bool((flat.loads["is_moment"] == 0).any())
        self.has_moments = bool((flat.loads["is_moment"] == 1).any())
        parts = {
            "node": flat.nodes.size,
            "element": self.elements.size,
            "clamp": len(self.supports),
            "partner": flat.partners,
        }
        self.arrays: dict[str, Floats] = {
            name: np.zeros((saves, parts[part], _COUNTS[of]))
            for name, (part, of, _, _) in _COLUMNS.items()
            if parts[part] and self._is_saved(name)
        }
        if flat.partners:
            self.arrays["partner_point"] = np.zeros((saves, flat.partners, 2, 3))

    def _is_saved(self, name: str) -> bool:
        """Return whether a variable is saved: loads only if there are such loads."""
        return {"varying_force": self.varying, "applied_moment": self.has_moments}.get(name, True)

    def record(
        self,
        k: int,
        now: float,
        v: Floats,
        p: Floats,
        inner: InternalForces,
        contact_loads: tuple[Floats, Floats],
    ) -> None:
        """Save the state at time `now` as sample k.

        Parameters
        ----------
        v, p : (3, slots) velocities [m/s], and angular momenta over the inertia across [1/s], at
            that time
        contact_loads : (3, slots) contact forces and torques on nodes and frames [N], [N m]
        """
        f, arrays, nodes, elements = self.flat, self.arrays, self.flat.nodes, self.elements
        axis = third_directors(f.q)
        # angular velocity: the inertia along the axis is twice that across
        spin = p - 0.5 * (p * axis).sum(axis=0) * axis
        arrays["velocity"][k], arrays["frame"][k] = v[:, nodes].T, f.q[:, elements].T
        arrays["angular_velocity"][k] = spin[:, elements].T
        arrays["internal_force"][k] = inner.pull[:, elements].T
        arrays["internal_moment"][k] = inner.moment[:, nodes].T
        if self.supports:
            frames = [support.frame for support in self.supports]
            arrays["clamp_frame"][k] = f.q[:, frames].T
            arrays["clamp_angular_velocity"][k] = spin[:, frames].T
            # supported nodes and frames have no drag: remove the drag force -c v from the forces
            force = inner.force + contact_loads[0] + f.drags.node * v
            torque = inner.torque + contact_loads[1] + f.drags.element * spin
            arrays["clamp_force"][k], arrays["clamp_moment"][k] = reactions(
                f, self.supports, force, torque, now
            )
        if self.varying or self.has_moments:
            fe, te = np.zeros_like(f.v), np.zeros_like(f.v)
            # `add_loads` also adds to its first two arguments; these sums are not needed
            spare = np.zeros_like(f.v), np.zeros_like(f.v)
            add_loads(*spare, f.constant, f.loads, f.times, f.factors, now, fe, te)
            if self.varying:
                arrays["varying_force"][k] = (fe - f.constant)[:, nodes].T
            if self.has_moments:
                arrays["applied_moment"][k] = te[:, elements].T
        if f.partners:
            self._record_partners(k, v, spin)

    def _record_partners(self, k: int, v: Floats, spin: Floats) -> None:
        """Save points and velocities of rigid partners in sample k."""
        f, arrays = self.flat, self.arrays
        for j, b in enumerate(range(f.rods, len(f.first))):
            first, last = int(f.first[b]), int(f.first[b] + f.count[b])
            pivot, other = f.r[:, first], f.r[:, last]
            if f.shape[b] == PLANE:
                a, c = f.r[:, first + 1] - pivot, f.r[:, first + 2] - pivot
                other = pivot + np.cross(a, c)
            arrays["partner_point"][k, j] = pivot, other
            arrays["partner_velocity"][k, j] = v[:, first]
            arrays["partner_angular_velocity"][k, j] = spin[:, first]

    # ---- results

    def variables(self, upto: int) -> dict[str, Variable]:
        """Return variables of the first `upto` states and of the constants, by name."""
        variables = {
            name: Variable(self.arrays[name][:upto], ("time", part, of), unit, meaning)
            for name, (part, of, unit, meaning) in _COLUMNS.items()
            if name in self.arrays
        }
        return {**variables, **self._partners(upto), **self._constants(), **self._supports()}

    def _partners(self, upto: int) -> dict[str, Variable]:
        """Return the variables of rigid partners."""
        f = self.flat
        if not f.partners:
            return {}
        kinds = {SPHERE: 2, PLANE: 3}
        shape = np.array([kinds.get(int(s), 1) for s in f.shape[f.rods :]], dtype=np.int64)
        return partner_variables(self.arrays["partner_point"][:upto], shape, f.radius[f.rods :])

    def _supports(self) -> dict[str, Variable]:
        """Return the variables of supports."""
        if not self.supports:
            return {}
        number = np.array([support.number for support in self.supports], dtype=np.int64)
        kind = np.array([support.kind for support in self.supports], dtype=np.int64)
        words = f"{PIN} the node alone, 2 the section, 3 the last element"
        return {
            "node_of_clamp": Variable(number, ("clamp",), "1", "number of the end node, from 1"),
            "kind_of_clamp": Variable(kind, ("clamp",), "1", f"what the support fixes: {words}"),
        }

    def _constants(self) -> dict[str, Variable]:
        """Return constants of rods: masses, stiffness, damping, constant loads."""
        f, nodes, elements, rod = self.flat, self.flat.nodes, self.elements, self.flat.material
        gravity = np.asarray(self.rods.gravity, dtype=np.float64)
        numbers = np.arange(1, nodes.size + 1)[np.isin(nodes, elements)]
        joined = np.column_stack([numbers, numbers + 1])
        variables = {
            "nodes_of_element": Variable(
                joined, ("element", "side"), "1", "numbers of the nodes it joins, from 1"
            ),
            "gravity": Variable(gravity, ("axis",), "m/s^2", "acceleration of every rod"),
        }
        angle = "moment over the angle of"
        table: tuple[tuple[str, Floats, str, str, str], ...] = (
            ("mass_of_node", rod.mass, "node", "kg", "mass of a node"),
            (
                "inertia_of_element",
                rod.inertia,
                "element",
                "kg m^2",
                "about a diameter",
            ),
            ("length_of_element", rod.length, "element", "m", "rest length"),
            ("shear_stiffness", rod.shear, "element", "N", "force over shear strain"),
            ("axial_stiffness", rod.axial, "element", "N", "force over stretch"),
            ("bending_of_joint", rod.bend, "node", "N m", f"{angle} bending at a node"),
            ("twist_of_joint", rod.twist, "node", "N m", f"{angle} twist at a node"),
        )
        of = {"node": nodes, "element": elements}
        for name, values, part, unit, meaning in table:
            variables[name] = Variable(values[of[part]].copy(), (part,), unit, meaning)
        meaning = "angle between the frames beside a node of the unloaded rod"
        natural = rod.angle[:, nodes].T.copy()
        variables["natural_angle"] = Variable(natural, ("node", "axis"), "rad", meaning)
        drag = f.drags
        drags: tuple[tuple[str, Floats, str, str, str], ...] = (
            ("drag_of_node", drag.node, "node", "N s/m", "damping force over velocity"),
            ("drag_of_element", drag.element, "element", "N m s", "moment over angular velocity"),
            (
                "retardation_of_element",
                drag.retardation,
                "element",
                "s",
                "time of internal damping",
            ),
        )
        for name, column, part, unit, meaning in drags:
            values = column[of[part]].copy()
            if values.any():
                variables[name] = Variable(values, (part,), unit, meaning)
        # `constant` contains the weight
        constant = f.constant[:, nodes].T - f.material.mass[nodes][:, None] * gravity
        if np.abs(constant).max(initial=0.0) > 1e-14 * np.abs(f.constant).max(initial=0.0):
            meaning = "constant loads besides gravity"
            variables["constant_force"] = Variable(constant, ("node", "axis"), "N", meaning)
        return variables

    # ---- checkpoint

    def state(self, upto: int) -> dict[str, StateArray]:
        """Return the arrays of the first `upto` states for a checkpoint."""
        return {f"state_{k}": StateArray(array, "saved", upto) for k, array in self.arrays.items()}

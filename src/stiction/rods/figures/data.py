"""Data of the figures of rods: variables of a run and derived quantities.

Only saved data are read, so a loaded run gives the same figures as a computed one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number
from stiction.plot import style
from stiction.plot.run_data import RunData
from stiction.rods.figures.partners import surface

__all__ = ["MODES", "ROLL", "SLIP", "RodData", "Scene"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ROLL, SLIP = 1, 2
MODES = {0: "open", ROLL: "rolls", SLIP: "slips"}  # values of the variable `contact_mode`
_NEEDED = ("position", "rod_of_node", "radius_of_node")


@dataclass(frozen=True, eq=False)
class Scene:
    """Rods and contacts at one time.

    Parameters
    ----------
    time : [s]
    rods : for each rod the (n, 3) positions of its nodes [m]
    radii : of the rods [m]
    points : (c, 3) contact points of the c closed contacts [m]
    forces : (c, 3) force on the first rod of each [N]
    slips : (c,) whether the contact slips
    surfaces : for each rigid partner (n, m, 3) points of its surface [m]
    """

    time: float
    rods: tuple[Floats, ...]
    radii: Floats
    points: Floats
    forces: Floats
    slips: npt.NDArray[np.bool_]
    surfaces: tuple[Floats, ...] = ()


@dataclass(frozen=True, eq=False)
class RodData(RunData):
    """The saved history of rods and quantities derived from it.

    Parameters
    ----------
    run : the run, computed or loaded

    Raises
    ------
    ModelError : if the run has no positions of rods.
    """

    NEEDED = _NEEDED
    FAMILY = "rods"

    def has(self, name: str) -> bool:
        """Return whether the run has a variable with any finite value."""
        return name in self.run.variables and bool(np.isfinite(self.values(name)).any())

    def values(self, name: str) -> Floats:
        """Return a variable of the run as numbers.

        Raises
        ------
        ModelError : if the run does not have it.
        """
        if name not in self.run.variables:
            raise ModelError(
                "plot",
                f"a run of {self.run.system_name} without {name}",
                "a run of rods with this variable",
                "this figure shows that variable.",
                "draw scene or energy instead.",
            )
        return np.asarray(self.run.variables[name].values, dtype=np.float64)

    def contact(self, name: str) -> Floats:
        """Return a variable of contacts, (t, contact) or (t, contact, 3); NaN without a contact.

        Raises
        ------
        ModelError : if the run has no contacts.

        Verified by: tests/unit/rods/figures/test_figures.py::test_one_and_several_read_alike
        """
        values = self.values(name)
        return values[:, None] if "contact" not in self.run.variables[name].dims else values

    @property
    def n_contact(self) -> int:
        """Largest number of contacts at one time."""
        saved = "contact_mode" in self.run.variables
        return int(self.contact("contact_mode").shape[1]) if saved else 0

    def limit(self, check: str) -> float | None:
        """Return the limit of a check of the audit; None if it was not made."""
        limits = [line.limit for line in self.run.audit if line.check == check]
        value = limits[0] if limits else None
        return None if value is None else float(value)

    # ---- the rods in space

    @property
    def rod_of_node(self) -> Ints:
        """(node,) number of the rod of each node, from 1."""
        return np.asarray(self.run.variables["rod_of_node"].values, dtype=np.int64)

    @property
    def least_radius(self) -> float:
        """Radius of the thinnest rod [m]."""
        return float(self.values("radius_of_node").min())

    def sample(self, time: float | None) -> int:
        """Return the index of the saved state nearest to `time` [s]; the last for None.

        Raises
        ------
        ModelError : if `time` is outside the run.
        """
        if time is None:
            return int(self.time.size) - 1
        begin, end = float(self.time[0]), float(self.time[-1])
        why, try_ = "only saved states can be drawn.", "leave this value out to draw the end."
        number("plot.scene.time", time, unit="s", why=why, try_=try_)
        if not begin <= time <= end:
            needs = f"a time between {begin:.6g} and {end:.6g} [s]"
            raise ModelError("plot.scene.time", time, needs, why, try_)
        return int(np.argmin(np.abs(self.time - time)))

    def scene(self, sample: int) -> Scene:
        """Return rods and closed contacts of the saved state with this index.

        Verified by: tests/unit/rods/figures/test_figures.py::test_scene_holds_rods_and_contacts
        """
        positions, of = self.values("position")[sample], self.rod_of_node
        numbers = np.unique(of)
        radius = self.values("radius_of_node")
        points, forces, slips = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=bool)
        if self.n_contact and self.has("contact_point"):
            points, forces, mode = (
                self.contact(name)[sample].reshape(self.n_contact, -1)
                for name in ("contact_point", "contact_force", "contact_mode")
            )
            finite = np.isfinite(points).all(axis=1) & np.isfinite(forces).all(axis=1)
            closed = finite & (mode[:, 0] > 0.0)
            points, forces, slips = points[closed], forces[closed], mode[closed, 0] == SLIP
        return Scene(
            time=float(self.time[sample]),
            rods=tuple(positions[of == i] for i in numbers),
            radii=np.array([radius[of == i][0] for i in numbers]),
            points=points,
            forces=forces,
            slips=slips,
            surfaces=self.surfaces(self.partner_points[sample]),
        )

    @functools.cached_property
    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest coordinates (3,) of rods, radius included, in the whole run [m]."""
        positions = self.values("position").reshape(-1, 3)
        positions = positions[np.isfinite(positions).all(axis=1)]
        thick = float(self.values("radius_of_node").max())
        return positions.min(axis=0) - thick, positions.max(axis=0) + thick

    @property
    def partner_points(self) -> Floats:
        """(t, partner, 2, 3) ends of cylinders, centres of spheres, axes of planes [m]."""
        if "partner_point" not in self.run.variables:
            return np.zeros((self.time.size, 0, 2, 3))
        return self.values("partner_point")

    def surfaces(self, points: Floats) -> tuple[Floats, ...]:
        """Return (n, m, 3) points [m] of the surfaces of partners at `points` (partner, 2, 3)."""
        if not len(points):
            return ()
        each = zip(self.values("partner_shape"), points, self.values("partner_radius"), strict=True)
        return tuple(surface(int(kind), at, float(r), self.box) for kind, at, r in each)

    @property
    def largest_force(self) -> float:
        """Largest contact force over the whole run [N]."""
        if not self.n_contact or not self.has("contact_force"):
            return 0.0
        force = np.linalg.norm(self.values("contact_force"), axis=-1)
        return style.largest(force)

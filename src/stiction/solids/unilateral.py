"""Hard contact: Signorini's conditions in the normal direction, Coulomb's law of friction.

Signorini's law has no stiffness. The pressure p is the Lagrange multiplier of the condition of no
penetration, with the gap g,

    g >= 0,    p >= 0,    g p = 0,

and Coulomb's law bounds the tangential traction by mu p. Neither law has an internal length that a
mesh must resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import NonNegative
from stiction.laws.adhesion import Adhesion
from stiction.laws.adhesive_friction import EA, AdhesiveFriction

__all__ = ["Coulomb", "Signorini"]

Floats = npt.NDArray[np.float64]

_MU = NonNegative("1", "friction dissipates energy.", "give a number >= 0.")


@dataclass(frozen=True, eq=False, repr=False)
class Signorini(Adhesion):
    """Unilateral contact without penalty: pressure where surfaces touch, none where they do not.

    A contact with this law has a multiplier, the pressure, at each node of its boundary. As a
    function of the gap the traction is zero for g > 0 and undefined for g = 0.

    Source: Signorini 1959; Kikuchi and Oden 1988, chapter 2.
    Verified by: tests/unit/solids/contact/test_multipliers.py::test_a_block_is_pressed

    Examples
    --------
    >>> import stiction as st
    >>> law = st.solids.Signorini()
    >>> float(law.traction(1e-9)), law.max_tension
    (0.0, 0.0)
    """

    adhesive = False

    def traction(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return the normal traction [Pa]: zero at gaps > 0, else NaN."""
        apart = np.asarray(gap, dtype=np.float64) + 0.0 * np.asarray(stretch)
        return np.where(apart > 0.0, 0.0, np.nan)

    def stiffness(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d traction / d gap [Pa/m]: zero at gaps > 0, else NaN."""
        return self.traction(gap, stretch)

    def potential(self, gap: npt.ArrayLike) -> Floats:
        """Return the potential of the traction [J/m^2]: zero."""
        return 0.0 * np.asarray(gap, dtype=np.float64)

    @property
    def length(self) -> float:
        """Length over which the traction changes [m]: zero."""
        return 0.0

    @property
    def gap_eq(self) -> float:
        """Gap [m] where surfaces touch."""
        return 0.0

    @property
    def gap_max(self) -> float:
        """Gap [m] up to which surfaces touch."""
        return 0.0

    @property
    def max_tension(self) -> float:
        """Largest tension [Pa]: zero."""
        return 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Coulomb(AdhesiveFriction):
    """Coulomb's law at every point of an interface: friction mu p under a pressure p.

    Parameters
    ----------
    mu : coefficient of friction [1], >= 0

    Source: Kikuchi and Oden 1988, chapter 10; under adhesion it is `EA` with s_cut = 0.
    Verified by: tests/unit/solids/test_unilateral.py::test_coulomb_is_ea_without_tension

    Examples
    --------
    >>> import stiction as st
    >>> law = st.LennardJones.from_strength(max_tension=5e4, work_of_adhesion=0.05)
    >>> friction = st.solids.Coulomb(0.3)
    >>> float(friction.threshold(2.0 * law.gap_max, law))
    0.0
    """

    mu: Annotated[float, _MU] = 0.3

    @property
    def per_current_area(self) -> bool:
        """Whether the threshold is a force per current area: False, per reference area."""
        return False

    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return mu times the pressure [Pa], zero under tension."""
        return EA(self.mu, 0.0).threshold(gap, adhesion, stretch)

    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d threshold / d gap [Pa/m]."""
        return EA(self.mu, 0.0).slope(gap, adhesion, stretch)

    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return the gap [m] where pressure ends."""
        return float(adhesion.gap_eq)

    def table(self, adhesion: Adhesion) -> Floats:
        """Return the constants of the law in the layout of the kernels."""
        return EA(self.mu, 0.0).table(adhesion)

"""Results of `StickSet`: margins, intervals, the nearest equilibrium, one-sided stability.

The stick set holds the positions at which all masses can stick: |R_i| <= mu_static N_i. The stick
force R = b f - K x (plus the force of a plate) is also called the drive: load f with weights b,
stiffness K, displacements x, normal forces N. `stick_set.StickSet` returns these results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.numerics.checks import Record

__all__ = ["Intervals", "Launch", "Margins", "Nearest", "Stability", "perturbed"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NOT_THE_SET = (
    "The product of these intervals is not the stick set: every equilibrium has its "
    "coordinates in them, but a state with its coordinates in them need not be an equilibrium. "
    "Test membership with StickSet.contains."
)


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Record):
    """How far each mass is from slipping.

    Parameters
    ----------
    force : (n,) mu_static N_i - |R_i| [N]; negative if the mass cannot stick
    relative : (n,) the same over mu_static N_i [1]; -inf for a loaded mass without friction
    drive : (n,) R_i [N], minus the friction of equilibrium
    """

    force: Floats
    relative: Floats
    drive: Floats

    @classmethod
    def of(cls, drive: Floats, bound: Floats) -> Margins:
        """Return the margins of drives R_i [N] within bounds [N]."""
        force = bound - np.abs(drive)
        empty = np.where(force < 0.0, -np.inf, 0.0)
        relative = np.divide(force, bound, out=empty, where=bound > 0.0)
        return cls(force, relative, drive)


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Record):
    """The interval of each coordinate over the stick set.

    Parameters
    ----------
    lower, upper : (n,) ends [m]
    log_box_ratio : logarithm of how many times larger the box is than the stick set;
        NaN when the set has no volume
    warning : that the product of these intervals is not the stick set
    """

    lower: Floats
    upper: Floats
    log_box_ratio: float
    warning: str = field(default=NOT_THE_SET)

    @property
    def center(self) -> Floats:
        """(n,) centres x* [m]."""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def half_width(self) -> Floats:
        """(n,) half widths d [m]."""
        return np.asarray(0.5 * (self.upper - self.lower))

    @property
    def box_ratio(self) -> float:
        """How many times larger the box is than the stick set [1]."""
        return float(np.exp(min(self.log_box_ratio, 709.0)))

    def __str__(self) -> str:
        """Return the intervals, one per line, and the warning."""
        lines = [
            f"mass {i + 1}: [{low:.9g}, {high:.9g}] m"
            for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True))
        ]
        ratio = f"box / stick set = exp({self.log_box_ratio:.6g})"
        return "\n".join([*lines, ratio, self.warning])


@dataclass(frozen=True, eq=False, repr=False)
class Launch(Record):
    """An equilibrium from which every change of the load moves all masses at once.

    Parameters
    ----------
    x : (n,) the state [m]
    direction : (n,) -1, 0 or 1: direction of slip of each mass; 0 if the load never moves it
    """

    x: Floats
    direction: npt.NDArray[np.int8]

    @property
    def vertex(self) -> str:
        """Return "lower" (all masses go right), "upper" (all go left), or "mixed"."""
        if (self.direction == 1).all():
            return "lower"
        return "upper" if (self.direction == -1).all() else "mixed"


@dataclass(frozen=True, eq=False, repr=False)
class Nearest(Record):
    """The equilibrium nearest to a given state.

    Parameters
    ----------
    x : (n,) the state [m]
    distance : Euclidean distance [m]
    multiplier : (n,) p in x = given + K p [m^2/N]; its sign indicates the active bound
    residual : largest violation of the optimality conditions, relative [1]
    """

    x: Floats
    distance: float
    multiplier: Floats
    residual: float


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Record):
    """One-sided stability of an equilibrium.

    Parameters
    ----------
    side : (n,) "interior"; "lower" where R_i = +mu N_i, the mass about to go right;
        "upper" where R_i = -mu N_i, the mass about to go left; "both" where R_i and mu N_i are 0
    right, left : (n,) response to a small displacement of this mass alone, to the right or to the
        left, without velocity: "stays" (the chain sticks in the new state), "slips back" (this mass
        slips against the displacement), "moves a neighbour"
    """

    side: tuple[str, ...]
    right: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def interior(self) -> bool:
        """Whether every mass is within its bound: stable, and never attracting."""
        return all(side == "interior" for side in self.side)


def perturbed(chain: Chain, drive: Floats, bound: Floats, slack: Floats) -> Stability:
    """Return the one-sided stability of an equilibrium with drives R_i [N].

    Parameters
    ----------
    chain : the chain
    drive, bound : (n,) R_i and mu_static N_i [N]
    slack : (n,) rounding of R_i [N]: closer to the bound than this counts as on it

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> chain = st.Chain(mass=[1.0, 1.0], stiffness=1.0, load=st.Constant(0.0), law=st.Coulomb(0.5))
    >>> near = st.chains.perturbed(chain, np.array([0.5, 0.1]), np.full(2, 0.5), np.full(2, 1e-15))
    >>> near.side
    ('lower', 'interior')
    >>> near.right
    ('stays', 'moves a neighbour')
    """
    on_bound = np.abs(drive) >= bound - slack
    ready_right = on_bound & (drive >= 0.0)
    ready_left = on_bound & (drive <= 0.0)
    side = np.where(ready_right & ready_left, "both", "interior")
    side = np.where(ready_right & ~ready_left, "lower", side)
    side = np.where(ready_left & ~ready_right, "upper", side)
    inner = chain.link_stiffness[1:-1] > 0.0
    return Stability(
        tuple(side.tolist()),
        _answers(ready_left, _beside(ready_right, inner)),
        _answers(ready_right, _beside(ready_left, inner)),
    )


def _beside(ready: Flags, linked: Flags) -> Flags:
    """Return (n,) whether a neighbour of a mass is `ready` and joined to it by a spring."""
    beside = np.zeros_like(ready)
    beside[:-1] |= ready[1:] & linked
    beside[1:] |= ready[:-1] & linked
    return beside


def _answers(back: Flags, beside: Flags) -> tuple[str, ...]:
    """Return n responses: "slips back" if `back`, "moves a neighbour" if `beside`, else "stays"."""
    words = np.where(back, "slips back", np.where(beside, "moves a neighbour", "stays"))
    return tuple(words.tolist())

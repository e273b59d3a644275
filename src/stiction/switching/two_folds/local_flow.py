"""The local flow at a two-fold: classification, sliding orbits, admissible futures.

The numbers K_ab, the derivative of L_a = grad h . f_a along the field of side b, determine the flow
to first order: whether the folds are visible, the eigenvalues of the desingularised sliding flow,
and from them whether sliding orbits reach the point, where determinism is lost. `finding` returns a
`TwoFold`. Here h is the switching function, f+- the fields of both sides, L+- = grad h . f+-.

Both folds are invisible for K++ < 0 < K--. Then J1 = K-+ / sqrt(-K++ K--) and J2 = -K+- / sqrt(-K++
K--), and the sliding flow has the matrix [[J1, 1], [1, J2]] in scaled coordinates and time.

Source: Szalai, Jeffrey 2014, section III; formulas sheet, section 5.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Record, numbers
from stiction.switching.model import SwitchingSystem
from stiction.switching.two_folds.newton import Probe

if TYPE_CHECKING:
    from stiction.switching.presets import NormalForm

__all__ = ["LocalForm", "TwoFold"]

Floats = npt.NDArray[np.float64]

# a point with |h| below this fraction of the scale of h counts as on the surface. Chosen for points
# that are given with six digits
_ON = 1e-6


class LocalForm(NamedTuple):
    """The scaled local sliding flow of an invisible two-fold.

    (xi S, eta)' = matrix (xi S, eta) / ((J1 J2 - 1) (eta + xi)) in the scaled time tbar, with the
    local coordinates xi, eta of `TwoFold`.

    Parameters
    ----------
    matrix : [[J1, 1], [1, J2]]
    scaling : S = sqrt(-K++ / K--), the factor of xi
    time_scale : tbar over the time of the flow, 2 / sqrt(-K++ K--)
    plus, minus : sqrt(-K++) and sqrt(K--). The model f+ = plus (-y, 1, J1), f- = minus (z, J2, 1)
        with h = x has the time of the flow
    """

    matrix: Floats
    scaling: float
    time_scale: float
    plus: float
    minus: float


@dataclass(frozen=True, eq=False, repr=False)
class TwoFold(Record):
    """A two-fold and all properties that follow from its four numbers K.

    Local coordinates xi, eta on the surface have x = x* + xi v+ + eta v-, where
    v+ = (K++ f- - K+- f+) / 2 spans L+ = 0 and v- = (K-+ f- - K-- f+) / 2 spans L- = 0. This is
    the paper's convention with mu = 1.

    Parameters
    ----------
    system, surface, signs : the flow, the surface (from 0), and the signs of the other surfaces
    x : (n,) the point
    f_plus, f_minus : (n,) the fields there
    K : (2, 2) [[K++, K+-], [K-+, K--]] [unit of h / time unit^2]
    K_doubt : (2, 2) bounds of the errors of K
    residual : (3,) h, L+ and L- at `x` over their scales

    Source: Szalai, Jeffrey 2014, section III; formulas sheet, section 5.
    Verified by: tests/unit/switching/two_folds/test_finding.py::test_wheel_reference
    """

    system: SwitchingSystem
    surface: int
    signs: Floats
    x: Floats
    f_plus: Floats
    f_minus: Floats
    K: Floats
    K_doubt: Floats
    residual: Floats

    def __str__(self) -> str:
        """Return a few lines: state, kind, case and consequence."""
        names = self.system.state_names
        where = ", ".join(f"{n} = {v:.9g}" for n, v in zip(names, self.x, strict=True))
        numbers = f"K++ {self.Kpp:.6g}, K+- {self.Kpm:.6g}, K-+ {self.Kmp:.6g}, K-- {self.Kmm:.6g}"
        lines = [f"two-fold at {where}: {self.kind}", numbers]
        if self.J1 is not None:
            slow, fast = self.eigenvalues
            lines.append(
                f"J1 {self.J1:.9g}, J2 {self.J2:.9g}, eigenvalues {slow:.6g} and {fast:.6g}, "
                f"case {self.case}"
            )
        return "\n".join([*lines, self.why])

    # ---- the four numbers

    @property
    def Kpp(self) -> float:
        """K++, the second rate of h along f+."""
        return float(self.K[0, 0])

    @property
    def Kpm(self) -> float:
        """K+-, the rate of L+ along f-."""
        return float(self.K[0, 1])

    @property
    def Kmp(self) -> float:
        """K-+, the rate of L- along f+."""
        return float(self.K[1, 0])

    @property
    def Kmm(self) -> float:
        """K--, the second rate of h along f-."""
        return float(self.K[1, 1])

    @property
    def D(self) -> float:
        """K-+ K+- - K++ K--; L+ = eta D / 2 and L- = -xi D / 2 near the point."""
        return self.Kmp * self.Kpm - self.Kpp * self.Kmm

    # ---- kind

    @property
    def visible(self) -> tuple[bool, bool]:
        """Whether the orbit tangent to the surface lies on its own side: of f+ and of f-."""
        return self.Kpp > 0.0, self.Kmm < 0.0

    @property
    def kind(self) -> str:
        """`visible-visible`, `visible-invisible` or `invisible-invisible`."""
        return ("invisible-invisible", "visible-invisible", "visible-visible")[sum(self.visible)]

    @property
    def J1(self) -> float | None:
        """K-+ / sqrt(-K++ K--); None unless both folds are invisible."""
        return None if any(self.visible) else self.Kmp / self._size

    @property
    def J2(self) -> float | None:
        """-K+- / sqrt(-K++ K--); None unless both folds are invisible."""
        return None if any(self.visible) else -self.Kpm / self._size

    @property
    def _size(self) -> float:
        return float(np.sqrt(-self.Kpp * self.Kmm))

    @property
    def _pair(self) -> tuple[float, float]:
        """J1 and J2; ModelError unless both folds are invisible."""
        j1, j2 = self.J1, self.J2
        if j1 is None or j2 is None:
            raise ModelError(
                "TwoFold",
                f"a {self.kind} two-fold",
                "an invisible-invisible one",
                "J1, J2 and the normal form are defined for K++ < 0 < K-- only.",
                "use K, rates and kind instead.",
            )
        return j1, j2

    @property
    def case(self) -> int | None:
        """1, 2 or 3 for invisible two-folds, None for others.

        Case 1, J1, J2 < 0 and J1 J2 > 1: sliding orbits reach the point and continue into the
        escaping region. Case 2, J1, J2 > 0 and J1 J2 > 1: orbits pass from escaping into sliding.
        Case 3, J1 J2 < 1 (the paper misprints > 1): one orbit does so.
        """
        j1, j2 = self.J1, self.J2
        if j1 is None or j2 is None:
            return None
        if j1 * j2 < 1.0:
            return 3
        return 1 if j1 < 0.0 else 2

    # ---- the sliding flow

    @property
    def v_plus(self) -> Floats:
        """(n,) the direction along which only xi changes; L+ = 0 on it."""
        return np.asarray(0.5 * (self.Kpp * self.f_minus - self.Kpm * self.f_plus))

    @property
    def v_minus(self) -> Floats:
        """(n,) the direction along which only eta changes; L- = 0 on it."""
        return np.asarray(0.5 * (self.Kmp * self.f_minus - self.Kmm * self.f_plus))

    @property
    def matrix(self) -> Floats:
        """(2, 2) matrix of d(xi, eta)/ds = matrix (xi, eta), with dx/ds = (L- f+ - L+ f-) / 2.

        Time increases with the desingularised variable s in sliding regions, and decreases with it
        in escaping regions.
        """
        return 0.5 * np.array([[self.Kmp, self.Kmm], [-self.Kpp, -self.Kpm]])

    @property
    def _root(self) -> float | None:
        """Half the difference of the rates; None if they are a complex pair."""
        (a, b), (c, d) = self.matrix
        square = 0.25 * (a - d) ** 2 + b * c
        return float(np.sqrt(square)) if square >= 0.0 else None

    @property
    def rates(self) -> tuple[complex, complex] | tuple[float, float]:
        """Eigenvalues of `matrix`, the larger first; a complex pair at a focus.

        They are computed in closed form, so that real eigenvalues are always real numbers.
        """
        (a, b), (c, d) = self.matrix
        half, determinant, root = 0.5 * float(a + d), float(a * d - b * c), self._root
        if root is None:
            imag = float(np.sqrt(-b * c - 0.25 * (a - d) ** 2))
            return complex(half, imag), complex(half, -imag)
        return _real_pair(half, root, determinant)

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """Eigenvalues of [[J1, 1], [1, J2]], the larger first: `rates` times 2 / sqrt(-K++ K--)."""
        j1, j2 = self._pair
        return _real_pair(0.5 * (j1 + j2), 0.5 * float(np.hypot(j1 - j2, 2.0)), j1 * j2 - 1.0)

    @property
    def eigenvectors(self) -> Floats:
        """(2, 2) unit eigenvectors in (xi, eta), one per row, in the order of `rates`.

        An eigenvector whose components have the same sign points into the sliding region.
        """
        root = self._root
        if root is None:
            return np.full((2, 2), np.nan)
        (a, b), (c, d) = self.matrix
        # for the eigenvalue l both (l - d, c) and (b, l - a) are eigenvectors: take the one
        # without cancellation
        half = 0.5 * float(a - d)
        if half >= 0.0:
            vectors = np.array([[half + root, c], [b, -half - root]])
        else:
            vectors = np.array([[b, root - half], [half - root, c]])
        sense = -float(np.sign(self.D)) or 1.0
        turn = np.where(vectors[:, 1] >= 0.0, sense, -sense)
        return np.asarray(vectors * (turn / np.hypot(*vectors.T))[:, None])

    @property
    def directions(self) -> Floats:
        """(2, n) the eigenvectors as unit vectors in state space."""
        vectors = self.eigenvectors @ np.stack([self.v_plus, self.v_minus])
        with np.errstate(invalid="ignore"):
            return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    @property
    def weak_direction(self) -> Floats | None:
        """(n,) unit direction along which sliding orbits arrive; None unless an open set does.

        It points from the two-fold into the sliding region.
        """
        return None if self.deterministic else self.directions[0]

    # ---- uniqueness

    @property
    def deterministic(self) -> bool:
        """False if an open set of sliding orbits arrives, whose future is not unique.

        An open set arrives if both rates are negative and the eigenvector of the slower one points
        into the sliding region; for invisible two-folds this is case 1.
        """
        first, second = self.rates
        if isinstance(first, complex) or isinstance(second, complex):
            return True
        weak = self.eigenvectors[0]
        return not (first < 0.0 and second < 0.0 and weak[0] * weak[1] > 0.0)

    @property
    def why(self) -> str:
        """One sentence on the consequence of `deterministic`."""
        if not self.deterministic:
            return (
                "Determinism is lost: an open set of sliding orbits arrives in finite time, "
                "and continues into the escaping region, which it may leave anywhere."
            )
        if self.case is not None:
            return (
                "Determinism holds: only orbits of the escaping region arrive; their solutions "
                "were not unique before."
            )
        return (
            "Determinism holds for almost all states: no open set of sliding orbits arrives; "
            "single orbits may arrive, and their solutions are then not unique."
        )

    @property
    def spiral_multipliers(self) -> tuple[complex, complex] | tuple[float, float] | None:
        """Eigenvalues of the map of one revolution: 2P - 1 +- 2 sqrt(P (P - 1)), P = J1 J2.

        Orbits that cross the surface around the two-fold grow by these factors in each revolution.
        None unless both folds are invisible.
        """
        if any(self.visible):
            return None
        j1, j2 = self._pair
        p = j1 * j2
        if p * (p - 1.0) < 0.0:
            root = 2.0 * float(np.sqrt(p * (1.0 - p)))
            return complex(2.0 * p - 1.0, root), complex(2.0 * p - 1.0, -root)
        large = 2.0 * p - 1.0 + float(np.copysign(2.0 * np.sqrt(p * (p - 1.0)), 2.0 * p - 1.0))
        ordered = sorted((large, 1.0 / large), reverse=True)
        return ordered[0], ordered[1]

    @property
    def local_futures(self) -> tuple[str, ...]:
        """The admissible futures of a state at the two-fold, in words.

        Orbits of the sliding flow begin at the point along eigenvectors: in the sliding region at
        positive rates, an open set of them at the slower of two; in the escaping region at negative
        ones.

        Verified by: tests/unit/switching/two_folds/test_finding.py::test_all_futures_are_listed
        """
        futures = []
        if not self.deterministic:
            futures.append("slide in the escaping region along an orbit from the point")
            futures.append(
                "leave that region at any point of it, to either side: a funnel of two "
                "two-dimensional sheets of exits"
            )
        rates, vectors = self.rates, self.eigenvectors
        inside = [(rate, k) for k, rate in enumerate(rates) if vectors[k, 0] * vectors[k, 1] > 0.0]
        growing = [k for rate, k in inside if complex(rate).real > 0.0]
        if 1 in growing:
            futures.append("slide away along an orbit of an open set that begins at the point")
        elif growing:
            futures.append("slide away along the one sliding orbit that begins at the point")
        if self.deterministic and any(complex(rate).real < 0.0 for rate, _ in inside):
            futures.append(
                "slide along the one orbit of the escaping region that begins at the point, and "
                "leave it anywhere, to either side"
            )
        if self.visible[0]:
            futures.append("leave to the side h > 0 along the visible fold")
        if self.visible[1]:
            futures.append("leave to the side h < 0 along the visible fold")
        if self.case == 1:
            out, into = self.spiral_multipliers or (0.0, 0.0)
            futures.append(
                "spiral out by infinitely many crossings on one surface, with multipliers "
                f"{out:.6g} (out) and {into:.6g} (in) per turn"
            )
        return tuple(futures) or ("no sliding orbit begins at the point to first order",)

    # ---- the local model

    def normal_form(self) -> LocalForm:
        """Return the scaled local flow of an invisible two-fold.

        Raises
        ------
        ModelError : for another kind.

        Source: formulas sheet of the wheel paper, section 5; (30) with the scaling corrected.
        Verified by: tests/unit/switching/two_folds/test_finding.py::test_normal_form_finds_itself
        """
        j1, j2 = self._pair
        plus, minus = float(np.sqrt(-self.Kpp)), float(np.sqrt(self.Kmm))
        matrix = np.array([[j1, 1.0], [1.0, j2]])
        return LocalForm(matrix, plus / minus, 2.0 / (plus * minus), plus, minus)

    def model(self) -> NormalForm:
        """Return the system `NormalForm` with these J1 and J2.

        Its sliding orbits are those of the flow near the point. Its time is that of the flow only
        if plus = minus = 1 in `normal_form`.
        """
        from stiction.switching.presets import NormalForm

        return NormalForm(*self._pair)

    def to_normal_form(self, x: npt.ArrayLike) -> Floats:
        """Return (..., 3) coordinates (x, y, z) of `NormalForm` for states (..., n).

        They are x = h, y = -L+ / sqrt(-K++), z = L- / sqrt(K--). The two-fold is the origin, and
        the sliding region is exactly y, z > 0.
        """
        form = self.normal_form()
        points = np.asarray(x, dtype=np.float64)
        values = self.probe.values(points.reshape(-1, self.x.size))
        scaled = values * np.array([1.0, -1.0 / form.plus, 1.0 / form.minus])
        return np.asarray(scaled.reshape(*points.shape[:-1], 3))

    def arrival_time(self, x: Sequence[float] | Floats) -> float:
        """Return the arrival time of the sliding orbit from `x`, to leading order in the distance.

        Parameters
        ----------
        x : (n,) a state on the surface, in the sliding region

        Raises
        ------
        ModelError : if no open set of orbits arrives, or `x` is no sliding point.

        Source: formulas sheet of the wheel paper, section 5; exact for `NormalForm`.
        Verified by: tests/unit/switching/two_folds/test_finding.py::test_arrival_time
        """
        why, try_ = "the orbit starts at this state.", "give one number per state."
        point = numbers(
            "TwoFold.arrival_time", x, size=self.x.size, per="state", why=why, try_=try_
        )
        h, up, down = (float(v) for v in self.probe.values(point[None, :])[0])
        needs = why = ""
        if self.deterministic:
            needs, why = "a two-fold that sliding orbits reach", self.why
        elif abs(h) > _ON * float(self.probe.sizes(point)[0]) or not up < 0.0 < down:
            needs, why = "a sliding point: h = 0 and L+ < 0 < L-", "only sliding orbits arrive."
        if needs:
            got = f"h = {h:.3g}, L+ = {up:.3g}, L- = {down:.3g} at a {self.kind} two-fold"
            try_ = "check `deterministic`, and `to_normal_form(x)`."
            raise ModelError("TwoFold.arrival_time", got, needs, why, try_)
        start = np.array([-2.0 * down, 2.0 * up]) / self.D
        return float(0.25 * self.D * np.sum(np.linalg.solve(self.matrix, start)))

    @functools.cached_property
    def probe(self) -> Probe:
        """Evaluates h, L+ and L- at points, and their derivatives."""
        return Probe(self.system, self.surface, self.signs)


def _real_pair(half: float, root: float, determinant: float) -> tuple[float, float]:
    """Return half +- root, the larger first.

    The one with cancellation is computed as the determinant over the other one.
    """
    if half == 0.0:
        return root, -root
    large = half + float(np.copysign(root, half))
    small = determinant / large
    return max(large, small), min(large, small)

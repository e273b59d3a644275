"""The stick set: all equilibria of a chain with set-valued friction under a load (Problem 3).

    S = { x : |b f - K x|_i <= mu_static N_i for every mass i }

with the load b f [N], the stiffness matrix K and static bounds mu_static N_i [N]. It is the image
of a box of friction forces under K^-1: a polytope with 2^n vertices. Its projections on the axes
are intervals, and the box they span is larger than S. `st.StickSet` is for users; `reachability`
uses it too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import Elastic
from stiction.chains.equilibria import Intervals, Launch, Margins, Nearest, Stability, perturbed
from stiction.chains.model import Chain
from stiction.chains.signed_qp import signed_minimum
from stiction.errors import ModelError, explain
from stiction.laws.friction import without_memory
from stiction.numerics.checks import MOST_SEED, Record, number, numbers, whole

__all__ = ["StickSet", "outside"]

Floats = npt.NDArray[np.float64]

MOST_VERTICES = 16
MOST_NEAREST = 2000
# rounding of R = b f - K x, relative to the sum of its terms
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class StickSet(Record):
    """The stick set of a chain under the load `force`.

    Springs to a plate pull from its position at t = 0. With a moving belt there is no such set,
    because a mass that sticks moves with the belt.

    Parameters
    ----------
    chain : a chain with a wall or a plate spring
    force : load f [N]; None takes the chain's own load at t = 0

    Raises
    ------
    ModelError : without a wall and plate springs, or with a moving belt.

    Source: Axioms 14(4) 299, Problem 3 and Proposition 1; the polytope is that of the
    formulas sheet, section 2.
    Verified by: tests/unit/chains/test_stick_set.py::test_volume_against_monte_carlo
    """

    chain: Chain
    force: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.chain, Chain):
            raise ModelError(
                "StickSet.chain",
                type(self.chain).__name__,
                "a Chain",
                "the springs and friction bounds of a chain define the set.",
                "for example StickSet(Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.1))).",
            )
        without_memory(
            self.chain.law,
            "StickSet.chain",
            "the states of a law change the bounds of stick in time, and with them the set.",
            "take a law without states that has the coefficient of one time.",
        )
        force = self.chain.load.at(0.0) if self.force is None else self.force
        why, try_ = "the set belongs to one value of the load.", "for example force = 10.0."
        object.__setattr__(
            self, "force", number("StickSet.force", force, unit="N", why=why, try_=try_)
        )
        if self.chain.belt_speed != 0.0:
            raise ModelError(
                "StickSet.chain",
                f"a chain with belt_speed = {self.chain.belt_speed} m/s",
                "a surface at rest",
                "a mass that sticks to a moving belt moves with it, so no position is at rest.",
                "use belt_speed = 0, or solve the motion with EventDriven.",
            )
        self._elastic  # noqa: B018 - raises ModelError for a chain without support

    # ---- membership

    def drive(self, x: npt.ArrayLike) -> Floats:
        """Return the stick force R = b f - K x [N] at `x` [m]."""
        return self._pushed - self._elastic.force(self._state(x))

    def margins(self, x: npt.ArrayLike) -> Margins:
        """Return the margin of each mass to slip at `x` [m].

        Verified by: tests/exact/test_chain_closed_forms.py::test_reference_margins
        """
        return Margins.of(self.drive(x), self._bound)

    def contains(self, x: npt.ArrayLike) -> bool:
        """Return whether the chain can stick at `x` [m].

        The bound is exact up to the rounding of R itself: vertices computed in floating
        point count as members.
        """
        x = self._state(x)
        return bool((np.abs(self.drive(x)) <= self._bound + self._rounding(x)).all())

    def stability(self, x: npt.ArrayLike) -> Stability:
        """Return the active bound of each mass, and the response to a small displacement of one.

        Raises
        ------
        ModelError : if `x` [m] is no equilibrium.

        Source: Axioms 14(4) 299, section 3, on the stability of steady states; there a
        state on the boundary is called attracting from one side. That holds without
        inertia only: with inertia the mass slips back, overshoots, and rests inside.
        Verified by: tests/unit/chains/test_stick_set.py::test_one_sided_stability
        """
        x = self._state(x)
        if not self.contains(x):
            raise ModelError(outside("StickSet.stability", self.margins(x)))
        return perturbed(self.chain, self.drive(x), self._bound, self._rounding(x))

    # ---- size

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume; -inf when a mass has no friction.

        Source: formulas sheet, section 2: prod(2 mu N_i) / det K.
        """
        if not self._bound.all():
            return -np.inf
        return float(np.log(2.0 * self._bound).sum() - self._elastic.log_det)

    @property
    def volume(self) -> float:
        """Volume [m^n]; for many masses it leaves the range of numbers, see `log_volume`."""
        return _exp(self.log_volume)

    def projections(self) -> Intervals:
        """Return the interval that each coordinate alone can take.

        WARNING: their product is not the stick set. Each interval is sharp on its own,
        but a state with every coordinate in its interval need not stick. The result says
        how many times larger the box is, and carries this warning.

        Source: Axioms 14(4) 299, (15)-(18).
        Verified by: tests/unit/chains/test_stick_set.py::test_projections_are_sharp
        """
        half = self._half_width
        log_box = float(np.log(2.0 * half).sum()) if half.all() else -np.inf
        log_ratio = log_box - self.log_volume if self.log_volume > -np.inf else np.nan
        return Intervals(self._center - half, self._center + half, log_ratio)

    def in_intervals(self, x: npt.ArrayLike) -> bool:
        """Return whether each coordinate of `x` [m] lies in its interval (29) of the paper.

        Necessary for equilibrium, not sufficient: see `projections`.

        Source: Axioms 14(4) 299, Proposition 1 and (29).
        """
        x = self._state(x)
        gap, size = np.abs(x - self._center), np.abs(x) + np.abs(self._center) + self._half_width
        return bool((gap <= self._half_width + _ROUNDING * size).all())

    def in_sequence(self, x: npt.ArrayLike) -> bool:
        """Return whether each link force is within the bounds of all masses beyond it.

        T_i within f -/+ sum_{j >= i} mu N_j: the inequalities of the paper one after the
        other, each given the mass before. Necessary, not sufficient.

        Raises
        ------
        ModelError : unless the only support is a wall at the left.

        Source: formulas sheet, section 2, sequential form.
        """
        center, half = self._sequence()
        x = self._state(x)
        tension = self.chain.link_stiffness[:-1] * np.diff(x, prepend=0.0)
        return bool((np.abs(tension - center) <= half + self._rounding(x)).all())

    @property
    def sequence_ratio(self) -> float:
        """How many times larger the set of `in_sequence` is than the stick set [1].

        It is NaN if a mass has no friction: both sets are then flat.

        Verified by: tests/unit/chains/test_stick_set.py::test_interval_sets_are_larger
        """
        _, half = self._sequence()
        if not self._bound.all():
            return np.nan
        return float(np.exp(np.log(half).sum() - np.log(self._bound).sum()))

    # ---- special states

    def bounds(self) -> tuple[Floats, Floats]:
        """Return (n,) the lower and (n,) the upper vertex [m]: all R_i = mu N_i, all R_i = -mu N_i.

        They bound each coordinate: both ends of every projection are attained there.
        """
        return self._center - self._half_width, self._center + self._half_width

    def launch(self, *, rising: bool = True) -> Launch:
        """Return the state from which every change of the load moves all masses at once.

        Under a rising load all masses are at their threshold at the vertex where friction already
        opposes the motion: for a load that pulls all masses to the right this is the LOWER
        vertex. Axioms 14(4) 299, section 5, names the right ends, which is the upper one.

        Parameters
        ----------
        rising : whether the load grows or falls

        Source: formulas sheet, section 2.
        Verified by: tests/unit/chains/test_stick_set.py::test_launch_vertex_moves_all
        """
        weights = self.chain.load_weights
        v = self._elastic.solve(weights) * (1.0 if rising else -1.0)
        # loads that cancel leave the rounding of a sum of their responses, which are positive
        size = self._elastic.solve(np.abs(weights))
        moved = np.abs(v) > self.chain.n_mass * _ROUNDING * size
        sign = np.where(moved, np.sign(v), 0.0).astype(np.int8)
        return Launch(self._elastic.solve(self._pushed - sign * self._bound), sign)

    def vertices(self) -> Floats:
        """Return the (2^n, n) vertices [m] of the set.

        Raises
        ------
        ModelError : for more than 16 masses.
        """
        n = self.chain.n_mass
        if n > MOST_VERTICES:
            raise ModelError(
                "StickSet.vertices",
                f"{n} masses",
                f"at most {MOST_VERTICES}",
                f"the set has 2^n vertices, here about 1e{int(n * np.log10(2.0))}.",
                "use bounds(), projections(), sample() or nearest(), which are cheap.",
            )
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return self._elastic.solve((self._pushed - signs * self._bound).T).T

    def sample(self, count: int, seed: int) -> Floats:
        """Return (count, n) states [m] drawn uniformly from the set.

        Parameters
        ----------
        count : how many, >= 1
        seed : whole number >= 0
        """
        try_ = "for example sample(100, seed=1)."
        where, why, each = (
            "StickSet.sample",
            "this is the number of states to draw.",
            40.0 * self.chain.n_mass,
        )
        whole(f"{where}.count", count, least=1, each=each, why=why, try_=try_)
        why = "the seed makes the draws reproducible."
        whole(f"{where}.seed", seed, least=0, most=MOST_SEED, why=why, try_=try_)
        rng = np.random.Generator(np.random.PCG64(seed))
        friction = rng.uniform(-1.0, 1.0, (count, self.chain.n_mass)) * self._bound
        return self._elastic.solve((self._pushed - friction).T).T

    def nearest(self, x: npt.ArrayLike) -> Nearest:
        """Return the equilibrium nearest to `x` [m], by Euclidean distance.

        With multipliers p of the n two-sided bounds the nearest state is z = x + K p, where p
        minimises a strictly convex function of the form of the friction problem. An active set
        method (`signed_qp`) computes it; the violation of its optimality conditions is returned.

        Raises
        ------
        ModelError : for more than 2000 masses (dense factorisations, O(n^3)).

        Verified by: tests/unit/chains/test_stick_set.py::test_nearest_against_brute_force
        """
        x, n = self._state(x), self.chain.n_mass
        if n > MOST_NEAREST:
            raise ModelError(
                "StickSet.nearest",
                f"{n} masses",
                f"at most {MOST_NEAREST}",
                "the projection needs dense factorisations of size n.",
                "use bounds() or sample() for equilibria of a long chain.",
            )
        if self.contains(x):
            return Nearest(x.copy(), 0.0, np.zeros(n), 0.0)
        return self._project(x)

    def critical_force(self) -> Floats | None:
        """Return the loads [N] at which each mass first slips; see Chain.critical_force."""
        return self.chain.critical_force()

    # ---- inner parts

    def _project(self, x: Floats) -> Nearest:
        """Return the equilibrium nearest to `x`, a state outside of the set.

        With S = b f - K x the multipliers p minimise 1/2 p'K^2 p - S'p + sum bound |p|, and
        z = x + K p. All forces and K are divided by `unit` here.
        """
        n = self.chain.n_mass
        # K in units of its largest pivot, so that K^2 stays in range for stiff chains
        unit = float(np.max(self._elastic.pivot))
        k = self._elastic.force(np.eye(n)) / unit
        short = (self._pushed - self._elastic.force(x)) / unit
        bound = self._bound / unit

        def on(a: npt.NDArray[np.intp], rhs: Floats) -> Floats:
            # (K^2)_AA = (K_A)'(K_A): triangular solves with R of K_A = QR square no errors
            _, r = np.linalg.qr(k[:, a])
            return np.asarray(np.linalg.solve(r, np.linalg.solve(r.T, rhs)))

        p, sign = signed_minimum(lambda p: k @ (k @ p), on, short, bound, np.zeros(n, np.int8))
        a = np.flatnonzero(sign)
        q, r = np.linalg.qr(k[:, a])
        z, stick_force = x, short
        # the second pass removes the rounding of a distant start
        for _ in range(2):
            z = z + q @ np.linalg.solve(r.T, (stick_force - sign * bound)[a])
            stick_force = (self._pushed - self._elastic.force(z)) / unit
        size = float(np.max(np.abs(short) + bound))
        worst = max(
            float(np.max(np.abs(stick_force) - bound, initial=0.0)),
            float(np.max(np.abs(stick_force - sign * bound)[a], initial=0.0)),
        )
        wrong_sign = float(np.max(-(p * sign), initial=0.0)) / max(float(np.max(np.abs(p))), 1e-300)
        return Nearest(z, float(np.linalg.norm(z - x)), p / unit, max(worst / size, wrong_sign))

    def _state(self, x: npt.ArrayLike) -> Floats:
        """Return displacements as an array; raise ModelError for a wrong number of them."""
        return numbers(
            "StickSet state",
            x,
            size=self.chain.n_mass,
            per="mass",
            unit="m",
            why="a state gives the displacement of every mass.",
            try_=f"give a list of {self.chain.n_mass} numbers.",
        )

    def _rounding(self, x: Floats) -> Floats:
        """Return (n,) rounding errors of the stick force at `x` [N]."""
        link, size = self.chain.link_stiffness, np.abs(x)
        edge = np.zeros(1)
        wide = np.concatenate([edge, size, edge])
        terms = link * (wide[1:] + wide[:-1])
        plate = self.chain.plate_springs * size
        size = np.abs(self._pushed) + terms[1:] + terms[:-1] + plate + self._bound
        return np.asarray(_ROUNDING * size)

    def _sequence(self) -> tuple[Floats, Floats]:
        """Return (n,) centres and (n,) half widths of the intervals of the link forces [N]."""
        chain = self.chain
        if chain.supports != "left" or chain.plate_springs.any():
            raise ModelError(
                "StickSet.in_sequence",
                f"supports = {chain.supports!r}, plate springs: {chain.plate_springs.any()}",
                "one wall at the left and no plate springs",
                "only then do the bounds of the masses beyond a link limit the force of the link.",
                "use contains(), which holds for every chain.",
            )
        center = np.cumsum(self._pushed[::-1])[::-1]
        return center, np.cumsum(self._bound[::-1])[::-1]

    @functools.cached_property
    def _elastic(self) -> Elastic:
        return Elastic(self.chain, "StickSet.chain")

    @functools.cached_property
    def _pushed(self) -> Floats:
        """(n,) load b f on each mass [N]."""
        return np.asarray(self.chain.load_weights * float(self.force or 0.0))

    @functools.cached_property
    def _bound(self) -> Floats:
        return np.asarray(self.chain.stick_bound)

    @functools.cached_property
    def _center(self) -> Floats:
        """(n,) equilibrium without friction, K^-1 b f [m]."""
        return self._elastic.solve(self._pushed)

    @functools.cached_property
    def _half_width(self) -> Floats:
        """(n,) largest displacement of each mass by friction forces within their bounds [m]."""
        # K is an M-matrix: K^-1 has no negative entry, so the bounds add up
        return self._elastic.solve(self._bound)


def _exp(log: float) -> float:
    return float(np.exp(log)) if log < 709.0 else np.inf


def outside(where: str, margins: Margins) -> str:
    """Return the message for a state outside of the stick set."""
    i = int(np.argmin(margins.force))
    return explain(
        where,
        f"a state at which mass {i + 1} exceeds its friction bound by {-margins.force[i]:.6g} N",
        "an equilibrium, |b f - K x| <= mu_static N for every mass",
        "friction cannot hold the chain there.",
        "take StickSet.nearest(x).x, the nearest equilibrium.",
    )

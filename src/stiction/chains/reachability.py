"""Reachability: initial states from which a chain reaches a given equilibrium in finite time.

Every equilibrium has them (formulas sheet, section 7). Choose a direction sigma_i of each mass with
sigma_i R_i < mu N_i, so that friction decelerates it. The equation of motion, integrated backwards
in time from the equilibrium with these signs, keeps all masses in slip for some time: R_i is the
force of springs, load and plate, N_i the normal force, mu the friction coefficient. Forward in
time, all masses then stop at the same instant in the given state, and stick. `st.reach` returns
such initial data; the integration is by Taylor series of the equation of motion (`model`).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import links_pull
from stiction.chains.equilibria import Margins
from stiction.chains.loads import Constant
from stiction.chains.model import Chain
from stiction.chains.polynomials import FIT, FIT_NODES, first_fall, fitted, powers, value
from stiction.chains.stick_set import StickSet, outside
from stiction.errors import ModelError
from stiction.laws.friction import without_memory
from stiction.numerics.checks import Record, number

__all__ = ["Reach", "reach"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

_ORDER = 28
_MOST_STEPS = 4000


@dataclass(frozen=True, eq=False, repr=False)
class Reach(Record):
    """Initial data from which a chain reaches an equilibrium.

    Parameters
    ----------
    chain : the chain with these initial data; start it at t = 0
    x0, v0 : (n,) initial displacements [m] and velocities [m/s]
    x_star : (n,) the equilibrium [m]
    duration : time of arrival [s], with all velocities zero
    longest : time before the arrival [s] during which no mass changes direction; a lower bound
    sigma : (n,) direction in which each mass moves until then; 1 for a mass without friction in
        slip and without force, which may change its direction
    interior : whether every mass is strictly within its friction bound at x_star
    margins : margin of each mass to slip there
    why_not_quasistatic : why the quasistatic problem does not reach it, with the margins
    """

    chain: Chain
    x0: Floats
    v0: Floats
    x_star: Floats
    duration: float
    longest: float
    sigma: Signs
    interior: bool
    margins: Margins
    why_not_quasistatic: str


def reach(
    chain: Chain,
    x_star: npt.ArrayLike,
    *,
    force: float | None = None,
    duration: float | None = None,
) -> Reach:
    """Return initial data from which the dynamic solution arrives exactly at `x_star`.

    Parameters
    ----------
    chain : the chain; its load must be constant unless `force` is given
    x_star : (n,) an equilibrium [m], interior or on the boundary of the stick set
    force : constant load [N] to use instead of the chain's own
    duration : time from the start to the arrival [s]; default half of the time over which
        no mass changes direction, at most half the slowest period

    Raises
    ------
    ModelError : if `x_star` is no equilibrium, if no motion can stop there (without friction, on a
        belt, or with a moving plate), or if a mass changes direction within `duration`.

    Source: Axioms 14(4) 299, section 9.2 (the conjecture); formulas sheet, section 7 (its
    proof for the dynamic problem, and why the quasistatic half of it is false).
    Verified by: tests/unit/chains/test_reachability.py::test_arrives_at_forty_states
    """
    chain = _at_constant_load(chain, force)
    without_memory(
        chain.law,
        "reach.chain",
        "the motion is integrated backward in time, which is implemented for laws without states.",
        "give a law without states.",
    )
    stick = StickSet(chain)
    if not stick.contains(x_star):
        raise ModelError(outside("reach.x_star", stick.margins(x_star)))
    # integrate back in time, with velocities opposite to the stick forces
    margins = stick.margins(x_star)
    back = _BackwardMotion(chain, np.array(x_star, dtype=np.float64), margins.drive)
    wanted = None
    if duration is not None:
        wanted = number(
            "reach.duration",
            duration,
            rule="positive",
            unit="s",
            why="the chain moves for this time before it arrives.",
            try_="leave this value out.",
        )
    longest = back.integrate(wanted)
    if wanted is not None and wanted > longest:
        raise ModelError(
            "reach.duration",
            f"{wanted} s",
            f"at most {longest:.9g} s for this state",
            "further back a mass would have to change its direction.",
            "leave this value out, or give a shorter time.",
        )
    span = 0.5 * longest if wanted is None else wanted
    x0, v0 = back.at(span)
    interior = bool((margins.force > 1e-12 * np.maximum(chain.stick_bound, 1e-300)).all())
    return Reach(
        chain=dataclasses.replace(chain, x0=x0, v0=v0),
        x0=x0,
        v0=v0,
        x_star=np.array(x_star, dtype=np.float64),
        duration=span,
        longest=longest,
        sigma=back.sign,
        interior=interior,
        margins=margins,
        why_not_quasistatic=_why(chain, margins, interior),
    )


def _at_constant_load(chain: Chain, force: float | None) -> Chain:
    """Return the chain under the constant load `force` [N]; raise ModelError for a varying load."""
    if not isinstance(chain, Chain):
        raise ModelError(
            "reach.chain",
            type(chain).__name__,
            "a Chain",
            "the masses, springs and friction of a chain decide how it stops.",
            "for example reach(chain, x_star).",
        )
    if force is not None:
        return dataclasses.replace(chain, load=Constant(force))
    low, high = chain.load.bounds_after(0.0)
    if low != high:
        raise ModelError(
            "reach.chain",
            f"a load that varies, {type(chain.load).__name__}",
            "a constant load",
            "an equilibrium belongs to one value of the load.",
            "give the constant load: reach(chain, x_star, force=10.0).",
        )
    return chain


class _BackwardMotion:
    """The motion with fixed directions of slip, integrated back in time from x_star.

    Attributes
    ----------
    sign : (n,) direction of slip of each mass, which friction and drive decelerate
    drop : (n,) mu_static - mu_kinetic of each mass [1]
    moving_mu : (n,) friction coefficient in slip at zero slip rate [1]
    braked : (n,) whether friction or a force acts on the mass at the equilibrium
    push : (n,) load on each mass [N]
    steps : length [s] of each backward step, and the (n, _ORDER + 1) Taylor coefficients of x and v
        by rising powers of the fraction of the step
    """

    def __init__(self, chain: Chain, x_star: Floats, drive: Floats) -> None:
        self.chain, self.x_star = chain, x_star
        self.sign: Signs = np.where(drive > 0.0, -1, 1).astype(np.int8)
        table = chain.friction
        self.drop = table.mu_static - table.mu_kinetic
        self.moving_mu = table.mu(np.zeros(chain.n_mass))
        # masses without friction and force do not constrain the directions
        brake = self.moving_mu * chain.normal_forces + np.abs(drive)
        self.braked = brake > 1e-12 * np.max(chain.stick_bound)
        self._check_plausible()
        self.push = chain.load_weights * float(chain.load.at(0.0))
        self.steps: list[tuple[float, Floats, Floats]] = []

    def _check_plausible(self) -> None:
        """Raise ModelError if a motion cannot end in stick: a moving plate, or no friction."""
        chain = self.chain
        got = try_ = ""
        if chain.plate_speed != 0.0 and chain.plate_springs.any():
            got, try_ = f"a plate that moves at {chain.plate_speed} m/s", "give plate_speed = 0."
        elif not self.braked.any():
            got, try_ = "no friction and no force on any mass", "give a law with mu > 0."
        if got:
            needs = "a plate at rest, and friction on at least one mass"
            why = (
                "on a moving plate, or without friction, no motion of the chain ends at this "
                "equilibrium in finite time."
            )
            raise ModelError("reach.chain", got, needs, why, try_)

    def integrate(self, wanted: float | None) -> float:
        """Integrate back in time; return the time [s] over which no mass reverses.

        It is at most `wanted`. Without it, the bound is the slowest period, or less under strong
        damping.
        """
        chain = self.chain
        k, c, m = chain.link_stiffness, chain.link_damping, chain.masses
        swing = math.sqrt(float(np.max((2.0 * (k[:-1] + k[1:]) + chain.plate_springs) / m)))
        damp = float(np.max(2.0 * (c[:-1] + c[1:]) / m))
        weak = float(np.max(self.drop * chain.normal_forces / (m * chain.friction.v_scale)))
        length = 1.5 / (swing + damp + weak)
        # damped motion grows backwards in time: beyond e^3 it would amplify rounding too much
        cap = self._half_period() if damp == 0.0 else min(self._half_period(), 3.0 / damp)
        cap = 2.0 * cap if wanted is None else wanted
        x, v, time = self.x_star, np.zeros(chain.n_mass), 0.0
        for _ in range(_MOST_STEPS):
            h = min(length, cap - time)
            if h <= 1e-14 * cap:
                return cap
            h, xs, vs = self._step(x, v, h)
            speed = (self.sign[:, None] * vs)[self.braked]
            # at the arrival every velocity is zero: divide by time
            turn, _ = first_fall(speed[:, 1:] if time == 0.0 else speed)
            self.steps.append((h, xs, vs))
            if turn <= 1.0:
                return time + turn * h
            x, v, time = value(xs, 1.0), value(vs, 1.0), time + h
        return time

    def at(self, span: float) -> tuple[Floats, Floats]:
        """Return (n,) displacements [m] and velocities [m/s], `span` seconds before the arrival."""
        time = 0.0
        for h, xs, vs in self.steps:
            if span <= time + h:
                tau = (span - time) / h
                return value(xs, tau), value(vs, tau)
            time += h
        _, xs, vs = self.steps[-1]
        return value(xs, 1.0), value(vs, 1.0)

    def _step(self, x: Floats, v: Floats, h: float) -> tuple[float, Floats, Floats]:
        """Return the length [s] of a backward step and its series of x and v, if they converge.

        Otherwise the step is shortened.

        `h` is the longest length to try; the series are those of `steps`.
        """
        length = h
        while True:
            xs, vs, misfit = self._series(x, v, -h)
            size = float(np.max(np.abs(vs[:, :-2]))) + 1e-300
            tail = float(np.max(np.abs(vs[:, -2:])))
            # fraction of the step on which the last terms fall below rounding
            fraction = (1e-17 * size / tail) ** (1.0 / (_ORDER - 1)) if tail > 0.0 else 1.0
            if (misfit <= 1e-13 and fraction > 0.1) or h <= 1e-9 * length:
                break
            h *= 0.5
        if fraction < 1.0:
            shrink = fraction ** np.arange(_ORDER + 1)
            return fraction * h, xs * shrink, vs * shrink
        return h, xs, vs

    def _series(self, x: Floats, v: Floats, h: float) -> tuple[Floats, Floats, float]:
        """Return the (n, _ORDER + 1) series of x and v, and the misfit of a fitted mu [1].

        x, v, h : (n,) state at the start of the step, and its length [s], negative backwards
        """
        n, m = x.size, self.chain.masses
        xs, vs = np.zeros((n, _ORDER + 1)), np.zeros((n, _ORDER + 1))
        mu = np.zeros((n, _ORDER + 1))
        xs[:, 0], vs[:, 0], mu[:, 0] = x, v, self.moving_mu
        law = self.chain.law
        if law.constant or law.formulas.shares is not None:
            return *self._expand(xs, vs, mu, h, m), 0.0
        table, at_nodes = self.chain.friction, powers(FIT_NODES, _ORDER + 1)
        at_values, change = table.mu(np.repeat(v[:, None], FIT, axis=1)), math.inf
        for _ in range(60):
            mu[:, :FIT] = fitted(at_values)
            xs, vs = self._expand(xs, vs, mu, h, m)
            new = table.mu(vs @ at_nodes)
            change, at_values = float(np.max(np.abs(new - at_values))), new
            if change < 1e-14:
                break
        missed = np.abs(value(mu, 1.0) - table.mu(value(vs, 1.0)))
        return xs, vs, max(change, float(np.max(missed)))

    def _expand(
        self, xs: Floats, vs: Floats, mu: Floats, h: float, m: Floats
    ) -> tuple[Floats, Floats]:
        """Fill the Taylor series of x and v by the equation of motion with fixed signs of slip.

        xs, vs, mu : (n, _ORDER + 1) series by rising powers of the fraction of the step, filled
        h, m : length of the step [s], and (n,) masses
        """
        chain, table, sign = self.chain, self.chain.friction, self.sign
        share_of, p = chain.law.formulas.shares, table.parameters
        fraction, speed = np.zeros_like(mu).T, np.abs(vs[:, 0])
        # x' = v and m v' = -D'(k D x + c D v) - kp x + b f - sign N mu, term by term
        for k in range(_ORDER):
            xs[:, k + 1] = h * vs[:, k] / (k + 1)
            # term k of mu = mu_k + (mu_s - mu_k) e(w), by the recursion of the law for e
            if share_of is not None:
                fraction[k] = share_of(k, speed, sign / h, xs.T[1:], fraction, p)
                mu[:, k] = self.drop * fraction[k] + (table.mu_kinetic if k == 0 else 0.0)
            force = -links_pull(chain.link_stiffness, xs[:, k])
            force -= links_pull(chain.link_damping, vs[:, k]) + chain.plate_springs * xs[:, k]
            force -= sign * chain.normal_forces * mu[:, k]
            if k == 0:
                force += self.push
            vs[:, k + 1] = h * force / (m * (k + 1))
        return xs, vs

    def _half_period(self) -> float:
        """Return half the slowest period [s], estimated by inverse iteration."""
        from stiction.chains.elastic import Elastic

        elastic, m = Elastic(self.chain, "reach.chain"), self.chain.masses
        shape = np.ones(m.size)
        for _ in range(12):
            shape = elastic.solve(m * shape)
            shape = shape / np.max(np.abs(shape))
        square = float(shape @ elastic.force(shape)) / float(shape @ (m * shape))
        return math.pi / math.sqrt(square)


def _why(chain: Chain, margins: Margins, interior: bool) -> str:
    """Return why the quasistatic problem does not reach the equilibrium."""
    least = int(np.argmin(margins.relative))
    proof = (
        f"the smallest margin is {margins.force[least]:.6g} N at mass {least + 1} "
        f"({100.0 * margins.relative[least]:.3g} % of its bound)"
    )
    if not interior:
        return (
            "This state lies on the boundary of the stick set. Without inertia, under a "
            "constant load, dampers on every link and constant friction, motion tends to "
            f"such states and never arrives in finite time ({proof})."
        )
    text = (
        "Without inertia, under a constant load and friction that does not weaken, only a motion "
        "that starts in this state contains this state. While every mass is within its bound, "
        "the balance of power v'R = v'Cv + sum mu N |v| (velocities v, forces R, damping C) "
        "gives v = 0. The times at which every mass is within its "
        "bound form an open and closed set, so this set contains all earlier times; "
        f"{proof}."
    )
    if chain.friction.may_weaken:
        text += (
            " This chain's friction may weaken with slip; then a sliding branch can end at a "
            "state inside the set, see stiction.chains.branches."
        )
    return text

"""The built-in scenarios of chains in Python, one function per TOML file in `scenarios/`.

::

    run = stiction.solve(*slip_wave(mass=(1.0, 2.0, 4.0)))

Defaults are those of the files. The numbers of the paper's tables are lost in its text;
these are ours, and the files say so one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stiction.chains.loads import Constant, Load, PiecewiseLinear, Ramp
from stiction.chains.model import Chain
from stiction.laws.coulomb import Coulomb, ExponentialWeakening, Friction, RandomCoulomb

__all__ = [
    "Preset",
    "baseline",
    "baseline_weakening",
    "belt",
    "burridge_knopoff",
    "detachment_wave",
    "energy_balance",
    "quasistatic_branches",
    "quasistatic_ramp",
    "quasistatic_reversal",
    "ramp_wave",
    "random_friction",
    "reachability",
    "slip_wave",
    "stick_set",
    "theta_scheme",
    "unequal_masses",
]

_BLOCKS = (0.002, -0.004, 0.003, 0.005, -0.002, -0.005, 0.001, 0.004, -0.003, 0.0)


class Preset(NamedTuple):
    """What `stiction.solve` takes, in its order.

    Parameters
    ----------
    system : the chain
    method : how it is solved
    t_span : start and end [s]
    """

    system: Chain
    method: Any
    t_span: tuple[float, float]


def baseline(
    *,
    mass: Sequence[float] = (1.0, 1.0, 1.0),
    stiffness: float = 20.0,
    damping: float = 0.0,
    force: float = 10.0,
    law: Friction | None = None,
    t_end: float = 10.0,
) -> Preset:
    """Return the baseline: equal masses under a constant load come to rest in finite time.

    Source: Axioms 14(4) 299, Table 1, Figs. 3 and 4.
    Verified by: tests/scenarios/test_built_in.py::test_presets_are_the_files
    """
    law = Coulomb(0.05) if law is None else law
    return _event_driven(_chain(mass, stiffness, damping, Constant(force), law), t_end)


def baseline_weakening() -> Preset:
    """Return the baseline with friction that weakens with slip speed.

    Source: Axioms 14(4) 299, section 8.
    """
    return baseline(law=ExponentialWeakening(mu_static=0.08, mu_kinetic=0.05, v_scale=0.2))


def slip_wave(
    *,
    mass: Sequence[float] = (1.0, 1.0, 1.0),
    stiffness: float = 20.0,
    damping: float = 0.0,
    rate: float = 1.0,
    mu: float = 0.25,
    t_end: float = 8.0,
) -> Preset:
    """Return the slip wave: a slowly rising load moves one mass after another.

    `damping=2.0` is the scenario slip-wave-damped.

    Source: Axioms 14(4) 299, Fig. 5 and Table 2.
    Verified by: tests/scenarios/test_built_in.py::test_presets_are_the_files
    """
    return _event_driven(_chain(mass, stiffness, damping, Ramp(rate), Coulomb(mu)), t_end)


def unequal_masses(mass: Sequence[float] = (1.0, 2.0, 4.0)) -> Preset:
    """Return the run with unequal masses and a large constant load, in either order.

    Source: Axioms 14(4) 299, Figs. 6 and 7.
    """
    return baseline(mass=mass, force=30.0, t_end=20.0)


def theta_scheme(theta: float = 0.5, *, step: float = 1e-3, smoothing: float = 1e-3) -> Preset:
    """Return the baseline by the paper's own scheme; theta = 0, 1/2 or 1.

    Source: Axioms 14(4) 299, Figs. 8 and 9.
    """
    from stiction.chains.time_stepping import RegularizedTheta

    method = RegularizedTheta(step=step, theta=theta, smoothing=smoothing)
    return baseline()._replace(method=method)


def energy_balance(*, theta: float = 0.5, step: float = 1e-3) -> Preset:
    """Return the baseline by a theta scheme with exact friction, for its energy ledger.

    Source: Axioms 14(4) 299, Fig. 10 and Proposition 2.
    """
    from stiction.chains.time_stepping import ThetaStepper

    return baseline()._replace(method=ThetaStepper(step=step, theta=theta))


def reachability() -> Preset:
    """Return moving masses that arrive at the centre of the stick set at t = 1 s and stay.

    Source: Axioms 14(4) 299, section 9.2; formulas sheet, section 7.
    Verified by: tests/scenarios/test_built_in.py::test_reachability_arrives
    """
    chain = Chain(
        mass=np.ones(3),
        stiffness=20.0,
        load=Constant(10.0),
        law=Coulomb(0.05),
        x0=np.array([0.40305826166595543, 0.8300869084268281, 1.2878486722970306]),
        v0=np.array([0.10871461928015069, 0.20341232711644536, 0.2942411341481512]),
    )
    return _event_driven(chain, 2.0)


def stick_set(*, force: float = 10.0, mu: float = 0.05) -> Preset:
    """Return a slow loading that ends at the lower corner of the stick set.

    Source: Axioms 14(4) 299, Fig. 2 and Proposition 1.
    """
    load = PiecewiseLinear(np.array([0.0, 1000.0]), np.array([0.0, force]))
    return _quasistatic(_chain((1.0, 1.0, 1.0), 20.0, 0.0, load, Coulomb(mu)), 1200.0)


def detachment_wave(
    n: int = 50,
    *,
    force: float = 4.0,
    mu: float = 0.3,
    total_mass: float = 1.0,
    series_stiffness: float = 100.0,
    length: float = 1.0,
    t_end: float = 0.2,
) -> Preset:
    """Return a sudden load on a chain of n masses; as n grows it becomes a rod.

    Parameters
    ----------
    n : number of masses
    force : load on mass n from t = 0 [N]
    mu : friction coefficient [1]
    total_mass : [kg]
    series_stiffness : stiffness of all springs in series [N/m]
    length : [m]
    t_end : [s]

    Source: Axioms 14(4) 299, section 10 (n masses, limit of a rod).
    Verified by: tests/scenarios/test_built_in.py::test_presets_are_the_files
    """
    chain = _long_chain(n, Constant(force), mu, total_mass, series_stiffness, length)
    return _event_driven(chain, t_end)


def ramp_wave(n: int = 50, *, rate: float = 4.0, mu: float = 0.3, t_end: float = 1.0) -> Preset:
    """Return a rising load on the chain of `detachment_wave`.

    Source: Axioms 14(4) 299, section 10 (n masses).
    """
    return _event_driven(_long_chain(n, Ramp(rate), mu, 1.0, 100.0, 1.0), t_end)


def belt(*, speed: float = 0.1, t_end: float = 20.0) -> Preset:
    """Return a block on a moving belt that sticks and slips."""
    chain = Chain(
        mass=np.ones(1),
        stiffness=20.0,
        law=ExponentialWeakening(mu_static=0.3, mu_kinetic=0.15, v_scale=0.1),
        v0=speed,
        belt_speed=speed,
    )
    return _event_driven(chain, t_end)


def burridge_knopoff(*, x0: Sequence[float] = _BLOCKS, t_end: float = 60.0) -> Preset:
    """Return a train of blocks pulled through springs by a moving plate.

    Source: Burridge and Knopoff, Bull. Seism. Soc. Am. 57 (1967) 341.
    """
    chain = Chain(
        mass=np.ones(len(x0)),
        stiffness=50.0,
        law=ExponentialWeakening(mu_static=0.1, mu_kinetic=0.05, v_scale=0.1),
        x0=np.array(x0),
        supports="none",
        plate_stiffness=10.0,
        plate_speed=0.02,
    )
    return _event_driven(chain, t_end)


def random_friction(n: int = 10, *, seed: int = 1, t_end: float = 30.0) -> Preset:
    """Return a slip wave through masses whose friction coefficients are drawn at random.

    Source: Axioms 14(4) 299, section 10 (randomness in friction).
    """
    law = RandomCoulomb(mu_mean=0.25, mu_spread=0.1, seed=seed)
    chain = Chain(mass=1.0, n=n, stiffness=20.0, damping=2.0, load=Ramp(1.0), law=law)
    return _event_driven(chain, t_end)


def quasistatic_ramp(*, rate: float = 0.05, mu: float = 0.25, t_end: float = 200.0) -> Preset:
    """Return the slip wave without inertia: first slips exactly at the critical forces.

    Source: Axioms 14(4) 299, Problem 2.
    """
    return _quasistatic(_chain((1.0, 1.0, 1.0), 20.0, 0.0, Ramp(rate), Coulomb(mu)), t_end)


def quasistatic_reversal() -> Preset:
    """Return loading, unloading and reloading without inertia.

    Source: Axioms 14(4) 299, Problem 2.
    """
    time, value = np.array([0.0, 200.0, 600.0, 900.0]), np.array([0.0, 10.0, -10.0, 5.0])
    load = PiecewiseLinear(time, value)
    return _quasistatic(_chain((1.0, 1.0, 1.0), 20.0, 0.0, load, Coulomb(0.25)), 900.0)


def quasistatic_branches() -> Preset:
    """Return one block for which both rest and slip solve the quasistatic problem.

    Source: Axioms 14(4) 299, Problem 2; formulas sheet, section 1e.
    """
    chain = Chain(
        mass=np.ones(1),
        stiffness=1.0,
        damping=0.2,
        normal_force=1.0,
        load=Constant(0.25),
        law=ExponentialWeakening(mu_static=0.3, mu_kinetic=0.1, v_scale=0.1),
    )
    return _quasistatic(chain, 1.0)


def _chain(
    mass: Sequence[float], stiffness: float, damping: float, load: Load, law: Friction
) -> Chain:
    return Chain(mass=np.array(mass), stiffness=stiffness, damping=damping, load=load, law=law)


def _long_chain(
    n: int, load: Load, mu: float, total_mass: float, series_stiffness: float, length: float
) -> Chain:
    return Chain(
        mass=total_mass / n,
        n=n,
        stiffness=series_stiffness * n,
        load=load,
        law=Coulomb(mu),
        spacing=length / n,
    )


def _event_driven(chain: Chain, t_end: float) -> Preset:
    return Preset(chain, chain.default_method(), (0.0, t_end))


def _quasistatic(chain: Chain, t_end: float) -> Preset:
    from stiction.methods import Quasistatic

    return Preset(chain, Quasistatic(), (0.0, t_end))

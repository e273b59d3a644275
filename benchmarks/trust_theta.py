"""Convergence of ThetaStepper on random blocks and chains: does the error fall with its order?

Laws with a jump, or that weaken, leave a wrong end that no step repairs where a scheme steps over
the moment of stick. Each chain is drawn in units of its own, solved by `EventDriven`, and stepped
with h, h/10 and h/100. Where in a step an event falls is chance, so an error is the largest of
three steps of nearly one length. Chains are left out where a change of 1e-6 in the start changes
the events of `EventDriven`.

A step so long that the error of the scheme exceeds the margin of a decision, by which a mass at
rest is held or not, takes the other side of it, as another start would. For each series that
does not fall, the margins at which masses came to rest are reported, and errors of shorter steps,
down to where the order shows: a plateau would have none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tally import Tally

import stiction as st

LAWS = ("static", "weakening", "coulomb")
# steps of nearly one length, over the number of steps asked for
_NEAR = (1.0, 1.07, 1.13)
_LEVELS = (1, 10, 100)
# shorter ones for a series that did not fall
_SHORTER = (100, 300, 1000, 3000)
# error of the reference, over the unit of length
_FLOOR = 1e-9
# how much of a factor of 10 and 100 chance may take
_CHANCE = 5.0


@dataclass(frozen=True)
class Case:
    """A chain, the scheme for it, and the units it was drawn in."""

    chain: st.Chain
    theta: float
    t_end: float
    steps: int
    length: float
    speed: float


def draw(rng: np.random.Generator, law: str = "static", least: int = 2000) -> Case:
    """Return a random block or chain under a load of some kind, in random units."""
    n = int(rng.choice([1, 1, 2, 3, 4, 5]))
    kg, metre, second = _units(rng)
    newton, speed = kg * metre / second**2, metre / second
    supports = str(rng.choice(["left", "right", "both"] + (["none"] if n > 1 else [])))
    springs = n - 1 + {"left": 1, "right": 1, "both": 2, "none": 0}[supports]
    damping = rng.choice([0.0, 0.0, 1.0]) * 10 ** rng.uniform(-2.0, 0.5, springs)
    belt = rng.choice([0.0, 0.0, 1.0]) * rng.uniform(-1.0, 1.0)
    plate = rng.choice([0.0, 0.0, 1.0]) * 10 ** rng.uniform(0.0, 1.0, n)
    v0 = rng.uniform(-2.0, 2.0, n) * (rng.random(n) < 0.8)
    chain = st.Chain(
        mass=10 ** rng.uniform(-0.7, 0.7, n) * kg,
        stiffness=10 ** rng.uniform(0.0, 2.0, springs) * kg / second**2,
        damping=damping * kg / second,
        normal_force=10 ** rng.uniform(0.0, 1.3, n) * newton,
        law=_law(rng, law, n, speed),
        load=_load(rng, newton, second),
        load_vector=np.eye(n)[-1] if rng.random() < 0.6 else rng.uniform(-1.0, 1.0, n),
        x0=rng.uniform(-0.3, 0.3, n) * metre,
        v0=(v0 if rng.random() < 0.85 else np.full(n, belt)) * speed,
        supports=supports,
        belt_speed=belt * speed,
        plate_stiffness=plate * kg / second**2,
        plate_speed=rng.uniform(-0.5, 0.5) * speed,
    )
    theta = float(rng.choice([0.5, 0.5, 0.55, 0.6, 1.0, rng.uniform(0.5, 1.0)]))
    steps = int(least * rng.uniform(1.0, 1.5))
    return Case(chain, theta, rng.uniform(1.0, 4.0) * second, steps, metre, speed)


def _units(rng: np.random.Generator) -> tuple[float, float, float]:
    kind = rng.integers(4)
    if kind == 0:
        powers = rng.integers([-30, -30, -20], [30, 30, 20])
        return tuple(2.0**powers)
    return tuple(10 ** rng.uniform(-6.0, 6.0, 3)) if kind == 1 else (1.0, 1.0, 1.0)


def _law(rng: np.random.Generator, law: str, n: int, speed: float) -> object:
    kinetic = rng.uniform(0.02, 0.4, n)
    static = kinetic * rng.uniform(1.05, 4.0, n)
    if law == "static":
        return st.StaticKinetic(static, kinetic)
    if law == "weakening":
        return st.ExponentialWeakening(static, kinetic, 10 ** rng.uniform(-2.5, 0.0, n) * speed)
    return st.Coulomb(kinetic)


def _load(rng: np.random.Generator, newton: float, second: float) -> object:
    kind, size = rng.integers(4), rng.uniform(-10.0, 10.0) * newton
    if kind == 0:
        return st.Constant(size)
    if kind == 1:
        return st.Ramp(0.5 * size / second, start=rng.uniform(-5.0, 5.0) * newton)
    if kind == 2:
        return st.chains.Sine(size, rng.uniform(0.5, 8.0) / second, rng.uniform(-3.0, 3.0))
    times = np.array([0.0, 0.5, 1.5, 5.0]) * second
    return st.chains.PiecewiseLinear(times, rng.uniform(-8.0, 8.0, 4) * newton)


def events_of(run: st.Run) -> list[tuple[int, str]]:
    """Return who did what, in order, without the times."""
    return list(zip(run.event_log.contact.tolist(), run.event_log.kind, strict=True))


def reference(case: Case, rng: np.random.Generator, size: float = 1e-6) -> tuple[st.Run, bool]:
    """Return the run of `EventDriven`, and whether starts this far away have the same events."""
    chain = case.chain
    # weakening friction changes within a small part of the steps a series could take
    longest = {} if chain.law.constant else {"max_step": case.t_end / 300.0}
    method = st.EventDriven(**longest)
    run = st.solve(chain, method, (0.0, case.t_end), save=5)
    moving = chain.v_start != chain.belt_speed
    for way in (np.ones(chain.n_mass), rng.choice([-1.0, 1.0], chain.n_mass)):
        for off in (size * way, -size * way):
            near = replace(
                chain,
                x0=chain.x_start + off * case.length,
                v0=chain.v_start + off * moving * case.speed,
            )
            other = st.solve(near, method, (0.0, case.t_end), save=5)
            if events_of(other) != events_of(run):
                return run, False
    return run, True


def errors(
    case: Case, exact: st.Run, levels: tuple[int, ...] = _LEVELS
) -> tuple[list[float], bool]:
    """Return the errors in x over the unit of length, by falling step, and if all audits held."""
    found, held = [], True
    places = exact.variables["x"].values
    for level in levels:
        worst = 0.0
        for near in _NEAR:
            step = case.t_end / int(case.steps * level * near)
            method = st.ThetaStepper(step=step, theta=case.theta)
            run = st.solve(case.chain, method, (0.0, case.t_end), save=5)
            # a long step under weakening friction is reported in advance
            named = {check.check for check in run.audit if check.ok is False}
            held = held and named <= {"step_below_weakening_limit"}
            worst = max(worst, float(np.max(np.abs(run.variables["x"].values - places))))
        found.append(worst / case.length)
    return found, held


def falls(found: list[float]) -> bool:
    """Return whether errors fall with the first order, up to what chance takes."""
    first = found[0]
    return all(
        error <= max(_CHANCE * first / level, _FLOOR)
        for level, error in zip(_LEVELS[1:], found[1:], strict=True)
    )


def smallest_margin(case: Case, exact: st.Run) -> float:
    """Return how near a mass that came to rest was to the other side, over what holds it."""
    chain, nearest = case.chain, np.inf
    log = exact.event_log
    for time, kind, mass in zip(log.time, log.kind, log.contact, strict=True):
        if kind in ("reverse", "stick") and time > 0.0:
            there = st.solve(chain, st.EventDriven(), (0.0, float(time)), save=2)
            x, v = (there.variables[name].values[-1] for name in ("x", "v"))
            part = abs(chain.drive(float(time), x, v)[mass - 1]) / chain.stick_bound[mass - 1]
            nearest = min(nearest, abs(part - 1.0))
    return nearest


def on_and_on(case: Case, exact: st.Run) -> bool:
    """Print the errors of shorter steps; return whether the last ones fall with the order."""
    found, _ = errors(case, exact, _SHORTER)
    reported = ", ".join(f"h/{k}: {e:.1e}" for k, e in zip(_SHORTER, found, strict=True))
    print(f"    nearest decision: {smallest_margin(case, exact):.1e} of the bound; {reported}")
    return found[-1] <= max(_CHANCE * found[-2] * _SHORTER[-2] / _SHORTER[-1], _FLOOR)


def series(case: Case, rng: np.random.Generator, number: int, tally: Tally) -> list[float]:
    """Judge one series of steps; return the factors by which its error falls."""
    exact, same = reference(case, rng)
    if not same:
        tally.add("left out")
        return []
    found, held = errors(case, exact)
    tally.must(held, "audit", number)
    if not falls(found):
        reported = " ".join(f"{error:.1e}" for error in found)
        print(f"case {number}: {case.chain.n_mass} masses, theta {case.theta:.3f}: {reported}")
        sizes = [s for s in 10.0 ** np.arange(-5.5, -1.9, 0.5) if not reference(case, rng, s)[1]]
        tally.add("do not fall with the order")
        tally.must(on_and_on(case, exact), f"do not fall below h/{_SHORTER[-2]} either", number)
        print("    events change with the start by", f"{min(sizes):.1e}" if sizes else "no less")
    # where all masses stick there is no error to fall
    return [found[0] / max(e, _FLOOR) for e in found[1:]] if found[0] > 100.0 * _FLOOR else []


def campaign(
    cases: int = 1000,
    seed: int = 0,
    laws: tuple[str, ...] = LAWS,
    first: int = 0,
    steps: int = 2000,
) -> tuple[str, int]:
    """Judge chains of each law from number `first` on; `steps` is the fewest of the longest h."""
    tally = Tally()
    for law in laws:
        ratios = []
        for number in range(first, first + cases):
            rng = np.random.default_rng([seed, number])
            ratios.append(series(draw(rng, law, steps), rng, number, tally))
        ratios = [row for row in ratios if row]
        if ratios:
            ten, hundred = np.quantile(np.array(ratios), [0.01, 0.5], axis=0).T
            print(f"{law}, factor h to h/10: median {ten[1]:.1f}, 1 % below {ten[0]:.1f}")
            print(f"{law}, factor h to h/100: median {hundred[1]:.1f}, 1 % below {hundred[0]:.1f}")
        tally.add(f"chains with law {law}", cases)
    return tally.result()

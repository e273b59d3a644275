"""Branches of periodic orbits of random chains, judged by runs: no branch is lost.

Chains of one to four masses with Coulomb friction, a static drop or weakening friction are forced
by a sine. The stable orbit that a run settles on is continued over a parameter. Then runs from
random starts settle on orbits at a value along the branch. A run from the neighbourhood of a stable
orbit of the branch must settle on this orbit. If runs settle on a further orbit, the branch of that
orbit must not contain orbits of the first branch. Where a branch ends inside its span, a run from
its last orbit just beyond must not settle on an orbit nearby.
"""

from __future__ import annotations

import numpy as np
from tally import Tally

import stiction as st
from stiction.studies.cycles import branch as branches

METHOD = st.chains.EventDriven(replay=False)
# a run settles within so many periods, in several attempts
PERIODS, ATTEMPTS = 40, 5
# the runs of many starts: periods between two comparisons with known orbits
SHORT = 15
# an orbit counts as closed, and as the same, to these fractions of its size
CLOSED, SAME = 1e-7, 1e-4
# a run that is as near as this to a stable orbit settles on it
NEAR = 1e-3
# largest numbers of further orbits that are continued, and of runs that settle on none
MOST_OTHERS, MOST_LONG = 1, 2
# the campaign judges which orbits a branch contains: changes of the order of events, flips and
# Neimark-Sacker bifurcations are not located, which would take nine tenths of the time
branches._BRACKETINGS = branches._HALVINGS = 0
branches.TESTS = {}
# distances behind an end, as fractions of the parameter
AHEAD = (1e-6, 1e-5)


def random_chain(rng: np.random.Generator) -> tuple[st.Chain, str]:
    """Return a chain under a sine, and the parameter that is varied."""
    n, kind = int(rng.integers(1, 5)), int(rng.integers(3))
    low = float(rng.uniform(0.1, 0.3))
    high = low + float(rng.uniform(0.02, 0.15))
    law = [
        st.Coulomb(low),
        st.StaticKinetic(high, low),
        st.ExponentialWeakening(high, low, float(rng.uniform(0.3, 2.0))),
    ][kind]
    mass, stiffness = rng.uniform(0.5, 2.0, n), rng.uniform(5.0, 40.0, n)
    frequency = float(rng.uniform(0.25, 1.6)) * np.sqrt(stiffness.mean() / mass.mean()) / n
    force = float(rng.uniform(0.6, 4.0)) * low * 9.81 * mass.sum()
    chain = st.Chain(
        mass=mass,
        stiffness=stiffness,
        damping=float(rng.uniform(0.05, 0.5)),
        law=law,
        load=st.chains.Sine(force, float(frequency)),
        gravity=9.81,
    )
    names = ["load.amplitude", "load.angular_frequency"]
    names += ["law.mu"] if kind == 0 else ["law.mu_kinetic"]
    return chain, str(rng.choice(names))


def period_of(chain: st.Chain) -> float:
    """Return the period of the force."""
    return 2.0 * np.pi / chain.parameter("load.angular_frequency")


def settled(chain: st.Chain, start: np.ndarray) -> np.ndarray | None:
    """Return the state at the start of a period that a run settles on; None for no orbit."""
    period, state = period_of(chain), start
    for _ in range(ATTEMPTS):
        try:
            state = chain.at_state(state).tangents(METHOD, (0.0, PERIODS * period), ()).final
            after = chain.at_state(state).tangents(METHOD, (0.0, period), ()).final
        except st.SolveError:
            return None
        if off(after, state) <= CLOSED:
            return state
    return None


def off(one: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of two states over their size, displacements and velocities apart."""
    parts = zip(np.split(one, 2), np.split(other, 2), strict=True)
    return float(max(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9) for a, b in parts))


def phase_zero(cycle: st.studies.Cycle) -> np.ndarray:
    """Return the state of an orbit at the start of a period."""
    span = (cycle.start, cycle.period)
    return cycle.system.at_state(cycle.state).tangents(METHOD, span, ()).final


def orbit_at(branch: st.studies.CycleBranch, value: float) -> list[st.studies.Cycle]:
    """Return the orbits of a branch at a value of its parameter."""
    values, found = branch.values, []
    for k in range(len(values) - 1):
        low, high = sorted(values[k : k + 2])
        if low <= value <= high and low < high:
            for near in sorted(
                branch.cycles[k : k + 2],
                key=lambda c: abs(c.system.parameter(branch.parameter) - value),
            ):
                system = near.system.with_parameter(branch.parameter, value)
                try:
                    found.append(st.find_cycle(system, near))
                    break
                except (st.SolveError, st.ModelError):
                    continue
    return found


def judged(seed: int, starts: int, tally: Tally) -> None:
    """Continue the orbit of one chain, and judge the branch."""
    rng = np.random.default_rng([seed, 17])
    chain, name = random_chain(rng)
    n, value = chain.n_mass, chain.parameter(name)
    state = settled(chain, np.zeros(2 * n))
    if state is None:
        tally.add("no orbit of the period of the force")
        return
    if not chain.at_state(state).tangents(METHOD, (0.0, period_of(chain)), ()).order:
        tally.add("all masses stick")
        return
    try:
        cycle = st.find_cycle(chain, state, METHOD, period=period_of)
    except st.SolveError as error:
        tally.must(False, "not found", seed, "", str(error).replace("\n", " ")[:300])
        return
    high = 1.25 * value
    if name == "law.mu_kinetic":
        high = min(high, 0.999 * chain.parameter("law.mu_static"))
    span = (0.8 * value, high)
    branch = st.continue_cycle(cycle, name, span, step=0.2, max_orbits=400)
    kinds = {one.kind for one in branch.bifurcations}
    tally.add("branches with bifurcations" if kinds else "branches without bifurcations")
    for end, last in zip(branch.ends, (branch.cycles[0], branch.cycles[-1]), strict=True):
        if "limit" in end:
            tally.add("ends at the span")
        elif "number of orbits" in end:
            tally.add("ends at the number of orbits")
        else:
            judge_end(seed, tally, name, branch, last, end)
    judge_inside(seed, tally, rng, branch, starts)


def judge_end(seed, tally, name, branch, last, end) -> None:
    """A run just beyond an end must leave the neighbourhood of the last orbit."""
    value = last.system.parameter(name)
    inside = branch.values[1] if last is branch.cycles[0] else branch.values[-2]
    sense, start, far = np.sign(value - inside) or 1.0, phase_zero(last), []
    for part in AHEAD:
        beyond = last.system.with_parameter(name, value * (1.0 + sense * part))
        found = settled(beyond, start)
        far.append(np.inf if found is None else off(found, start))
    lost = far[1] < 0.05 and far[0] < 0.3 * far[1] + 1e-6
    tally.add("ends inside")
    tally.must(
        not lost,
        "lost",
        seed,
        name,
        f"at {value:.9g}, runs {far[0]:.2g} and {far[1]:.2g} away: {end[:160]}",
    )


def judge_inside(seed, tally, rng, branch, starts) -> None:
    """The orbits that runs settle on must be those of the branch, or of branches apart from it."""
    values = branch.values
    value = float(rng.uniform(values.min(), values.max()))
    orbits = orbit_at(branch, value)
    if not orbits:
        return
    system, known = orbits[0].system, [phase_zero(one) for one in orbits]
    size = np.abs(known[0]).max()
    judge_stable(seed, tally, rng, branch, list(zip(orbits, known, strict=True)))
    found, others, long = list(known), list[np.ndarray](), 0
    for _ in range(starts):
        start = rng.normal(0.0, 1.0, known[0].size) * size
        attempts = 2 if long >= MOST_LONG else PERIODS * ATTEMPTS // SHORT
        tally.add("starts")
        end = attracted(system, start, found, attempts)
        if end is None:
            long += 1
            tally.add("starts that settle on no orbit of the period of the force")
        elif all(off(end, one) > NEAR for one in found):
            found.append(end)
            others.append(end)
    if others:
        tally.add("values with attractors of other branches")
    for other in others[:MOST_OTHERS]:
        judge_other(seed, tally, branch, system, other, known)


def judge_stable(seed, tally, rng, branch, pairs) -> None:
    """A run from the neighbourhood of a stable orbit must settle on it."""
    for one, at in pairs:
        sizes = np.abs(one.multipliers)
        if not one.stable or np.abs(sizes - 1.0).min() < 1e-6 or sizes.max() >= 0.9:
            continue
        # under a static bound any velocity releases a mass in stick
        moved = 1e-4 * np.abs(at).max() * rng.normal(0.0, 1.0, at.size) * (at != 0.0)
        end = settled(one.system, at + moved)
        near = np.inf if end is None else off(end, at)
        value = one.system.parameter(branch.parameter)
        words = seed, branch.parameter, f"at {value:.6g}: {near:.2g}"
        tally.add("stable orbits judged by runs")
        tally.must(near <= SAME, "no run settles", *words)


def attracted(system, state, known, attempts) -> np.ndarray | None:
    """Return the state at the start of a period of the orbit that a run settles on."""
    period = period_of(system)
    for _ in range(attempts):
        before = state
        try:
            state = system.at_state(state).tangents(METHOD, (0.0, SHORT * period), ()).final
        except st.SolveError:
            return None
        if min(off(state, one) for one in known) <= NEAR or off(state, before) <= CLOSED:
            break
    else:
        return None
    # several periods of the force are no orbit of its period
    after = system.at_state(state).tangents(METHOD, (0.0, period), ()).final
    return state if off(after, state) <= 2.0 * NEAR else None


def judge_other(seed, tally, branch, system, state, known) -> None:
    """The branch of a further orbit must not contain the orbits of the first branch."""
    words = seed, branch.parameter, f"at {system.parameter(branch.parameter):.9g}"
    if not system.at_state(state).tangents(METHOD, (0.0, period_of(system)), ()).order:
        tally.add("further attractors at rest")
        return
    try:
        cycle = st.find_cycle(system, state, METHOD, period=period_of)
    except st.SolveError as error:
        tally.must(False, "not found", *words, str(error).replace("\n", " ")[:300])
        return
    span = float(branch.values.min()), float(branch.values.max())
    other = st.continue_cycle(cycle, branch.parameter, span, step=0.2, max_orbits=400)
    tally.add("branches of further orbits")
    value = system.parameter(branch.parameter)
    states = [phase_zero(one) for one in orbit_at(other, value)]
    same = any(off(one, at) <= SAME for one in states for at in known)
    tally.must(not same, "in parts", *words, f"ends: {branch.ends} and {other.ends}")


def campaign(chains: int = 500, starts: int = 100, seed: int = 0) -> tuple[str, int]:
    """Judge the chains whose seeds begin with `seed`."""
    tally = Tally()
    for number in range(seed, seed + chains):
        judged(number, starts, tally)
    return tally.result()

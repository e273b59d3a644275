"""Do all trajectories of the wheel find their way back to the two-fold? Numbers by ensembles.

The paper on switching (Szalai, Jeffrey 2014, section V) says they do. This script counts, at
the paper's parameters:

1. exits of the escaping region, even in r and omega with 0.152 <= r < 0.186: which share
   meets the line h = g = 0 first, and when; which fraction of them comes from the two-fold;
2. what becomes of those that meet the line, under three rules of choosing an exit: share
   that reaches the two-fold, drifts to where no orbit enters the line, or stays; the mean
   log slope of the return map, with the exits behind the two-fold drawn evenly;
3. starts in a box, 0 < r < 0.5, -0.3 < v < 0.3, -1.3 < omega < -0.7: on what they end
   within 500 time units, and so the fraction of the box that belongs to the recurrent set.

Below r = 0.15101 no open set of orbits enters the line. What is counted as a return there passes
it closer than the tolerance reports; such an orbit has "drifted" and goes on by the same rule, so
that the numbers of the first rule depend on that distance a little: sooner or later it goes
round and meets the line far out, from where it reaches the two-fold.

Times are tau, dt = m (beta^2 + r^2) dtau. Errors are standard errors of the counts. Run it
with --fast for a check of a few seconds; its full output is docs/theory/switching-claims.txt.
"""

from __future__ import annotations

import argparse

import numpy as np

from stiction.switching.ensembles.study import ensemble
from stiction.switching.methods import EventDriven
from stiction.switching.wheel.escapes import Escapes, escaping_points, funnel_exits
from stiction.switching.wheel.model import WheelOnTurntable
from stiction.switching.wheel.return_map import AlwaysSlip, RandomExit, SlideIfPossible, line_orbits

METHOD = EventDriven(rtol=1e-8)
RULES = {
    "always the slip ray to h < 0": AlwaysSlip(),
    "slide where possible": SlideIfPossible(),
    "any way, as likely (hazard 1)": RandomExit(1.0),
}


def share(value: tuple[float, float]) -> str:
    return f"{value[0]:.4f} +- {value[1]:.4f}"


def exits(wheel: WheelOnTurntable, count: int) -> tuple[np.ndarray, Escapes]:
    x = escaping_points(wheel, count, 0.152, 0.186, seed=1)
    sides = np.where(np.random.default_rng(2).random(count) < 0.5, 1.0, -1.0)
    found = ensemble(wheel, x, 500.0, sides=sides, method=METHOD)
    print(f"1. {count} exits of the escaping region, 0.152 <= r < 0.186, to either side")
    for ending in found.statistics():
        low, *_, high = ending.quantiles
        print(f"   {ending.end:12s} share {ending.share:.5f} +- {ending.share_error:.5f}", end="")
        print(f"  time mean {ending.mean:.4f}, 5-95 % {low:.4f} .. {high:.4f}")
    line = found.ended("codim2_line")
    late = 2.7
    print(f"   latest {found.time[line].max():.4f}; share within {late}: ", end="")
    print(f"{(found.time[line] <= late).mean():.5f}")
    r = found.state[line, 0]
    print(f"   met at r = {r.min():.6f} .. {r.max():.6f}; steps per orbit {found.steps.mean():.1f}")
    funnel = funnel_exits(wheel, count, 0.152, 0.186, seed=3, method=METHOD)
    error = np.sqrt(funnel.share * (1.0 - funnel.share) / count)
    print(f"   share that comes from the two-fold: {funnel.share:.4f} +- {error:.4f}")
    print(f"   their dwell time: median {np.median(funnel.dwell):.3f}, ", end="")
    print(f"longest {funnel.dwell.max():.3f}; their r from {funnel.x[:, 0].min():.5f}\n")
    return r, funnel


def rules(wheel: WheelOnTurntable, r: np.ndarray, funnel: Escapes, fast: bool) -> None:
    count, long_run, n_slopes, returns = (50, 15, 40, 6) if fast else (500, 250, 10_000, 3)
    print(f"2. from where they meet the line: {count} orbits, at most {long_run} exits,")
    print(f"   and {n_slopes} orbits of {returns} returns for the slopes")
    for name, rule in RULES.items():
        orbits = line_orbits(wheel, r[:count], rule, long_run, method=METHOD, slopes=False)
        print(f"   {name}")
        print(f"     reaches the two-fold {share(orbits.met_two_fold)}", end="")
        print(f", still on the line {share(orbits.share('line'))}")
        drift = float(orbits.drifted.mean())
        print(f"     drifts to r without entering orbits {drift:.4f}", end="")
        print(f", rests {share(orbits.share('rest'))}", end="")
        print(f", elsewhere {share(orbits.share('elsewhere'))}")
        made = np.isfinite(orbits.r[1:]).sum(axis=0) + 1
        back = orbits.two_folds > 0
        if back.any():
            print(f"     exits until the two-fold: mean {made[back].mean():.2f}", end="")
            print(f", time mean {orbits.time[back].mean():.2f}")
        # first some exits that are not counted, so that the slopes are those of the long run
        begin = np.resize(r, n_slopes)
        burnt = line_orbits(
            wheel, begin, rule, returns, funnel=funnel, seed=4, method=METHOD, slopes=False
        )
        later = burnt.r[-1][np.isfinite(burnt.r[-1])]
        steady = line_orbits(wheel, later, rule, returns, funnel=funnel, seed=5, method=METHOD)
        exponent = steady.lyapunov()
        print(f"     mean log slope {exponent.value:.4f} +- {exponent.error:.4f}", end="")
        print(f" per return, over {exponent.returns} returns")
        visits = steady.two_folds / returns
        error = visits.std() / np.sqrt(visits.size)
        print(f"     visits to the two-fold per exit {visits.mean():.4f} +- {error:.4f}")
    print()


def box(wheel: WheelOnTurntable, count: int) -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform([0.0, -0.3, -1.3], [0.5, 0.3, -0.7], (count, 3))
    found = ensemble(wheel, x, 500.0, method=METHOD)
    print(f"3. {count} starts in 0 < r < 0.5, -0.3 < v < 0.3, -1.3 < omega < -0.7, until 500")
    for ending in found.statistics():
        print(f"   {ending.end:12s} share {ending.share:.4f} +- {ending.share_error:.4f}", end="")
        print(f"  time mean {ending.mean:.2f}, median {ending.quantiles[2]:.2f}")
    print(
        f"   basin of the recurrent set (two-fold and line): {1.0 - found.escaped()[0]:.4f}", end=""
    )
    print(f" +- {found.escaped()[1]:.4f}")
    left = found.ended("time")
    rest = left & (found.speed <= 1e-6)
    print(f"   of the others, at rest or in equilibrium: {rest.sum()} of {left.sum()}")
    if not left.any():
        return
    # do the others go round a cycle? compare three landings on the surface in a row
    state, sides = found.state[left], found.sides[left]
    landings = []
    for _ in range(3):
        lap = ensemble(wheel, state, 100.0, sides=sides, method=METHOD, until=("slide",))
        state, sides = lap.state, lap.sides
        landings.append(lap)
    again = landings[2].ended("slide")
    first, last = landings[1].state[again], landings[2].state[again]
    change = np.abs(last - first).max(axis=1)
    period = landings[2].time[again]
    middle = np.median(last, axis=0)
    spread = np.abs(last - middle).max()
    print(f"   of the others, landing on the surface again and again: {again.sum()}")
    print(f"   at (r, v, omega) = ({middle[0]:.6f}, {middle[1]:.6f}, {middle[2]:.6f})", end="")
    print(f", all within {spread:.1e}")
    print(f"   change from one landing to the next: at most {change.max():.1e}", end="")
    print(f"; period {np.median(period):.6f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="few trajectories, a few seconds")
    fast = parser.parse_args().fast
    wheel = WheelOnTurntable()
    r, funnel = exits(wheel, 500 if fast else 20_000)
    rules(wheel, r, funnel, fast)
    box(wheel, 100 if fast else 3000)


if __name__ == "__main__":
    main()

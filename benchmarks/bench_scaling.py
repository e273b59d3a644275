"""Cost of a step of the theta scheme: three masses beside Siconos, then up to 10^6 masses."""

from __future__ import annotations

import time

import numpy as np
from bench_accuracy import chain_of
from long_chains import CHAINS
from peers import LONGEST, Peer, ask, siconos, talk
from record import Record, record_all
from scenarios import BASELINE, SLIP_WAVE

import stiction as st


def steps_timed(chain: st.Chain, method: st.ThetaStepper, t_end: float, repeat: int) -> dict:
    """Return the best seconds per step that was taken, and the counts of the run."""

    def call() -> tuple[float, st.Run]:
        start = time.perf_counter()
        run = st.solve(chain, method, (0.0, t_end), save=2)
        return time.perf_counter() - start, run

    # the first run compiles; a chain that stops for good takes fewer steps than asked
    _, run = call()
    best = min(call()[0] for _ in range(repeat)) / run.stats["steps"]
    return {
        "seconds_per_step": best,
        "steps": run.stats["steps"],
        "solves": run.stats["solves"],
        "most": run.stats["most_iterations"],
        "unconverged": run.stats["unconverged_steps"],
        "events": run.stats["events"],
    }


def three_masses(record: Record, quick: bool) -> dict:
    """Return the slowest of our runs with three masses."""
    n_step = 100_000 if quick else 1_000_000
    worst: dict = {}
    for problem in (BASELINE, SLIP_WAVE):
        for theta in (0.5, 1.0):
            method = st.ThetaStepper(step=problem.t_end / n_step, theta=theta)
            point = steps_timed(chain_of(problem), method, problem.t_end, 3 if quick else 7)
            point |= {"problem": problem.name, "theta": theta}
            record.add("step", group="ours", solver="ThetaStepper", **point)
            if point["seconds_per_step"] > worst.get("seconds_per_step", 0.0):
                worst = point
    record.target(
        "ThetaStepper, n = 3, per step (slowest of baseline and slip wave, theta 0.5 and 1)",
        "<= 0.15 us, zero unconverged steps",
        f"{1e6 * worst['seconds_per_step']:.3f} us ({worst['problem']}, theta {worst['theta']:g}), "
        f"{worst['unconverged']} unconverged",
        worst["seconds_per_step"] <= 0.15e-6 and worst["unconverged"] == 0,
    )
    return worst


def against_siconos(record: Record, quick: bool) -> None:
    """Compare the cost of a step of the baseline, in turns so that both see the same machine."""
    chain, step = chain_of(BASELINE), 1e-3 if quick else 1e-4
    names = {
        "contact": "friction contacts, as in its examples",
        "relay": "relay with known normal force, its fastest formulation found",
    }
    solvers = {"contact": ("NSGS", "LEMKE"), "relay": ("AVI_CAOFERRIS", "LEMKE", "PGS")}
    for formulation, name in names.items():
        rival, mine = float("inf"), float("inf")
        failed = None
        for solver in solvers[formulation]:
            peer: Peer = siconos(step, formulation, solver)
            reply = ask(peer, BASELINE, 1.0 if quick else 5.0)
            failed = reply.failed
            if failed is not None:
                break
            rival = min(rival, reply.seconds / reply.counts["steps"])
            method = st.ThetaStepper(step=step * 0.1)
            ours = steps_timed(chain, method, BASELINE.t_end, 3)
            mine = min(mine, ours["seconds_per_step"])
        what = f"ThetaStepper, n = 3, per step against Siconos time stepping: {name}"
        if failed is not None:
            record.target(what, ">= 100 times faster if it is installed", failed, None)
            continue
        record.add(
            "step",
            group="peer",
            solver="Siconos time stepping",
            problem=BASELINE.name,
            formulation=formulation,
            theta=0.5,
            seconds_per_step=rival,
            ours=mine,
        )
        record.target(
            what,
            ">= 100 times faster if it is installed",
            f"{rival / mine:.0f} times: {1e6 * mine:.3f} us against {1e6 * rival:.2f} us",
            rival >= 100.0 * mine,
        )


def many_masses(record: Record, quick: bool) -> None:
    """Measure time per mass and step as n grows, over about as many mass-steps."""
    volume, least = (2_000_000, 20) if quick else (50_000_000, 200)
    sizes = [10**k for k in range(2, 6 if quick else 7)]
    for kind, make in CHAINS.items():
        found = []
        for n in sizes:
            chain, step = make(n)
            n_step = max(volume // n, least)
            method = st.ThetaStepper(step=step)
            point = steps_timed(chain, method, n_step * step, 2 if quick else 3)
            point |= {"per_mass": point["seconds_per_step"] / n, "n": n, "chain": kind}
            record.add("size", **point)
            found.append(point)
        per_mass = np.array([p["per_mass"] for p in found])
        slope = np.polyfit(np.log(sizes), np.log(per_mass * sizes), 1)[0]
        record.target(
            f"ThetaStepper, n = 10^2 ... 10^6, {kind}",
            "<= 60 ns per mass and step, flat (O(n))",
            f"{1e9 * per_mass.min():.1f} to {1e9 * per_mass.max():.1f} ns, "
            f"time per step ~ n^{slope:.3f}, {sum(p['unconverged'] for p in found)} unconverged",
            bool(per_mass.max() <= 60e-9 and slope <= 1.05),
        )


def memory(record: Record, quick: bool) -> None:
    """Measure how much more memory a run takes, against n and against the number of steps."""
    sizes = (10_000, 100_000) if quick else (100_000, 1_000_000)
    found = {}
    for n in sizes:
        for n_step in (20, 200):
            point = talk("memory_child.py", {"n": n, "steps": n_step}, LONGEST)
            record.add("memory", **{"n": n, "steps": n_step, **point})
            if "failed" not in point:
                found[n, n_step] = point["growth_bytes"]
    what, wanted = "ThetaStepper, memory when states are not stored", "O(n), independent of steps"
    if len(found) < 4:
        record.target(what, wanted, "could not be measured", None)
        return
    small, large = sizes
    by_steps = found[large, 200] / found[large, 20]
    by_size = found[large, 200] / found[small, 200]
    record.target(
        what,
        wanted,
        f"{found[large, 200] / large:.0f} bytes per mass at n = {large:.0e}; "
        f"{by_steps:.2f} times as much for 10 times the steps, "
        f"{by_size:.1f} times as much for 10 times the masses",
        by_steps <= 1.1 and by_size <= 12.0,
    )


if __name__ == "__main__":
    record_all("scaling", __doc__, three_masses, against_siconos, many_masses, memory)

"""Counts of work: numbers that no machine changes.

The file of results this script writes is also what a test compares the code with.
"""

from __future__ import annotations

from bench_accuracy import chain_of
from record import Record, record_all
from scenarios import BASELINE, SLIP_WAVE, STEP_WAVE, Problem

import stiction as st


def solved(problem: Problem, method: object) -> st.Run:
    """Return the run, without the states that are not needed here."""
    return st.solve(chain_of(problem), method, (0.0, problem.t_end), save=2, throw=False)


def counts(problem: Problem) -> list[dict]:
    """Return the counts of our methods on a problem; a test asks for the same."""
    step = problem.t_end / 10_000
    methods: list[tuple[str, object]] = [
        ("EventDriven, default", st.EventDriven()),
        ("ThetaStepper, theta 0.5, 10^4 steps asked", st.ThetaStepper(step=step)),
        ("ThetaStepper, theta 1, 10^4 steps asked", st.ThetaStepper(step=step, theta=1.0)),
        (
            "RegularizedTheta, theta 0.5, width 1e-4, 10^4 steps",
            st.chains.RegularizedTheta(step=step, theta=0.5, smoothing=1e-4),
        ),
    ]
    rows = []
    for name, method in methods:
        run = solved(problem, method)
        keys = ("steps", "expansions", "solves", "most_iterations", "unconverged_steps", "events")
        found = {key: run.stats[key] for key in keys if key in run.stats}
        rows.append({"problem": problem.name, "method": name, **found})
    return rows


def newton_counts(record: Record, quick: bool) -> None:
    """How many Newton iterations smoothing costs, plain and with line search."""
    for step in (1e-2, 1e-3):
        for theta in (0.5, 1.0):
            for exponent in range(1, 5 if quick else 9):
                width = 10.0**-exponent
                for line_search in (False, True):
                    method = st.chains.RegularizedTheta(
                        step=step, theta=theta, smoothing=width, line_search=line_search
                    )
                    run = solved(BASELINE, method)
                    record.add(
                        "newton",
                        step=step,
                        theta=theta,
                        width=width,
                        line_search=line_search,
                        mean=run.stats["newton_iterations"] / run.stats["steps"],
                        most=run.stats["most_iterations"],
                        unconverged=run.stats["unconverged_steps"],
                        steps=run.stats["steps"],
                    )


# starts of the three reference runs of the wheel, and the mode they begin in
WHEELS = {
    "wheel, out of the escaping region": (
        (0.18514371308461852, -0.02383970206036963, -1.02925632708881),
        "-",
    ),
    "wheel, slides into the two-fold": ((0.22, -0.06240000000000006, -1.08), "slide"),
    "wheel, slips, slides into the two-fold": ((0.2, 0.1, -0.95), "+"),
}


def flow_counts() -> list[dict]:
    """Return the counts for flows that switch; a test asks for the same."""
    systems: dict[str, object] = {
        "belt": st.BeltOscillator(),
        "relay": st.switching.RelayFeedback(),
    }
    systems |= {name: st.WheelOnTurntable(x0=x0, mode=mode) for name, (x0, mode) in WHEELS.items()}
    rows = []
    for name, system in systems.items():
        for rtol in (1e-8, 1e-10, 1e-12):
            run = st.solve(system, st.EventDriven(rtol=rtol), (0.0, 20.0), save=2)
            found = {key: run.stats[key] for key in ("steps", "rejected", "events")}
            rows.append({"problem": name, "method": f"EventDriven, rtol {rtol:.0e}", **found})
    return rows


def main(record: Record, quick: bool) -> None:
    for problem in (BASELINE, SLIP_WAVE, STEP_WAVE):
        for row in counts(problem):
            record.add("count", **row)
    for row in flow_counts():
        record.add("flow_count", **row)
    newton_counts(record, quick)


if __name__ == "__main__":
    record_all("counts", __doc__, main)

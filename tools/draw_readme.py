"""Draw the picture of README, docs/detachment-wave.svg: `python tools/draw_readme.py`.

A force that is applied at once to the last of 50 masses sends a detachment wave to the wall. A bar
stands where and while a mass slips; everywhere else it sticks.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import stiction as st

PLACE = Path(__file__).resolve().parents[1] / "docs" / "detachment-wave.svg"
COLOURS = {"slip+": "#0072b2", "slip-": "#d55e00"}
LABELS = {"slip+": "slips with the force", "slip-": "slips against it"}


def bars(run: st.Run) -> dict[str, list[tuple[int, float, float]]]:
    """Return for each direction of slip (mass, begin [s], end [s])."""
    found: dict[str, list[tuple[int, float, float]]] = {mode: [] for mode in COLOURS}
    names = {-1: "slip-", 1: "slip+"}
    first = run.data["mode"].values[0]
    for mass in range(1, first.size + 1):
        log = run.events[run.events["contact"] == mass]
        times = [float(run.data["time"][0]), *log["time"], run.t_end]
        modes = [names.get(int(first[mass - 1]), "stick"), *log["to"]]
        for mode, begin, end in zip(modes, times, times[1:], strict=False):
            if mode in found and end > begin:
                found[mode].append((mass, begin, end))
    return found


def figure() -> Figure:
    """Return the picture."""
    run = st.read_scenario("detachment-wave").solve()
    drawn = Figure(figsize=(7.2, 2.9), layout="constrained")
    axes = drawn.subplots()
    for mode, of_mode in bars(run).items():
        mass, begin, end = np.array(of_mode).T
        axes.hlines(mass, 1e3 * begin, 1e3 * end, COLOURS[mode], lw=2.2, label=LABELS[mode])
    onset = np.array(run.quantities["onset_time"].value, dtype=float)
    axes.plot(1e3 * onset, np.arange(1, onset.size + 1), "k", lw=1.0, label="detachment front")
    axes.set(xlabel="time (ms)", ylabel="mass, from the wall", xlim=(0.0, 1e3 * run.t_end))
    axes.set_ylim(0.0, onset.size + 1.0)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.legend(loc="outside upper center", ncols=3, frameon=False)
    return drawn


if __name__ == "__main__":
    settings = {"svg.fonttype": "none", "svg.hashsalt": "stiction", "font.size": 9.0}
    with mpl.rc_context(settings):
        figure().savefig(PLACE, metadata={"Date": None})

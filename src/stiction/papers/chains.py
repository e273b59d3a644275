"""Figures 2 to 10 and Tables 1 and 2 of "Detachment Waves in Frictional Contact II".

The paper treats chains of masses, springs and Coulomb friction under a load at one end. In the
available text formulas and tables are missing, since they were images, and with them nearly all
numbers. The comparison therefore uses statements of the text and its numbers of Newton iterations.
The paper counts masses from the loaded end; this package counts them from the wall. Equation (29)
of the paper gives the interval of each coordinate in stick, and (35) the balance of energy of a
step of the theta scheme.

Source: Axioms 14(4), 299 (2025); the corrections are in `verdicts/chains.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stiction.core.run import Run
from stiction.papers.items import LOST, Item, Row, Runs

__all__ = ["ITEMS"]

_THETAS = ("theta-0", "theta-half", "theta-one")


def _figure(scenario: str, name: str) -> Callable[[Runs, Path], object]:
    """Return the function that draws figure `name` of the run of a scenario."""

    def draw(runs: Runs, path: Path) -> object:
        from stiction.plot import figures_of

        return getattr(figures_of(runs[scenario]), name)().savefig(path, dpi=150)

    return draw


def _differences(runs: Runs, path: Path) -> None:
    from stiction.chains.figures.comparison import compare

    labels = ("theta = 1/2", "theta = 0", "theta = 1")
    ordered = [runs["theta-half"], runs["theta-0"], runs["theta-one"]]
    compare(ordered, labels).savefig(path, dpi=150)


def _yes(holds: object) -> str:
    return "yes" if holds else "no"


def _stick_set(run: Run) -> Any:
    """Return the stick set of a chain: all displacements at which it rests at its last load."""
    from stiction.chains.model import Chain
    from stiction.chains.stick_set import StickSet

    chain = run.system
    assert isinstance(chain, Chain)
    return StickSet(chain, float(chain.load.at(run.t_end)))


# ---- the comparisons


def _table_1(runs: Runs) -> list[Row]:
    """Return the rows of Table 1: the data of the chain."""
    chain: Any = runs["baseline"].system
    n = chain.n_mass
    return [
        *(Row(f"mass {i} [kg]", LOST, float(m)) for i, m in _numbered(chain.masses)),
        *(Row(f"spring {i} [N/m]", LOST, float(k)) for i, k in _numbered(chain.link_stiffness[:n])),
        Row("dampers [N s/m]", 0.0, float(chain.link_damping.max())),
        Row("static friction coefficient [1]", LOST, float(chain.friction.mu_static[0])),
        Row("load [N]", LOST, float(chain.load.at(0.0))),
        Row("gravity [m/s^2]", LOST, float(chain.gravity)),
    ]


def _figure_2(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 2: the interval (29) of each mass in stick, and their product."""
    run = runs["stick-set"]
    stick_set = _stick_set(run)
    intervals = stick_set.projections()
    ends = zip(intervals.lower, intervals.upper, strict=True)
    return [
        *(Row(f"(29) x_{i} [m]", LOST, f"[{a:.7g}, {b:.7g}]") for i, (a, b) in _numbered(ends)),
        Row("volume of their product / of the stick set", "taken as equal", intervals.box_ratio),
        Row(
            "ends from which every increase of f moves all masses",
            "the right ends",
            stick_set.launch(rising=True).vertex,
        ),
        Row("the run ends in the stick set", "", _yes(stick_set.contains(run.final["x"]))),
    ]


def _figure_3(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 3: times of first slip and of the stop, and the final state."""
    run = runs["baseline"]
    onset, stop = _quantity(run, "onset_time"), _quantity(run, "stop_time")
    stick_set = _stick_set(run)
    return [
        Row("the loaded mass starts at t [s]", "at once", float(onset[-1])),
        *(Row(f"first slip of mass {i} [s]", LOST, t) for i, t in _numbered(onset[:-1])),
        Row("all masses stick from t [s]", LOST, stop),
        Row("the final state satisfies (29)", "yes", _yes(stick_set.contains(run.final["x"]))),
        *(Row(f"final x_{i} [m]", LOST, float(x)) for i, x in _numbered(run.final["x"])),
    ]


def _figure_4(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 4: the time of the stop, and reversals of each mass."""
    run = runs["baseline"]
    reversals = [
        sum(c == i and k == "reverse" for c, k in _events(run))
        for i in range(1, run.final["x"].size + 1)
    ]
    return [
        Row("all masses stop in finite time", "yes", _yes(_quantity(run, "stop_time") is not None)),
        Row("at t [s]", LOST, _quantity(run, "stop_time")),
        *(Row(f"reversals of mass {i}", "a figure", count) for i, count in _numbered(reversals)),
    ]


def _table_2(runs: Runs) -> list[Row]:
    """Return the rows of Table 2: time, load and critical force at the first slip of each mass."""
    run = runs["slip-wave"]
    rows = []
    for what, name in (
        ("first slip of mass {} [s]", "onset_time"),
        ("load at first slip of mass {} [N]", "onset_force"),
        ("critical force of mass {} [N]", "critical_force"),
    ):
        values = _quantity(run, name)
        rows += [Row(what.format(i), LOST, values[i - 1]) for i in range(len(values), 0, -1)]
    return rows


def _figure_5(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 5: the order of first slips, and Table 2."""
    run = runs["slip-wave"]
    onset = _quantity(run, "onset_time")
    order = ", ".join(str(i + 1) for i in np.argsort(onset))
    falls = float(np.diff(run.variables["x"].values, axis=0).min())
    return [
        Row("order of first slips, from the loaded end", "3, 2, 1", order),
        Row("displacements never decrease", "yes", _yes(falls >= 0.0)),
        *_table_2(runs),
    ]


def _unequal(runs: Runs) -> list[Row]:
    return [row for name in ("unequal-124", "unequal-421") for row in _swings(name, runs[name])]


def _swings(name: str, run: Run) -> list[Row]:
    """Return the rows on a vibration: range of each displacement, intervals of reversals, stop."""
    x = run.variables["x"].values
    swings = x.max(axis=0) - x.min(axis=0)
    at_last = (swings.size, "reverse")
    times = zip(run.event_log.time, _events(run), strict=True)
    gaps = np.diff([t for t, event in times if event == at_last])
    spread = f"{gaps.min():.4g} ... {gaps.max():.4g}" if gaps.size else "no two reversals"
    stop = _quantity(run, "stop_time")
    return [
        *(Row(f"{name}: amplitude of mass {i} [m]", "a figure", s) for i, s in _numbered(swings)),
        Row(f"{name}: time between reversals of mass {swings.size} [s]", "not periodic", spread),
        Row(f"{name}: all masses stick from t [s]", LOST, "never" if stop is None else stop),
    ]


def _thetas(runs: Runs) -> list[Row]:
    """Return the rows on the theta schemes: Newton iterations, differences to theta = 1/2."""
    rows = [
        Row(f"{name}: Newton iterations per step", 7.0, float(runs[name].stats[_NEWTON]))
        for name in _THETAS
    ]
    base = runs["theta-half"].variables
    for name in ("theta-0", "theta-one"):
        for letter, unit in (("x", "m"), ("v", "m/s")):
            gap = np.abs(runs[name].variables[letter].values - base[letter].values).max()
            rows.append(Row(f"largest |{letter} - {letter}(1/2)|, {name} [{unit}]", LOST, gap))
    return rows


def _figure_10(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 10: the difference of both sides of the energy balance (35)."""
    rows = []
    for name in ("energy-balance", *_THETAS):
        columns = runs[name].energy.columns()
        # (35) has no term for numerical dissipation
        gap = float(np.abs(columns["imbalance"] - columns["algorithmic"]).max())
        closed = float(np.abs(columns["imbalance"]).max())
        rows.append(Row(f"{name}: uniform difference of the sides of (35) [J]", LOST, gap))
        rows.append(
            Row(f"{name}: with the energy that the scheme removes [J]", "not in (35)", closed)
        )
    columns = runs["energy-balance"].energy.columns()
    return [
        *rows,
        Row("friction heat at the end [J]", LOST, float(columns["friction_heat"][-1])),
        Row("elastic energy at the end [J]", LOST, float(columns["stored"][-1])),
    ]


_NEWTON = "mean_iterations"


def _quantity(run: Run, name: str) -> Any:
    return run.quantities[name].value


def _events(run: Run) -> list[tuple[int, str]]:
    """Return (contact, kind) of each event, in order."""
    return list(zip(run.event_log.contact.tolist(), run.event_log.kind, strict=True))


def _numbered(values: Any) -> list[tuple[int, Any]]:
    """Return (number, value) of each value, numbered from 1."""
    return list(enumerate(values, start=1))


def _same(titles: Sequence[str], item: Item) -> dict[str, Item]:
    return dict.fromkeys(titles, item)


ITEMS: dict[str, Item] = {
    "table-1": Item(
        "Data of the baseline (our values; the paper's are missing)", ["baseline"], _table_1
    ),
    "table-2": Item("Slip wave: first slips and critical forces", ["slip-wave"], _table_2),
    "figure-2": Item(
        "Stick regions of the three masses",
        ["stick-set"],
        _figure_2,
        _figure("stick-set", "stick_set"),
    ),
    "figure-3": Item(
        "Baseline: displacements and velocities",
        ["baseline"],
        _figure_3,
        _figure("baseline", "motion"),
    ),
    "figure-4": Item(
        "Baseline: phase planes", ["baseline"], _figure_4, _figure("baseline", "phase")
    ),
    "figure-5": Item(
        "Slip wave under a rising load", ["slip-wave"], _figure_5, _figure("slip-wave", "motion")
    ),
    "figure-6": Item(
        "Unequal masses, heaviest loaded (the text does not state the order of the figure)",
        ["unequal-124", "unequal-421"],
        _unequal,
        _figure("unequal-124", "motion"),
    ),
    "figure-7": Item(
        "Unequal masses, lightest loaded (the text does not state the order of the figure)",
        ["unequal-124", "unequal-421"],
        _unequal,
        _figure("unequal-421", "motion"),
    ),
    **_same(
        ["figure-8", "figure-9"],
        Item("Differences between theta = 0, 1/2 and 1", _THETAS, _thetas, _differences),
    ),
    "figure-10": Item(
        "Energy balance of the baseline",
        ["energy-balance", *_THETAS],
        _figure_10,
        _figure("energy-balance", "energy"),
    ),
}

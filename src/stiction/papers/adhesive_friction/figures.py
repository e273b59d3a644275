"""Figures of "Contact with coupled adhesion and friction" beside ours, with verdicts.

Each figure is an `Item`: rows of a comparison, and panels that are drawn and written as CSV.

Source: Mergel, Scheibert, Sauer 2021, Figs. 2 to 14 and S1. The text states few numbers, so
that most rows compare statements. Data that the paper does not give are assumed; the docstrings of
the presets list them. Quick meshes are coarser than the paper's; `--full` takes the paper's.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.papers.adhesive_friction.cap import (
    Fit,
    figure_12,
    figure_13,
    figure_14,
    figure_s1,
    loads,
)
from stiction.papers.adhesive_friction.cases import CACHED_RUNS, Case, Study
from stiction.papers.adhesive_friction.cylinders import figure_9, figure_10
from stiction.papers.adhesive_friction.laws import LAW_FIGURES, draw_law, law_columns, law_rows
from stiction.papers.adhesive_friction.strip import LENGTH, figure_7, figure_8
from stiction.papers.adhesive_friction.tape import tape_item
from stiction.papers.items import Item, Row, Runs, report_progress
from stiction.solids.methods import Quasistatic
from stiction.solve import solve

if TYPE_CHECKING:
    from stiction.plot.panels import Line, Panel

__all__ = ["FULL_ITEMS", "ITEMS"]

Floats = npt.NDArray[np.float64]
_Rows = Callable[[Study], list[Row]]


@cache
def study(*, full: bool) -> Study:
    """Return the runs at one size, each solved once."""
    return Study(full=full, solved=_with_bar)


def _with_bar(name: str, case: Case) -> Run:
    with report_progress(name) as report, np.errstate(all="ignore"):
        return solve(
            case.system, Quasistatic(steps=case.steps), (0.0, 1.0), throw=False, progress=report
        )


# ---- panels


def _family(
    runs: Study, names: list[str], x: str, y: str, drop: str, of: list[str] | None = None
) -> list[Line]:
    """Return a curve of each run; its shade is the place of the run among the names `of`."""
    from stiction.plot.panels import Line

    made, every = [], names if of is None else of
    for name in names:
        c = runs[name]
        dash = "--" if "-di-" in name or "-dry-" in name else "-"
        dash = ":" if "-cut-" in name or "-linear-" in name else dash
        label = name.removeprefix(drop).replace("-cut-", " cut ")
        label = label if label.startswith("-") else label.replace("-", " ")
        shade = every.index(name) / max(1, len(every) - 1)
        made.append(Line(c[x], c[y], label, dash, shade))
    return made


def _strip_panels(runs: Study) -> list[Panel]:
    """Return the panels of Fig. 8: forces, peeling length and fracture energy for each mu."""
    from stiction.plot.panels import Panel

    names = [n for n in runs.names("strip-") if "-di-" not in n or n in ("strip-di-0.01",)]
    u = "displacement u / L0"
    words = [
        ("force_x", "horizontal force / (E L0)"),
        ("force_y", "vertical force / (E L0)"),
        ("peeling_length", "peeling length / L0"),
        ("fracture_energy", "fracture energy / (E L0)"),
    ]
    shown = []
    for i, (name, word) in enumerate(words):
        x = "peeling_length" if name == "fracture_energy" else "displacement"
        lines = _family(runs, names, x, name, "strip-")
        if x != "displacement":
            lines = [_while_peeling(line) for line in lines]
        if i:
            lines = [_bare(line) for line in lines]
        shown.append(Panel("peeling length / L0" if x != "displacement" else u, word, lines))
    return shown


def _bare(line: Line) -> Line:
    """Return the curve without an entry in the legend; that of another panel has it."""
    return dataclasses.replace(line, legend=False)


def _while_peeling(line: Line) -> Line:
    """Return the part of a curve of fracture energy between nucleation and the last jump.

    The front counts from 1 L0 on, as in `strip`; within the last 20 L0 of the contact, 150 L0 long,
    the strip detaches in a jump.
    """
    from stiction.plot.panels import Line

    part = (line.x > 1.0) & (line.x < LENGTH - 20.0)
    return Line(line.x[part], line.y[part], line.label, line.dash, line.shade)


def _traction_panels(runs: Study) -> list[Panel]:
    """Return the panels of Fig. 7: tractions along the strip at some displacements."""
    from stiction.plot.panels import Line, Panel

    c = runs["strip-ea-0.01"]
    shown = []
    for name, word in (
        ("normal_traction", "normal traction / E"),
        ("tangential_traction", "tangential traction / E"),
    ):
        displacements = np.unique(c.profiles["displacement"])
        lines = []
        for i, u in enumerate(displacements):
            p = c.profile(u)
            lines.append(
                Line(p["coordinate"], p[name], f"u = {u:.0f}", "-", i / len(displacements))
            )
        shown.append(Panel("place X / L0", word, lines))
    return shown


def _cylinder_panels(runs: Study) -> list[Panel]:
    """Return the panels of Fig. 10: forces of EA and DI, and the trailing stress."""
    from stiction.plot.panels import Panel

    names = [n for n in runs.names("cylinders-") if len(n.split("-")) == 3]
    shown = []
    for word in ("ea", "di"):
        of_model = [n for n in names if f"-{word}-" in n]
        lines = _family(runs, of_model, "displacement", "force_x", "cylinders-", names)
        shown.append(Panel("displacement u / R", "horizontal force / (E R)", lines))
    lines = _family(runs, names, "displacement", "force_y", "cylinders-")
    bare = [_bare(line) for line in lines]
    shown.append(Panel("displacement u / R", "vertical force / (E R)", bare))
    shown.append(_trailing_stress_panel(runs))
    return shown


def _trailing_stress_panel(runs: Study) -> Panel:
    """Return the panel of the stress yy at the trailing corner."""
    from stiction.plot.panels import Line, Panel

    lines = []
    for i, word in enumerate(("ea-0", "ea-0.9", "di-0.9")):
        s = runs[f"cylinders-{word}"].stresses
        if s:
            label = word.replace("-", " ")
            lines.append(Line(s["displacement"], s["trailing"], label, "-", i / 3.0))
    return Panel("displacement u / R", "stress yy / E, trailing corner", lines)


def _cap_panels(runs: Study, start: str) -> list[Panel]:
    """Return the panels of Figs. 13 and S1: force, contact length and xi.

    `start` is the begin of the names of the cases, such as "cap-".
    """
    from stiction.plot.panels import Line, Panel

    names = [f"{start}{force:g}" for force in loads(runs, start)]
    if start == "cap-":
        names += [f"cap-dry-{force:g}" for force in loads(runs, "cap-dry-")]
    shown = []
    for x, y in (
        ("displacement", "force_x"),
        ("displacement", "contact_length"),
        ("force_x", "contact_length"),
    ):
        lines = _family(runs, names, x, y, start)
        lines = [Line(np.abs(a.x), np.abs(a.y), a.label, a.dash, a.shade) for a in lines]
        shown.append(Panel(_AXES[x], _AXES[y], lines if y == "force_x" else _all_bare(lines)))
    shown.append(_xi_panel(runs, start))
    return shown


_AXES = {
    "displacement": "displacement u / L0",
    "force_x": "tangential force / (E L0)",
    "contact_length": "contact length / L0",
}


def _all_bare(lines: list[Line]) -> list[Line]:
    return [_bare(line) for line in lines]


def _xi_panel(runs: Study, start: str) -> Panel:
    """Return the panel of xi over the contact length before shear."""
    from stiction.plot.panels import Line, Panel

    lines = []
    groups = {"adhesive": start, "no adhesion": "cap-dry-"} if start == "cap-" else {"ξ": start}
    for i, (word, begin) in enumerate(groups.items()):
        fits = [Fit(c) for c in loads(runs, begin).values()]
        x, y = np.array([f.start for f in fits]), np.array([f.xi for f in fits])
        lines.append(Line(x, y, word, "", 0.7 * i, legend=len(groups) > 1))
    return Panel("contact length before shear / L0", "ξ (E² L0)", lines, logarithmic=True)


def _eta_panels(runs: Study, start: str) -> list[Panel]:
    """Return the panels of Fig. 14: the loss 1 - L / L0 over the force, and its exponent."""
    from stiction.plot.panels import Line, Panel

    fits = {force: Fit(c) for force, c in loads(runs, start).items()}
    lines = []
    for i, (force, f) in enumerate(fits.items()):
        lost = 1.0 - f.length / f.start
        part = (lost > 1e-5) & (f.forces > 0.05 * f.force)
        shade = i / max(1, len(fits) - 1)
        lines.append(Line(f.forces[part], lost[part], f"{force:g}", "-", shade))
    values = [(force, f.eta) for force, f in fits.items()]
    x, y = np.array(values).T
    return [
        Panel("tangential force / (E L0)", "1 - L / L0", lines, logarithmic=True),
        Panel("normal force / (E L0)", "exponent η", [Line(x, y, "η", "", legend=False)]),
    ]


def _cap_tractions(runs: Study) -> list[Panel]:
    """Return the panels of Fig. 12: tractions at full sliding, and the shape of the cap."""
    from stiction.plot.panels import Line, Panel

    c = runs["cap-0"]
    p = c.profile(float(c["displacement"][-1]))
    # the attraction has decayed at larger gaps [L0]
    near = p["gap"] < 0.5
    x = p["surface_x"][near]
    lines = [
        Line(x, p["normal_traction"][near], "normal", "-", 0.0),
        Line(x, p["tangential_traction"][near], "tangential", "--", 0.7),
    ]
    before = c.profile(0.0)
    # the middle of the cap, within 12 L0
    there = np.abs(before["surface_x"] - before["surface_x"].mean()) < 12.0
    shape = [
        Line(x, p["surface_y"][near], "full sliding", "-", 0.0),
        Line(before["surface_x"][there], before["surface_y"][there], "before shear", "--", None),
    ]
    return [
        Panel("place x / L0", "traction / E", lines),
        Panel("place x / L0", "height y / L0", shape),
    ]


# ---- items


def _law_item(key: str, title: str) -> Item:
    """Return the item of a figure of laws alone, from its functions in `laws`."""

    def rows(runs: Runs) -> list[Row]:
        return law_rows(key)

    def draw(runs: Runs, path: Path) -> None:
        draw_law(key, path)

    def curves(runs: Runs, path: Path) -> None:
        _write(law_columns(key), path)

    return Item(title, (), rows, draw, curves)


def _item(
    title: str,
    full: bool,
    rows_of: _Rows,
    shown: Callable[[Study], list[Panel]],
) -> Item:
    """Return the item of a figure: rows, drawing and CSV from the solved cases.

    `rows_of` and `shown` return the rows and the panels of a study.
    """

    def rows(runs: Runs) -> list[Row]:
        return rows_of(study(full=full))

    def draw(runs: Runs, path: Path) -> None:
        from stiction.plot.panels import panels

        panels(shown(study(full=full))).savefig(path, dpi=200)

    def curves(runs: Runs, path: Path) -> None:
        _write_panels(shown(study(full=full)), path)

    return Item(title, (), rows, draw, curves)


def _shapes_item(title: str, full: bool, names: tuple[str, ...], rows_of: _Rows) -> Item:
    """Return a figure of deformed bodies, one picture for each of these runs."""

    def rows(runs: Runs) -> list[Row]:
        return rows_of(study(full=full))

    def draw(runs: Runs, path: Path) -> None:
        for i, name in enumerate(names):
            there = path if i == 0 else path.with_name(f"{path.stem}-{name}{path.suffix}")
            study(full=full).run(name).plot.shapes().savefig(there, dpi=200)

    def curves(runs: Runs, path: Path) -> None:
        for i, name in enumerate(names):
            there = path if i == 0 else path.with_name(f"{path.stem}-{name}{path.suffix}")
            _write(_outlines(study(full=full).run(name)), there)

    return Item(title, (), rows, draw, curves)


def _outlines(run: Run) -> dict[str, Floats]:
    """Return the outlines of the bodies at the snapshots, with the trace of the stress there."""
    values = {name: np.asarray(v.values) for name, v in run.variables.items()}
    edge = values["drawn_outline"][:, 0]
    u = np.interp(values["snapshot_time"], run.time, values["displacement"])
    place = values["drawn_position"][:, edge]
    bodies = np.tile(values["body_of_drawn"][edge], u.size).astype(np.float64)
    return {
        "displacement": np.repeat(u, edge.size),
        "body": bodies,
        "x": place[..., 0].ravel(),
        "y": place[..., 1].ravel(),
        "stress_trace": values["stress_trace"][:, edge].ravel(),
    }


def _states(runs: Study) -> list[Row]:
    """Return the rows on the trace of the stress in the strip at some displacements."""
    run = runs.run("strip-ea-0.01")
    u = np.interp(run.variables["snapshot_time"].values, run.time, _values(run, "displacement"))
    trace = _values(run, "stress_trace")
    return [
        Row(
            f"u = {at:.1f} L0: trace of the stress / E",
            "figure",
            f"{a.min():+.4f} .. {a.max():+.4f}",
        )
        for at, a in zip(u[1::3], trace[1::3], strict=True)
    ]


def _values(run: Run, name: str) -> Floats:
    return np.asarray(run.variables[name].values, dtype=np.float64)


def _write(columns: dict[str, Floats], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{value:.9g}" for value in row])


def _write_panels(shown: list[Panel], path: Path) -> None:
    """Write the curves of a figure as CSV, a point per line: panel, curve, axis labels, x, y."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("panel", "curve", "across", "up", "x", "y"))
        for number, panel in enumerate(shown):
            for line in panel.lines:
                for x, y in zip(line.x, line.y, strict=True):
                    where = (chr(ord("a") + number), line.label, panel.across, panel.up)
                    writer.writerow((*where, f"{x:.9g}", f"{y:.9g}"))


def _items(*, full: bool) -> dict[str, Item]:
    """Return all figures of the paper by name."""
    laws = {key: _law_item(key, title) for key, title in LAW_FIGURES.items()}
    return {
        **laws,
        "figure-6": _shapes_item("strip: deformed states", full, CACHED_RUNS[:1], _states),
        "figure-7": _item("strip: tractions", full, figure_7, _traction_panels),
        "figure-8": _item("strip: forces, fronts, fracture energy", full, figure_8, _strip_panels),
        "figure-9": _shapes_item("cylinders: deformed states", full, CACHED_RUNS[1:], figure_9),
        "figure-10": _item("cylinders: forces and stresses", full, figure_10, _cylinder_panels),
        "figure-11": tape_item(full=full),
        "figure-12": _item("cap: tractions at full sliding", full, figure_12, _cap_tractions),
        "figure-13": _item(
            "cap: contact under shear", full, figure_13, lambda r: _cap_panels(r, "cap-")
        ),
        "figure-14": _item("cap: exponent eta", full, figure_14, lambda r: _eta_panels(r, "cap-")),
        "figure-s1": _item(
            "compressible cap",
            full,
            figure_s1,
            lambda r: [*_cap_panels(r, "cap-nu-0.4-"), *_eta_panels(r, "cap-nu-0.4-")],
        ),
    }


ITEMS = _items(full=False)
FULL_ITEMS = _items(full=True)

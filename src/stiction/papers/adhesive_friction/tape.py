"""Peeling of a tape at 45 degrees: figure 11 of the paper beside our runs.

The tape is an incompressible membrane that adheres to a rigid plane. The rows compare vertical and
horizontal forces of the friction models EA and DI for strong and weak friction.

Source: Mergel, Scheibert, Sauer 2021, section 4.3, Fig. 11.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.io.scenario import read_scenario
from stiction.laws import DI, EA
from stiction.papers.adhesive_friction.strip import verdict
from stiction.papers.items import Item, Row, Runs, report_progress
from stiction.solve import solve

if TYPE_CHECKING:
    from stiction.plot.panels import Panel

__all__ = ["tape_item"]

Floats = npt.NDArray[np.float64]

_MUS = (0.05, 0.01)
# displacement up to which horizontal forces are compared [L0]: both models still stick there
_UPTO = 9.0
# bounds of forces that are close, and that differ. Chosen
_CLOSE, _DIFFERENT, _FAR = 0.02, 0.05, 0.2
# two load steps [L0]
_NEAR = 0.7


@cache
def _run(model: type[EA] | type[DI], mu: float, full: bool) -> Run:
    """Return the run of the tape with a friction law and its mu."""
    # with weak friction all of the tape slides soon, and what follows is no peeling
    u_end = 14.0 if mu > 0.02 else 4.0
    size = "paper" if full else "quick"
    scenario = read_scenario("tape-peeling", model=model(mu=mu), size=size, u_end=u_end)
    with (
        report_progress(f"tape-{model.__name__.lower()}-{mu:g}") as report,
        np.errstate(all="ignore"),
    ):
        return solve(
            scenario.system, scenario.method, scenario.t_span, throw=False, progress=report
        )


def _curve(run: Run, name: str) -> tuple[Floats, Floats]:
    """Return the displacement of the end at 45 degrees [L0], and a force [E T L0].

    The variable `displacement` is one of its two equal components.
    """
    along = np.sqrt(2.0) * np.asarray(run.variables["displacement"].values)
    return along, np.asarray(run.variables[name].values)


def _largest_difference(mu: float, name: str, full: bool, upto: float = np.inf) -> float:
    """Return the largest difference of DI and EA over the largest force up to a displacement."""
    (x, y), (other, force) = (_curve(_run(model, mu, full), name) for model in (EA, DI))
    part = x <= min(upto, other[-1])
    return float(np.abs(np.interp(x[part], other, force) - y[part]).max() / np.abs(y[part]).max())


def _ended_early(mu: float, full: bool) -> str:
    """Return which runs ended early and where; "" if none did.

    The result replaces the verdict, because a part of a run cannot confirm a statement.
    """
    ends = []
    for model in (EA, DI):
        run = _run(model, mu, full)
        if not run.status.ok:
            ends.append(f"{model.__name__} ended at u = {_curve(run, 'force_y')[0][-1]:.3g} L0")
    return "does not hold: " + ", ".join(ends) if ends else ""


def _rows(full: bool) -> list[Row]:
    """Return the rows of Fig. 11: forces of EA beside DI, and full sliding."""
    rows = []
    for mu in _MUS:
        difference = _largest_difference(mu, "force_y", full)
        words = verdict(difference <= _CLOSE, difference <= _DIFFERENT)
        words = _ended_early(mu, full) or words
        what = f"mu {mu:g}: vertical forces of EA and DI, largest difference over the peak"
        rows.append(Row(what, "very close", difference, words))
    for mu, says in zip(_MUS, ("not similar", "similar"), strict=True):
        difference = _largest_difference(mu, "force_x", full, _UPTO)
        if says == "similar":
            holds, partly = difference <= _DIFFERENT, difference <= _FAR
        else:
            holds, partly = difference > _DIFFERENT, difference > _CLOSE
        words = verdict(holds, partly, "" if holds else "the tape's length is not given")
        words = _ended_early(mu, full) or words
        what = f"mu {mu:g}: horizontal forces of EA and DI up to {_UPTO:g} L0, largest difference"
        rows.append(Row(what, says, difference, words))
    for mu in _MUS:
        x, y = _curve(run := _run(EA, mu, full), "force_x")
        slides = run.quantities["full_sliding_at"].value
        what = f"EA, mu {mu:g}: all of the tape slides from u on [L0]"
        if not isinstance(slides, float):
            rows.append(Row(what, "figure", "not met"))
            continue
        at, peak = float(np.sqrt(2.0)) * slides, float(x[np.argmax(y)])
        rows.append(Row(what, "figure", at))
        what = f"EA, mu {mu:g}: the horizontal force is largest, a kink, at u [L0]"
        rows.append(Row(what, "onset of full sliding", peak, verdict(abs(peak - at) <= _NEAR)))
    return rows


def _panels(full: bool) -> list[Panel]:
    """Return the panels of Fig. 11, one for each mu: forces over the displacement."""
    from stiction.plot.panels import Line, Panel

    shown = []
    for mu in _MUS:
        lines = []
        for i, (model, dash) in enumerate(((EA, "-"), (DI, "--"))):
            for name, word in (("force_y", "vertical"), ("force_x", "horizontal")):
                x, y = _curve(_run(model, mu, full), name)
                shade = 0.15 if name == "force_y" else 0.7
                lines.append(Line(x, y, f"{model.__name__} {word}", dash, shade + 0.05 * i))
        shown.append(Panel(f"displacement u / L0, mu = {mu:g}", "force / (E T L0)", lines))
    return shown


def tape_item(*, full: bool) -> Item:
    """Return figure 11: forces of the tape for strong and weak friction."""

    def draw(runs: Runs, path: Path) -> None:
        from stiction.plot.panels import panels

        panels(_panels(full)).savefig(path, dpi=200)

    def rows(runs: Runs) -> list[Row]:
        return _rows(full)

    return Item("membrane: forces of a tape peeled at 45 degrees", (), rows, draw)

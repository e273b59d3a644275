"""Figure of the differences in displacement and velocity between runs and a reference run.

Users call `compare`; `papers.chains` reproduces figures of the paper with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.core.run import Run
from stiction.errors import ModelError
from stiction.plot import style

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["compare", "difference"]

Floats = npt.NDArray[np.float64]

_MOST_ROWS = 4
_WHERE = "plot.compare"


def compare(
    runs: Sequence[Run], labels: Sequence[str] | None = None, *, reference: int = 0
) -> PaperFigure:
    """Return the differences of displacement and velocity between runs of one chain.

    Every curve is a run minus the reference run. Runs saved at different times are compared
    at the times of the reference, with straight lines between the saved times of the other.

    Parameters
    ----------
    runs : at least two, with equal numbers of masses
    labels : one per run; default the methods' names
    reference : which run is subtracted, counted from 0

    Raises
    ------
    ModelError : if the runs cannot be compared.

    Source: Axioms 14(4) 299, Figs. 8 and 9.
    Verified by: tests/unit/chains/figures/test_comparison.py::test_curves_are_the_differences
    """
    runs = _runs(runs)
    data = [ChainData(run) for run in runs]
    names = _names(runs, labels)
    _check(data, reference)
    # a row of panels per shown mass: displacement on the left, velocity on the right
    base = data[reference]
    others = [k for k in range(len(data)) if k != reference]
    masses = style.few(base.n_mass, _MOST_ROWS)
    rows = len(masses)
    figure = style.new_figure(style.PAGE, 0.68 + 1.15 * rows + 0.12 * (rows - 1))
    axes = style.grid(
        figure,
        rows,
        2,
        margins=(0.62, 0.16, 0.4, 0.28),
        gaps=(0.72, 0.12),
        share_time=True,
    )
    # mass 1 at the bottom, as in the other figures
    for line, i in zip(axes[::-1], masses, strict=True):
        for ax, name, unit in zip(line, ("x", "v"), ("m", "m/s"), strict=True):
            curves = [difference(data[k], base, name, int(i)) for k in others]
            for (time, values), k, colour in zip(
                curves, others, style.MASS_COLOURS * 9, strict=False
            ):
                keep = style.thin(values)
                ax.plot(time[keep], values[keep], color=colour, lw=0.8, label=names[k])
            every = np.concatenate([values for _, values in curves])
            ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
            style.room(ax.set_ylim, every)
            word = f"Δ{name}{style.subscript(int(i) + 1)}"
            style.scale_axis(ax.yaxis, word, unit)
            base.time_axis(ax)
            if line is not axes[-1]:
                ax.set_xlabel("")
    style.key(axes[0][0], columns=max(1, len(others)))
    right = 1.0 - 0.16 / style.PAGE
    words = f"difference from {names[reference]}"
    figure.text(right, 0.985, words, ha="right", va="top", size=8.0, color=style.INK)
    figure.align_ylabels([line[0] for line in axes])
    figure.align_ylabels([line[1] for line in axes])
    return figure


def difference(data: ChainData, base: ChainData, name: str, i: int) -> tuple[Floats, Floats]:
    """Return times [s] and the difference of "x" or "v" of mass `i` (from 0) from `base`.

    Verified by: tests/unit/chains/figures/test_comparison.py::test_other_times_are_interpolated
    """
    mine = data.run.variables[name].values[:, i]
    theirs = base.run.variables[name].values[:, i]
    common = (base.time >= data.time[0]) & (base.time <= data.time[-1])
    time = base.time[common]
    if not np.array_equal(data.time, base.time):
        mine = np.interp(time, data.time, mine)
    return time, mine - theirs[common]


def _runs(given: object) -> list[Run]:
    """Return the runs as a list; raise ModelError for anything else."""
    runs: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    wrong = [run for run in runs if not isinstance(run, Run)]
    if wrong:
        needs = "runs of one chain"
        why, try_ = "a comparison draws the differences between runs.", "give what solve returns."
        raise ModelError(f"{_WHERE}.runs", repr(wrong[0]), needs, why, try_)
    return runs


def _names(runs: Sequence[Run], labels: object) -> list[str]:
    """Return one label per run; raise ModelError for labels that do not match."""
    if labels is None:
        return [f"{run.method_name} ({k + 1})" for k, run in enumerate(runs)]
    names = list(labels) if isinstance(labels, Iterable) and not isinstance(labels, str) else []
    plain = all(isinstance(name, str | int | float) for name in names)
    if len(names) != len(runs) or not plain:
        raise ModelError(
            f"{_WHERE}.labels",
            repr(labels),
            f"{len(runs)} labels, one per run",
            "the legend names every run.",
            "leave labels out to use the names of the methods.",
        )
    return [str(name) for name in names]


def _check(data: Sequence[ChainData], reference: object) -> None:
    """Raise ModelError for runs that cannot be compared, or an index that is none of them."""
    if len(data) < 2:
        raise ModelError(
            f"{_WHERE}.runs",
            f"{len(data)} run" if data else "no runs",
            "at least two runs",
            "a comparison draws the differences between runs.",
            "for example compare([run_a, run_b], labels=['theta = 1/2', 'theta = 1']).",
        )
    sizes = [entry.n_mass for entry in data]
    if len(set(sizes)) > 1:
        raise ModelError(
            f"{_WHERE}.runs",
            f"chains of {', '.join(map(str, sizes))} masses",
            "chains with equal numbers of masses",
            "differences are taken mass by mass.",
            "compare runs of one chain, solved by different methods.",
        )
    known = isinstance(reference, int | np.integer) and not isinstance(reference, bool)
    if not known or reference not in range(len(data)):
        raise ModelError(
            f"{_WHERE}.reference",
            repr(reference),
            f"a number from 0 to {len(data) - 1}",
            "this run is subtracted from the others.",
            "use reference=0 for the first run.",
        )
    begin = max(float(entry.time[0]) for entry in data)
    end = min(float(entry.time[-1]) for entry in data)
    if not end > begin:
        raise ModelError(
            f"{_WHERE}.runs",
            "runs whose times do not overlap",
            "a common span of time",
            "a difference needs both states at one time.",
            "solve the runs over the same t_span.",
        )

"""Figures of the normal form of a two-fold, and of the conditions of Fig. 4 over (r*, omega*).

The normal form f+ = (-y, 1, J1), f- = (z, J2, 1) slides where y, z > 0 and escapes where y, z < 0
(`presets.NormalForm`). The conditions on J1, J2 and K_ab are those of `wheel.folds.WheelTwoFolds`.
`stiction.papers` draws the figures of Szalai, Jeffrey 2014 by these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.switching.figures.over_time import LINES
from stiction.switching.figures.surface import cells_around

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["condition_panels", "local_flow"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SLIDING, ESCAPING, CROSSING = "#dcdcdc", "#f6dfe9", "#ffffff"
_STRONG = style.GREEN


def local_flow(
    grid: tuple[Floats, Floats],
    sticking: tuple[Floats, Floats],
    directions: Floats,
    eigenvalues: Sequence[float],
    arcs: Sequence[tuple[int, Floats]],
    sliding: Sequence[Floats],
) -> PaperFigure:
    """Return the sticking flow in the plane of the surface, and slip arcs around it in space.

    Parameters
    ----------
    grid : (k,) scaled coordinates xi and eta along the folds, both positive in sliding
    sticking : (k, k) directions of the sticking flow, NaN where it crosses
    directions : (2, 2) eigenvectors of the desingularised flow in rows, the weak one first
    eigenvalues : its eigenvalues, in the same order
    arcs : side and (3, t) points (h, y, z) of slip arcs
    sliding : (3, t) points (h, y, z) of sticking orbits

    Source: Szalai, Jeffrey 2014, Fig. 3.
    Verified by: tests/unit/switching/figures/test_papers.py::test_local_flow
    """
    from matplotlib.lines import Line2D

    figure = style.new_figure(style.PAGE, 3.1)
    axes = style.grid(figure, 1, 2, margins=(0.5, 0.1, 0.42, 0.28), gaps=(0.3, 0.1))[0]
    ax, old = axes
    box = old.get_position()
    old.remove()
    _quadrants(ax, grid)
    ax.streamplot(*grid, *sticking, color=style.INK, linewidth=0.6, density=0.9, arrowsize=0.7)
    far = float(grid[0].max())
    looks = ((LINES[1], "weak"), (_STRONG, "strong"))
    for vector, value, (colour, word) in zip(directions, eigenvalues, looks, strict=True):
        ends = np.outer([-1.0, 1.0], vector / np.abs(vector).max() * far)
        label = f"{word}, λ = {value:.4f}".replace("-", "−")
        ax.plot(*ends.T, color=colour, lw=1.3, label=label, zorder=3.0)
    ax.plot(0.0, 0.0, "o", ms=5.0, mfc=style.PURPLE, mec="white", zorder=4.0)
    ax.set_xlim(-far, far)
    ax.set_ylim(-far, far)
    style.scale_axis(ax.xaxis, "ξ (scaled)")
    style.scale_axis(ax.yaxis, "η (scaled)")
    style.key(ax, columns=2)
    space: Any = figure.add_axes(
        (box.x0, box.y0 - 0.06, box.width, box.height + 0.1),
        projection="3d",
        computed_zorder=False,
    )
    _space(space, arcs, sliding)
    handles = [
        Line2D([], [], color=LINES[1], lw=1.2, label="h > 0"),
        Line2D([], [], color=LINES[-1], lw=1.2, label="h < 0"),
        Line2D([], [], color=LINES[0], lw=1.2, label="sticking"),
    ]
    space.legend(handles=handles, ncols=3, loc="upper center", frameon=False, fontsize=7.5)
    for letter, place in (("(a)", 0.005), ("(b)", box.x0)):
        figure.text(place, 0.985, letter, va="top", size=8.5, weight="bold", color=style.INK)
    return figure


def _quadrants(ax: Axes, grid: tuple[Floats, Floats]) -> None:
    """Shade and name the sliding, escaping and crossing quadrants of the plane."""
    far = float(grid[0].max())
    for sign, colour, word in ((1.0, SLIDING, "sliding"), (-1.0, ESCAPING, "escaping")):
        ax.fill(
            [0.0, sign * far, sign * far, 0.0], [0.0, 0.0, sign * far, sign * far], colour, lw=0
        )
        ax.text(0.93 * sign * far, 0.9 * sign * far, word, ha="right" if sign > 0 else "left",
                va="center", size=8.0, bbox={"fc": colour, "ec": "none", "pad": 1.0})  # fmt: skip
        ax.text(0.5 * sign * far, -0.8 * sign * far, "crossing", ha="center", va="center", size=8.0)
    ax.axhline(0.0, color=style.INK, lw=0.6)
    ax.axvline(0.0, color=style.INK, lw=0.6)


def _space(ax: Any, arcs: Sequence[tuple[int, Floats]], sliding: Sequence[Floats]) -> None:
    """Draw sliding orbits in the surface h = 0, and slip arcs above and below it."""
    for sign, colour in ((1.0, SLIDING), (-1.0, ESCAPING)):
        corner = np.array([[0.0, sign], [0.0, sign]])
        ax.plot_surface(corner, corner.T, 0.0 * corner, color=colour, alpha=0.8, zorder=0.5, lw=0)
    for line in sliding:
        ax.plot(line[1], line[2], line[0], color=LINES[0], lw=0.9, zorder=2.0)
    for side, arc in arcs:
        order = 3.0 if side > 0 else 1.0
        ax.plot(arc[1], arc[2], arc[0], color=LINES[side], lw=1.0, zorder=order)
    ax.plot([0.0], [0.0], [0.0], "o", ms=5.0, mfc=style.PURPLE, mec="white", zorder=5.0)
    ax.view_init(22.0, -62.0)
    style.dress_3d(ax, ("ξ (scaled)", "η (scaled)", "h (scaled)"), size=7.5)


def condition_panels(
    r: Floats, omega: Floats, flags: Mapping[str, Flags], chosen: tuple[float, float]
) -> PaperFigure:
    """Return seven panels over (r*, omega*): where all conditions hold, and where each one holds.

    Parameters
    ----------
    r, omega : (n_r,) [m], (n_omega,) [rad/s]
    flags : (n_omega, n_r) by condition: b, c, d, e, f, g1, g2 and all
    chosen : r* and omega* of the point shown in each panel [m, rad/s]

    Source: Szalai, Jeffrey 2014, Fig. 4.
    Verified by: tests/unit/switching/figures/test_papers.py::test_condition_panels
    """
    from matplotlib.colors import ListedColormap

    panels = (
        ("(a) all", "all"),
        ("(b) K₋₋ > 0", "b"),
        ("(c) K₊₊ < 0", "c"),
        ("(d) J₁ < 0", "d"),
        ("(e) J₂ < 0", "e"),
        ("(f) J₁J₂ > 1", "f"),
        ("(g) k₂ > 0, κ > 0", "g1"),
    )
    figure = style.new_figure(style.PAGE, 3.5)
    grid = style.grid(figure, 2, 4, margins=(0.56, 0.14, 0.42, 0.22), gaps=(0.2, 0.32))
    axes = [ax for line in grid for ax in line]
    shades = ListedColormap(["white", "#9ec5e8"])
    looks: dict[str, Any] = {
        "origin": "lower",
        "extent": cells_around(r, omega),
        "aspect": "auto",
    }
    for k, (ax, (title, name)) in enumerate(zip(axes, panels, strict=False)):
        ax.imshow(flags[name], cmap=shades, vmin=0, vmax=1, interpolation="nearest", **looks)
        if name == "g1":
            hatched = flags["g2"].astype(float)
            ax.contourf(r, omega, hatched, levels=[0.5, 1.5], colors="none", hatches=["////"])
        ax.plot(*chosen, "o", ms=3.6, mfc=style.VERMILION, mec="white", mew=0.6)
        ax.set_title(title, size=8.0, loc="left", pad=3.0, color=style.INK)
        ax.set_xlim(float(r[0]), float(r[-1]))
        ax.set_ylim(float(omega[0]), float(omega[-1]))
        style.scale_axis(ax.xaxis, "r*", "m")
        style.scale_axis(ax.yaxis, "ω*", "rad/s")
        if k % 4:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if k < 3:
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    _explain(axes[7])
    return figure


def _explain(ax: Axes) -> None:
    """Draw the key of the panels in the axes of the last one."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ax.axis("off")
    handles = [
        Patch(fc="#9ec5e8", label="condition holds"),
        Patch(fc="white", ec=style.INK, hatch="////", lw=0.0, label="κ > 0"),
        Line2D(
            [], [], ls="", marker="o", ms=3.6, mfc=style.VERMILION, mec="white", label="this wheel"
        ),
    ]
    ax.legend(handles=handles, loc="center", frameon=False, fontsize=8.0)

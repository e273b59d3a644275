"""Figure of rods in space: tubes by PyVista if it can render, else lines by matplotlib.

Both show the same parallel projection, `view.View`. `RodFigures.scene` calls `scene`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.plot import style
from stiction.rods.figures.data import RodData, Scene
from stiction.rods.figures.paint import paint
from stiction.rods.figures.partners import PARTNER_COLOUR, faces_near, near
from stiction.rods.figures.view import ROLL_COLOUR, SLIP_COLOUR, View, rod_colours, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["TUBES_NEED", "Stage", "pixels_of", "scene", "tubes_missing"]

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]

TUBES_NEED = (
    "pip install 'stiction[viz3d]', and on Linux a library of OpenGL (libegl1 or libosmesa6)"
)

_WIDTH = 4.8  # of a figure [in]
_TOP, _FOOT = 0.32, 0.5  # heights of the legend above and of the scale bar below [in]
_DPI = 250
_LINES_HEIGHT = 3.4  # of a figure of lines [in]
_CORNER = 0.3  # length of a unit vector in the corner [in]


def scene(
    data: RodData,
    time: float | None = None,
    *,
    view: tuple[float, float] = (28.0, -60.0),
    tubes: bool | None = None,
) -> PaperFigure:
    """Return the rods at a saved time as tubes, with an arrow for the force of each contact.

    An arrow is the force on the first rod of a contact. It begins at the contact point, which is
    visible even behind rods.

    Parameters
    ----------
    time : [s]; default the last
    view : elevation and azimuth of the direction of view [degrees]
    tubes : True draws tubes, or raises an error; False draws lines; None draws tubes if PyVista can
        render, else lines, with the reason in the `remark` of the figure

    Raises
    ------
    ModelError : if `tubes` is True and PyVista cannot render.

    Verified by: tests/unit/rods/figures/test_figures.py::test_tubes_are_where_the_rods_are
    """
    shown = [data.scene(data.sample(time))]
    looks = view_of(data, shown, view)
    pictures, reason = ([], "") if tubes is False else paint(looks, shown, pixels_of(looks, _DPI))
    if tubes and not pictures:
        raise ModelError(tubes_missing(reason))
    stage = Stage(data, looks, shown, pictures, view)
    stage.show(0)
    if reason:
        stage.figure.remark = f"lines, not tubes: {reason}. {TUBES_NEED}"
    return stage.figure


def pixels_of(view: View, dpi: int) -> tuple[int, int]:
    """Return width and height [pixels] of a picture that fills the width of a figure."""
    width = round(_WIDTH * dpi)
    return width, max(1, round(width * view.half[0] / view.half[1]))


def tubes_missing(reason: str) -> str:
    """Return the error message for tubes that cannot be rendered, for a reason."""
    return explain(
        "plot.scene.tubes",
        f"True, and {reason or 'no picture'}",
        "PyVista, and a library that can render without a screen",
        "PyVista renders the tubes.",
        f"{TUBES_NEED}; or tubes=False, which draws lines.",
    )


class Stage:
    """A figure that shows one of several scenes at a time.

    Parameters
    ----------
    data : data of the run
    view : the projection
    scenes : all scenes, which determine limits and key
    pictures : rendered tubes, one per scene; empty for lines
    angles : elevation and azimuth of the direction of view [degrees]
    """

    def __init__(
        self,
        data: RodData,
        view: View,
        scenes: Sequence[Scene],
        pictures: Sequence[Pixels],
        angles: tuple[float, float],
    ) -> None:
        self.data = data
        self.view, self.scenes, self.pictures, self.angles = view, scenes, pictures, angles
        self.zoom, self.fitted = 1.1, False
        height = _LINES_HEIGHT
        if pictures:
            height = _WIDTH * view.half[0] / view.half[1] + _TOP + _FOOT
        self.figure = style.new_figure(_WIDTH, height)
        look: dict[str, Any] = {"size": style.FONT, "color": style.INK, "ha": "right", "va": "top"}
        self.clock = self.figure.text(0.985, 1.0 - 0.085 / height, "", **look)
        self.key = self._key(data)
        self.ax: Any = self._flat() if pictures else None

    def show(self, k: int) -> None:
        """Show scene `k` instead of the last one."""
        shown = self.scenes[k]
        self.clock.set_text(f"t = {shown.time:.4g} s")
        if self.pictures:
            self._show_tubes(shown, self.pictures[k])
        else:
            self._show_lines(shown)

    # ---- tubes

    def _flat(self) -> Axes:
        """Return axes for a rendered picture."""
        height = self.figure.get_figheight()
        ax = self.figure.add_axes((0.0, _FOOT / height, 1.0, 1.0 - (_TOP + _FOOT) / height))
        ax.set_axis_off()
        self.image = ax.imshow(self.pictures[0], interpolation="antialiased", aspect="auto")
        looks: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4.0, "mec": "white", "mew": 0.7}
        self.dots = [ax.plot([], [], color=c, **looks)[0] for c in (ROLL_COLOUR, SLIP_COLOUR)]
        self._ruler()
        return ax

    def _show_tubes(self, shown: Scene, picture: Pixels) -> None:
        """Show a rendered picture and the contact points on it."""
        self.image.set_data(picture)
        rows, columns = picture.shape[:2]
        offset = shown.points - self.view.centre
        x = columns * 0.5 * (1.0 + offset @ self.view.right / self.view.half[1])
        y = rows * 0.5 * (1.0 - offset @ self.view.up / self.view.half[0])
        for dots, mine in zip(self.dots, (~shown.slips, shown.slips), strict=True):
            dots.set_data(x[mine] - 0.5, y[mine] - 0.5)

    def _ruler(self) -> None:
        """Draw a scale bar on the left, and the directions of x, y, z on the right."""
        height = self.figure.get_figheight()
        ax = self.figure.add_axes((0.0, 0.0, 1.0, (_FOOT + 0.12) / height))
        ax.set(xlim=(0.0, _WIDTH), ylim=(0.0, _FOOT + 0.12), facecolor="none")
        ax.set_axis_off()
        per_metre = _WIDTH / (2.0 * self.view.half[1])
        length = _round_below(0.35 * self.view.half[1])
        bar: dict[str, Any] = {"color": style.INK, "lw": 1.2, "solid_capstyle": "butt"}
        ax.plot([0.1, 0.1 + length * per_metre], [0.12, 0.12], **bar)
        text: dict[str, Any] = {"color": style.INK, "size": style.FONT}
        ax.text(0.1, 0.16, _with_unit(length, "m"), ha="left", va="bottom", **text)
        arms = _CORNER * np.stack([self.view.right, self.view.up], axis=1)
        left, low = _WIDTH - 0.5, 0.14 + max(0.0, -float(arms[:, 1].min()))
        for arm, word in zip(arms, "xyz", strict=True):
            size = float(np.hypot(*arm))
            if size < 0.15 * _CORNER:
                continue  # parallel to the direction of view
            ax.plot([left, left + 0.7 * arm[0]], [low, low + 0.7 * arm[1]], color=style.INK, lw=0.8)
            at = (0.7 + 0.09 / size) * arm
            ax.text(left + at[0], low + at[1], word, ha="center", va="center", **text)

    # ---- lines

    def _show_lines(self, shown: Scene) -> None:
        """Draw the rods as lines of about their thickness, in axes with metres."""
        from matplotlib.ticker import MaxNLocator

        if self.ax is not None:
            self.ax.remove()
        box = (0.0, 0.06, 0.97, 0.97 - _TOP / _LINES_HEIGHT)
        ax: Any = self.figure.add_axes(box, projection="3d")
        self.ax = ax
        ax.view_init(elev=self.angles[0], azim=self.angles[1])
        low, high = self._limits()
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        ax.set_box_aspect(high - low, zoom=self.zoom)
        style.dress_3d(ax, ("x (m)", "y (m)", "z (m)"))
        lengths, axes = (high - low) / (high - low).max(), (ax.xaxis, ax.yaxis, ax.zaxis)
        for axis, part, towards in zip(axes, lengths, self.view.out, strict=True):
            axis.set_major_locator(MaxNLocator(max(1, round(4.0 * part)), steps=[1, 2, 5, 10]))
            axis.labelpad = -2.0 if axis is ax.zaxis else 4.0
            if abs(towards) > 0.98:  # seen end on, its ticks lie on top of each other
                axis.set_ticks([])
                axis.set_label_text("")
        if shown.surfaces:
            # draw rods above surfaces: matplotlib sorts whole surfaces by their mean distance
            ax.computed_zorder = False
        for body in shown.surfaces:
            self._show_surface(faces_near(body, self.data.box))
        points = 72.0 * _WIDTH / (2.0 * self.view.half[1])  # per metre, about
        named = zip(shown.rods, shown.radii, rod_colours(len(shown.rods)), strict=True)
        for rod, thick, colour in named:
            width = float(np.clip(1.3 * thick * points, 1.5, 12.0))
            ax.plot(*rod.T, color=colour, lw=width, solid_capstyle="round", zorder=2.0)
        for point, force, slips in zip(shown.points, shown.forces, shown.slips, strict=True):
            tip = self.view.arrow * force
            colour = SLIP_COLOUR if slips else ROLL_COLOUR
            ax.plot(*point[:, None], ls="", marker="o", ms=3.5, color=colour, zorder=6.0)
            if tip.any():
                ax.quiver(*point, *tip, color=colour, lw=1.4, arrow_length_ratio=0.25, zorder=5.0)
        if not self.fitted:
            self.zoom, self.fitted = self.zoom * self._room(ax), True
            ax.set_box_aspect(high - low, zoom=self.zoom)

    def _show_surface(self, faces: Floats) -> None:
        """Draw faces (face, 4, 3) of a rigid partner."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

        if len(faces):
            look: dict[str, Any] = {"facecolors": PARTNER_COLOUR, "alpha": 0.45, "lw": 0.0}
            self.ax.add_collection3d(Poly3DCollection(faces, shade=True, zorder=1.0, **look))

    def _room(self, ax: Any) -> float:
        """Return the factor, at most 1, by which the axes must shrink so that their labels fit.

        Axes shrink about their middle, and the distance of a label is proportional to their size.
        """
        self.figure.draw_without_rendering()
        tight, whole = ax.get_tightbbox(), self.figure.bbox
        box = ax.get_window_extent()
        middle = np.array([0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)])
        reach = np.abs(np.array([tight.min - middle, tight.max - middle]))
        spare = np.abs(np.array([whole.min - middle, whole.max - middle]))
        return float(min(1.0, (spare / np.maximum(reach, 1.0)).min()))

    def _limits(self) -> tuple[Floats, Floats]:
        """Return opposite vertices of a box around all scenes, without very short edges."""
        parts = [
            part
            for shown in self.scenes
            for part in (*shown.rods, shown.points + self.view.arrow * shown.forces)
        ]
        bodies = [body.reshape(-1, 3) for shown in self.scenes for body in shown.surfaces]
        parts += [body[near(body, self.data.box)] for body in bodies]
        every = np.concatenate(parts)
        radius = float(self.scenes[0].radii.max())
        low, high = np.nanmin(every, axis=0) - radius, np.nanmax(every, axis=0) + radius
        spare = 0.5 * np.maximum(0.25 * (high - low).max() - (high - low), 0.0)
        return low - spare, high + spare

    # ---- key

    def _key(self, data: RodData) -> object:
        """Draw the legend: colours of rods, and meaning and scale of arrows."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        count = len(self.scenes[0].rods)
        handles: list[Any] = []
        if 1 < count <= 3:
            named = enumerate(rod_colours(count), 1)
            handles = [Patch(facecolor=colour, label=f"rod {i}") for i, colour in named]
        slips = any(shown.slips.any() for shown in self.scenes)
        rolls = any((~shown.slips).any() for shown in self.scenes)
        scale = f", force ≤ {_with_unit(data.largest_force, 'N')}"
        for colour, word, there in (
            (ROLL_COLOUR, "rolling", rolls),
            (SLIP_COLOUR, "slipping", slips),
        ):
            if there and data.largest_force > 0.0:
                # the scale appears once
                handles.append(Line2D([], [], color=colour, lw=1.6, label=word + scale))
                scale = ""
        if self.scenes[0].surfaces:
            handles.append(Patch(facecolor=PARTNER_COLOUR, label="rigid"))
        if not handles:
            return None
        return self.figure.legend(
            handles=handles,
            loc="upper left",
            ncols=len(handles),
            frameon=False,
            fontsize=style.FONT,
            labelcolor=style.INK,
            handlelength=1.2,
            handletextpad=0.4,
            columnspacing=0.9,
            borderaxespad=0.3,
        )


def _round_below(value: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten up to `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(n * power for n in (1.0, 2.0, 5.0) if n * power <= value * 1.0001))


def _with_unit(value: float, unit: str) -> str:
    """Return a value with the prefix that needs the fewest zeros."""
    prefixes = ((1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
    if unit == "m":
        prefixes = ((1.0, ""), (1e-2, "c"), (1e-3, "m"), (1e-6, "µ"))
    for factor, prefix in prefixes:
        if value >= 0.9999 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"

"""The data of the figures of solids: saved variables of a run, derived quantities, axis labels.

Shapes: t samples of the run, s snapshots of the bodies, points of the contact surfaces. A row is
an index of a sample. Names of variables are those of `outcome.run`. All figures of this folder take
a `SolidData`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import floats_of
from stiction.plot import style
from stiction.plot.run_data import RunData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["NO_FRICTION", "SLIDES", "STICKS", "SolidData"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# values of the variable `slides`
NO_FRICTION, STICKS, SLIDES = 0, 1, 2
_SPACE = 3
_SAME = 1e-9  # fraction of its range up to which a displacement counts as zero
_CONSTANT = 1e-9  # fraction of its magnitude up to which the range of a curve counts as zero
_LOOSE = 0.1  # spread of a quadratic fit over the largest loss from which it is not drawn
_SMALL = 0.01  # smaller values are written with a power of ten
_REACH = 2e-3  # fraction of the largest traction from which a point counts as in contact

# symbol of the unit of length in the dimensionless examples of the literature
_LENGTHS = {"StripPeeling": "L_0", "CapSliding": "L_0", "TwoCylinders": "R"}
_LENGTHS |= {"TapePeeling": "L_0", "CapSliding3D": "L_0"}
_SYMBOLS = {
    "displacement": "u",
    "force_x": "F_x",
    "force_y": "F_y",
    "tangential_force": "|F_x|",
    "normal_force": r"F_\mathrm{n}",
    "contact_length": r"L_\mathrm{c}",
    "contact_length_initial": r"L_\mathrm{c,0}",
    "peeling_length": r"L_\mathrm{peel}",
    "fracture_energy": r"\Gamma",
    "surface_coordinate": "X",
    "gap": r"g_\mathrm{n}",
    "normal_traction": r"T_\mathrm{n}",
    "tangential_traction": r"T_\mathrm{t}",
    "stress_trace": r"\mathrm{tr}\,\sigma",
    "stress_yy": r"\sigma_{yy}",
    "xi": r"\xi",
    "eta": r"\eta",
}
# unit of each kind of quantity in dimensionless runs, with the unit of length {L}: in the plane,
# where forces and work are per width, in space, and of a tape of thickness T
_OVER = {
    "length": "{L}",
    "force": "(E\\,{L})",
    "energy": "(E\\,{L})",
    "work": "(E\\,{L}^2)",
    "stress": "E",
    "xi": "(E^{-2} {L}^{-1})",
    "number": "",
}
_OVER_IN_SPACE = {**_OVER, "force": "(E\\,{L}^2)", "work": "(E\\,{L}^3)"}
_OVER_TAPE = {**_OVER, "force": "(E\\,T\\,{L})", "energy": "(E\\,T)"}
_OVER_TAPE |= {"work": "(E\\,T\\,{L}^2)", "stress": "(E\\,T/{L})"}
_KINDS = {
    "displacement": "length",
    "force_x": "force",
    "force_y": "force",
    "tangential_force": "force",
    "normal_force": "force",
    "contact_length": "length",
    "contact_length_initial": "length",
    "peeling_length": "length",
    "length": "length",
    "fracture_energy": "energy",
    "ledger": "work",
    "surface_coordinate": "length",
    "gap": "length",
    "normal_traction": "stress",
    "tangential_traction": "stress",
    "stress_trace": "stress",
    "stress_yy": "stress",
    "stress": "stress",
    "xi": "xi",
    "eta": "number",
}
_UNITS = {"length": "m", "force": "N/m", "energy": "J/m$^2$", "work": "J/m", "stress": "Pa"}
_UNITS |= {"xi": "m$^3$/N$^2$", "number": ""}
_UNITS_IN_SPACE = {**_UNITS, "force": "N", "work": "J"}


@dataclass(frozen=True, eq=False)
class SolidData(RunData):
    """The saved samples of a run of solids, and quantities derived from them.

    Parameters
    ----------
    run : the run, live or loaded

    Raises
    ------
    ModelError : if the run holds no displacement.
    """

    NEEDED = ("displacement",)
    FAMILY = "solids"

    @property
    def span(self) -> tuple[float, float]:
        """Limits of the displacement axis; its length is 1 if the displacement is constant."""
        u = self.curve("displacement")
        low, high = float(u.min()), float(u.max())
        return low, high if high > low else low + 1.0

    # ---- variables

    def values(self, name: str) -> Floats:
        """Return a variable as it was saved; the first axis is that of its samples or points."""
        return np.asarray(self.run.variables[name].values, dtype=np.float64)

    def has(self, *names: str) -> bool:
        """Return whether the run holds these variables, each finite somewhere."""
        return all(
            name in self.run.variables and bool(np.isfinite(self.values(name)).any())
            for name in names
        )

    def require(self, figure: str, *names: str) -> None:
        """Raise a ModelError that names the variables a figure misses."""
        missing = [name for name in names if not self.has(name)]
        if missing:
            drawn = "displacement" if figure == "forces" else "forces"
            raise ModelError(
                f"plot.{figure}",
                f"a run of {self.run.system_name} without {', '.join(missing)}",
                "the variables " + ", ".join(names),
                "this figure shows these variables.",
                f"draw another figure, such as {drawn}, or solve with snapshots.",
            )

    @functools.cached_property
    def begin(self) -> int:
        """The row at which the prescribed displacement begins to change; earlier rows are preload.

        Verified by: tests/unit/solids/figures/test_figures.py::test_preload_is_left_out
        """
        u = self.values("displacement")
        moved = np.abs(u - u[0]) > _SAME * max(float(np.ptp(u)), 1e-300)
        return int(np.argmax(moved)) - 1 if moved.any() else 0

    def curve(self, name: str) -> Floats:
        """Return (t,) a variable over time, from `begin` on."""
        return style.finite(self.values(name)[self.begin :])

    def changes(self, name: str) -> bool:
        """Return whether the run holds a curve that is not constant."""
        if not self.has(name):
            return False
        curve = self.curve(name)
        curve = curve[np.isfinite(curve)]
        return bool(curve.size > 1 and np.ptp(curve) > _CONSTANT * max(np.abs(curve).max(), 1e-9))

    def quantity(self, name: str) -> float | None:
        """Return a quantity of the run if it is a finite number, else None."""
        found = self.run.quantities.get(name)
        value = None if found is None else found.value
        return float(value) if isinstance(value, (int, float)) and np.isfinite(value) else None

    @property
    def peeled(self) -> float:
        """Largest loss of contact length over the initial contact length."""
        if not self.has("peeling_length", "contact_length"):
            return 0.0
        start = float(np.nan_to_num(self.curve("contact_length")[0]))
        return float(np.nanmax(self.curve("peeling_length"))) / start if start > 0.0 else 0.0

    @property
    def fit_holds(self) -> bool:
        """Whether the loss of contact length is nearly proportional to the force squared."""
        spread = self.quantity("xi_spread")
        return self.quantity("xi") is not None and (spread is None or spread < _LOOSE)

    # ---- points on the curves

    def row_of_time(self, time: float) -> int:
        """Return the row (from `begin`) saved nearest to a `time`."""
        return int(np.argmin(np.abs(self.time[self.begin :] - time)))

    def _row_of_displacement(self, name: str) -> list[int]:
        """Return the row nearest to a displacement, the quantity `name`; empty without it."""
        at = self.quantity(name)
        return [] if at is None else [int(np.nanargmin(np.abs(self.curve("displacement") - at)))]

    @property
    def full_sliding(self) -> list[int]:
        """Row (counted from `begin`) at which full sliding began, in a list; empty without one."""
        log = self.run.event_log
        times = [t for t, kind in zip(log.time, log.kind, strict=True) if kind == "full_sliding"]
        times = [t for t in times if t > self.time[self.begin]]
        if times:
            return [self.row_of_time(float(times[0]))]
        return self._row_of_displacement("full_sliding_at")

    @property
    def limit_points(self) -> list[int]:
        """Rows (counted from `begin`) nearest to the limit points of the equilibrium path."""
        losses = [loss for loss in self.run.determinism.losses if loss.kind == "limit_point"]
        if losses:
            return sorted({self.row_of_time(float(loss.time)) for loss in losses})
        return self._row_of_displacement("limit_point_at")

    @property
    def unstable(self) -> Bools:
        """(t,) whether each state from `begin` on is known to be unstable."""
        count = self.curve("displacement").size
        if self.has("unstable_modes"):
            return np.asarray(np.nan_to_num(self.curve("unstable_modes")) > 0.0)
        if self.has("sign_of_determinant"):
            return np.asarray(np.nan_to_num(self.curve("sign_of_determinant")) < 0.0)
        return np.zeros(count, dtype=bool)

    # ---- the surface

    @property
    def bodies(self) -> list[int]:
        """Numbers, from 1, of the bodies with contact points."""
        if not self.has("body_of_point"):
            return [1]
        return [int(b) for b in np.unique(self.values("body_of_point"))]

    def of_body(self, body: int) -> Ints:
        """Return the indices of a body's contact points, sorted by their surface coordinate."""
        x = self.values("surface_coordinate")
        mine = np.arange(x.size)
        if self.has("body_of_point"):
            mine = np.flatnonzero(self.values("body_of_point") == body)
        return np.asarray(mine[np.argsort(x[mine], kind="stable")])

    def by_contact(self, body: int) -> list[Ints]:
        """Return `of_body`, divided into one array for each contact of the body.

        Verified by: tests/unit/solids/test_figures_by_contact.py::test_contacts_have_lines_apart
        """
        mine = self.of_body(body)
        if not self.has("contact_of_point"):
            return [mine]
        contact = self.values("contact_of_point")[mine]
        return [mine[contact == number] for number in np.unique(contact)]

    @property
    def in_space(self) -> bool:
        """Whether the bodies are three-dimensional."""
        places = self.run.variables.get("drawn_position")
        return places is not None and np.shape(places.values)[-1] == _SPACE

    def active(self, rows: Sequence[int]) -> Bools:
        """Return (point,) which points carry a traction in any of the samples `rows`."""
        found = np.zeros(self.values("surface_coordinate").size, dtype=bool)
        for name in ("normal_traction", "tangential_traction"):
            if self.has(name):
                size = np.abs(np.nan_to_num(self.values(name)[list(rows)]))
                found |= (size > _REACH * max(float(size.max(initial=0.0)), 1e-300)).any(axis=0)
        return found

    def rows(self, times: Sequence[float] | None, most: int = 4) -> list[int]:
        """Return the rows of the samples nearest to `times`, by default `most` evenly spaced ones.

        The default rows cover the part of the run with contact.

        Raises
        ------
        ModelError : if a time lies outside the run.
        """
        if times is not None:
            return [int(np.argmin(np.abs(self.time - t))) for t in _inside(times, self.time)]
        rows = np.arange(self.begin, self.time.size)
        if self.has("contact_length"):
            length = self.curve("contact_length")
            touching = np.flatnonzero(length > 0.01 * np.nanmax(length))
            rows = rows[: touching[-1] + 1] if touching.size else rows
        if rows.size > most:
            rows = rows[style.few(rows.size, most + 1)[1:]]
        return [int(row) for row in rows]

    # ---- the bodies

    @property
    def snapshot_time(self) -> Floats:
        """(s,) times of the snapshots."""
        return self.values("snapshot_time")

    def snapshots(self, times: Sequence[float] | None, most: int = 4) -> list[int]:
        """Return the indices of the snapshots nearest to `times`, by default `most` spaced ones.

        Raises
        ------
        ModelError : if a time lies outside the snapshots.
        """
        taken = self.snapshot_time
        if times is not None:
            return [int(np.argmin(np.abs(taken - t))) for t in _inside(times, taken)]
        driven = np.flatnonzero(taken > self.time[self.begin])
        driven = driven if driven.size else np.arange(taken.size)
        picks = style.few(driven.size, most + 1)
        return [int(driven[k]) for k in (picks[1:] if picks.size > most else picks)]

    @functools.cached_property
    def cells(self) -> Ints:
        """(c, k) drawn points at the corners of each drawn cell."""
        return np.asarray(self.run.variables["drawn_cell"].values, dtype=np.int64)

    @functools.cached_property
    def outlines(self) -> list[Ints]:
        """The drawn points along each closed outline of a body."""
        from stiction.solids.figures.outline import loops, outline

        places = self.values("drawn_position")[0]
        body = np.zeros(places.shape[0], dtype=np.int64)
        if self.has("body_of_drawn"):
            body = self.values("body_of_drawn").astype(np.int64)
        return loops(outline(places, self.cells, body))

    def displacement_at(self, time: float) -> float:
        """Return the prescribed displacement at a `time`, interpolated linearly."""
        return float(np.interp(time, self.time, self.values("displacement")))

    # ---- labels

    @property
    def plain(self) -> bool:
        """Whether the run is dimensionless."""
        return self.run.variables["displacement"].unit == "1"

    def ratio(self, name: str) -> str:
        """Return the symbol of `name` over its unit where the unit has a name: "$u/L_0$".

        Verified by: tests/unit/solids/figures/test_figures.py::test_labels_carry_units
        """
        symbol = _SYMBOLS.get(name, "")
        length = _LENGTHS.get(self.run.system_name, "")
        over = self._over(name)
        if not symbol or not self.plain or not length or not over:
            return f"${symbol}$" if symbol else ""
        return f"${symbol}/{over}$"

    def _over(self, name: str) -> str:
        """Return the unit of `name` in a dimensionless run."""
        units = _OVER_IN_SPACE if self.in_space else _OVER
        units = _OVER_TAPE if self.run.system_name == "TapePeeling" else units
        return units[_KINDS[name]].replace("{L}", _LENGTHS.get(self.run.system_name, ""))

    def place(self, axis: str) -> str:
        """Return the label of a coordinate axis: its name over the unit of length, or with it."""
        ratio = self.ratio("surface_coordinate").replace("X", axis)
        if not self.plain:
            return f"{ratio} (m)"
        return ratio if "/" in ratio else f"{ratio} (dimensionless)"

    def label(self, axis: Axis, name: str, word: str) -> None:
        """Label an axis with a word, the symbol of `name`, and its unit."""
        from stiction.plot.figure import ScaledTicks

        length = _LENGTHS.get(self.run.system_name, "")
        if self.plain and length and not _SYMBOLS.get(name):
            over = self._over(name)
            style.scale_axis(axis, f"{word} / ${over}$" if over else word)
        else:
            units = _UNITS_IN_SPACE if self.in_space else _UNITS
            unit = "" if self.plain else units[_KINDS[name]]
            power, times = _power(axis) if self.plain else (1.0, "")
            symbol = self.ratio(name)
            if times and not symbol:
                symbol = f"$\\times\\,{times}$"
            elif times:
                symbol = symbol.replace("$", f"${times}\\,", 1)
            # without a unit of length, the label of the horizontal axis says "dimensionless"
            alone = self.plain and not length and axis is axis.axes.xaxis
            plain = " (dimensionless)" if alone else ""
            style.scale_axis(axis, f"{word} {symbol}".strip() + plain, unit)
            if times:
                axis.set_major_formatter(ScaledTicks(power))

    def state(self, time: float) -> str:
        """Return the displacement at a time as a label, such as "u = 12.5 L₀"."""
        u = self.displacement_at(time)
        length = _LENGTHS.get(self.run.system_name, "")
        size = self.span[1] - self.span[0]
        digits = int(np.clip(2 - np.floor(np.log10(size)), 0, 12)) if size > 0.0 else 3
        text = f"{u:.{digits}f}" if size >= 1e-2 else f"{u:.4g}"
        text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
        text = "0" if text in ("-0", "") else text.replace("-", "−")
        after = (f"\\,{length}" if length else "") if self.plain else "\\,\\mathrm{m}"
        return f"$u = {text}{after}$"

    def displacement_axis(self, ax: Axes) -> None:
        """Label the horizontal axis as displacement and fit it to the span."""
        ax.set_xlim(*self.span)
        self.label(ax.xaxis, "displacement", "displacement")


def _power(axis: Axis) -> tuple[float, str]:
    """Return the power of ten of the tick labels of small values, and its inverse as a factor."""
    largest = float(np.abs(axis.get_view_interval()).max())
    if not 0.0 < largest < _SMALL:
        return 1.0, ""
    power = 3 * int(np.floor((np.log10(largest) + 1.0) / 3.0))
    return 10.0**power, f"10^{{{-power}}}"


def _inside(times: Sequence[float], known: Floats) -> list[float]:
    """Return `times` as a list after checking that they lie within those of `known`."""
    low, high = float(known[0]), float(known[-1])
    asked = np.atleast_1d(floats_of(times))
    if asked.ndim != 1 or asked.size == 0 or not ((asked >= low) & (asked <= high)).all():
        raise ModelError(
            "plot.times",
            repr(times),
            f"times between {low:.6g} and {high:.6g}",
            "figures show saved states alone.",
            "give times of the run, or leave `times` out for a default selection.",
        )
    return [float(t) for t in asked]

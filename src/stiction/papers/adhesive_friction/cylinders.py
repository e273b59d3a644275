"""Two cylinders that slide across each other: the statements of section 4.2 beside our runs.

At fixed height the upper half cylinder moves over the lower one by u = 0 to 2 R, with adhesion and
the friction models DI (a threshold independent of distance, with a cut-off) and EA (extended
Amontons). The rows compare symmetry, peak forces, the last contact and the stress at the trailing
corner. R = 1 and E = 1: the displacement u is in R, forces are in E R. The paper describes these
curves by words, so the numbers at which a verdict changes are chosen.

A `Row` has what is compared, the number or statement of the paper, ours, and a verdict: holds,
holds partly, or does not hold. Functions with the result `list[Row]` compare one statement each.
F_x is the horizontal, F_y the vertical force.

Source: Mergel, Scheibert, Sauer 2021, section 4.2, Figs. 9 and 10.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stiction.papers.adhesive_friction.cases import Curves, Study
from stiction.papers.adhesive_friction.strip import verdict
from stiction.papers.items import LOST, Row

__all__ = ["cylinder_rows", "figure_9", "figure_10"]

Floats = npt.NDArray[np.float64]


def _curves(study: Study) -> dict[str, Curves]:
    """Return the curves of u from 0 to 2 R by a word such as `EA 0.5`."""
    curves = {}
    for name in study.names("cylinders-"):
        parts = name.split("-")
        if len(parts) == 3:
            curves[f"{parts[1].upper()} {parts[2]}"] = study[name]
    return curves


def _text(values: dict[str, float], form: str = "{:.4g}") -> str:
    return ", ".join(f"{word}: {form.format(value)}" for word, value in values.items())


def _peak(c: Curves) -> float:
    return float(c["force_x"].max())


# ---- Fig. 9: without friction


def figure_9(study: Study) -> list[Row]:
    """Return the statements on symmetry and on the frictionless case."""
    free = study["cylinders-ea-0"]
    u, fx, fy = free["displacement"], free["force_x"], free["force_y"]
    mirror_x = np.interp(2.0 - u, u, fx)
    mirror_y = np.interp(2.0 - u, u, fy)
    odd = float(np.abs(fx + mirror_x).max() / np.abs(fx).max())
    even = float(np.abs(fy - mirror_y).max() / np.abs(fy).max())
    before, after = fx[(u > 0.1) & (u < 0.95)], fx[(u > 1.05) & (u < 1.9)]
    signs = bool(before.size and after.size and before.min() > 0.0 and after.max() < 0.0)
    return [
        Row(
            "frictionless: F_x positive for u < R, negative for u > R (0.1 R to 1.9 R)",
            "yes",
            f"{before.min():+.3g} .. {before.max():+.3g}, {after.min():+.3g} .. {after.max():+.3g}",
            verdict(signs),
        ),
        Row(
            "frictionless: F_x antisymmetric about u = R; largest misfit over the peak",
            "implied",
            odd,
            verdict(odd < 1e-8, odd < 1e-3),
        ),
        Row(
            "frictionless: F_y symmetric about u = R; largest misfit over the peak",
            "implied",
            even,
            verdict(even < 1e-8, even < 1e-3),
        ),
        Row("frictionless: largest F_x [E R]", "figure", _peak(free)),
    ]


# ---- Fig. 10


def figure_10(study: Study) -> list[Row]:
    """Return the statements on forces and stresses with friction."""
    curves = _curves(study)
    return [
        *_levels(curves),
        *_before_detachment(study),
        *_vertical(study, curves),
        *_negative(curves),
        *_surface_stretch(study),
        *_trailing_stress(study),
        *_base(study),
    ]


def _levels(curves: dict[str, Curves]) -> list[Row]:
    """Return the rows on the largest F_x of each law, and on EA 0.5 beside DI 3."""
    peaks = {word: _peak(c) for word, c in curves.items()}
    both = [mu for mu in ("0.5", "0.9") if f"DI {mu}" in peaks and f"EA {mu}" in peaks]
    ratio = {f"mu {mu}": peaks[f"EA {mu}"] / peaks[f"DI {mu}"] for mu in both}
    rows = [
        Row("largest F_x [E R]", "figure", _text(peaks)),
        Row(
            "EA above DI at equal mu: ratio of the largest F_x",
            "considerably larger",
            _text(ratio, "{:.2f}"),
            verdict(all(v > 1.2 for v in ratio.values()), all(v > 1.0 for v in ratio.values())),
        ),
    ]
    if "DI 3" in peaks and "EA 0.5" in peaks:
        near = peaks["DI 3"] / peaks["EA 0.5"]
        a, b = curves["EA 0.5"], curves["DI 3"]
        u = np.linspace(0.1, 1.9, 200)
        one = np.interp(u, a["displacement"], a["force_x"])
        two = np.interp(u, b["displacement"], b["force_x"])
        difference = float(np.sqrt(np.mean((one - two) ** 2)) / one.max())
        rows += [
            Row(
                "EA 0.5 and DI 3: ratio DI / EA of the largest F_x",
                "similar maximum",
                near,
                verdict(abs(near - 1.0) < 0.1, abs(near - 1.0) < 0.25),
            ),
            Row(
                "EA 0.5 and DI 3: root mean square difference of F_x over the peak",
                "rather similar shapes",
                difference,
                verdict(difference < 0.15, difference < 0.3),
            ),
        ]
    return rows


def _before_detachment(study: Study) -> list[Row]:
    """Return the rows on F_x just before the last contact."""
    names = ("cylinders-ea-0.5-far", "cylinders-di-3-far")
    if not all(study.has(name) for name in names):
        return []
    force_late, largest_drop, last_contact = {}, {}, {}
    for word, name in zip(("EA 0.5", "DI 3"), names, strict=True):
        c = study[name]
        u, force = c["displacement"], c["force_x"]
        touching = np.flatnonzero(c["contact_length"] > 0.0)
        last = int(touching[-1])
        last_contact[word] = float(u[last])
        force_late[word] = float(np.interp(u[last] - 0.1, u, force))
        near = (u[1:] > u[last] - 0.3) & (u[1:] < u[last] + 0.3)
        largest_drop[word] = float(np.min(np.diff(force)[near], initial=0.0))
    return [
        Row("last contact at u [R] (run on to 2.6 R)", LOST, _text(last_contact, "{:.3f}")),
        Row(
            "F_x 0.1 R before the last contact: larger for DI [E R]",
            "DI larger",
            _text(force_late),
            verdict(force_late["DI 3"] > force_late["EA 0.5"]),
        ),
        Row(
            "largest fall of F_x in one load step near the end: more abrupt for DI [E R]",
            "DI more abrupt",
            _text(largest_drop),
            verdict(largest_drop["DI 3"] < largest_drop["EA 0.5"]),
        ),
    ]


def _vertical(study: Study, curves: dict[str, Curves]) -> list[Row]:
    """Return the rows on the change of F_y by friction, beside that of F_x."""
    change, sideways = {}, {}
    for word in curves:
        # each beside the frictionless case on the same mesh
        name = f"cylinders-{word.lower().replace(' ', '-')}"
        c, free = study.pair(name, "cylinders-ea-0")
        base = np.abs(free["force_y"]).max()
        change[word] = float(100.0 * (np.abs(c["force_y"]).max() / base - 1.0))
        sideways[word] = 100.0 * (_peak(c) / _peak(free) - 1.0)
    less = [word for word in curves if word != "EA 0"]
    small = [abs(change[w]) for w in less if w in ("DI 0.5", "DI 0.9")]
    holds = all(abs(change[w]) < abs(sideways[w]) for w in less)
    return [
        Row(
            "largest vertical force changes less than the horizontal one, in %",
            "less",
            f"F_y {_text(change, '{:.2f}')}; F_x {_text(sideways, '{:.0f}')}",
            verdict(holds),
        ),
        Row(
            "especially for DI up to 0.9: largest change of F_y, in %",
            "small",
            max(small) if small else "not run",
            verdict(small and max(small) < 2.0),
        ),
    ]


def _negative(curves: dict[str, Curves]) -> list[Row]:
    """Return the rows on the least F_x, and on the displacement of the largest F_x."""
    # at the start the upper cylinder is drawn to the lower one, whatever friction does
    least = {w: float(c["force_x"][c["displacement"] > 0.2].min()) for w, c in curves.items()}
    top = {w: float(c["displacement"][np.argmax(c["force_x"])]) for w, c in curves.items()}
    ea = [w for w in curves if w.startswith("EA")]
    falls = all(least[a] <= least[b] for a, b in pairwise(ea))
    later = all(top[a] <= top[b] for a, b in pairwise(ea))
    return [
        Row(
            "friction reduces negative forces: least F_x from u = 0.2 R on [E R]",
            "yes",
            _text(least),
            verdict(falls, least["EA 0"] < least[ea[-1]]),
        ),
        Row(
            "friction moves the snap-through under load control, the largest F_x, past u = R",
            "reduces it before R",
            _text(top, "{:.2f}"),
            verdict(later and top[ea[-1]] > 1.0, top["EA 0"] < top[ea[-1]]),
        ),
    ]


def _surface_stretch(study: Study) -> list[Row]:
    """Return the row on the influence of the stretch J of the surface on the forces."""
    name = "cylinders-ea-0.5-stretch"
    if not study.has(name):
        return []
    a, b = study.pair("cylinders-ea-0.5", name)
    change = {}
    for force in ("force_x", "force_y"):
        other = np.interp(a["displacement"], b["displacement"], b[force])
        change[force] = float(np.abs(a[force] - other).max() / np.abs(a[force]).max())
    most = max(change.values())
    return [
        Row(
            "J = 1 instead of the surface stretch (EA 0.5): change of forces over the peak",
            "only little influence",
            _text(change, "{:.3f}"),
            verdict(most < 0.03, most < 0.1),
        )
    ]


def _trailing_stress(study: Study) -> list[Row]:
    """Return the rows on the stress yy at the trailing corner over the displacement."""
    rows = []
    for word in ("ea-0", "ea-0.9", "di-0.9"):
        name = f"cylinders-{word}"
        if not study.has(name) or not study[name].stresses:
            continue
        s = study[name].stresses
        u, stress = s["displacement"], s["trailing"]
        best = int(np.argmax(stress))
        begun = stress[1:-1]
        ours = f"{begun.min():+.4f} .. {stress[best]:+.4f}, largest at u = {u[best]:.2f} R"
        if word == "ea-0.9":
            peaks = abs(u[best] - 1.0) < 0.2
            tension = begun.min() > 0.0
            rows.append(
                Row(
                    "EA 0.9: stress yy / E at the trailing corner, mean of the cells there",
                    "always tensile, largest near u = R",
                    ours,
                    verdict(peaks and tension, peaks or tension),
                )
            )
        else:
            label = word.upper().replace("-", " ")
            rows.append(Row(f"{label}: stress yy / E at the trailing corner", "figure", ours))
    return rows


def _base(study: Study) -> list[Row]:
    """Return the rows on the stress yy along the base."""
    rows = []
    for word in ("ea-0", "ea-0.9", "di-0.9"):
        name = f"cylinders-{word}"
        if not study.has(name) or not study[name].base:
            continue
        x, stress = study[name].base["x"], study[name].base["stress_yy"]
        low = int(np.argmin(stress))
        ours = f"{stress[0]:+.4f} left, {stress[-1]:+.4f} right, least {stress[low]:+.4f}"
        label = word.upper().replace("-", " ")
        rows.append(
            Row(
                f"{label}: stress yy / E along the base at u = 0.5 R",
                "figure",
                f"{ours} at x = {x[low]:+.2f} R",
            )
        )
    return rows


def cylinder_rows(study: Study) -> list[Row]:
    """Return all statements of section 4.2."""
    return [*figure_9(study), *figure_10(study)]

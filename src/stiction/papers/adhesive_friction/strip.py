"""Peeling of a strip: the statements of section 4.1 of the paper beside our runs.

A thick strip adheres to a rigid plane and is peeled off at its right end. The rows compare
tractions, the onset of peeling and of sliding, peak forces and the fracture energy for several
friction parameters mu. `verdict` is shared by the other comparisons of this paper.

A `Row` has what is compared, the number or statement of the paper, ours, and a verdict: holds,
holds partly, or does not hold. Functions with the result `list[Row]` compare one statement each. u
is the displacement of the end, L_peel the peeling length [L0]; `ea` and `di` are the curves of both
laws, a dict has those of each mu.

Source: Mergel, Scheibert, Sauer 2021, section 4.1, Figs. 6 to 8.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stiction.papers.adhesive_friction.cases import Curves, Study
from stiction.papers.items import Row

__all__ = ["figure_7", "figure_8", "gamma_at", "nucleation", "strip_curves", "strip_rows"]

Floats = npt.NDArray[np.float64]

# defaults of `StripPeeling`: largest tension [E], work of adhesion [E L0], adhering length [L0]
T_MAX, W_ADH, LENGTH = 0.0617849, 0.0153324, 150.0
# loss of contact length from which a peeling front is counted [L0]
_LOST = 1.0
HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"


def verdict(holds: object, partly: object = False, because: str = "") -> str:
    """Return the words of a verdict: it holds, else it holds partly, else it does not hold."""
    word = HOLDS if holds else (PARTLY if partly else FAILS)
    return f"{word}: {because}" if because else word


def mus_of(study: Study, word: str = "ea") -> dict[float, Curves]:
    """Return the curves of a model at s_cut = 1, by friction parameter."""
    pattern = re.compile(rf"strip-{word}-([\d.]+)")
    curves = {}
    for name in study.names(f"strip-{word}-"):
        match = pattern.fullmatch(name)
        if match is not None:
            curves[float(match[1])] = study[name]
    return dict(sorted(curves.items()))


def strip_curves(study: Study) -> dict[str, Curves]:
    """Return all curves of the strip by name."""
    return {name: study[name] for name in study.names("strip-")}


def first_above(x: Floats, y: Floats, level: float) -> float:
    """Return where y first rises above a level, linearly between rows; NaN if never."""
    above = np.flatnonzero(y > level)
    if not above.size:
        return float("nan")
    i = int(above[0])
    if i == 0:
        return float(x[0])
    return float(x[i - 1] + (x[i] - x[i - 1]) * (level - y[i - 1]) / (y[i] - y[i - 1]))


def nucleation(curves: Curves, lost: float = _LOST) -> float:
    """Return the displacement at which this much contact is lost [L0]."""
    return first_above(curves["displacement"], curves["peeling_length"], lost)


def knee(curves: Curves) -> float:
    """Return the displacement at which a line through the peeling length has its zero [L0].

    The line is fitted where the peeling length lies between 20 and 60 L0.
    """
    u, long = curves["displacement"], curves["peeling_length"]
    part = (long > 20.0) & (long < 60.0)
    if part.sum() < 3:
        return float("nan")
    slope, offset = np.polyfit(u[part], long[part], 1)
    return float(-offset / slope)


def gamma_at(curves: Curves, low: float, high: float) -> Floats:
    """Return the fracture energies between two peeling lengths, over the work of adhesion."""
    long, gamma = curves["peeling_length"], curves["fracture_energy"]
    part = (long >= low) & (long <= high) & np.isfinite(gamma)
    return gamma[part] / W_ADH


def _text(values: dict[float, float], form: str = "{:.3g}") -> str:
    return ", ".join(f"mu {mu:g}: {form.format(v)}" for mu, v in values.items())


# ---- Figs. 6 and 7: tractions


def figure_7(study: Study) -> list[Row]:
    """Return the statements on tractions."""
    ea = study["strip-ea-0.01"]
    rows = [_strength(ea), *_fronts(ea), _repulsion(ea)]
    if study.has("strip-di-0.01"):
        rows.extend(_plateau(*study.pair("strip-di-0.01", "strip-ea-0.01")))
    return rows


def _strength(ea: Curves) -> Row:
    """Return the row on the displacement at which the tension reaches T_max."""
    u, tension = ea["displacement"], ea["tension"] / T_MAX
    at = first_above(u, tension, 0.99)
    return Row(
        "u at which the tension reaches T_max [L0] (99 %)",
        7.0,
        at,
        verdict(abs(at - 7.0) < 0.7, abs(at - 7.0) < 2.0),
    )


def _fronts(ea: Curves) -> list[Row]:
    """Return the rows on the begin of peeling, by three definitions."""
    begin, one, line = nucleation(ea, 1e-3), nucleation(ea), knee(ea)
    said = "L_peel counts from gap_max, so that it begins where T_max is reached"
    return [
        Row("u at which L_peel > 0 (0.001 L0)", 20.0, begin, f"does not hold: {said}"),
        Row("u at which L_peel = 1 L0", 20.0, one, verdict(abs(one - 20.0) < 4.0)),
        Row(
            "u at which the straight part of L_peel comes from zero",
            20.0,
            line,
            verdict(abs(line - 20.0) < 4.0, abs(line - 20.0) < 8.0),
        ),
    ]


def _repulsion(ea: Curves) -> Row:
    """Return the row on pressure ahead of the peeling front."""
    p = ea.profile(30.0)
    front = float(p["surface_x"][np.argmax(-p["normal_traction"])])
    peak = int(np.argmax(p["normal_traction"]))
    distance = front - float(p["surface_x"][peak])
    ours = f"{p['normal_traction'][peak] / T_MAX:.3f} T_max, {distance:.1f} L0 ahead (u = 30)"
    return Row(
        "repulsive tractions ahead of the peeling front", "yes", ours, verdict(distance > 0.0)
    )


def _plateau(di: Curves, ea: Curves) -> list[Row]:
    """Return the rows on constant shear of DI where it slides, and on DI beside EA."""
    p = di.profile(10.0)
    adheres = p["gap"] < 0.29
    slides = adheres & (p["slides"] == 2.0)
    # tractions are forces per reference area; tau is a force per current area
    shear = np.abs(p["tangential_traction"] / p["stretch"])[slides] / (0.01 * T_MAX)
    ours = f"{shear.min():.4f} to {shear.max():.4f} tau (u = 10)" if shear.size else "none slides"
    q = ea.profile(10.0)
    beside = np.interp(p["coordinate"], q["coordinate"], q["normal_traction"])
    difference = np.abs(p["normal_traction"] - beside).max() / T_MAX
    # both ends are left out: at the start nothing slides, and in the last jump everything does
    u = di["displacement"]
    both = (u > 0.0) & (u < 0.99 * min(_gone(ea), _gone(di)))
    last = np.abs(di["sliding_length"] - np.interp(u, *_slid(ea)))[both].max()
    return [
        Row(
            "DI: tangential traction per current area where it slides below 0.29 L0",
            "constant",
            ours,
            verdict(shear.size and np.ptp(shear) < 0.02, shear.size and np.ptp(shear) < 0.05),
        ),
        Row(
            "DI beside EA: normal tractions, largest difference / T_max (u = 10)",
            "almost identical",
            float(difference),
            verdict(difference < 0.02, difference < 0.1),
        ),
        Row(
            "DI beside EA: sliding lengths, largest difference [L0]",
            "very similar",
            float(last),
            verdict(last < 5.0, last < 15.0),
        ),
    ]


def _gone(curves: Curves) -> float:
    """Return the displacement at which nearly all contact is lost [L0], the last if none."""
    u = nucleation(curves, 0.9 * LENGTH)
    return u if np.isfinite(u) else float(curves["displacement"].max())


def _slid(curves: Curves) -> tuple[Floats, Floats]:
    """Return displacement and sliding length."""
    return curves["displacement"], curves["sliding_length"]


# ---- Fig. 8: forces, fronts, fracture energy


def figure_8(study: Study) -> list[Row]:
    """Return the statements on forces, fronts and fracture energy."""
    ea = mus_of(study)
    return [
        *_sliding_first(ea),
        *_after_nucleation(ea),
        *_earlier(ea),
        *_fracture(ea),
        *_maximum(ea),
        *_against_di(study, ea),
        *_other_cutoffs(study),
    ]


def _sliding_first(ea: dict[float, Curves]) -> list[Row]:
    """Return the rows on full sliding before peeling (mu <= 0.02) or after its begin."""
    slid = {mu: c.numbers["full_sliding_at"] for mu, c in ea.items() if mu}
    line = {mu: nucleation(c) for mu, c in ea.items()}
    small = [mu for mu in slid if mu <= 0.02]
    large = [mu for mu in slid if mu > 0.02]
    first = [mu for mu in small if slid[mu] < line[mu]]
    later = all(not slid[mu] < line[mu] for mu in large)
    before_20 = all(slid[mu] < 20.0 for mu in small) and all(slid[mu] > 20.0 for mu in large)
    lengths = [c.at("peeling_length", 22.0) for mu, c in ea.items() if mu > 0.02]
    said = f"before for mu = {', '.join(f'{mu:g}' for mu in first)}"
    return [
        Row("full sliding at u [L0]", "mu <= 0.02: before peeling", _text(slid)),
        Row(
            "L_peel = 1 L0 at u: varies slightly with mu",
            "slightly, near 20",
            _text(line),
            verdict(np.ptp(list(line.values())) < 5.0 and min(line.values()) > 16.0, True),
        ),
        Row(
            "mu <= 0.02: all of it slides before L_peel = 1 L0",
            "yes",
            said,
            verdict(first == small, first),
        ),
        Row(
            "mu <= 0.02: all of it slides before u = 20, where the paper nucleates; larger: after",
            "yes",
            "yes" if before_20 else "no",
            verdict(before_20),
        ),
        Row(
            "mu > 0.02: peeling begins before all of it slides",
            "yes",
            "yes" if later else "no",
            verdict(later),
        ),
        Row(
            "mu > 0.02: L_peel first independent of mu; spread at u = 22 [L0]",
            "independent",
            float(np.ptp(lengths)) if lengths else "not run",
            verdict(lengths and np.ptp(lengths) < 1.0),
        ),
    ]


def _after_nucleation(ea: dict[float, Curves]) -> list[Row]:
    """Return the rows on the vertical force after the begin of peeling."""
    top = {}
    for mu, c in ea.items():
        top[mu] = float(c["displacement"][np.argmax(c["force_y"])])
    rise = {mu: c.at("force_y", 28.0) / c.at("force_y", 21.0) - 1.0 for mu, c in ea.items()}
    small = all(v < 0.0 for mu, v in rise.items() if mu <= 0.02)
    large = all(v > 0.0 for mu, v in rise.items() if mu > 0.02)
    return [
        Row("largest vertical force at u [L0]", "figure", _text(top)),
        Row(
            "vertical force after u = 20 falls for small mu, rises for the two largest (21 to 28)",
            "yes",
            _text(rise, "{:+.2f}"),
            verdict(small and large, small or large),
        ),
    ]


def _earlier(ea: dict[float, Curves]) -> list[Row]:
    """Return the rows on earlier detachment for larger mu."""
    reach = min(c["peeling_length"].max() for c in ea.values())
    level = min(0.98 * reach, 0.95 * LENGTH)
    at = {mu: nucleation(c, level) for mu, c in ea.items()}
    values = list(at.values())
    gone = {mu: nucleation(c, LENGTH - 1.0) for mu, c in ea.items()}
    gone = {mu: u for mu, u in gone.items() if np.isfinite(u)}
    last = (
        [Row("u at which all but 1 L0 is lost, in a jump [L0]", "figure", _text(gone, "{:.1f}"))]
        if gone
        else []
    )
    return [
        *last,
        Row(
            f"detachment is earlier for larger mu: u at L_peel = {level:.0f} L0",
            "slightly",
            _text(at, "{:.1f}"),
            verdict(np.all(np.diff(values) < 0.0)),
        ),
    ]


def _fracture(ea: dict[float, Curves]) -> list[Row]:
    """Return the rows on the fracture energy over L_peel, and on its jump at full sliding."""
    high = 60.0
    spread, jump = {}, {}
    for mu, c in ea.items():
        if mu < 0.02:
            gamma = gamma_at(c, 20.0, high)
            spread[mu] = float(np.ptp(gamma) / gamma.mean())
        elif mu > 0.02:
            jump[mu] = _jump(c)
    zero = float(np.median(gamma_at(ea[0.0], 20.0, high)))
    mean = {mu: float(np.mean(gamma_at(c, 20.0, high))) for mu, c in ea.items()}
    return [
        Row("mu = 0: fracture energy over W_adh", 1.0, zero, verdict(abs(zero - 1.0) < 1e-3)),
        Row("fracture energy / W_adh, mean over L_peel 20 to 60", "figure", _text(mean)),
        Row(
            "the fracture energy is independent of L_peel for mu < 0.02: spread over L_peel 20 "
            "to 60",
            "essentially",
            _text(spread),
            verdict(max(spread.values()) < 0.1, max(spread.values()) < 0.4),
        ),
        Row(
            "the fracture energy jumps at full sliding for mu > 0.02, by a factor",
            "2 to 5",
            _text(jump),
            verdict(
                all(1.8 <= v <= 5.5 for v in jump.values()), all(v > 1.5 for v in jump.values())
            ),
        ),
    ]


def _jump(c: Curves) -> float:
    """Return the factor by which the fracture energy jumps at full sliding; NaN if unknown."""
    u, gamma, at = c["displacement"], c["fracture_energy"], c.numbers["full_sliding_at"]
    # the fracture energy is a difference quotient over a few rows, which must not span the jump
    before = (u > at - 8.0) & (u < at - 3.0) & np.isfinite(gamma)
    after = (u >= at) & (u < at + 12.0) & np.isfinite(gamma)
    if not before.any() or not after.any():
        return float("nan")
    return float(gamma[after].max() / np.median(gamma[before]))


def _maximum(ea: dict[float, Curves]) -> list[Row]:
    """Return the rows on the mu of the largest fracture energy at each L_peel."""
    longs = np.arange(10.0, 72.5, 2.5)
    table = np.array([[_gamma(c, long) for long in longs] for c in ea.values()])
    mus = list(ea)
    best = np.array([mus[i] for i in table.argmax(axis=0)])
    mine = longs[best == 0.02]
    shown = [float(x) for x in (20.0, 40.0, 60.0)]
    ours = "; ".join(f"{x:.0f}: {best[np.argmin(np.abs(longs - x))]:g}" for x in shown)
    holds = bool(mine.size and mine.min() <= 20.0 and mine.max() >= 60.0)
    where = f"{mine.min():.1f} to {mine.max():.1f}" if mine.size else "nowhere"
    return [
        Row("mu of the largest fracture energy at L_peel = 20, 40, 60 L0", "0.02", ours),
        Row(
            "mu = 0.02 has the largest fracture energy of those run at L_peel [L0]",
            "ca. 20 to 60",
            where,
            verdict(holds, mine.size),
        ),
    ]


def _gamma(c: Curves, long: float) -> float:
    part = np.isfinite(c["fracture_energy"])
    x, y = c["peeling_length"][part], c["fracture_energy"][part]
    return float(np.interp(long, x, y)) / W_ADH if x.size else 0.0


def _against_di(study: Study, ea: dict[float, Curves]) -> list[Row]:
    """Return the row on the difference of the forces of EA and DI at equal mu."""
    differences = {}
    for mu in mus_of(study, "di"):
        if mu in ea:
            ea_curves, di_curves = study.pair(f"strip-ea-{mu:g}", f"strip-di-{mu:g}")
            differences[mu] = max(
                _largest_difference(ea_curves, di_curves, name) for name in ("force_x", "force_y")
            )
    small = [v for mu, v in differences.items() if mu <= 0.02]
    if not small:
        return []
    said = {mu: 100.0 * v for mu, v in differences.items()}
    return [
        Row(
            "EA and DI: largest difference of forces over the peak, in %",
            "not significant",
            _text(said, "{:.2f}"),
            verdict(max(small) < 0.01, max(small) < 0.03),
        )
    ]


def _largest_difference(a: Curves, b: Curves, name: str) -> float:
    """Return the largest difference of a curve of two runs, over its peak."""
    # up to the first of both jumps out of contact: between two jumps the curves are not comparable
    u = np.linspace(0.0, 0.99 * min(_gone(a), _gone(b)), 400)
    one = np.interp(u, a["displacement"], a[name])
    two = np.interp(u, b["displacement"], b[name])
    return float(np.abs(one - two).max() / np.abs(one).max())


def _other_cutoffs(study: Study) -> list[Row]:
    """Return the rows on the change of forces by the cut-off s_cut."""
    rows = []
    for cut, said in ((0.5, "slightly"), (0.0, "very sensitive"), (-0.001, "very sensitive")):
        name = f"strip-ea-0.01-cut-{cut:g}"
        if not study.has(name):
            continue
        base, other = study.pair("strip-ea-0.01", name)
        change = {n: 100.0 * _largest_difference(base, other, n) for n in ("force_x", "force_y")}
        most = max(change.values())
        if cut == 0.5:
            words = verdict(most < 5.0, most < 20.0, "the threshold at g_eq is 0.852 of it")
        else:
            words = verdict(most > 20.0, most > 5.0)
        ours = ", ".join(f"{n} {v:.1f}" for n, v in change.items())
        note = f"; {other.note}" if other.note else ""
        what = f"s_cut = {cut:g} instead of 1 (EA 0.01): change of forces over the peak, in %"
        rows.append(Row(what, said, ours + note, words))
    return rows


def strip_rows(study: Study) -> list[Row]:
    """Return all statements of section 4.1."""
    return [*figure_7(study), *figure_8(study)]

"""Sliding of an adhesive cap: the statements of section 5 of the paper beside our runs.

A soft cap is pressed on a rigid plate and sheared. The paper states how the contact length L_c
decreases with the tangential force F_t from its value L_c0 before shear: L_c = L_c0 - xi F_t^2,
with xi ~ L_c0^beta over several normal forces, and more generally 1 - L_c / L_c0 ~ F_t^eta. `Fit`
computes xi and eta from a run, `fit` computes beta from several; each function `figure_...` returns
the rows of one figure with verdicts. L0 is the unit of length, E Young's modulus.

A `Row` has what is compared, the number or statement of the paper, ours, and a verdict: holds,
holds partly, or does not hold. Functions with the result `list[Row]` compare one statement each.
Loads are normal forces F_n [E L0]; a dict over loads has one `Fit` for each.

Source: Mergel, Scheibert, Sauer 2021, section 5, Figs. 12 to 14 and S1.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stiction.papers.adhesive_friction.cases import Curves, Study
from stiction.papers.adhesive_friction.strip import verdict
from stiction.papers.items import Row

__all__ = [
    "Fit",
    "cap_rows",
    "figure_12",
    "figure_13",
    "figure_14",
    "figure_s1",
    "fit",
    "loads",
    "xi_at",
]

Floats = npt.NDArray[np.float64]

# largest tension of the adhesion law [E]
T_MAX = 0.165
# contact length at pull-off without shear, as the paper gives it [L0]
DETACH = 4.42
_DRY, _SOFT = "cap-dry-", "cap-nu-0.4-"


class Fit:
    """How contact shrinks under shear, from the start of shear to full sliding.

    Parameters
    ----------
    curves : curves of one run of a cap
    low, high : fractions of the largest force between which the exponent eta is fitted [1]

    Attributes
    ----------
    start, end : contact length before shear and at full sliding [L0]
    force : tangential force at full sliding [E L0]
    xi, xi_spread : xi of L = start - xi F^2 by least squares [1/(E^2 L0)], and the root mean square
        misfit over the loss of length [1]
    eta, eta_spread : exponent of 1 - L / start over F, and its misfit in logarithms [1]
    slid : whether the whole contact slides in the end
    rises : largest rise of the contact length in a step before full sliding, over `start` [1]

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Figs. 13 and 14.
    """

    def __init__(self, curves: Curves, low: float = 0.05, high: float = 1.0) -> None:
        long, force = curves["contact_length"], np.abs(curves["force_x"])
        stuck = curves["sticking_length"]
        begin = 1 if stuck[0] <= 0.0 else 0
        ends = np.flatnonzero((stuck[begin + 1 :] <= 0.0) & (stuck[begin:-1] > 0.0))
        self.slid = bool(ends.size)
        # a run that never slides as a whole leaves its branch where contact is least
        last = begin + int(ends[0]) + 2 if ends.size else int(np.argmin(long)) + 1
        long, force = long[:last], force[:last]
        self.length, self.forces = long, force
        self.start, self.end, self.force = float(long[0]), float(long[-1]), float(force[-1])
        lost, square = long[0] - long, force**2
        self.xi = float((lost @ square) / (square @ square))
        misfit = np.sqrt(np.mean((lost - self.xi * square) ** 2))
        self.xi_spread = float(misfit / max(lost.max(), 1e-300))
        part = (force > low * force.max()) & (force <= high * force.max())
        part &= lost > 1e-5 * long[0]
        self.eta = self.eta_spread = float("nan")
        if part.sum() > 3:
            a, b = np.log(force[part]), np.log(lost[part] / long[0])
            slope, offset = np.polyfit(a, b, 1)
            self.eta = float(slope)
            self.eta_spread = float(np.sqrt(np.mean((b - slope * a - offset) ** 2)))
        self.rises = float(np.max(np.diff(long), initial=0.0) / long[0])


def loads(study: Study, start: str) -> dict[float, Curves]:
    """Return the runs whose name is `start` followed by a normal force, by normal force."""
    curves = {}
    for name in study.names(start):
        match = re.fullmatch(re.escape(start) + r"(-?[\d.]+)", name)
        if match is not None:
            curves[float(match[1])] = study[name]
    return dict(sorted(curves.items()))


def _fits(study: Study, start: str) -> dict[float, Fit]:
    return {force: Fit(curves) for force, curves in loads(study, start).items()}


def _in_contact(fits: dict[float, Fit]) -> dict[float, Fit]:
    """Return the cases that are still in contact at full sliding."""
    return {force: f for force, f in fits.items() if f.slid and f.end > 0.0}


def fit(fits: dict[float, Fit]) -> tuple[float, float]:
    """Return beta of xi ~ L^beta by a line in logarithms, and its misfit."""
    long = np.log([f.start for f in fits.values()])
    xi = np.log([f.xi for f in fits.values()])
    if long.size < 2:
        return float("nan"), float("nan")
    slope, offset = np.polyfit(long, xi, 1)
    return float(slope), float(np.sqrt(np.mean((xi - slope * long - offset) ** 2)))


def _text(values: dict[float, float], form: str = "{:.3f}") -> str:
    return ", ".join(f"F_n {force:g}: {form.format(v)}" for force, v in values.items())


# ---- Fig. 12


def figure_12(study: Study) -> list[Row]:
    """Return the statements on tractions at full sliding, without normal force."""
    c = study["cap-0"]
    p = c.profile(float(c["displacement"][-1]))
    touching = p["gap"] < 0.100851  # gap_max at this strength and work
    x, normal = p["surface_x"][touching], p["normal_traction"][touching] / T_MAX
    middle, half = 0.5 * (x.max() + x.min()), 0.5 * (x.max() - x.min())
    left = float(normal[x < middle - 0.7 * half].min())
    right = float(normal[x > middle + 0.7 * half].min())
    shear = (p["tangential_traction"] / p["stretch"])[touching] / T_MAX
    edges = f"{left:.3f} T_max and {right:.3f} T_max"
    return [
        Row(
            "F_n = 0, full sliding: normal traction has negative peaks at both edges",
            "yes",
            edges,
            verdict(left < -0.5 and right < -0.5),
        ),
        Row(
            "F_n = 0, full sliding: shear per current length over tau, median and spread",
            1.0,
            f"{np.median(np.abs(shear)):.4f}, {np.ptp(np.abs(shear)):.3f}",
            verdict(abs(np.median(np.abs(shear)) - 1.0) < 0.01),
        ),
        Row("F_n = 0: contact length before shear [L0]", "figure", Fit(c).start),
    ]


# ---- Fig. 13


def figure_13(study: Study) -> list[Row]:
    """Return the statements on contact under shear, with and without adhesion."""
    adhesive, dry = _fits(study, "cap-"), _fits(study, _DRY)
    return [
        *_shrinks(adhesive),
        *_small_loads(adhesive),
        *_quadratic(adhesive),
        *_dry(dry),
        *_enhancement(adhesive, dry),
        *_control(study, dry),
    ]


def _shrinks(fits: dict[float, Fit]) -> list[Row]:
    """Return the rows on the loss of contact under shear, and on F_t = tau L_c at its end."""
    begins = {force: f.start for force, f in fits.items()}
    lost = {force: 100.0 * (1.0 - f.end / f.start) for force, f in fits.items()}
    rises = max(f.rises for f in fits.values())
    level = {force: f.force / (T_MAX * f.end) for force, f in _in_contact(fits).items()}
    worst = max(abs(v - 1.0) for v in level.values())
    return [
        Row("contact length before shear [L0]", "figure", _text(begins)),
        Row(
            "contact shrinks with tangential force at every load; loss until full sliding, in %",
            "yes",
            _text(lost, "{:.1f}"),
            verdict(min(lost.values()) > 0.0 and rises < 1e-3, min(lost.values()) > 0.0),
        ),
        Row(
            "curves end where F_t = tau L_c: F_t / (tau L_c) at full sliding",
            1.0,
            _text(level, "{:.4f}"),
            verdict(worst < 0.01, worst < 0.05),
        ),
    ]


def _small_loads(fits: dict[float, Fit]) -> list[Row]:
    """Return the rows on contacts that vanish before full sliding, and on the least L_c."""
    in_contact = _in_contact(fits)
    lost = sorted(set(fits) - set(in_contact))
    least = {force: float(fits[force].length.min()) for force in sorted(fits)[:3]}
    words = ", ".join(f"{f:g}" for f in lost) or "none"
    below = min(f.length.min() for f in in_contact.values()) < 0.99 * DETACH
    return [
        Row(
            "the two shortest contacts vanish before full sliding",
            "two",
            f"F_n = {words} of {len(fits)} loads down to {min(fits):g}",
            verdict(len(lost) == 2, len(lost) == 1),
        ),
        Row(
            "common lower limit of the contact length [L0]; smallest at the smallest loads",
            DETACH,
            _text(least, "{:.2f}"),
            verdict(not below, False, "contact continues to slide below it" if below else ""),
        ),
    ]


def _quadratic(fits: dict[float, Fit]) -> list[Row]:
    """Return the rows on the fits L_c = L_c0 - xi F_t^2 and xi ~ L_c0^beta."""
    in_contact = _in_contact(fits)
    spread = {force: 100.0 * f.xi_spread for force, f in in_contact.items()}
    xi = {force: f.xi for force, f in in_contact.items()}
    beta, misfit = fit(in_contact)
    return [
        Row(
            "L_c = L_c0 - xi F_t^2 fits: root mean square misfit over the loss, in %",
            "well-suited",
            _text(spread, "{:.1f}"),
            verdict(max(spread.values()) < 5.0, max(spread.values()) < 10.0),
        ),
        Row("xi [1 / (E^2 L0)]", "figure", _text(xi, "{:.3f}")),
        Row(
            f"beta of xi ~ L_c0^beta, adhesive, nu 0.49 (misfit {misfit:.3f} in ln xi)",
            -3.71,
            beta,
            verdict(abs(beta + 3.71) < 0.15, abs(beta + 3.71) < 0.6),
        ),
    ]


def _dry(dry: dict[float, Fit]) -> list[Row]:
    """Return the rows of the cap without adhesion: loss of contact, and beta."""
    if not dry:
        return []
    lost = {force: 100.0 * (1.0 - f.end / f.start) for force, f in dry.items()}
    start = {force: f.start for force, f in dry.items()}
    beta, misfit = fit(_in_contact(dry))
    return [
        Row("no adhesion: contact length before shear [L0]", "figure", _text(start)),
        Row(
            "no adhesion: the contact shrinks too; loss in %",
            "yes",
            _text(lost, "{:.1f}"),
            verdict(min(lost.values()) > 0.5),
        ),
        Row(
            f"no adhesion: beta (misfit {misfit:.3f} in ln xi)",
            -2.42,
            beta,
            verdict(abs(beta + 2.42) < 0.15, abs(beta + 2.42) < 0.6),
        ),
    ]


def _enhancement(adhesive: dict[float, Fit], dry: dict[float, Fit]) -> list[Row]:
    """Return the rows on xi with adhesion over xi without, at three contact lengths."""
    in_contact, none = _in_contact(adhesive), _in_contact(dry)
    if len(in_contact) < 2 or len(none) < 2:
        return []
    rows = []
    for long, said in ((8.5, 163.0), (15.0, 24.0), (17.0, "negligible")):
        with_, without = xi_at(in_contact, long), xi_at(none, long)
        more = 100.0 * (with_ / without - 1.0)
        if isinstance(said, float):
            words = verdict(abs(more / said - 1.0) < 0.2, more > 0.4 * said)
        else:
            words = verdict(abs(more) < 15.0, abs(more) < 30.0)
        what = f"xi with adhesion over xi without, at L_c0 = {long:g} L0, minus one, in %"
        rows.append(Row(what, said, more, words))
    return rows


def xi_at(fits: dict[float, Fit], long: float) -> float:
    """Return xi at a contact length, by linear interpolation of ln xi over ln L.

    Beyond the range of the data the line through the nearest two points is extended.
    """
    x = np.log([f.start for f in fits.values()])
    y = np.log([f.xi for f in fits.values()])
    at = float(np.log(long))
    i = int(np.clip(np.searchsorted(x, at) - 1, 0, x.size - 2))
    return float(np.exp(y[i] + (y[i + 1] - y[i]) * (at - x[i]) / (x[i + 1] - x[i])))


def _control(study: Study, dry: dict[float, Fit]) -> list[Row]:
    """Return the rows of a linear elastic cap without adhesion, beside the Neo-Hookean one."""
    rows = []
    for name in study.names("cap-linear-dry-"):
        f = Fit(study[name])
        force = float(name.removeprefix("cap-linear-dry-"))
        lost = 100.0 * (1.0 - f.end / f.start)
        other = dry.get(force)
        beside = ""
        if other is not None:
            beside = f"; Neo-Hookean {100.0 * (1.0 - other.end / other.start):.2f}"
        rows.append(
            Row(
                f"linear elastic, nu 0.49, no adhesion, F_n {force:g}: loss of contact in %",
                "does not shrink",
                f"{lost:.2f}{beside}",
                verdict(lost < 0.5, lost < 4.0),
            )
        )
    return rows


# ---- Figs. 14 and S1


def figure_14(study: Study) -> list[Row]:
    """Return the statements on the exponent eta."""
    in_contact = loads(study, "cap-")
    fits = {force: Fit(c) for force, c in in_contact.items()}
    good = _in_contact(fits)
    eta = {force: f.eta for force, f in good.items()}
    upper = {force: Fit(in_contact[force], 0.3).eta for force in good}
    near = max(abs(v - 2.0) for v in eta.values())
    falls = [bool(np.all(np.diff(list(values.values())) < 0.0)) for values in (eta, upper)]
    spread = {force: f.eta_spread for force, f in good.items()}
    said = {(True, True): "", (True, False): "from 5 % on", (False, True): "from 30 % on"}
    return [
        Row(
            "eta, fitted from 5 % of the largest force on",
            "close to 2",
            _text(eta),
            verdict(near < 0.2, near < 0.5),
        ),
        Row("eta, fitted from 30 % of the largest force on", "close to 2", _text(upper)),
        Row(
            "eta falls with the normal force",
            "monotonously",
            "in both fits" if all(falls) else said.get((falls[0], falls[1]), "in neither fit"),
            verdict(all(falls), any(falls)),
        ),
        Row("misfit of eta, root mean square of ln(1 - L_c / L_c0)", "linear", _text(spread)),
    ]


def figure_s1(study: Study) -> list[Row]:
    """Return the statements on a compressible cap."""
    stiff, soft = _in_contact(_fits(study, "cap-")), _in_contact(_fits(study, _SOFT))
    both = sorted(set(stiff) & set(soft))
    if len(both) < 2:
        return []
    longer = {force: soft[force].start / stiff[force].start for force in both}
    stronger = {force: soft[force].force / stiff[force].force for force in both}
    less = {force: soft[force].eta - stiff[force].eta for force in both}
    worse = {force: soft[force].xi_spread / stiff[force].xi_spread for force in both}
    beta, misfit = fit(soft)
    return [
        Row(
            "nu 0.4 over nu 0.49: contact length before shear",
            "slightly larger",
            _text(longer),
            verdict(min(longer.values()) > 1.0, max(longer.values()) > 1.0),
        ),
        Row(
            "nu 0.4 over nu 0.49: tangential force at full sliding",
            "slightly larger",
            _text(stronger),
            verdict(min(stronger.values()) > 1.0, max(stronger.values()) > 1.0),
        ),
        Row(
            f"nu 0.4: beta (misfit {misfit:.3f} in ln xi)",
            -3.54,
            beta,
            verdict(abs(beta + 3.54) < 0.15, abs(beta + 3.54) < 0.6),
        ),
        Row(
            "nu 0.4 less nu 0.49: eta",
            "slightly smaller",
            _text(less, "{:+.3f}"),
            verdict(max(less.values()) < 0.0, min(less.values()) < 0.0),
        ),
        Row(
            "nu 0.4 over nu 0.49: misfit of the quadratic fit",
            "slightly larger",
            _text(worse, "{:.2f}"),
            verdict(min(worse.values()) > 1.0, max(worse.values()) > 1.0),
        ),
    ]


def cap_rows(study: Study) -> list[Row]:
    """Return all statements of section 5."""
    return [
        *figure_12(study),
        *figure_13(study),
        *figure_14(study),
        *figure_s1(study),
    ]

"""Laws of adhesion and friction alone, without bodies: figures 2 to 5 of the paper.

Traction over gap of the Lennard-Jones law, sliding thresholds of the models DI and EA, and the
return map at fixed gaps. The laws themselves, with their formulas, are in `laws.adhesion` and
`laws.adhesive_friction`. Lengths are in r0, tractions in T0 = A_H / (2 pi r0^3), with the Hamaker
constant A_H; g_eq is the gap at zero traction, g_max that at the largest tension T_max.

Source: Mergel, Scheibert, Sauer 2021, Figs. 2 to 5.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.laws import DI, EA, LennardJones
from stiction.laws.return_mapping import return_map
from stiction.papers.adhesive_friction.strip import verdict
from stiction.papers.items import Row

if TYPE_CHECKING:
    from stiction.plot.panels import Panel

__all__ = ["LAW_FIGURES", "draw_law", "law_columns", "law_panels", "law_rows"]

Floats = npt.NDArray[np.float64]
Columns = dict[str, Floats]

LAW_FIGURES = {
    "figure-2": "adhesion: normal traction over the gap",
    "figure-3": "model DI: sliding threshold, and friction law at fixed gaps",
    "figure-4": "model EA: sliding threshold, and friction law at fixed gaps",
    "figure-5": "return map: trial and actual traction at fixed gaps",
}

# lengths in r0, tractions in T0 = A_H / (2 pi r0^3)
_LAW = LennardJones(2.0 * np.pi, 1.0)
_GAPS = np.linspace(0.4, 2.0, 801)
# of Fig. 3: tau = T_max / 2 and g_cut = 1.1 r0; of Fig. 4
_CUT, _TAU, _MU_EA, _CUTS = 1.1, 0.5, 0.2, (0.0, 0.5, 1.0)
# values of order one that are equal differ by less
_ROUNDING = 1e-12
# tangential stiffness of our pictures; the paper states none [T0 / r0]
_STIFF = 5.0


def _di() -> DI:
    s_cut = (_CUT - _LAW.gap_eq) / (_LAW.gap_max - _LAW.gap_eq)
    return DI(_TAU, s_cut)


def law_rows(key: str) -> list[Row]:
    """Return the statements that belong to a figure."""
    return {
        "figure-2": _adhesion_rows,
        "figure-3": _di_rows,
        "figure-4": _ea_rows,
        "figure-5": _return_rows,
    }[key]()


def _equal(what: str, exact: float, found: float) -> Row:
    """Return a row whose verdict holds if both numbers are equal but for rounding."""
    return Row(what, exact, found, verdict(abs(found - exact) < _ROUNDING))


def _adhesion_rows() -> list[Row]:
    """Return the rows of the Lennard-Jones law: zero and maximum of T(g), work of adhesion."""
    work = float(-_LAW.potential(_LAW.gap_eq))
    return [
        _equal("g_eq / r0, zero of the traction", 15.0 ** (-1.0 / 6.0), _LAW.gap_eq),
        _equal("g_max / r0, largest tension", 5.0 ** (-1.0 / 6.0), _LAW.gap_max),
        _equal("T_max / T0", 2.0 * np.sqrt(5.0) / 9.0, _LAW.max_tension),
        _equal("W_adh / (T0 r0)", 15.0 ** (1.0 / 3.0) / 8.0, work),
        Row(
            "regularised below g_eq: W_adh counted from g_eq is unchanged",
            "yes",
            "yes; from a loaded state the stored energy is larger",
            verdict(abs(work - 15.0 ** (1.0 / 3.0) / 8.0) < _ROUNDING),
        ),
    ]


def _di_rows() -> list[Row]:
    """Return the rows of the threshold of DI over the gap."""
    law = _di()
    tau = law.tau(_LAW)
    at_eq = float(law.threshold(_LAW.gap_eq, _LAW)) / tau
    far = float(law.threshold(1.5 * _CUT, _LAW)) / tau
    return [
        _equal("tau_DI / T_max", 0.5, tau / _LAW.max_tension),
        _equal("threshold at g_cut over tau", 0.5, float(law.threshold(_CUT, _LAW)) / tau),
        Row("threshold at g_eq over tau", 1.0, at_eq, verdict(abs(at_eq - 1.0) < 1e-6)),
        Row("threshold at 1.5 g_cut over tau", 0.0, far, verdict(far < 1e-12)),
    ]


def _ea_rows() -> list[Row]:
    """Return the rows of the threshold of EA, for several cut-offs s_cut."""
    rows = []
    for cut in _CUTS:
        law = EA(_MU_EA, cut)
        g = law.gap_cut(_LAW)
        at_eq = float(law.threshold(_LAW.gap_eq, _LAW)) / (_MU_EA * _LAW.max_tension)
        step = 1e-7
        slope = float(law.threshold(g - step, _LAW)) / step
        kink = "no" if slope < 1e-4 else "yes"
        rows += [
            Row(f"s_cut = {cut:g}: g_cut / r0", "figure", g),
            Row(f"s_cut = {cut:g}: threshold at g_eq over mu T_max", "figure", at_eq),
            Row(
                f"s_cut = {cut:g}: kink at g_cut",
                "no" if cut == 1.0 else "yes",
                kink,
                verdict(kink == ("no" if cut == 1.0 else "yes")),
            ),
        ]
    negative = float(EA(_MU_EA, 1.0).threshold(np.linspace(0.4, 0.76, 400), _LAW).min())
    what = "threshold is never negative: its least value"
    rows.append(Row(what, "yes", negative, verdict(negative >= 0.0)))
    return rows


def _return_rows() -> list[Row]:
    """Return the rows of the return map: traction on the threshold, dissipation not negative."""
    law = _di()
    _, made, lost = _mapped(law, _LAW.gap_eq)
    over = np.abs(made).max() / law.tau(_LAW)
    return [
        _equal("largest traction after the return over the threshold", 1.0, float(over)),
        Row(
            "dissipation of a slip, least [T0 r0]",
            "not negative",
            float(lost.min()),
            verdict(lost.min() >= 0.0),
        ),
    ]


def _mapped(law: DI | EA, gap: float) -> tuple[Floats, Floats, Floats]:
    """Return trial traction, traction and dissipation over displacements from -0.3 to 0.3 r0."""
    moved = np.linspace(-0.3, 0.3, 241)
    at = np.full(moved.size, gap)
    mapped = return_map(
        moved[:, None],
        np.zeros((moved.size, 1)),
        law.threshold(at, _LAW),
        law.slope(at, _LAW),
        _STIFF,
    )
    return _STIFF * moved, mapped.traction[:, 0], mapped.dissipation


# ---- curves


def law_columns(key: str) -> Columns:
    """Return the curves of a figure, lengths in r0 and tractions in T0."""
    if key == "figure-2":
        plain = LennardJones(2.0 * np.pi, 1.0, gap_reg=0.4)
        return {
            "gap": _GAPS,
            "traction": plain.traction(_GAPS),
            "traction_regularised": _LAW.traction(_GAPS),
        }
    if key == "figure-3":
        columns = {"gap": _GAPS, "traction": _LAW.traction(_GAPS)}
        columns["threshold_di"] = _di().threshold(_GAPS, _LAW)
        step = np.where(_GAPS < _CUT, _di().tau(_LAW), 0.0)
        return {**columns, "threshold_di_without_regularisation": step}
    if key == "figure-4":
        columns = {"gap": _GAPS, "traction": _LAW.traction(_GAPS)}
        for cut in _CUTS:
            columns[f"threshold_ea_cut_{cut:g}"] = EA(_MU_EA, cut).threshold(_GAPS, _LAW)
        return columns
    trial, _, _ = _mapped(_di(), _LAW.gap_eq)
    columns = {"displacement": trial / _STIFF, "trial": trial}
    for word, law, gap in _fixed():
        columns[word] = _mapped(law, gap)[1]
    return columns


def _fixed() -> list[tuple[str, DI | EA, float]]:
    """Return (name, law, gap) of the return maps that are drawn."""
    ea = EA(_MU_EA, 1.0)
    return [
        ("di_g_max", _di(), _LAW.gap_max),
        ("di_g_cut", _di(), _CUT),
        ("di_1.5_g_cut", _di(), 1.5 * _CUT),
        ("ea_0.5_r0", ea, 0.5),
        ("ea_g_eq", ea, _LAW.gap_eq),
        ("ea_g_max", ea, _LAW.gap_max),
    ]


# how the columns are called in a picture
_WORDS = {
    "traction": "$T_n$",
    "traction_regularised": "$T_n$, regularised",
    "threshold_di": "DI",
    "threshold_di_without_regularisation": "DI, unregularised",
    "threshold_ea_cut_0": "$s_{cut}$ = 0",
    "threshold_ea_cut_0.5": "0.5",
    "threshold_ea_cut_1": "1",
    "di_g_max": "DI, $g_{max}$",
    "di_g_cut": "DI, $g_{cut}$",
    "di_1.5_g_cut": "DI, 1.5 $g_{cut}$",
    "ea_0.5_r0": "EA, 0.5 $r_0$",
    "ea_g_eq": "EA, $g_{eq}$",
    "ea_g_max": "EA, $g_{max}$",
}


def _word(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " "))


def law_panels(key: str) -> list[Panel]:
    """Return what is drawn of a figure."""
    from stiction.plot.panels import Line, Panel

    columns = law_columns(key)
    names = list(columns)
    x = columns[names[0]]
    across = "gap / r0" if names[0] == "gap" else "tangential displacement / r0"
    most = max(1, len(names) - 2)
    lines = [
        # the wall of the law rises out of the picture
        Line(x, np.where(columns[name] > 2.0, np.nan, columns[name]), _word(name), "-", i / most)
        for i, name in enumerate(names[1:])
    ]
    shown = [Panel(across, "traction / T0", lines)]
    if key in ("figure-3", "figure-4"):
        laws = law_columns("figure-5")
        word = "di_" if key == "figure-3" else "ea_"
        shown.append(
            Panel(
                "tangential displacement / r0",
                "tangential traction / T0",
                [
                    Line(laws["displacement"], laws[name], _word(name), "-", i / 2.0)
                    for i, name in enumerate(n for n in laws if n.startswith(word))
                ],
            )
        )
    return shown


def draw_law(key: str, path: Path) -> None:
    """Draw a figure of laws."""
    from stiction.plot.panels import panels

    panels(law_panels(key), columns=len(law_panels(key))).savefig(path, dpi=200)

"""Figures of adhesion and friction laws against the formulas of the paper.

Source: Mergel, Scheibert, Sauer 2021: T_n / T0 = 1 / (45 g^9) - 1 / (3 g^3) for g over r0, with
A_H = 2 pi and r0 = 1; eqs. (14) to (20) for the models DI and EA.
"""

import numpy as np
import pytest

from stiction.papers.adhesive_friction import laws

G_EQ, G_MAX = 15.0 ** (-1.0 / 6.0), 5.0 ** (-1.0 / 6.0)
T_MAX = 2.0 * np.sqrt(5.0) / 9.0


def traction(gap):
    return 1.0 / (45.0 * gap**9) - 1.0 / (3.0 * gap**3)


def test_the_curves_of_adhesion():
    columns = laws.law_columns("figure-2")
    gap = columns["gap"]
    assert (gap[0], gap[-1], gap.size) == (0.4, 2.0, 801)
    np.testing.assert_allclose(columns["traction"], traction(gap), rtol=1e-10)
    outside = gap >= G_EQ
    regular = columns["traction_regularised"]
    np.testing.assert_allclose(regular[outside], traction(gap[outside]), rtol=1e-10, atol=1e-14)
    assert (regular[~outside] <= traction(gap[~outside]) + 1e-12).all()


def test_the_curves_of_thresholds():
    columns = laws.law_columns("figure-3")
    gap = columns["gap"]
    step = columns["threshold_di_without_regularisation"]
    np.testing.assert_allclose(step, np.where(gap < 1.1, 0.5 * T_MAX, 0.0), rtol=1e-12)
    smooth = columns["threshold_di"]
    assert np.interp(1.1, gap, smooth) == pytest.approx(0.25 * T_MAX, rel=1e-3)
    assert (np.diff(smooth) <= 0.0).all()
    columns = laws.law_columns("figure-4")
    for cut in (0.0, 0.5, 1.0):
        limit = G_EQ + cut * (G_MAX - G_EQ)
        shown = columns[f"threshold_ea_cut_{cut:g}"]
        wall = columns["traction"]
        # mu (T_n - T_n(g_cut)) up to g_cut, and nothing beyond
        wanted = np.where(gap < limit, 0.2 * (wall - traction(limit)), 0.0)
        np.testing.assert_allclose(shown, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("word", "threshold"),
    [
        ("ea_0.5_r0", None),
        ("ea_g_eq", 0.2 * T_MAX),
        ("ea_g_max", 0.0),
        ("di_g_cut", 0.25 * T_MAX),
        ("di_1.5_g_cut", 0.0),
    ],
)
def test_the_return_map_cuts_at_the_threshold(word, threshold):
    columns = laws.law_columns("figure-5")
    trial = columns["trial"]
    np.testing.assert_allclose(trial, 5.0 * np.linspace(-0.3, 0.3, 241), atol=1e-14)
    np.testing.assert_allclose(columns["displacement"], trial / 5.0, atol=1e-15)
    if threshold is None:
        wall = laws.law_columns("figure-4")
        threshold = float(np.interp(0.5, wall["gap"], wall["threshold_ea_cut_1"]))
    wanted = np.clip(trial, -threshold, threshold)
    np.testing.assert_allclose(columns[word], wanted, rtol=1e-6, atol=1e-6)


def test_dissipation_is_the_threshold_times_the_slip():
    law = laws._di()
    trial, made, lost = laws._mapped(law, 1.1)
    tau = 0.25 * T_MAX
    slip = np.maximum(np.abs(trial) - tau, 0.0) / 5.0
    np.testing.assert_allclose(lost, tau * slip, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(made, np.clip(trial, -tau, tau), rtol=1e-9, atol=1e-12)


def test_rows_of_the_law_figures():
    ours = {row.what: row.ours for key in laws.LAW_FIGURES for row in laws.law_rows(key)}
    closed = {
        "g_eq / r0, zero of the traction": G_EQ,
        "g_max / r0, largest tension": G_MAX,
        "T_max / T0": T_MAX,
        "W_adh / (T0 r0)": 15.0 ** (1.0 / 3.0) / 8.0,
        "tau_DI / T_max": 0.5,
        "threshold at g_cut over tau": 0.5,
        "threshold at 1.5 g_cut over tau": 0.0,
        "s_cut = 0: g_cut / r0": G_EQ,
        "s_cut = 0.5: g_cut / r0": 0.5 * (G_EQ + G_MAX),
        "s_cut = 1: g_cut / r0": G_MAX,
        "s_cut = 0: threshold at g_eq over mu T_max": 0.0,
        "s_cut = 1: threshold at g_eq over mu T_max": 1.0,
        "s_cut = 0.5: threshold at g_eq over mu T_max": -traction(0.5 * (G_EQ + G_MAX)) / T_MAX,
        "largest traction after the return over the threshold": 1.0,
        # up to a gap of 0.76, shortly before g_max
        "threshold is never negative: its least value": 0.2 * (traction(0.76) - traction(G_MAX)),
    }
    for what, value in closed.items():
        assert ours[what] == pytest.approx(value, rel=1e-6, abs=1e-9), what
    papers = {row.what: row.paper for row in laws.law_rows("figure-2")}
    assert all(papers[w] == pytest.approx(ours[w]) for w in list(closed)[:4])
    kinks = {what: word for what, word in ours.items() if "kink" in what}
    assert list(kinks.values()) == ["yes", "yes", "no"]
    assert ours["threshold at g_eq over tau"] == pytest.approx(1.0, abs=1e-6)
    assert ours["dissipation of a slip, least [T0 r0]"] >= 0.0


@pytest.mark.parametrize("key", list(laws.LAW_FIGURES))
def test_panels_show_the_columns(key):
    columns, panels = laws.law_columns(key), laws.law_panels(key)
    names = list(columns)
    first = panels[0]
    assert first.across == ("tangential displacement / r0" if key == "figure-5" else "gap / r0")
    assert len(first.lines) == len(names) - 1
    for name, line in zip(names[1:], first.lines, strict=True):
        np.testing.assert_array_equal(line.x, columns[names[0]])
        shown = np.isfinite(line.y)
        np.testing.assert_array_equal(line.y[shown], columns[name][shown])
        assert (columns[name][~shown] > 2.0).all()
        assert line.label == laws._word(name)
    shades = [line.shade for line in first.lines]
    # from one end of the colours to the other, and no further
    assert shades == pytest.approx(np.linspace(0.0, 1.0, len(shades)))
    assert len(panels) == (2 if key in ("figure-3", "figure-4") else 1)
    if len(panels) == 2:
        model = "DI" if key == "figure-3" else "EA"
        assert [line.label.partition(",")[0] for line in panels[1].lines] == [model] * 3
        assert [line.shade for line in panels[1].lines] == [0.0, 0.5, 1.0]
    assert laws._word("no_such_name") == "no such name"

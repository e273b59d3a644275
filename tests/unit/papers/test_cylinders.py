"""Statements on two cylinders, judged on curves that are known in closed form."""

import numpy as np
import pytest
from paper_cases import MadeStudy, curves, one

from stiction.papers.adhesive_friction import cylinders, figures

U = np.linspace(0.0, 2.0, 2001)
YES, PARTLY, NO = "holds", "holds partly", "does not hold"


def sine(height, *, up=1.0, shift=0.0, upward=0.0, u=U):
    """F_x a sine of u / R about u = R, F_y a half wave, both with something added."""
    fx = height * np.sin(np.pi * u) + shift
    fy = up * np.sin(0.5 * np.pi * u) + upward * u
    return curves(u, force_x=fx, force_y=fy)


@pytest.mark.parametrize(
    ("shift", "upward", "odd", "even", "verdicts"),
    [
        (0.0, 0.0, 0.0, 0.0, (YES, YES, YES)),
        # a shift d is 2 d off over the peak 2 + d; a slope c is 2 c off, over its own peak
        (4e-4, 0.0, 8e-4 / 2.0004, 0.0, (YES, PARTLY, YES)),
        (4e-3, 0.0, 8e-3 / 2.004, 0.0, (YES, NO, YES)),
        (0.0, 1e-4, 0.0, 2e-4 / 1.0001, (YES, YES, PARTLY)),
        (0.0, 1e-2, 0.0, 2e-2 / 1.01, (YES, YES, NO)),
        (1.0, 0.0, 2.0 / 3.0, 0.0, (NO, NO, YES)),
        (-1.0, 0.0, 2.0 / 3.0, 0.0, (NO, NO, YES)),
    ],
)
def test_symmetry_without_friction(shift, upward, odd, even, verdicts):
    free = sine(2.0, shift=shift, upward=upward)
    signs, odd_row, even_row, peak = cylinders.figure_9(MadeStudy({"cylinders-ea-0": free}))
    assert odd_row.ours == pytest.approx(odd, rel=1e-3, abs=1e-12)
    assert even_row.ours == pytest.approx(even, rel=1e-3, abs=1e-12)
    assert (signs.verdict, odd_row.verdict, even_row.verdict) == verdicts
    assert peak.ours == pytest.approx(2.0 + shift)
    # least and largest of the rows 0.101 to 0.949 and 1.051 to 1.899
    low = 2.0 * np.sin(0.051 * np.pi)
    if not shift:
        assert signs.ours == f"{low:+.3g} .. +2, -2 .. {-low:+.3g}"


def test_curves_are_called_by_model_and_friction():
    names = ("cylinders-ea-0", "cylinders-di-0.5", "cylinders-ea-0.5-far", "strip-ea-0.1")
    found = cylinders._curves(MadeStudy(dict.fromkeys(names, sine(1.0))))
    assert list(found) == ["EA 0", "DI 0.5"]


@pytest.mark.parametrize(
    ("ea", "verdict"),
    [((1.3, 2.6), YES), ((1.3, 2.2), PARTLY), ((1.3, 1.9), NO), ((0.9, 2.6), NO)],
)
def test_both_models_are_compared_at_equal_friction(ea, verdict):
    heights = {"EA 0.5": ea[0], "EA 0.9": ea[1], "DI 0.5": 1.0, "DI 0.9": 2.0, "EA 0.3": 0.7}
    rows = cylinders._levels({word: sine(h) for word, h in heights.items()})
    assert [row.verdict for row in rows] == ["", verdict]
    assert rows[0].ours == ", ".join(f"{word}: {h:.4g}" for word, h in heights.items())
    assert rows[1].ours == f"mu 0.5: {ea[0]:.2f}, mu 0.9: {ea[1] / 2.0:.2f}"


def far(end, slope, drop):
    """A force that falls with a slope, and by a drop in the row after contact ends."""
    u = np.linspace(0.0, 2.6, 261)
    force = 3.0 - slope * u
    force[u > end + 5e-3] -= drop
    return curves(u, force_x=force, contact_length=np.where(u < end + 5e-3, 1.0, 0.0))


@pytest.mark.parametrize(
    ("slope", "drop", "verdicts"),
    [((0.5, 0.2), (0.1, 0.4), (YES, YES)), ((0.2, 0.5), (0.4, 0.1), (NO, NO))],
)
def test_the_last_contact(slope, drop, verdicts):
    names = ("cylinders-ea-0.5-far", "cylinders-di-3-far")
    assert cylinders._before_detachment(MadeStudy({names[0]: far(2.0, 0.1, 0.1)})) == []
    study = MadeStudy(
        {n: far(e, s, d) for n, e, s, d in zip(names, (2.2, 2.0), slope, drop, strict=True)}
    )
    off, late, fall = cylinders._before_detachment(study)
    assert off.ours == "EA 0.5: 2.200, DI 3: 2.000"
    # 0.1 R before contact ends
    before = [3.0 - s * (e - 0.1) for s, e in zip(slope, (2.2, 2.0), strict=True)]
    assert late.ours == f"EA 0.5: {before[0]:.4g}, DI 3: {before[1]:.4g}"
    most = [-d - 0.01 * s for d, s in zip(drop, slope, strict=True)]
    assert fall.ours == f"EA 0.5: {most[0]:.4g}, DI 3: {most[1]:.4g}"
    assert (late.verdict, fall.verdict) == verdicts


@pytest.mark.parametrize(
    ("di", "ea", "verdicts"),
    [
        # factors of F_y and F_x beside the frictionless case
        ((1.01, 1.5), (1.2, 3.0), (YES, YES)),
        ((1.03, 1.5), (1.2, 3.0), (YES, NO)),
        ((0.97, 1.5), (1.2, 3.0), (YES, NO)),
        ((1.01, 1.005), (1.2, 3.0), (NO, YES)),
        ((1.01, 1.5), (1.5, 1.4), (NO, YES)),
    ],
)
def test_vertical_forces_change_less_than_horizontal_ones(di, ea, verdicts):
    study = MadeStudy({
        "cylinders-ea-0": sine(2.0),
        "cylinders-di-0.5": sine(2.0 * di[1], up=di[0]),
        "cylinders-ea-0.5": sine(2.0 * ea[1], up=ea[0]),
    })  # fmt: skip
    less, small = cylinders._vertical(study, cylinders._curves(study))
    change, sideways = (100.0 * (f - 1.0) for f in (di[0], di[1]))
    assert f"DI 0.5: {change:.2f}, EA 0.5: {100.0 * (ea[0] - 1.0):.2f}; F_x" in less.ours
    assert f"DI 0.5: {sideways:.0f}, EA 0.5: {100.0 * (ea[1] - 1.0):.0f}" in less.ours
    assert small.ours == pytest.approx(abs(change))
    assert (less.verdict, small.verdict) == verdicts
    # nobody ran a case of DI
    del study["cylinders-di-0.5"]
    assert cylinders._vertical(study, cylinders._curves(study))[1].ours == "not run"


def pushed(least, top):
    """A force with its least value at u = 0.5 and its largest at `top`; far below at the start."""
    force = np.where(U < 0.2, -9.0, 0.0)
    force[np.argmin(np.abs(U - 0.5))] = least
    force[np.argmin(np.abs(U - top))] = 5.0
    return curves(U, force_x=force)


@pytest.mark.parametrize(
    ("least", "top", "verdicts"),
    [
        ((-3.0, -2.0, -1.0), (0.8, 0.9, 1.2), (YES, YES)),
        ((-3.0, -1.0, -2.0), (0.8, 1.3, 1.2), (PARTLY, PARTLY)),
        ((-1.0, -2.0, -3.0), (0.9, 0.8, 0.7), (NO, NO)),
        ((-2.0, -3.0, -2.0), (0.7, 0.8, 0.9), (NO, PARTLY)),
    ],
)
def test_friction_reduces_negative_forces(least, top, verdicts):
    words = ("EA 0", "EA 0.1", "EA 0.5")
    made = {w: pushed(a, b) for w, a, b in zip(words, least, top, strict=True)}
    made["DI 0.5"] = pushed(-9.0, 0.3)
    falls, later = cylinders._negative(made)
    reported = ", ".join(f"{w}: {v:.4g}" for w, v in zip(made, (*least, -9.0), strict=True))
    assert falls.ours == reported
    assert later.ours == ", ".join(f"{w}: {v:.2f}" for w, v in zip(made, (*top, 0.3), strict=True))
    assert (falls.verdict, later.verdict) == verdicts


@pytest.mark.parametrize(
    ("dx", "dy", "verdict"),
    [(0.02, 0.01, YES), (0.02, 0.05, PARTLY), (-0.05, 0.01, PARTLY), (0.2, 0.01, NO)],
)
def test_the_surface_stretch_hardly_matters(dx, dy, verdict):
    study = MadeStudy({"cylinders-ea-0.5": sine(2.0, up=3.0)})
    assert cylinders._surface_stretch(study) == []
    other = np.linspace(0.0, 2.0, 4001)
    study["cylinders-ea-0.5-stretch"] = sine(2.0 * (1 + dx), up=3.0 * (1 + dy), u=other)
    (row,) = cylinders._surface_stretch(study)
    assert row.ours == f"force_x: {abs(dx):.3f}, force_y: {abs(dy):.3f}"
    assert row.verdict == verdict


def stressed(stress, u=(0.0, 0.5, 0.9, 1.5, 2.0), base=None):
    made = sine(1.0)
    made.stresses.update(displacement=np.array(u), trailing=np.array(stress))
    if base is not None:
        made.base.update(x=np.array(base[0]), stress_yy=np.array(base[1]))
    return made


@pytest.mark.parametrize(
    ("stress", "verdict", "ours"),
    [
        # neither the first nor the last row is looked at for the sign
        ([-1.0, 0.1, 0.3, 0.2, -1.0], YES, "+0.1000 .. +0.3000, largest at u = 0.90 R"),
        ([-1.0, -0.1, 0.3, 0.2, 0.0], PARTLY, "-0.1000 .. +0.3000, largest at u = 0.90 R"),
        ([-1.0, 0.1, 0.2, 0.3, 0.0], PARTLY, "+0.1000 .. +0.3000, largest at u = 1.50 R"),
        ([-1.0, -0.1, 0.2, 0.3, 0.0], NO, "-0.1000 .. +0.3000, largest at u = 1.50 R"),
    ],
)
def test_stress_at_the_trailing_corner(stress, verdict, ours):
    study = MadeStudy({"cylinders-ea-0.9": stressed(stress), "cylinders-di-0.9": stressed(stress)})
    study["cylinders-ea-0"] = sine(1.0)
    rows = cylinders._trailing_stress(study)
    assert [row.what.partition(":")[0] for row in rows] == ["EA 0.9", "DI 0.9"]
    assert [row.ours for row in rows] == [ours, ours]
    assert [row.verdict for row in rows] == [verdict, ""]


def test_stress_along_the_base():
    base = ([-1.0, 0.25, 1.0], [0.1, -0.5, 0.2])
    study = MadeStudy({"cylinders-ea-0.9": stressed([0.0] * 5, base=base)})
    study["cylinders-di-0.9"] = sine(1.0)
    (row,) = cylinders._base(study)
    assert row.what == "EA 0.9: stress yy / E along the base at u = 0.5 R"
    assert row.ours == "+0.1000 left, +0.2000 right, least -0.5000 at x = +0.25 R"


def test_all_statements_are_reported():
    study = MadeStudy({"cylinders-ea-0": sine(2.0), "cylinders-ea-0.5": sine(4.0)})
    rows = cylinders.cylinder_rows(study)
    assert one(rows, "frictionless: largest F_x").ours == pytest.approx(2.0)
    assert one(rows, "largest F_x").ours == "EA 0: 2, EA 0.5: 4"
    assert len(rows) == 4 + 2 + 2 + 2


def test_a_curve_has_one_name_and_one_shade_in_the_whole_figure():
    names = [f"cylinders-{w}" for w in ("ea-0", "ea-0.3", "ea-0.9", "di-0.5", "di-0.9", "di-3")]
    ea, di, vertical, _ = figures._cylinder_panels(MadeStudy(dict.fromkeys(names, sine(1.0))))
    words = [name.removeprefix("cylinders-").replace("-", " ") for name in names]
    assert [line.label for line in vertical.lines] == words
    assert not any(line.legend for line in vertical.lines)
    shades = {line.label: line.shade for line in vertical.lines}
    assert len(set(shades.values())) == len(names)
    assert {line.label: line.shade for panel in (ea, di) for line in panel.lines} == shades

"""Curves of two-folds and of the boundaries between cases, against closed forms."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest
from numba import carray
from references import reference
from scipy.optimize import brentq

from stiction.errors import ModelError, SolveError
from stiction.exact import switching as exact
from stiction.numerics.callback import address_of
from stiction.switching.model import Compiled, SwitchingSystem
from stiction.switching.presets import BeltOscillator, NormalForm
from stiction.switching.two_folds.curves import (
    BOUNDARIES,
    continue_boundary,
    continue_two_fold,
)
from stiction.switching.wheel.model import WheelOnTurntable

PAPER = exact.Turntable(1.0, 1.0, 1e-3, 1e-3, 0.05, 0.1, -1.0, 1.0, -0.75 * np.pi)
SPANS = ((0.1059, 0.3059), (-1.097, -1.007))


def bent_field(x_at, s_at, p_at, out_at):
    """f+ = (-y, 1, -1.2), f- = (L-, -1.5, 1)."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (3,))
    if s[0] > 0.0:
        out[0], out[1], out[2] = -x[1], 1.0, -1.2
    else:
        out[0] = x[2] * x[2] + p[1] * p[0] + p[2] * (p[0] * p[0] - 1.0)
        out[1], out[2] = -1.5, 1.0


def bent_surface(x_at, s_at, p_at, out_at):
    x, out = carray(x_at, (3,)), carray(out_at, (1,))
    out[0] = x[0]


@functools.cache
def bent_functions():
    return address_of(bent_field), address_of(bent_surface)


@dataclass(frozen=True, eq=False)
class Bent(SwitchingSystem):
    """L- = z^2 + linear p + round (p^2 - 1)."""

    p: float
    linear: float = 0.0
    round: float = 0.0
    x0: tuple[float, ...] | None = None
    mode: str | None = None

    @property
    def state_names(self):
        return ("x", "y", "z")

    def compile(self):
        keep = bent_functions()
        return Compiled(
            field=int(keep[0].address),
            surface=int(keep[1].address),
            gradient=0,
            power=0,
            params=np.array([self.p, self.linear, self.round]),
            n=3,
            m=1,
            scale=np.ones(3),
            keep=keep,
        )


@pytest.mark.parametrize(
    ("start", "step"), [(-1.2, 0.2), (-2.0 / 3.0, 0.1), (-1.0, 0.5), (-1.0, 50)]
)
def test_changes_on_the_normal_form(start, step):
    curve = continue_two_fold(
        lambda p: NormalForm(p, -1.5), (0.1, 0.1, 0.1), start=start, span=(-2.0, 2.0), step=step
    )
    assert curve.ended == ("the parameter reached -2", "the parameter reached 2")
    assert (np.diff(curve.parameter) > 0.0).all()
    assert np.allclose([point.J1 for point in curve.points], curve.parameter, atol=1e-12)
    assert [change.boundary for change in curve.changes] == ["J1 J2 = 1", "J1 = 0", "J1 + J2 = 0"]
    places = [change.parameter for change in curve.changes]
    assert np.allclose(places, [-2.0 / 3.0, 0.0, 1.5], atol=1e-11)
    assert [(change.before, change.after) for change in curve.changes] == [(1, 3), (3, 3), (3, 3)]


def test_a_point_on_a_boundary_hides_no_change():
    # from an end of the span; the fifth point is on the boundary
    curve = continue_two_fold(
        lambda p: NormalForm(p, -1.0), (0.1, 0.1, 0.1), start=-2.0, span=(-2.0, 0.0), step=0.125
    )
    assert (np.diff(curve.parameter) > 0.0).all()
    changes = [(change.boundary, change.before, change.after) for change in curve.changes]
    assert changes == [("J1 J2 = 1", 1, 3)]
    assert abs(curve.changes[0].parameter + 1.0) < 1e-11


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"spans": ((-0.1, 0.1),), "start": (0.01,)}, "spans"),
        ({"spans": 3}, "spans"),
        ({"start": 3.0}, "start"),
        ({"boundary": ["J1 = 0"]}, "boundary"),
    ],
)
def test_what_two_parameters_need(changed, word):
    given = {"boundary": "J1 = 0", "start": (0.01, -1.0), "spans": ((-0.1, 0.1), (-1.05, -0.95))}
    with pytest.raises(ModelError, match=f"continue_boundary.{word}"):
        continue_boundary(NormalForm, guess=(0.1, 0.1, 0.1), **given | changed)


def test_boundaries_of_the_normal_form():
    for name, start, where in (
        ("J1 J2 = 1", (-1.2, -1.0), lambda p: p[:, 0] * p[:, 1] - 1.0),
        ("J1 = 0", (0.1, -1.0), lambda p: p[:, 0]),
        ("J2 = 0", (-1.0, -0.1), lambda p: p[:, 1]),
        ("J1 + J2 = 0", (-1.0, 1.1), lambda p: p[:, 0] + p[:, 1]),
    ):
        curve = continue_boundary(
            NormalForm,
            name,
            (0.1, 0.1, 0.1),
            start=start,
            spans=((-3.0, 2.0), (-3.0, 2.0)),
            step=0.2,
        )
        assert np.abs(where(curve.parameters)).max() <= 1e-10
        assert np.abs(curve.x).max() <= 1e-11
        # from border to border
        assert all("reached" in end for end in curve.ended)


def test_changes_of_the_wheel():
    def wheel(r):
        return WheelOnTurntable.at_two_fold(r, -1.037)

    start = (0.1859, -0.0301217, -1.037)
    curve = continue_two_fold(wheel, start, start=0.1859, span=SPANS[0], step=0.3)
    assert len(curve.points) > 5
    known = exact.wheel_two_fold(PAPER, curve.parameter, -1.037)
    assert np.allclose([point.x[0] for point in curve.points], curve.parameter, atol=1e-10)
    assert np.allclose([point.Kpp for point in curve.points], known.kpp, rtol=1e-8, atol=1e-13)
    edge = brentq(lambda r: float(exact.wheel_two_fold(PAPER, r, -1.037).kpp), 0.1059, 0.15)
    assert [change.boundary for change in curve.changes] == ["K++ = 0"]
    assert curve.changes[0].parameter == pytest.approx(edge, rel=1e-10)
    assert (curve.changes[0].before, curve.changes[0].after) == ("visible-invisible", 1)


def test_boundaries_of_the_wheel():
    """K++ = 0 bounds the region of Fig. 4(c); the flags of the reference grid agree with it."""
    fig4 = reference("switching.json")["fig4_rows"]
    curve = continue_boundary(
        WheelOnTurntable.at_two_fold,
        "K++ = 0",
        (0.1114, -0.032, -1.037),
        start=(0.1114, -1.037),
        spans=SPANS,
        step=0.1,
    )
    r, omega = curve.parameters.T
    known = exact.wheel_two_fold(PAPER, r, omega)
    assert np.abs(known.kpp / known.kmm).max() <= 1e-9
    assert np.allclose(curve.x, np.stack([r, known.v, omega], axis=1), atol=1e-10)
    assert all("reached" in end for end in curve.ended)
    order = np.argsort(omega)
    inside = [w for w in fig4["omega_star"] if omega.min() < w < omega.max()]
    assert len(inside) >= 7
    for w in inside:
        edge = np.interp(w, omega[order], r[order])
        flags = fig4["flags"]["c"][fig4["omega_star"].index(w)]
        assert [bool(flag) for flag in flags] == [place > edge for place in fig4["r_star"]]


def test_around_a_turn():
    """L- = z^2 - p has two two-folds for p > 0, none for p < 0."""
    curve = continue_two_fold(
        lambda p: Bent(p, linear=-1.0),
        (0.0, 0.0, 0.6),
        start=0.36,
        span=(-1.0, 0.5),
        step=0.3,
    )
    z = np.array([point.x[2] for point in curve.points])
    assert np.allclose(z**2, curve.parameter, atol=1e-10)
    assert sorted(z[[0, -1]]) == pytest.approx([-np.sqrt(0.5), np.sqrt(0.5)], abs=1e-10)
    assert curve.ended == ("the parameter reached 0.5",) * 2
    change = next(change for change in curve.changes if change.boundary == "K-- = 0")
    assert change.parameter == pytest.approx(0.0, abs=1e-10)
    assert {change.before, change.after} == {1, "visible-invisible"}


def test_a_closed_curve_is_closed():
    curve = continue_two_fold(
        lambda p: Bent(p, round=1.0),
        (0.0, 0.0, 0.8),
        start=0.6,
        span=(-2.0, 2.0),
        step=0.3,
    )
    z = np.array([point.x[2] for point in curve.points])
    assert np.allclose(z**2 + curve.parameter**2, 1.0, atol=1e-10)
    assert curve.ended == ("the curve is closed",) * 2
    assert np.ptp(z) > 1.9


def test_work_is_bounded():
    curve = continue_two_fold(
        lambda p: NormalForm(p, -1.5),
        (0.1, 0.1, 0.1),
        start=0.0,
        span=(-9.0, 9.0),
        step=1e-3,
        max_points=4,
    )
    assert len(curve.points) == 7
    assert curve.ended == ("the allowed number of points, 4",) * 2


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"make_system": 3}, ModelError, "make_system"),
        ({"make_system": lambda p, q: "wheel"}, ModelError, "switching system"),
        ({"make_system": lambda p, q: BeltOscillator()}, ModelError, "at least 3 states"),
        ({"boundary": "J1J2 = 1"}, ModelError, "J1 J2 = 1"),
        ({"start": (-5.0, -1.0)}, ModelError, "inside"),
        ({"start": (np.nan, -1.0)}, ModelError, "start"),
        ({"spans": ((0.0, -3.0), (-3.0, 0.0))}, ModelError, "lower end"),
        ({"spans": ((-3.0, 0.0), (-3.0, np.inf))}, ModelError, "span"),
        ({"step": 0.0}, ModelError, "step"),
        ({"max_points": 1}, ModelError, "max_points"),
        ({"boundary": "K++ = 0"}, SolveError, "near"),
    ],
)
def test_bad_input_is_refused(change, error, word):
    settings = {
        "make_system": NormalForm,
        "boundary": "J1 J2 = 1",
        "guess": (0.1, 0.1, 0.1),
        "start": (-1.0, -1.2),
        "spans": ((-3.0, -0.1), (-3.0, -0.1)),
    }
    with pytest.raises(error, match=word):
        continue_boundary(**(settings | change))


def test_boundaries_vanish_where_they_say():
    """Each polynomial in K against J1 and J2 of the normal form."""
    k = np.array([[-4.0, 0.6], [-3.0, 9.0]])
    j1, j2 = -3.0 / 6.0, -0.6 / 6.0
    assert BOUNDARIES["J1 J2 = 1"](k) == pytest.approx(36.0 * (1.0 - j1 * j2))
    assert BOUNDARIES["J1 = 0"](k) == pytest.approx(6.0 * j1)
    assert BOUNDARIES["J2 = 0"](k) == pytest.approx(-6.0 * j2)
    assert BOUNDARIES["J1 + J2 = 0"](k) == pytest.approx(6.0 * (j1 + j2))
    assert (BOUNDARIES["K++ = 0"](k), BOUNDARIES["K-- = 0"](k)) == (-4.0, 9.0)

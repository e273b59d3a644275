"""The wheel's local formulas against reference numbers of forty digits."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from references import reference

from stiction.exact import switching as exact
from stiction.switching.wheel.line import line_changes
from stiction.switching.wheel.model import WheelOnTurntable

NUMBERS = {
    "v": "v_star",
    "g": "g_star",
    "kappa": "kappa",
    "k2": "k2",
    "kpp": "Kpp",
    "kpm": "Kpm",
    "kmp": "Kmp",
    "kmm": "Kmm",
    "j1": "J1",
    "j2": "J2",
}


@pytest.fixture(scope="module")
def numbers():
    return reference("switching.json")


def test_two_fold_reference(numbers):
    wheel = WheelOnTurntable.at_two_fold(0.1859, -1.037)
    placed = wheel.two_folds_at(0.1859, -1.037)
    solved = wheel.two_fold_state()
    paper = int(np.argmin(np.abs(solved.r - 0.1859)))
    for name, key in NUMBERS.items():
        wanted = float(numbers[key])
        assert_allclose(getattr(placed, name), wanted, rtol=1e-12, err_msg=name)
        assert_allclose(getattr(solved, name)[paper], wanted, rtol=1e-12, err_msg=name)
    wanted = [float(numbers["lambda1"]), float(numbers["lambda2"])]
    assert_allclose(placed.eigenvalues, wanted, rtol=1e-12)
    assert_allclose(placed.rates, [float(a) for a in numbers["desing_eigs"]], rtol=1e-12)
    assert int(placed.case) == numbers["case"] == 1
    assert_allclose(solved.states[paper], [0.1859, float(numbers["v_star"]), -1.037], rtol=1e-13)


def test_defaults_are_the_paper(numbers):
    wheel, given = WheelOnTurntable(), numbers["parameters"]
    for name in ("d", "m", "c1", "c2", "beta", "r0", "omega0", "mu"):
        assert getattr(wheel, name) == given[name]
    assert_allclose(wheel.gamma, -3.0 * np.pi / 4.0, rtol=1e-16)
    assert_allclose(wheel.kappa, float(numbers["kappa"]), rtol=1e-16)
    assert_allclose(wheel.k2, float(numbers["k2"]), rtol=1e-16)


def test_fig4_flags(numbers):
    rows = numbers["fig4_rows"]
    wheel = WheelOnTurntable()
    flags = wheel.fig4_flags(rows["r_star"], rows["omega_star"])
    for name, wanted in rows["flags"].items():
        assert_array_equal(flags[name], np.array(wanted, dtype=bool), err_msg=name)
    assert_array_equal(flags["all"], np.all([np.array(a) for a in rows["flags"].values()], axis=0))
    # a fine grid against the closed forms, which differentiate A and B instead of the field
    r, omega = np.linspace(0.1013, 0.31, 60), np.linspace(-1.1, -1.003, 50)
    table = exact.Turntable(
        1.0, 1.0, 1e-3, 1e-3, 0.05, 0.1, -1.0, 1.0, wheel.gamma
    )  # fmt: skip
    flags = wheel.fig4_flags(r, omega)
    for name, wanted in exact.wheel_two_fold(table, r[None, :], omega[:, None]).flags.items():
        assert_array_equal(flags[name], wanted, err_msg=name)


def test_thresholds_of_the_line():
    # formulas sheet, section 7: all digits printed there
    wheel = WheelOnTurntable()
    changes = wheel.line_changes(0.1, 0.7)
    found = {(change.lost, change.gained): change.r for change in changes}
    printed = {
        ((), ("escape 0+ out", "slip -+ out")): (0.1028811, 5e-8),
        ((), ("slip ++ in", "slip ++ in")): (0.1510099023, 5e-11),
        (("escape 0+ out",), ("escape 0+ in",)): (0.1821703734, 5e-11),
        (("slide 0- out",), ("slide 0- in",)): (0.1833821706, 5e-11),
        (("escape 0+ in", "slip ++ in"), ()): (0.1839663536, 5e-11),
        (("slide 0- in",), ("slide 0- out",)): (0.6129, 5e-5),
    }
    for change, (place, half_digit) in printed.items():
        assert abs(found[change] - place) <= half_digit
    # two more, where a single orbit per point moves on to another sign of g
    assert (("slip -+ in",), ("slip -- in",)) in found
    assert (("slip ++ in",), ("slip +- in",)) in found
    assert len(changes) == len(found) == 8


def test_the_direction_of_sliding_changes_once_where_the_branches_intersect():
    # r = 0 is a sample of one span; next to it rates are zero within rounding
    for low in (-1e-3, -1.1e-3):
        (change,) = line_changes(WheelOnTurntable(), low, 1e-3, 40)
        assert abs(change.r) < 1e-15
        assert change.lost == ("slide 0+ out", "slide 0- in")
        assert change.gained == ("slide 0+ in", "slide 0- out")
    assert line_changes(WheelOnTurntable(), 1e-3, -1e-3, 40)[0].lost == change.lost


def test_merging_rays_of_the_line():
    wheel = WheelOnTurntable()
    first = next(c for c in wheel.line_changes(0.14, 0.16) if "slip ++ in" in c.gained)
    rays = [ray for ray in wheel.line_rays(first.r) if ray.label == "slip ++ in"]
    assert len(rays) == 2
    for ray in rays:
        # reason: two roots about to merge are only the square root of rounding apart
        assert abs(ray.ratio - 1.33845) < 5e-6
    attracting = [
        next(ray for ray in wheel.line_rays(r) if ray.label == "slip ++ in" and ray.attracting)
        for r in (first.r + 1e-9, 0.16, 0.17, 0.18, 0.1839663536 - 1e-9)
    ]
    growth = [ray.growth for ray in attracting]
    assert growth == sorted(growth, reverse=True)
    assert round(growth[0], 4) == -0.0215
    assert round(growth[-1], 4) == -0.0365


def test_rest_with_a_tied_moment():
    # the paper's relation M = kappa F admits rest at one point only, M = -kappa F at another
    wheel = WheelOnTurntable()
    sin, cos = math.sin(wheel.gamma), math.cos(wheel.gamma)
    for sign, place in ((1.0, 0.1821703734), (-1.0, 0.1833821706)):
        r = np.array([place - 5e-11, place + 5e-11])
        pull = wheel.k2 * (wheel.r0 - r) + wheel.m * r * wheel.omega0**2
        force = -pull / sin
        moment = wheel.c1 * wheel.omega0 - wheel.d * pull - force * r * cos
        gap = moment - sign * wheel.kappa * force
        assert gap[0] * gap[1] < 0.0
        assert all("rest" in [ray.kind for ray in wheel.line_rays(float(a))] for a in r)

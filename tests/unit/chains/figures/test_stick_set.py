"""The stick set in projection: a polygon inside the box of intervals."""

import numpy as np
import pytest

from stiction.chains import Chain, Constant
from stiction.chains.figures.data import ChainData
from stiction.chains.figures.stick_geometry import Shadow
from stiction.errors import ModelError
from stiction.laws import Coulomb
from stiction.plot import figures_of

CHAINS = {
    "paper": Chain([1.0, 1.0, 1.0], 20.0, load=Constant(10.0), law=Coulomb(0.05)),
    "uneven": Chain(
        [1.0, 2.0, 4.0, 0.5],
        [20.0, 5.0, 60.0, 9.0, 30.0],
        load=Constant(-7.0),
        law=Coulomb(np.array([0.05, 0.2, 0.1, 0.3])),
        supports="both",
        load_vector=[0.5, 0.0, 0.0, 1.0],
    ),
    "plate": Chain(
        [1.0, 1.0, 2.0],
        20.0,
        law=Coulomb(0.4),
        supports="none",
        plate_stiffness=3.0,
        plate_speed=0.7,
    ),
}


@pytest.fixture(scope="module", params=CHAINS)
def solved(request, make_run):
    chain = CHAINS[request.param]
    return chain, make_run(chain, 1.0, 100, 10)


def push(chain, run, at=-1):
    plate = chain.plate_springs * chain.plate_speed * run.time[at]
    return chain.load_weights * float(chain.load.at(run.time[at])) + plate


def test_polygon_contains_the_equilibria(solved):
    """Support functions agree in every direction: the two convex sets are one."""
    chain, run = solved
    shadow = Shadow(ChainData(run))
    inverse = np.linalg.inv(chain.stiffness_matrix())
    centre = inverse @ push(chain, run)
    angles = np.linspace(0.0, 2.0 * np.pi, 181)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    for i, j in ((0, 1), (1, 2), (0, 2)):
        corners = shadow.polygon(i, j)
        reached = (directions @ corners.T).max(axis=1)
        rows = directions @ inverse[[i, j]]
        wanted = directions @ centre[[i, j]] + np.abs(rows) @ chain.stick_bound
        assert reached == pytest.approx(wanted, rel=1e-11, abs=1e-12)


def test_intervals_are_the_closed_form(baseline):
    """Centre f sum 1/k, half width mu g sum (masses beyond) / k."""
    shadow = Shadow(ChainData(baseline))
    assert shadow.centre == pytest.approx([0.5, 1.0, 1.5], rel=1e-13)
    assert shadow.half_width == pytest.approx(0.05 * 9.81 * np.array([3, 5, 6]) / 20.0, rel=1e-13)


def test_polygon_lies_inside_the_box(solved):
    chain, run = solved
    shadow = Shadow(ChainData(run))
    for i in range(chain.n_mass - 1):
        corners = shadow.polygon(i, i + 1)
        for q, mass in enumerate((i, i + 1)):
            ends = corners[:, q].min(), corners[:, q].max()
            low, high = (shadow.centre[mass] + sign * shadow.half_width[mass] for sign in (-1, 1))
            assert ends == pytest.approx((low, high), rel=1e-12)
        area = polygon_area(corners)
        box = 4.0 * shadow.half_width[i] * shadow.half_width[i + 1]
        assert 0.0 < area < 0.999 * box


def polygon_area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_figure_shows_set_box_path_and_state(baseline):
    figure = figures_of(baseline).stick_set()
    intervals, *pairs = figure.axes
    assert (intervals.get_xlabel(), intervals.get_ylabel()) == ("displacement (m)", "mass")
    assert [ax.get_xlabel() for ax in pairs] == ["x₁ (m)", "x₂ (m)"]
    assert [ax.get_ylabel() for ax in pairs] == ["x₂ (m)", "x₃ (m)"]
    x = baseline.variables["x"].values
    shadow = Shadow(ChainData(baseline))
    for i, ax in enumerate(pairs):
        corners = ax.patches[0].get_xy()[:-1]
        assert np.allclose(corners, shadow.polygon(i, i + 1), rtol=1e-14)
        box, path, state = ax.get_lines()
        assert box.get_xdata().min() == corners[:, 0].min()
        assert np.array_equal(path.get_xdata(), x[:, i])
        assert (state.get_xdata()[0], state.get_ydata()[0]) == (x[-1, i], x[-1, i + 1])


def test_any_time_and_any_pair(ramp):
    figure = figures_of(ramp).stick_set(time=4.0, pairs=[(1, 3)])
    assert "t = 4 s, load 4 N" in figure.texts[0].get_text()
    assert figure.axes[1].get_ylabel().startswith("x₃ (")
    centre = Shadow(ChainData(ramp), int(np.argmin(np.abs(ramp.time - 4.0)))).centre
    assert centre == pytest.approx([0.2, 0.4, 0.6], rel=1e-9)


def test_long_chains_have_few_vertices(huge):
    shadow = Shadow(ChainData(huge))
    assert len(shadow.polygon(0, 9_999)) <= 800
    assert len(figures_of(huge).stick_set().axes) == 4


@pytest.mark.parametrize(
    ("chain", "why"),
    [
        (Chain([1.0, 1.0], 20.0, law=Coulomb(0.1), supports="none"), "without a wall"),
        (Chain([1.0, 1.0], 20.0, law=Coulomb(0.1), belt_speed=0.2), "moving belt"),
    ],
)
def test_no_bounded_set_is_refused(chain, why, make_run):
    run = make_run(chain, 0.1, 100, 10)
    assert "stick_set" not in figures_of(run).default
    with pytest.raises(ModelError, match=why):
        figures_of(run).stick_set()


@pytest.mark.parametrize("pairs", [[(1,)], [(1, 9)], [3], [(0, 1)], [((1, 2), 3)], 5])
def test_wrong_pairs_are_refused(baseline, pairs):
    with pytest.raises(ModelError, match=r"stick_set\.pairs: got"):
        figures_of(baseline).stick_set(pairs=pairs)


def test_one_mass_has_an_interval_only(make_run):
    run = make_run(Chain([1.0], 20.0, load=Constant(1.0), law=Coulomb(0.3)), 0.1, 10, 1)
    figure = figures_of(run).stick_set()
    assert len(figure.axes) == 1
    assert Shadow(ChainData(run)).centre == pytest.approx([0.05])

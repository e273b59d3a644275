"""Figures of papers drawn from plain arrays."""

import matplotlib
import numpy as np
import pytest

import stiction as st
from stiction.switching.figures.line import line_returns
from stiction.switching.figures.local import condition_panels, local_flow
from stiction.switching.figures.surface import recurrence, surface_map, tyre_curves
from stiction.switching.wheel.model import WheelOnTurntable

matplotlib.use("Agg")

ACROSS = np.linspace(-1.0, 1.0, 21)


@pytest.fixture(scope="module")
def field():
    x, y = np.meshgrid(ACROSS, ACROSS)
    region = np.where(x > 0.0, 0, 2)
    return region, (np.where(region == 0, -x, np.nan), np.where(region == 0, -y, np.nan))


def test_local_flow(field):
    _, flow = field
    arc = np.stack([np.sin(np.linspace(0.0, np.pi, 9)), -ACROSS[:9], ACROSS[:9]])
    directions = np.array([[1.0, 0.5], [-1.0, 1.0]])
    figure = local_flow((ACROSS, ACROSS), flow, directions, (-0.1, -2.0), [(1, arc)], [arc])
    plane, space = figure.axes
    assert plane.get_xlabel() == "ξ (scaled)"
    assert [t.get_text() for t in plane.get_legend().get_texts()] == [
        "weak, λ = −0.1000",
        "strong, λ = −2.0000",
    ]
    weak = plane.lines[2].get_xydata()
    assert weak[1] / weak[1, 0] == pytest.approx([1.0, 0.5])
    assert space.name == "3d"


def test_condition_panels():
    r, omega = np.linspace(0.1, 0.3, 8), np.linspace(-1.1, -1.0, 6)
    flags = {name: np.full((6, 8), True) for name in ("b", "c", "d", "e", "f", "g1", "g2", "all")}
    flags["c"][:, :4] = False
    figure = condition_panels(r, omega, flags, (0.2, -1.05))
    assert len(figure.axes) == 8
    shown = figure.axes[2].images[0].get_array()
    assert np.array_equal(shown, flags["c"])
    # every cell has its point in its middle
    assert figure.axes[2].images[0].get_extent() == pytest.approx(
        [0.1 - 0.1 / 7.0, 0.3 + 0.1 / 7.0, -1.11, -0.99]
    )
    assert figure.axes[2].get_xlim() == pytest.approx((0.1, 0.3))
    assert figure.axes[4].get_xlabel() == "r* (m)"


def test_surface_map(field):
    region, flow = field
    orbit = (ACROSS, ACROSS**2, np.zeros(21, dtype=np.int64))
    labels = (("r", "m"), ("v", "m/s"))
    figure = surface_map(
        (ACROSS, ACROSS), region, flow, labels, points=[(0.0, 0.0)], orbit=orbit, line=0.5
    )
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("r (m)", "v (m/s)")
    words = [t.get_text() for t in ax.get_legend().get_texts()]
    assert set(words) == {"sliding", "crossing to h > 0", "line h = g = 0", "two-fold"}
    assert np.array_equal(ax.images[0].get_array(), region)


def test_recurrence(field):
    region, flow = field
    run = st.solve(WheelOnTurntable(), st.EventDriven(), (0.0, 20.0))
    figure = recurrence(
        (ACROSS, ACROSS), region, flow, (0.0, 0.0, 0.0), (1.0, -2.0), {"a": run}, {"a": run}, -1.0
    )
    plane, whole, near = figure.axes
    assert (plane.get_xlabel(), whole.get_zlabel()) == ("r (m)", "h (mm/s)")
    # what comes before the two-fold is not shown near it
    assert len(whole.lines) > len(near.lines)


def test_tyre_curves():
    angle = np.linspace(0.0, 1.5, 50)
    figure = tyre_curves(angle, [("(a)", np.sin(angle), np.sin(3.0 * angle))])
    left, right = figure.axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("force F (N)", "moment M (N m)")
    assert left.lines[0].get_linestyle() == "--"
    low, high = left.get_ylim()
    below, above = right.get_ylim()
    assert low / high == pytest.approx(below / above)


def test_line_returns():
    r = np.linspace(0.15, 0.19, 30)
    after = np.where(r < 0.18, r - 0.001, np.nan)
    figure = line_returns({"slip": (r, after)}, {"to +": np.linspace(0.5, 2.5, 40)})
    left, right = figure.axes
    assert np.array_equal(left.lines[0].get_ydata(), after, equal_nan=True)
    assert left.get_xlabel() == "r on the line (m)"
    assert right.get_xlim() == (0.0, 2.5)

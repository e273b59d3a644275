"""Figures of rigid bodies."""

import numpy as np

import stiction as st
from stiction.bodies.figures.outlines import limits, outlines, support_outlines

B = st.bodies


def test_outlines_stand_where_the_bodies_are():
    bodies = [
        B.RigidBody(B.Box(1.0, 0.5), position=[0.0, 0.25], velocity=[1.0, 0.0]),
        B.RigidBody(B.Disc(0.2), position=[2.0, 0.2]),
    ]
    supports = [B.Support(), B.Support(B.Box(1.0, 1.0), position=[5.0, 0.5], angle=np.pi / 2)]
    run = st.solve(B.RigidBodies(bodies, supports), B.TimeStepper(1e-2), (0.0, 0.1), save=3)
    places, angles = run.variables["position"].values, run.variables["angle"].values
    box = outlines(run, 0, places[:, 0], angles[:, 0])[-1]
    middle = places[-1, 0]
    np.testing.assert_allclose(box.mean(axis=0), middle, atol=1e-14)
    np.testing.assert_allclose(np.ptp(box, axis=0), [1.0, 0.5])
    disc = outlines(run, 1, places[:, 1], angles[:, 1])[0]
    np.testing.assert_allclose(np.hypot(*(disc[1:-1] - [2.0, 0.2]).T), 0.2, rtol=1e-12)
    floor = support_outlines(run, 0, run.time, *limits(run))[0]
    assert floor[:, 1].max() == 0.0
    post = support_outlines(run, 1, run.time, *limits(run))[0]
    np.testing.assert_allclose(post.max(axis=0), [5.5, 1.0])
    axes = run.plot.scene().axes[0]
    low, high = axes.get_ylim()
    assert low < 0.0
    assert high > 0.5
    assert len(run.plot.speeds().axes) == 2


def test_moving_supports_are_drawn_where_they_are():
    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5], velocity=[0.0, 1.0])
    pusher = B.Support(B.Box(0.2, 0.2), position=[3.0, 0.5], velocity=[2.0, 0.0])
    supports = [B.Support(velocity=[0.0, 1.0]), pusher]
    run = st.solve(B.RigidBodies([box], supports), B.TimeStepper(1e-2), (1.0, 2.0), save=6)
    axes = run.plot.scene().axes[0]
    tops = [patch.get_xy()[:, 1].max() for patch in axes.patches[:12:2]]
    np.testing.assert_allclose(tops, run.time - 1.0, atol=1e-12)
    np.testing.assert_allclose(axes.patches[23].get_xy()[:, 0].max(), 5.1)
    assert limits(run)[1][0] > 5.1


def test_frames_are_the_saved_places():
    box = B.RigidBody(B.Box(1.0, 0.5), position=[0.0, 0.25], velocity=[1.0, 0.0], spin=0.0)
    run = st.solve(B.RigidBodies([box], [B.Support()]), B.TimeStepper(1e-2), (0.0, 0.5), save=6)
    movie = run.plot.movie(11)
    (view,) = movie.views
    moving = view.layers[1].points
    at = np.searchsorted(movie.time, run.time)
    np.testing.assert_allclose(
        moving[at].mean(axis=1), run.variables["position"].values[:, 0], atol=1e-12
    )


def test_pins_are_drawn_where_they_are():
    bar = B.RigidBody(B.Box(1.0, 0.1), position=[0.5, 0.0])
    second = B.RigidBody(B.Box(1.0, 0.1), position=[1.5, 0.0])
    hinges = [B.Hinge(1, 3), B.Hinge(1, 2, [1.0, 0.0])]
    system = B.RigidBodies([bar, second], [B.Support(B.Disc(0.1))], hinges=hinges)
    run = st.solve(system, B.TimeStepper(1e-2), (0.0, 0.3), save=4)
    end = run.variables["position"].values[-1, 0] * 2.0
    np.testing.assert_allclose(run.plot.scene().axes[0].lines[-1].get_xydata()[1], end, atol=1e-3)
    layer = run.plot.movie(4).views[0].layers[-1]
    np.testing.assert_allclose(layer.points[-1, 1], end, atol=1e-3)

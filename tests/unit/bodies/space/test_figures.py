"""Figures of bodies in space."""

import numpy as np

import stiction as st
from stiction.bodies.figures.space import outlines_in_space

B = st.bodies


def test_lines_stand_where_the_bodies_are():
    """Lines of a body are about its centre; a sphere is a circle of its radius in any view."""
    bodies = [
        B.SpatialBody(B.Cuboid(1.0, 0.5, 0.5), position=[0.0, 0.0, 0.25], velocity=[1.0, 0.0, 0.0]),
        B.SpatialBody(B.Sphere(0.2), position=[2.0, 0.0, 0.2], orientation=[1.0, 2.0, 0.0, 1.0]),
    ]
    supports = [B.SpatialSupport(), B.SpatialSupport(B.Cuboid(), position=[5.0, 0.0, 0.5])]
    run = st.solve(B.SpatialBodies(bodies, supports), B.TimeStepper(1e-2), (0.0, 0.1), save=3)
    places, turned = (run.variables[name].values for name in ("position", "orientation"))
    (box, starts), (ball, circles) = (
        outlines_in_space(run, k, places[:, k], turned[:, k]) for k in (0, 1)
    )
    assert starts == tuple(range(0, 24, 2))
    moved = box - box.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(moved, [moved[0]] * 3, atol=1e-14)
    way = box.mean(axis=1) - box[0].mean(axis=0)
    # an x axis 60 degrees from the direction of view, which is 20 degrees above the horizon
    seen = [np.sin(np.pi / 3.0), -0.5 * np.sin(np.deg2rad(20.0))]
    np.testing.assert_allclose(way, (places[:, 0, :1] - places[0, 0, 0]) * seen, atol=1e-14)
    centre = ball[0, : circles[1] - 1].mean(axis=0)
    apart = np.linalg.norm(ball[0] - centre, axis=1)
    np.testing.assert_allclose(apart[: circles[1]], 0.2, rtol=1e-12)
    assert (apart <= 0.2 + 1e-12).all()
    axes = run.plot.scene().axes[0]
    assert len(axes.lines) == 12 * 3 + 2 * 3 + 12 * 3 + 2
    assert len(run.plot.speeds().axes) == 2
    movie = run.plot.movie(11)
    (view,) = movie.views
    at = np.searchsorted(movie.time, run.time)
    np.testing.assert_allclose(view.layers[0].points[at], box, atol=1e-12)


def test_pins_are_drawn_where_they_are():
    post = B.SpatialSupport(B.Sphere(0.1))
    bar = B.SpatialBody(B.Cuboid(1.0, 0.1, 0.1), position=[0.5, 0.0, 0.0])
    second = B.SpatialBody(B.Cuboid(1.0, 0.1, 0.1), position=[1.5, 0.0, 0.0])
    hinges = [B.SpatialHinge(1, 3), B.SpatialHinge(1, 2, [1.0, 0.0, 0.0], axis=[0.0, 1.0, 0.0])]
    system = B.SpatialBodies([bar, second], [post], hinges=hinges)
    run = st.solve(system, B.TimeStepper(1e-2), (0.0, 0.3), save=4)
    # the view, as above
    x, _, z = run.variables["position"].values[-1, 0] * 2.0
    end = [
        x * np.sin(np.pi / 3.0),
        -0.5 * x * np.sin(np.deg2rad(20.0)) + z * np.cos(np.deg2rad(20.0)),
    ]
    pins = next(line for line in run.plot.scene().axes[0].lines if line.get_marker() == "o")
    np.testing.assert_allclose(pins.get_xydata()[1], end, atol=1e-3)
    layer = run.plot.movie(4).views[0].layers[-1]
    np.testing.assert_allclose(layer.points[-1, 1], end, atol=1e-3)

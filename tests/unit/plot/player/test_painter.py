"""What frames of films hold: the artists of every layer against the numbers of the movie."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure

from stiction.plot.player import movie as m
from stiction.plot.player import painter

TONES = np.array([[m.BLUE, m.HIDDEN, m.RED], [m.BLUE, m.RED, m.RED]])


def panel(low=(0.0, -1.0), high=(4.0, 1.0), size=(4.0, 2.0), **more):
    """Return a panel and what it puts on its canvas."""
    view = m.View("title", (), np.array(low), np.array(high), **more)
    made = painter._Panel(Figure().add_axes((0, 0, 1, 1)), view, np.array(size))
    put = []
    made._put = put.append
    return made, put


def colours(tones):
    return to_rgba_array(painter._COLOURS[np.asarray(tones)])


def vertices(collection):
    return [path.vertices for path in collection.get_paths()]


@pytest.mark.parametrize(
    ("equal", "size", "x", "y", "points"),
    [
        # two inches for a height of two: one unit is an inch of 72 points
        (True, (4.0, 2.0), (0.0, 4.0), (-1.0, 1.0), (72.0, 72.0)),
        (True, (4.0, 4.0), (0.0, 4.0), (-2.0, 2.0), (72.0, 72.0)),
        (True, (2.0, 2.0), (0.0, 4.0), (-2.0, 2.0), (36.0, 36.0)),
        (False, (2.0, 4.0), (0.0, 4.0), (-1.0, 1.0), (36.0, 144.0)),
    ],
)
def test_a_view_fills_its_panel(equal, size, x, y, points):
    made, _ = panel(size=size, equal=equal)
    assert made.ax.get_xlim() == pytest.approx(x)
    assert made.ax.get_ylim() == pytest.approx(y)
    assert made.points == pytest.approx(points)


@pytest.mark.parametrize("turn", [(0.3, 0.4), (-1.0, 0.9)])
def test_space_is_projected_in_parallel(turn):
    """To the right, upwards and towards the eye: a rotation about the middle of the view."""
    low, high = np.array([0.0, 0.0, 0.0]), np.array([2.0, 1.0, 3.0])
    made, _ = panel(low, high, turn=turn, axes=("x", "y", "z"))
    frame = made.turned
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    a, b = turn
    eye = [np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)]
    np.testing.assert_allclose(frame[:, 2], eye, atol=1e-14)
    np.testing.assert_allclose(frame[:, 0], [-np.sin(a), np.cos(a), 0.0], atol=1e-14)
    points = np.array([[1.0, 0.5, 1.5], [2.0, 1.0, 3.0]])
    found = made._project(points)
    np.testing.assert_allclose(found[0], 0.0, atol=1e-14)
    np.testing.assert_allclose(found[1], np.array([1.0, 0.5, 1.5]) @ frame, atol=1e-14)
    # all corners are in sight, with 8 % of room on the tighter side
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    flat = np.abs(made._project(corners)[:, :2]).max(axis=0)
    limits = np.array([made.ax.get_xlim()[1], made.ax.get_ylim()[1]])
    assert (limits / flat).min() == pytest.approx(1.08)
    # axes go from the lower corner
    assert [text.get_text() for text in made.ax.texts] == ["x", "y", "z"]
    for i, line in enumerate(made.ax.lines):
        ends = np.stack([low, low])
        ends[1, i] = high[i]
        np.testing.assert_allclose(line.get_xydata(), made._project(ends)[:, :2], atol=1e-14)


def test_axes_of_different_units_have_their_own_lengths():
    made, _ = panel((0.0, 0.0, 0.0), (2.0, 1.0, 4.0), equal=False)
    sides = np.linalg.norm(made.turned * np.array([[2.0], [1.0], [4.0]]), axis=1)
    assert sides == pytest.approx([np.sqrt(21.0)] * 3)


def test_what_is_flat_lies_in_the_plane():
    made, _ = panel()
    np.testing.assert_array_equal(made._project(np.array([[1.0, 2.0]])), [[1.0, 2.0, 0.0]])


def test_what_does_not_move_has_one_row():
    assert painter._at(np.array([[7.0]]), 5).tolist() == [7.0]
    assert painter._at(np.array([[7.0], [8.0]]), 1).tolist() == [8.0]


POINTS = np.array([
    [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [3.0, 0.0], [4.0, 1.0]],
    [[0.5, 0.0], [1.0, 0.5], [2.0, 1.0], [3.0, 1.0], [3.0, 0.0], [4.0, 0.0]],
])  # fmt: skip


@pytest.mark.parametrize(("closed", "filled"), [(False, False), (True, False), (True, True)])
def test_lines(closed, filled):
    made, put = panel()
    layer = m.Lines(POINTS, (0, 2, 4), TONES, width=2.0, thick=0.01, closed=closed, filled=filled)
    made._draw(layer, 0)
    (lines,) = put
    # the second is hidden in this frame
    for path, k in zip(vertices(lines), (0, 4), strict=True):
        wanted = POINTS[0, k : k + 2]
        if closed and not filled:
            wanted = np.vstack([wanted, wanted[:1]])
        np.testing.assert_allclose(path[: len(wanted)], wanted)
    shown = lines.get_facecolor() if filled else lines.get_color()
    np.testing.assert_allclose(to_rgba_array(shown), colours([m.BLUE, m.RED]))
    if not filled:
        assert lines.get_linewidth() == [pytest.approx(2.0 * 0.75)]
        made._draw(m.Lines(POINTS, (0, 2, 4), TONES, width=2.0, thick=0.1), 1)
        assert put[1].get_linewidth() == [pytest.approx(7.2)]
        assert len(vertices(put[1])) == 3


def test_tubes_are_drawn_the_nearest_last():
    made, put = panel((0.0, 0.0, 0.0), (2.0, 2.0, 2.0), turn=(0.0, 0.0), size=(2.0, 2.0))
    # seen along x: y to the right, z upwards
    points = np.array([[[1.5, 0.5, 1.0], [1.5, 1.5, 1.0], [0.5, 1.0, 0.5], [0.5, 1.0, 1.5]]])
    layer = m.Lines(points, (0, 2), np.array([[m.BLUE, m.RED]]), thick=0.4)
    made._draw(layer, 0)
    (tubes,) = put
    rims = vertices(tubes)
    # the far line, which stands, comes first: its rim and itself
    far, near = rims[1], rims[3]
    assert np.ptp(far[:, 0]) == pytest.approx(0.4)
    assert np.ptp(far[:, 1]) == pytest.approx(1.4)
    assert np.ptp(near[:, 0]) == pytest.approx(1.4)
    assert np.ptp(near[:, 1]) == pytest.approx(0.4)
    assert near[:, 0].min() + near[:, 0].max() == pytest.approx(0.0, abs=1e-12)
    rim = 1.0 / made.points[0]
    assert np.ptp(rims[0][:, 0]) == pytest.approx(0.4 + rim)
    assert np.ptp(rims[0][:, 1]) == pytest.approx(1.0)
    found = tubes.get_facecolor()
    np.testing.assert_allclose(found[[1, 3]], colours([m.RED, m.BLUE]))
    np.testing.assert_allclose(found[0], found[2])


def test_dots():
    made, put = panel()
    made._draw(m.Dots(POINTS[:, :3], TONES, size=3.0), 0)
    (dots,) = put
    np.testing.assert_allclose(np.asarray(dots.get_offsets()), POINTS[0, [0, 2]])
    assert dots.get_sizes() == pytest.approx([(2.0 * 0.75 * 3.0) ** 2])
    np.testing.assert_allclose(dots.get_facecolor(), colours([m.BLUE, m.RED]))
    # one colour for all
    made._draw(m.Dots(POINTS[:, :3], TONES[:, 2:]), 1)
    assert len(np.asarray(put[1].get_offsets())) == 3


@pytest.mark.parametrize(("half", "numbered"), [(0.3, True), (0.05, False)])
def test_boxes_are_hatched_where_they_stick(half, numbered):
    made, put = panel()
    tones = np.array([[m.BLUE, m.STUCK]])
    made._draw(m.Boxes(POINTS[:1, 1:3], tones, (half, 0.25), ("1", "2")), 0)
    sliding, stuck, outline, *words = put
    corners = np.array([(-half, -0.25), (half, -0.25), (half, 0.25), (-half, 0.25)])
    np.testing.assert_allclose(vertices(sliding)[0][:4], POINTS[0, 1] + corners)
    np.testing.assert_allclose(vertices(stuck)[0][:4], POINTS[0, 2] + corners)
    assert [len(vertices(c)) for c in (sliding, stuck, outline)] == [1, 1, 2]
    assert not sliding.get_hatch()
    assert stuck.get_hatch() == "//////"
    np.testing.assert_allclose(sliding.get_facecolor(), colours([m.BLUE]))
    assert [word.get_text() for word in words] == (["1", "2"] if numbered else [])
    if numbered:
        assert [word.get_position() for word in words] == [(1.0, 0.0), (2.0, 1.0)]
        assert words[0].get_color() == "white"
        assert words[1].get_color() != "white"


def test_springs_are_zigzags_to_both_sides():
    made, put = panel()
    ends = np.array([[[0.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 1.0]]])
    made._draw(m.Springs(ends), 0)
    one, two = vertices(put[0])
    # from end to end, eight points wide, and straight at both ends
    np.testing.assert_allclose(one[[0, -1]], [[0.0, 0.0], [2.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(two[[0, -1]], [[2.0, 0.0], [2.0, 1.0]], atol=1e-14)
    assert np.ptp(one[:, 1]) == pytest.approx(8.0 / 72.0)
    assert np.ptp(two[:, 0]) == pytest.approx(8.0 / 72.0)
    assert one[1] == pytest.approx([0.24, 0.0])
    assert one[-2] == pytest.approx([1.76, 0.0])
    assert (np.diff(one[:, 0]) > 0.0).all()
    np.testing.assert_allclose(np.diff(one[1:-1, 0]), 1.52 / 13.0)
    many = np.zeros((1, 30, 2))
    made._draw(m.Springs(many), 0)
    assert all(len(path) == 2 for path in vertices(put[1]))


@pytest.mark.parametrize(("step", "wide"), [(0.5, 0.5), (0.01, 1.5 * 4.5 / 72.0)])
def test_the_ground_moves(step, wide):
    made, put = panel()
    made._draw(m.Ground(np.array([[[0.2, 0.0]], [[0.3, 0.0]]]), -0.5, step), 1)
    line, hatches = put
    np.testing.assert_allclose(vertices(line)[0], [[0.0, -0.5], [4.0, -0.5]])
    found = np.array(vertices(hatches))
    assert found[0, 0] == pytest.approx([0.3 % wide, -0.5])
    np.testing.assert_allclose(np.diff(found[:, 0, 0]), wide)
    assert found[-1, 0, 0] < 4.0 <= found[-1, 0, 0] + wide + 1e-12
    # six pixels to the left and down
    np.testing.assert_allclose(found[:, 1] - found[:, 0], [[-4.5 / 72.0] * 2] * len(found))


def test_arrows_that_are_too_short_are_left_out():
    made, put = panel()
    vectors = np.array([[[0.5, 0.25], [1.0, 0.0], [0.015, 0.0]]])
    made._draw(m.Arrows(POINTS[:1, :3], vectors, TONES[:1]), 0)
    (arrows,) = put
    # the second is hidden, the third shorter than a pixel and a half
    np.testing.assert_allclose(arrows.get_offsets(), [[0.0, 0.0]])
    assert (arrows.U.tolist(), arrows.V.tolist()) == ([0.5], [0.25])
    made._draw(m.Arrows(POINTS[:1, :3], 0.0 * vectors, TONES[:1]), 0)
    assert len(put) == 1
    longer = np.array([[[0.5, 0.25], [1.0, 0.0], [0.016, 0.0]]])
    made._draw(m.Arrows(POINTS[:1, :3], longer, TONES[:1]), 0)
    assert pytest.approx([0.5, 0.016]) == put[1].U


def test_cells_are_drawn_the_nearest_last():
    made, put = panel((0.0, 0.0, 0.0), (2.0, 2.0, 2.0), turn=(0.0, 0.0), size=(2.0, 2.0))
    points = np.array([[[1.5, 0.5, 1.0], [1.5, 1.5, 1.0], [1.5, 1.0, 2.0],
                        [0.5, 0.0, 0.0], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]])  # fmt: skip
    cells = np.array([[0, 1, 2], [3, 4, 5]])
    made._draw(m.Cells(points, cells, np.array([[0, m.SHADES]])), 0)
    (drawn,) = put
    far, near = vertices(drawn)
    np.testing.assert_allclose(far[:3], points[0, 3:, 1:] - 1.0, atol=1e-14)
    np.testing.assert_allclose(near[:3], points[0, :3, 1:] - 1.0, atol=1e-14)
    np.testing.assert_allclose(drawn.get_facecolor()[0], painter._SHADES(1.0))
    np.testing.assert_allclose(drawn.get_facecolor()[1], painter._SHADES(0.0))


@pytest.mark.parametrize(
    ("frame", "strokes"), [(0, [(0, 3), (2, 3)]), (1, [(0, 3), (2, 4)]), (2, [(0, 3), (2, 6)])]
)
def test_a_trail_is_drawn_up_to_now(frame, strokes):
    made, put = panel()
    tones = np.array([m.BLUE, m.BLUE, m.RED, m.RED, m.RED, m.RED])
    made._draw(m.Trail(POINTS[0], np.array([3, 4, 6]), tones), frame)
    pale, done = put
    np.testing.assert_allclose(vertices(pale)[0], POINTS[0])
    for path, (begin, end) in zip(vertices(done), strokes, strict=True):
        np.testing.assert_allclose(path, POINTS[0, begin:end])
    np.testing.assert_allclose(to_rgba_array(done.get_color()), colours([m.BLUE, m.RED]))


def test_a_layer_without_a_painter_is_a_fault():
    made, _ = panel()
    with pytest.raises(TypeError, match="no painter of int"):
        made._draw(3, 0)


def test_a_frame_shows_every_layer():
    made, _ = panel()
    made.view = SimpleNamespace(layers=["one", "two"])
    seen = []
    made._draw = lambda layer, k: seen.append((layer, k))
    made.show(4)
    assert seen == [("one", 4), ("two", 4)]

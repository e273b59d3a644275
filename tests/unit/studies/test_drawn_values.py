"""Figures of studies hold the values of the study: made-up members, numbers by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.studies.figures import StudyFigures, _band, _edges, write_study_figures
from stiction.studies.results import ABSENT, STATUSES

NAN = np.nan


def study(fields, results, *, status=None, units=None, shapes=None, rows=()):
    """A study of swept fields and saved results, {name: values}."""
    table = {name: np.array(v) for name, v in {**fields, **results}.items()}
    count = len(next(iter(table.values())))
    table["status"] = np.array(status if status is not None else [0] * count)
    table.setdefault("events", np.arange(count))
    variables = {
        name: SimpleNamespace(
            unit=(units or {}).get(name, "1"),
            dims=("row",) if name in rows else (),
            shape=(shapes or {}).get(name, ()),
        )
        for name in table
    }
    made = SimpleNamespace(
        fields=list(fields),
        table=table,
        members=count,
        manifest=SimpleNamespace(variables=variables),
    )
    made.plot = StudyFigures(made)
    return made


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        ([3.0], [1.5, 4.5]),
        ([-3.0], [-4.5, -1.5]),
        ([0.0], [-0.5, 0.5]),
        ([1.0, 2.0], [0.5, 1.5, 2.5]),
        # halfway between neighbours, and as far beyond the ends
        ([0.0, 1.0, 5.0], [-0.5, 0.5, 3.0, 7.0]),
    ],
)
def test_cells_go_halfway_to_their_neighbours(values, edges):
    assert _edges(np.array(values)).tolist() == edges


def test_a_band_holds_nine_tenths():
    assert _band(np.arange(101.0)) == (5.0, 50.0, 95.0)
    assert _band(np.array([7.0])) == (7.0, 7.0, 7.0)
    assert np.isnan(_band(np.array([]))).all()


GRID = {"mu": [0.1, 0.1, 0.2, 0.2, 0.2], "rate": [1.0, 2.0, 1.0, 2.0, 2.0]}


def test_a_map_holds_means_of_cells():
    made = study(GRID, {"force": [1.0, 2.0, 3.0, 4.0, 8.0]}, units={"rate": "N/s", "force": "N"})
    ax = made.plot.map().axes[0]
    (mesh,) = ax.collections
    # rows go up with the second field; both members of the last cell count
    assert mesh.get_array().reshape(2, 2).tolist() == [[1.0, 3.0], [2.0, 6.0]]
    assert mesh.get_clim() == (1.0, 8.0)
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [0.05, 0.15, 0.25], rtol=1e-12)
    np.testing.assert_allclose(corners[:, 0, 1], [0.5, 1.5, 2.5], rtol=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mu", "rate (N/s)")


def test_a_map_of_lists_shows_the_largest():
    values = [[1.0, 5.0], [NAN, 2.0], [NAN, NAN], [3.0, -1.0], [0.0, 9.0]]
    made = study(GRID, {"x": values}, status=[0, 0, 0, 0, ABSENT], shapes={"x": (2,)})
    found = made.plot.map("x").axes[0].collections[0].get_array().reshape(2, 2)
    # one has no number, and one was not solved
    assert np.ma.filled(found, NAN)[0, 0] == 5.0
    assert np.isnan(np.ma.filled(found, NAN)[0, 1])
    assert np.ma.filled(found, NAN)[1].tolist() == [2.0, 3.0]


def test_scattered_members_are_dots():
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 20))
    z[3] = NAN
    made = study({"a": x, "b": y}, {"c": z})
    (dots,) = made.plot.map("c").axes[0].collections
    good = np.isfinite(z)
    drawn = np.column_stack([np.asarray(dots.get_offsets()), np.asarray(dots.get_array())])
    given = np.stack([x, y, z], 1)[good]
    # one dot a place, in the order of the places
    np.testing.assert_array_equal(drawn, given[np.lexsort(given[:, 1::-1].T)])


def test_a_curve_is_the_median_with_its_band():
    x = np.repeat([1.0, 2.0], 21)
    y = np.concatenate([np.arange(21.0), np.full(21, 7.0)])
    y[0] = NAN
    ax = study({"a": x, "seed": np.arange(42)}, {"y": y}, units={"a": "m"}).plot.curve().axes[0]
    (line,) = ax.lines
    # 1 to 20 at the first place
    assert line.get_xydata().tolist() == [[1.0, 10.5], [2.0, 7.0]]
    (band,) = ax.collections
    (path,) = band.get_paths()
    heights = sorted({round(h, 9) for h in path.vertices[:, 1]})
    assert heights == [1.95, 7.0, 19.05]
    assert ax.get_xlabel() == "a (m)"


def test_a_curve_of_lists_has_a_line_for_each():
    y = np.stack([np.arange(3.0), 2.0 * np.arange(3.0)], axis=1)
    ax = study({"a": [1.0, 2.0, 3.0]}, {"y": y}, shapes={"y": (2,)}).plot.curve("y").axes[0]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0, 1, 2], [0, 2, 4]]
    assert [line.get_label() for line in ax.lines] == ["1", "2"]
    # every place has one member, and so no band
    assert not ax.collections
    assert ax.get_legend() is not None


@pytest.mark.parametrize(
    ("values", "bins", "low", "high"),
    [
        (np.arange(100.0), 10, 0.0, 99.0),
        (np.arange(9.0), 5, 0.0, 8.0),
        (np.arange(10_000.0), 60, 0.0, 9999.0),
        (np.full(30, 4.0), 5, 2.0, 6.0),
        (np.full(30, -4.0) * (1.0 + 1e-14 * np.arange(30)), 5, -6.0, -2.0),
        (np.zeros(30), 5, -0.5, 0.5),
    ],
)
def test_a_distribution_counts_the_members(values, bins, low, high):
    ax = study({"a": values * 0.0}, {"y": values}).plot.distribution().axes[0]
    bars = ax.patches
    assert len(bars) == bins
    assert bars[0].get_x() == pytest.approx(low)
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(high)
    assert sum(bar.get_height() for bar in bars) == values.size
    assert ax.get_ylabel() == "members"


def test_a_distribution_leaves_out_what_is_no_number():
    made = study({"a": [1.0] * 4}, {"y": [1.0, NAN, 2.0, 3.0]}, status=[0, 0, ABSENT, 0])
    assert sum(bar.get_height() for bar in made.plot.distribution("y").axes[0].patches) == 2
    assert not study({"a": [1.0]}, {"y": [NAN]}).plot.distribution("y").axes[0].patches


def marks(figure):
    """Return what a phase diagram shows, {word: [(x, y), ...]}."""
    ax = figure.axes[0]
    return {
        line.get_label(): [tuple(p) for p in np.asarray(squares.get_offsets()).tolist()]
        for line, squares in zip(ax.lines, ax.collections, strict=True)
    }


def test_phases_are_statuses_where_they_differ():
    first, second = STATUSES[0], STATUSES[2]
    made = study({"a": [1.0, 2.0, 3.0, 4.0]}, {"y": [1.0, 2.0, 1.0, 2.0]}, status=[0, 2, ABSENT, 0])
    found = marks(made.plot.phase())
    words = {first.replace("_", " "): [(1.0, 0.0), (4.0, 0.0)]}
    assert found == {**words, second.replace("_", " "): [(2.0, 0.0)]}


def test_phases_are_the_few_values_of_a_result():
    made = study(
        {"a": [1.0, 2.0, 3.0, 4.0], "b": [5.0, 6.0, 7.0, 8.0]},
        {"kind_of": [2.5, 1.0, NAN, 2.5]},
    )
    assert marks(made.plot.phase("kind_of")) == {
        "kind of 1": [(2.0, 6.0)],
        "kind of 2.5": [(1.0, 5.0), (4.0, 8.0)],
    }


def test_phases_are_whether_a_result_exists():
    y = np.arange(12.0)
    y[[2, 5]] = NAN
    made = study({"a": np.arange(12.0)}, {"y": y}, status=[0] * 11 + [ABSENT])
    found = marks(made.plot.phase("y"))
    assert [x for x, _ in found["no y"]] == [2.0, 5.0]
    assert [x for x, _ in found["y"]] == [0, 1, 3, 4, 6, 7, 8, 9, 10]
    # eight values are distinguished, nine are not
    for count in (8, 9):
        made = study({"a": np.arange(9.0)}, {"y": np.minimum(np.arange(9.0), count - 1)})
        assert len(marks(made.plot.phase("y"))) == (8 if count == 8 else 2)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"a": [1.0, 2.0], "b": [1.0, 2.0]}, ("map", "phase", "events", "distribution")),
        ({"a": [1.0, 2.0]}, ("curve", "phase", "distribution")),
        ({"a": ["x", "y"]}, ("distribution",)),
        ({"a": [1.0, 2.0], "noise.seed": [1, 2]}, ("curve", "distribution")),
    ],
)
def test_what_is_drawn_when_nothing_is_named(fields, names):
    assert study(fields, {"y": [1.0, 2.0]}).plot.default == names


def test_fields_of_one_value_come_last():
    made = study({"a": [1.0, 1.0], "b": [1.0, 2.0], "c": ["x", "y"]}, {"y": [1.0, 2.0]})
    assert made.plot._numeric() == ["b", "a"]
    assert made.plot._plane()[2] == ["b", "a"]
    with pytest.raises(
        ModelError, match="plot: got swept fields without numbers; needs a swept field"
    ):
        study({"c": ["x", "y"]}, {"y": [1.0, 2.0]}).plot.map()


def test_results_that_nobody_has_come_last():
    made = study(
        {"a": [1.0, 2.0]},
        {"none": [NAN, NAN], "list": [[1.0], [2.0]], "one": [1.0, 2.0], "path": [[1.0], [2.0]]},
        shapes={"list": (1,), "path": (1,)},
        rows=("path",),
    )
    assert made.plot._result_names() == ["one", "list", "none"]
    assert made.plot._first() == "one"
    assert study({"a": [1.0]}, {}).plot._first() == "events"
    assert made.plot.unit("one") == ""


def test_files_are_called_by_figure_and_result(tmp_path, monkeypatch):
    seen = []
    figure = SimpleNamespace(savefig=lambda path, format, dpi: path.write_text("x"))
    for name in ("map", "curve"):
        monkeypatch.setattr(
            StudyFigures,
            name,
            lambda self, *given, name=name: seen.append((name, *given)) or figure,
        )
    made = study({"a": [1.0, 2.0]}, {"y": [1.0, 2.0]})
    paths = write_study_figures(made, tmp_path, ["map", "curve:y", "map"], "svg")
    assert [p.name for p in paths] == ["map.svg", "curve-y.svg"]
    assert seen == [("map",), ("curve", "y")]
    with pytest.raises(ModelError, match="figure 'mapp'; needs one of map, curve"):
        write_study_figures(made, tmp_path, ["mapp:y"])


def test_a_movie_slides_over_what_changes(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "stiction.studies.player.movie_of", lambda figures, *given: seen.append(given)
    )
    study({"a": [1.0, 1.0], "b": [1.0, 2.0]}, {"y": [1.0, 2.0]}).plot.movie(9)
    study({"b": [1.0, 2.0], "n.seed": [1, 2], "c": [3.0, 4.0]}, {"y": [1.0, 2.0]}).plot.movie(9)
    study({"b": [1.0]}, {"y": [1.0]}).plot.movie(9)
    assert seen == [
        ("b", None, ["y", "events"]),
        ("b", "c", ["y", "events"]),
        ("b", None, ["y", "events"]),
    ]


@pytest.mark.parametrize("places", ["grid", "scattered"])
@pytest.mark.parametrize(("top", "limits"), [(7.0, (2.0, 7.0)), (2.0, (1.5, 2.5))])
def test_the_colours_of_a_map_are_those_of_its_scale(places, top, limits):
    a = np.arange(9.0)
    b = a % 3 if places == "grid" else a[::-1]
    a = a // 3 if places == "grid" else a
    y = np.array([2.0] * 8 + [top])
    ax, bar = study({"a": a, "b": b}, {"y": y}).plot.map("y").axes
    (drawn,) = ax.collections
    assert drawn.get_clim() == limits
    assert drawn.cmap == bar.images[0].cmap
    assert bar.images[0].get_extent() == [0.0, 1.0, *limits]
    assert sorted(np.ravel(drawn.get_array())) == sorted(y)


@pytest.mark.parametrize(("count", "size"), [(2, 8.0), (30, 5.0), (300, 1.0)])
def test_markers_fill_the_grid(count, size):
    made = study({"a": np.arange(float(count)), "b": [1.0] * count}, {"y": [1.0] * count})
    assert made.plot._marker_size(["a", "b"]) == size

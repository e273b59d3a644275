"""Figures of rods: what they show is what the run holds. The runs are made up."""

import dataclasses
import importlib.util
import math

import matplotlib
import numpy as np
import pytest
from PIL import Image

from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Run, Variable
from stiction.errors import ModelError, Status
from stiction.io.store import load, save
from stiction.plot import figures_of, write_figures
from stiction.rods.figures import paint as rod_paint
from stiction.rods.figures.data import RodData
from stiction.rods.figures.view import view_of

matplotlib.use("Agg")

RADIUS, N, ROWS = 0.02, 31, 81
UNITS = {
    "s1": "m",
    "s2": "m",
    "s1_rate": "m/s",
    "s2_rate": "m/s",
    "lambda_n": "N",
    "gap": "m",
    "rolling_residual": "m/s",
    "friction_ratio": "1",
    "det_A": "1",
    "crossing_angle": "rad",
    "slip_speed": "m/s",
    "contact_mode": "1",
}


def rods_at(t):
    """Two rods that cross at 60 degrees, the upper one swinging: (t, node, 3)."""
    x = np.linspace(-0.5, 0.5, N)
    sag = np.cos(np.pi * x)
    lower = np.stack([x, 0.0 * x, 0.0 * x], axis=1)
    upper = np.stack([x * 0.5, x * math.sqrt(0.75), 0.0 * x + 2.0 * RADIUS], axis=1)
    swing = 0.05 * np.sin(4.0 * t)[:, None, None] * np.stack([sag, 0.0 * x, 0.0 * x], axis=1)
    both = np.concatenate([lower, upper])[None] + np.zeros((t.size, 1, 1))
    both[:, N:] += swing
    return both


def made(slips=False, contacts=1, mu=None):
    """A made-up run: from t = 1 to 1.5 s the contact slips, from 1.5 s on it is open."""
    t = np.linspace(0.0, 2.0, ROWS)
    mode = np.ones(ROWS)
    if slips:
        mode = np.where(t < 1.0, 1.0, np.where(t < 1.5, 2.0, 0.0))
    closed = mode > 0.0
    s = 0.5 + 0.05 * np.sin(4.0 * t)
    force = np.where(closed, 3.0 + np.sin(8.0 * t), 0.0)
    series = {
        "s1": s,
        "s2": s + 0.01,
        "s1_rate": 0.2 * np.cos(4.0 * t),
        "s2_rate": 0.1 * np.cos(4.0 * t),
        "lambda_n": -force,
        "gap": np.where(closed, 0.0, 1e-3),
        "rolling_residual": 0.0 * t,
        "friction_ratio": np.where(closed, 0.3 * np.abs(np.sin(4.0 * t)), np.nan),
        "det_A": -0.75 + 0.05 * np.sin(t),
        "crossing_angle": np.pi / 3.0 + 0.0 * t,
        "slip_speed": np.where(mode == 2.0, 0.05, 0.0),
        "contact_mode": mode,
    }
    point = np.stack([s - 0.5, 0.0 * t, 0.0 * t + RADIUS], axis=1)
    on_first = np.stack([0.3 * force * np.sin(4.0 * t), 0.0 * t, -force], axis=1)
    vectors = {"contact_point": (point, "m"), "contact_force": (on_first, "N")}
    variables = {
        "position": Variable(rods_at(t), ("time", "node", "axis"), "m", "nodes"),
        "rod_of_node": Variable(np.repeat([1, 2], N), ("node",), "1", "rod"),
        "radius_of_node": Variable(np.full(2 * N, RADIUS), ("node",), "m", "radius"),
    }
    for name, values in series.items():
        wide = values[:, None] + 0.01 * np.arange(contacts) if contacts > 1 else values
        dims = ("time", "contact") if contacts > 1 else ("time",)
        variables[name] = Variable(wide.copy(), dims, UNITS[name], name)
    for name, (values, unit) in vectors.items():
        wide = np.repeat(values[:, None], contacts, axis=1) if contacts > 1 else values
        dims = ("time", "contact", "axis") if contacts > 1 else ("time", "axis")
        variables[name] = Variable(wide.copy(), dims, unit, name)
    if contacts > 1:
        variables["contact_mode"] = dataclasses.replace(
            variables["contact_mode"], values=np.repeat(mode[:, None], contacts, axis=1)
        )
    log = EventLog()
    if slips:
        log = EventLog(
            np.array([1.0, 1.5]), np.ones(2, dtype=np.int64), ["roll", "slip"], ["slip", "open"],
            ["slip", "open"],
        )  # fmt: skip
    checks = [Check("contact_subsonic", True, 0.2, 10.0, 0.0, "shear waves")]
    if mu is not None:
        checks.append(Check("friction_within_bound", True, 0.3, mu, 0.5, ""))
    kinetic = 1.0 + np.cos(2.0 * t)
    return Run(
        system=None,
        method=None,
        system_name="Rods",
        method_name="RollingLeapfrog",
        status=Status.SOLVED,
        reason="",
        t_end=2.0,
        time=t,
        variables=variables,
        final={name: variables[name].values[-1:].reshape(-1).copy() for name in ("s1", "s2")},
        event_log=log,
        energy=Ledger(t, kinetic, 3.0 - kinetic, 0.0 * t, np.zeros((ROWS, 1))),
        determinism=Determinism(),
        audit=Audit(tuple(checks)),
        quantities={},
        stats={},
    )


@pytest.fixture(scope="module")
def run():
    return made()


@pytest.fixture(scope="module")
def slipping():
    return made(slips=True, mu=0.4)


@pytest.fixture
def no_pyvista(monkeypatch):
    """A machine without PyVista."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyvista" else find(name)
    )


def texts(figure):
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text().strip()]


def lines_of(ax):
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def bands_of(ax):
    """Return begin, end and colour of the shaded times."""
    found = []
    for patch in ax.patches:
        box = patch.get_extents().transformed(ax.transData.inverted())
        colour = matplotlib.colors.to_hex(patch.get_facecolor())
        found.append((round(box.x0, 6), round(box.x1, 6), colour))
    return found


def test_one_and_several_read_alike(run):
    one, three = RodData(run), RodData(made(contacts=3))
    assert one.contact("s1").shape == (ROWS, 1)
    assert three.contact("s1").shape == (ROWS, 3)
    assert np.array_equal(three.contact("s1")[:, 0], one.contact("s1")[:, 0])
    assert (one.n_contact, three.n_contact) == (1, 3)


def test_contact_audit_shows_forces_and_limits(slipping):
    axes = figures_of(slipping).contact().axes
    words = [ax.get_ylabel().replace("\n", " ") for ax in axes]
    assert words == [
        "normal force −λₙ (N)",
        "tangential / normal force",
        "crossing of the rods",
        "|ṡ| / c",
        "gap (mm)",
        "slip speed (mm/s)",
    ]
    (pressure,) = lines_of(axes[0])
    assert pressure.get_ydata() == pytest.approx(-slipping.variables["lambda_n"].values)
    dashed = [line.get_ydata()[0] for line in axes[1].lines if len(line.get_xdata()) == 2]
    assert dashed == [0.4]
    (speed,) = lines_of(axes[3])
    assert max(speed.get_ydata()) == pytest.approx(0.2 / 10.0)
    assert bands_of(axes[0]) == [(1.0, 1.5, "#fbe3d2"), (1.5, 2.0, "#eeeeee")]
    assert axes[-1].get_xlabel() == "time (s)"


def test_rolling_contact_needs_no_shading(run):
    figure = figures_of(run).contact()
    # a contact that never opens has no gap to draw
    words = [ax.get_ylabel().split("\n")[0] for ax in figure.axes]
    assert words == ["normal force", "tangential /", "crossing of", "|ṡ| / c"]
    assert all(not ax.patches for ax in figure.axes)


def test_saved_states_shade_where_there_are_no_events(slipping):
    quiet = dataclasses.replace(slipping, event_log=EventLog())
    bands = bands_of(figures_of(quiet).contact().axes[0])
    assert bands == [(1.0, 1.5, "#fbe3d2"), (1.5, 2.0, "#eeeeee")]


def test_peaks_of_the_ratio_do_not_hide_the_rest(run):
    ratio = run.variables["friction_ratio"]
    values = ratio.values.copy()
    values[40] = 1e6
    peak = {**run.variables, "friction_ratio": dataclasses.replace(ratio, values=values)}
    ax = figures_of(dataclasses.replace(run, variables=peak)).contact().axes[1]
    assert 0.3 < ax.get_ylim()[1] < 3.0


def test_paths_on_both_rods(run):
    figure = figures_of(run).paths()
    first, second, speeds = figure.axes
    assert [ax.get_ylabel() for ax in figure.axes] == ["s₁ (m)", "s₂ (m)", "speed ṡ (m/s)"]
    assert lines_of(first)[0].get_ydata() == pytest.approx(run.variables["s1"].values)
    assert lines_of(second)[0].get_ydata() == pytest.approx(run.variables["s2"].values)
    assert [line.get_linestyle() for line in lines_of(speeds)] == ["-", "--"]


def test_paths_of_several_contacts_are_shifts():
    """Places far apart would flatten how far each contact moves."""
    shown = made(contacts=3)
    first = figures_of(shown).paths().axes[0]
    assert first.get_ylabel().startswith("shift of s₁ (")
    places = shown.variables["s1"].values
    for line, values in zip(lines_of(first), places.T, strict=True):
        assert line.get_ydata() == pytest.approx(values - values[0], abs=1e-15)


def test_several_contacts_have_a_key():
    shown = made(contacts=3)
    figure = figures_of(shown).contact()
    assert {"contact 1", "contact 2", "contact 3"} <= set(texts(figure))
    # a place that was never taken is no contact
    empty = {}
    for name, variable in shown.variables.items():
        values = variable.values
        if "contact" in variable.dims:
            values = values.copy()
            values[:, 1] = np.nan
        empty[name] = dataclasses.replace(variable, values=values)
    two = dataclasses.replace(shown, variables=empty)
    words = set(texts(figures_of(two).contact()))
    assert "contact 2" not in words
    assert "contact 3" in words
    assert len(RodData(two).scene(0).points) == 2


def test_lines_on_each_other_are_dashed():
    figure = figures_of(made(contacts=2)).contact()
    gaps, forces = figure.axes[4], figure.axes[0]
    assert [line.get_linestyle() for line in lines_of(gaps)] == ["-", "-"]
    assert [line.get_linestyle() for line in lines_of(forces)] == ["-", "--"]


def test_contacts_with_a_plane_have_no_paths(no_pyvista):
    whole = made(contacts=9)
    names = ("s1", "s2", "s1_rate", "s2_rate", "det_A", "crossing_angle", "rolling_residual")
    saved = {name: v for name, v in whole.variables.items() if name not in names}
    figures = figures_of(dataclasses.replace(whole, variables=saved))
    assert figures.default == ("contact", "energy", "scene")
    figure = figures.contact()
    words = [ax.get_ylabel().replace("\n", " ").split(" (")[0] for ax in figure.axes]
    assert words == ["normal force −λₙ", "tangential / normal force", "gap", "contact"]
    # of more than six contacts a scale beside all panels has the numbers
    *panels, scale = figure.axes
    assert scale.get_ylim() == (1.0, 9.0)
    assert scale.get_position().y0 == pytest.approx(panels[-1].get_position().y0)
    assert scale.get_position().y1 == pytest.approx(panels[0].get_position().y1)
    with pytest.raises(ModelError, match="without s1"):
        figures.paths()


def test_energy_is_in_joules(run):
    axes = figures_of(run).energy().axes
    assert [ax.get_ylabel() for ax in axes[:2]] == ["energy (J)", "ledger (J)"]


def test_scene_holds_rods_and_contacts(slipping):
    data = RodData(slipping)
    rolling, slips, opened = (data.scene(data.sample(t)) for t in (0.5, 1.25, 1.75))
    assert [rod.shape for rod in rolling.rods] == [(N, 3), (N, 3)]
    assert rolling.radii.tolist() == [RADIUS, RADIUS]
    assert (rolling.slips.tolist(), slips.slips.tolist()) == ([False], [True])
    assert len(opened.points) == 0
    assert data.sample(None) == ROWS - 1
    assert data.largest_force == pytest.approx(
        np.linalg.norm(slipping.variables["contact_force"].values, axis=1).max()
    )


@pytest.mark.parametrize("angles", [(28.0, -60.0), (0.0, 0.0), (90.0, 0.0), (-40.0, 170.0)])
def test_view_shows_every_node(run, angles):
    data = RodData(run)
    scenes = [data.scene(row) for row in (0, 30, 60)]
    view = view_of(data, scenes, angles)
    basis = np.stack([view.right, view.up, view.out])
    assert basis @ basis.T == pytest.approx(np.eye(3), abs=1e-14)
    assert np.cross(view.right, view.up) == pytest.approx(view.out, abs=1e-14)
    for scene in scenes:
        for places in (*scene.rods, scene.points + view.arrow * scene.forces):
            seen = (places - view.centre) @ basis.T
            assert np.abs(seen[:, 0]).max() <= view.half[1] - RADIUS
            assert np.abs(seen[:, 1]).max() <= view.half[0] - RADIUS


def test_lines_are_drawn_without_pyvista(slipping, no_pyvista):
    figure = figures_of(slipping).scene(1.25)
    words = " ".join(texts(figure))
    # what to install is no part of a figure
    assert "PyVista" not in words
    assert "install" not in words
    assert "PyVista is not installed" in figure.remark
    assert "stiction[viz3d]" in figure.remark
    assert 'title="lines, not tubes' in figure._repr_html_()
    assert "slipping" in words
    assert "t = 1.25 s" in words
    (ax,) = figure.axes
    rods = [line for line in ax.lines if len(line.get_data_3d()[0]) == N]
    drawn = np.array(rods[0].get_data_3d()).T
    assert drawn == pytest.approx(RodData(slipping).scene(50).rods[0])
    with pytest.raises(ModelError, match=r"stiction\[viz3d\]"):
        figures_of(slipping).scene(tubes=True)


def test_lines_can_be_wanted(run):
    words = texts(figures_of(run).scene(tubes=False, view=(90.0, -90.0)))
    assert not any("PyVista" in word for word in words)
    assert "x (m)" in words
    assert "z (m)" not in words


def test_a_painter_that_dies_is_not_the_end(slipping, monkeypatch):
    # a missing library of OpenGL ends the process of the painter, whatever it prints
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(rod_paint.sys, "executable", "/bin/false")
    words = figures_of(slipping).scene(0.5).remark
    assert "PyVista could not paint (its process ended with code 1)" in words
    monkeypatch.setattr(rod_paint.sys, "executable", "/no/such/python")
    assert "PyVista could not paint" in figures_of(slipping).scene(0.5).remark


def painted(figure):
    """Return the picture of the tubes; skip where this machine cannot paint them."""
    if figure.remark:
        pytest.skip(figure.remark)
    return np.asarray(figure.axes[0].images[0].get_array(), dtype=np.float64)


def test_tubes_are_where_the_rods_are(slipping):
    picture = painted(figures_of(slipping).scene(0.5))
    data = RodData(slipping)
    scene = data.scene(data.sample(0.5))
    view = view_of(data, [scene], (28.0, -60.0))
    rows, columns = picture.shape[:2]
    white = (picture > 250.0).all(axis=2)
    assert white[[0, 0, -1, -1], [0, -1, 0, -1]].all()
    for rod in scene.rods:
        offset = rod - view.centre
        x = (0.5 + 0.5 * offset @ view.right / view.half[1]) * columns
        y = (0.5 - 0.5 * offset @ view.up / view.half[0]) * rows
        assert not white[y.astype(int), x.astype(int)].any()
    # blue rod, orange rod, dark blue arrow of a rolling contact
    tip = scene.points[0] + 0.8 * view.arrow * scene.forces[0] - view.centre
    x = int((0.5 + 0.5 * tip @ view.right / view.half[1]) * columns)
    y = int((0.5 - 0.5 * tip @ view.up / view.half[0]) * rows)
    red, _, blue = picture[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
    assert blue > red + 20.0


def test_slip_has_its_own_colour(slipping):
    pictures = [painted(figures_of(slipping).scene(t)) for t in (0.5, 1.25)]
    red = [(p[..., 0] - p[..., 2] > 90.0) & (p[..., 1] < 70.0) for p in pictures]
    assert not red[0].any()
    assert red[1].sum() > 200


def test_default_set_is_written(slipping, tmp_path, no_pyvista):
    paths = write_figures(slipping, tmp_path)
    assert [path.stem for path in paths] == ["contact", "paths", "energy", "scene"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_rods_without_a_possible_contact(run, no_pyvista):
    names = ("position", "rod_of_node", "radius_of_node")
    alone = dataclasses.replace(run, variables={name: run.variables[name] for name in names})
    figures = figures_of(alone)
    assert figures.default == ("energy", "scene")
    assert all(getattr(figures, name)().axes for name in figures.default)
    with pytest.raises(ModelError, match="scene or energy"):
        figures.contact()
    with pytest.raises(ModelError, match="radius_of_node"):
        figures_of(dataclasses.replace(run, variables={})).scene()


def test_loaded_runs_draw_the_same(slipping, tmp_path):
    again = load(save(slipping, tmp_path / "saved"))
    live, loaded = (figures_of(r).contact().axes for r in (slipping, again))
    for one, two in zip(live, loaded, strict=True):
        assert one.get_ylabel() == two.get_ylabel()
        both = (lines_of(ax)[0].get_ydata() for ax in (one, two))
        assert np.array_equal(*both, equal_nan=True)


@pytest.mark.parametrize("name", ["contact", "paths", "energy", "scene"])
def test_text_does_not_leave_the_page(name, no_pyvista):
    for shown in (made(), made(slips=True, mu=0.4), made(contacts=4), made(contacts=12)):
        figure = getattr(figures_of(shown), name)()
        drawn = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert min(drawn.x0, drawn.y0) >= -0.01, (name, drawn)
        assert drawn.x1 <= width + 0.01, (name, drawn)
        assert drawn.y1 <= height + 0.01, (name, drawn)


def test_animation_has_every_frame(slipping, tmp_path):
    path = figures_of(slipping).animate(tmp_path / "r.gif", seconds=0.5, fps=10.0)
    with Image.open(path) as film:
        assert film.n_frames == 5
        assert film.size == (672, 516)
    with pytest.raises(ModelError, match=r"\.gif, \.mp4, \.html"):
        figures_of(slipping).animate(tmp_path / "r.avi")
    with pytest.raises(ModelError, match="fps"):
        figures_of(slipping).animate(tmp_path / "r.gif", fps=0.0)


def test_an_animation_shows_what_moves(slipping, tmp_path):
    path = figures_of(slipping).animate(tmp_path / "r.gif", seconds=0.3, fps=10.0, view=(40.0, 0.0))
    with Image.open(path) as film:
        frames = []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("RGB"), dtype=np.int64))
    assert len(frames) == 3
    # the colour of the one small arrow is in a palette that rods would fill
    assert (np.abs(frames[1] - [193, 39, 45]).max(axis=2) < 60).any()
    assert np.abs(frames[0] - frames[1]).max() > 100


@pytest.mark.parametrize("time", [-0.1, 2.1, float("nan")])
def test_times_outside_are_refused(run, time):
    with pytest.raises(ModelError, match=r"plot\.scene\.time"):
        figures_of(run).scene(time, tubes=False)


def test_bad_views_and_names_are_refused(run):
    for view in ((1.0,), (np.nan, 0.0), 3.0, ("a", "b")):
        with pytest.raises(ModelError, match="azimuth"):
            figures_of(run).scene(view=view, tubes=False)
        with pytest.raises(ModelError, match="azimuth"):
            figures_of(run).movie(10, view=view)
    with pytest.raises(AttributeError, match="scene"):
        figures_of(run).scen()

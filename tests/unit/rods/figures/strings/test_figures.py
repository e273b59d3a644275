"""Figures of rolling strings: what they show is what the run holds."""

import dataclasses

import matplotlib
import numpy as np
import pytest
from PIL import Image

from stiction.core.audit import Audit
from stiction.core.determinism import Determinism
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Run, Variable
from stiction.errors import ModelError, Status
from stiction.io.store import load, save
from stiction.plot import figures_of, write_figures
from stiction.rods.figures.strings.data import StringData, _power

matplotlib.use("Agg")

ROWS, NODES, LENGTH, SPEED = 601, 65, 2.0 * np.pi, 1.0


def made(t_end=60.0, offset=0.5, ends="fixed", rows=ROWS, event=""):
    """A made-up run: u and v are standing waves, the contact goes to and fro, energy stays."""
    t = np.linspace(0.0, t_end, rows)
    x = np.linspace(0.0, LENGTH, NODES, endpoint=ends == "fixed")
    both = np.sin(x), np.sin(2.0 * x)
    u1, v1 = np.cos(t) + 1e-2 * np.cos(3.0 * t), 0.2 * np.sin(t)
    u = np.outer(u1, both[0]) + np.outer(0.1 * np.cos(2.0 * t), both[1])
    v = np.outer(v1, both[0])
    s1 = 2.0 + 0.4 * np.sin(t) if ends == "fixed" else 2.0 + 0.3 * t
    rate = 0.4 * np.cos(t) if ends == "fixed" else 0.3 + 0.0 * t
    share = 0.5 + 0.4 * np.cos(0.1 * t)
    kinetic = 0.5 * (1.0 + np.sin(2.0 * t) * 0.3)
    series = {
        "s1": s1,
        "s2": s1 + offset,
        "s1_rate": rate,
        "s2_rate": rate,
        "contact_force": np.sin(3.0 * t),
        "u1": u1,
        "v1": v1,
        "energy_u": share,
        "energy_v": 1.0 - share,
        "energy_P": 0.7 + 0.0 * t,
        "energy_M": 0.3 + 0.0 * t,
    }
    fields = {"u": u, "v": v, "u_t": np.gradient(u, t, axis=0), "v_t": np.gradient(v, t, axis=0)}
    grids = {"x": x, "y": x}
    pairs = {"wave_speed": np.full(2, SPEED), "length": np.full(2, LENGTH)}
    variables = {
        name: Variable(np.ascontiguousarray(values), dims, "1", name)
        for group, dims in (
            (series, ("time",)),
            (fields, ("time", "node")),
            (grids, ("node",)),
            (pairs, ("string",)),
        )
        for name, values in group.items()
    }
    log = EventLog()
    if event:
        log = EventLog(t[-1:].copy(), np.ones(1, dtype=np.int64), ["rolls"], ["none"], [event])
    return Run(
        system=None,
        method=None,
        system_name="RollingStrings",
        method_name="Characteristics",
        status=Status.NO_CONTINUATION if event else Status.SOLVED,
        reason="",
        t_end=float(t[-1]),
        time=t,
        variables=variables,
        final={name: variables[name].values[-1:].copy() for name in ("s1", "s2")},
        event_log=log,
        energy=Ledger(t, kinetic, 1.0 - kinetic, 0.0 * t, np.zeros((rows, 1))),
        determinism=Determinism(),
        audit=Audit(()),
        quantities={},
        stats={},
        time_unit="1",
        energy_unit="1",
    )


@pytest.fixture(scope="module")
def run():
    return made()


def line_named(ax, word):
    (line,) = [line for line in ax.lines if line.get_label() == word]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def texts(figure):
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def test_field_shows_the_saved_waves(run):
    figure = figures_of(run).field()
    upper, lower = figure.axes[:2]
    (image,) = upper.images
    shown = np.asarray(image.get_array())
    # the middles of the outermost pixels are the ends of the string, and of the run
    below, left = LENGTH / (shown.shape[0] - 1), 60.0 / (shown.shape[1] - 1)
    ends = [-0.5 * left, 60.0 + 0.5 * left, -0.5 * below, LENGTH + 0.5 * below]
    assert image.get_extent() == pytest.approx(ends)
    assert upper.get_ylim() == (0.0, LENGTH)
    assert np.array_equal(shown, run.variables["u"].values.T)
    (other,) = lower.images
    # one scale for both, or the string at rest would look as loud as the other
    assert image.get_clim() == other.get_clim()
    assert image.get_clim()[1] == pytest.approx(np.abs(shown).max())
    (scale,) = figure.axes[2:]
    assert scale.get_ylim() == image.get_clim()
    assert scale.get_ylabel() == "displacement u, v"
    red = [line for line in upper.lines if line.get_color() == "#d7191c"]
    assert np.asarray(red[0].get_ydata()) == pytest.approx(run.variables["s1"].values)
    assert lower.get_xlabel() == "time (dimensionless)"
    (ax, _) = figures_of(run).field("v", window=(10.0, 20.0)).axes
    assert ax.get_xlim() == (10.0, 20.0)
    assert ax.get_ylabel() == "place on v"


@pytest.mark.parametrize("window", [(5.0, 4.0), (0.0, 61.0), 3.0, ("a", "b")])
def test_bad_windows_are_refused(run, window):
    with pytest.raises(ModelError, match="leave this value out"):
        figures_of(run).field(window=window)


def test_unknown_strings_are_refused(run):
    with pytest.raises(ModelError, match="u or v"):
        figures_of(run).field("w")


def test_contact_goes_round():
    data = StringData(made(ends="periodic"))
    (image,) = figures_of(data.run).field("u").axes[0].images
    # the first node is also the last
    rows = np.asarray(image.get_array())
    assert np.array_equal(rows[-1], rows[0])
    assert np.mean(image.get_extent()[2:]) == pytest.approx(0.5 * LENGTH)
    s = data.contact_on_grid("u")
    inside = s[np.isfinite(s)]
    assert (inside >= 0.0).all()
    assert (inside <= LENGTH).all()
    turns = int(data.contact("u")[-1] // LENGTH)
    # no line is drawn across the string where the circle closes
    assert turns == 3
    assert np.isnan(s).sum() == turns
    assert StringData(made()).contact_on_grid("u") == pytest.approx(made().variables["s1"].values)


def test_spectrum_of_two_lines(run):
    line = StringData(run).spectrum("u")
    step = line.omega[1] - line.omega[0]
    assert line.frequency == pytest.approx(2.0 * np.pi * SPEED / LENGTH)

    def power(near):
        return line.density[np.abs(line.omega - near) < 0.5].sum() * step

    assert power(1.0) == pytest.approx(0.5, rel=0.01)
    assert power(3.0) == pytest.approx(0.5e-4, rel=0.01)
    assert line.free.sum() * step == pytest.approx(0.5 * 1.01**2, rel=0.01)
    # the fourth line of the free string is that of its window alone
    assert (
        line.free[np.abs(line.omega - 3.0) < 0.1].max()
        < 1e-3 * line.density[np.abs(line.omega - 3.0) < 0.1].max()
    )


def test_spectrum_is_that_of_the_package(run):
    from stiction.rods.strings.growth import spectrum

    ours, theirs = StringData(run).spectrum("u"), spectrum(run, "u1")
    assert ours.omega == pytest.approx(theirs.omega, rel=1e-12)
    assert np.abs(ours.density - theirs.density).max() <= 1e-12 * theirs.density.max()


@pytest.mark.parametrize("samples", [32, 33])
def test_the_sum_of_the_drawn_density_is_the_variance(samples):
    density = _power((-1.0) ** np.arange(samples), 1.0)
    assert density.sum() * 2.0 * np.pi / samples == pytest.approx(1.0)


def test_spectrum_of_the_free_string(run):
    (ax,) = figures_of(run).spectrum().axes
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "angular frequency ω"
    omega, free = line_named(ax, "u without contact")
    assert abs(omega[np.argmax(free)] - 1.0) < 0.06
    assert ax.get_xlim() == (0.0, pytest.approx(8.0))
    both = figures_of(run).spectrum(("u", "v")).axes[0]
    assert {"u₁", "v₁"} <= {line.get_label() for line in both.lines}


def test_early_end_leaves_the_spectrum():
    whole = made(rows=101)
    time = whole.time.copy()
    time[-1] -= 0.3
    early = dataclasses.replace(whole, time=time)
    data = StringData(early)
    assert data.evenly_spaced_samples == 100
    assert data.has_spectrum
    few = made(rows=9)
    assert "spectrum" not in figures_of(few).default
    assert "too few times\nfor a spectrum" in texts(figures_of(few).overview())
    with pytest.raises(ModelError, match="evenly spaced"):
        figures_of(few).spectrum()


def test_overview_is_the_papers(run):
    left, right = figures_of(run).overview().axes[:2]
    assert left.get_ylabel() == "place on u"
    assert right.get_ylabel() == "spectrum S(ω)"


def test_paths_of_both_contact_points(run):
    left, right = figures_of(run).paths().axes
    time, s2 = line_named(left, "s₂ on v")
    assert time[-1] == 60.0
    assert s2 == pytest.approx(run.variables["s2"].values)
    s, rate = line_named(right, "s₁")
    # a circle of the made-up motion: ((s - 2) / 0.4)^2 + (rate / 0.4)^2 = 1
    assert ((s - 2.0) ** 2 + rate**2) == pytest.approx(np.full(s.size, 0.16))


def test_speed_is_over_the_waves(run):
    top, middle, bottom = figures_of(run).contact().axes
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("contact point", "contact force λ")
    assert middle.get_ylabel() == "ṡ / c"
    assert line_named(middle, "u")[1] == pytest.approx(run.variables["s1_rate"].values)
    bounds = [line.get_ydata()[0] for line in middle.lines if len(line.get_xdata()) == 2]
    assert sorted(bounds) == [-1.0, 1.0]
    # equal velocities are still distinguished
    assert [line.get_linestyle() for line in middle.lines[:2]] == ["-", "--"]
    bare = {k: v for k, v in run.variables.items() if k != "wave_speed"}
    again = figures_of(dataclasses.replace(run, variables=bare)).contact().axes[1]
    assert again.get_ylabel() == "ṡ"


def test_energy_parts_add_up(run):
    axes = figures_of(run).energy().axes
    for ax, names in zip(
        axes, (("kinetic", "elastic"), ("u", "v"), ("P ∝ u + v", "M ∝ u − v")), strict=False
    ):
        one, two, whole = (line_named(ax, name)[1] for name in (*names, "sum"))
        assert one + two == pytest.approx(whole)
    assert len(axes) == 4
    bare = {k: v for k, v in run.variables.items() if k not in ("energy_P", "energy_M")}
    assert len(figures_of(dataclasses.replace(run, variables=bare)).energy().axes) == 3


def test_growth_of_a_difference(run):
    s2 = run.variables["s2"]
    grown = s2.values + 1e-8 * np.exp(0.1 * run.time)
    twin = dataclasses.replace(
        run, variables={**run.variables, "s2": dataclasses.replace(s2, values=grown)}
    )
    (ax,) = figures_of(run).growth(twin).axes
    time, distance = line_named(ax, "distance of two runs")
    assert ax.get_yscale() == "log"
    assert np.log(distance / 1e-8) == pytest.approx(0.1 * time, abs=1e-6)
    with pytest.raises(ModelError, match="other times"):
        figures_of(run).growth(made(t_end=50.0))


def test_breakdown_is_marked():
    figure = figures_of(made(event="breakdown")).contact()
    assert "breakdown" in texts(figure)
    for ax in figure.axes:
        assert any(list(line.get_xdata()) == [60.0, 60.0] for line in ax.lines)
    assert "contact at an end" in texts(figures_of(made(event="end")).field())


def test_default_set_is_written(run, tmp_path):
    paths = write_figures(run, tmp_path)
    assert [path.stem for path in paths] == ["field", "spectrum", "paths", "contact", "energy"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_loaded_runs_draw_the_same(run, tmp_path):
    again = load(save(run, tmp_path / "saved"))
    live, loaded = (figures_of(r).contact().axes[1] for r in (run, again))
    assert live.get_ylabel() == loaded.get_ylabel()
    assert np.array_equal(live.lines[0].get_ydata(), loaded.lines[0].get_ydata())


@pytest.mark.parametrize("name", ["overview", "field", "spectrum", "paths", "contact", "energy"])
def test_text_does_not_leave_the_page(name):
    for shown in (made(), made(ends="periodic", event="breakdown")):
        figure = getattr(figures_of(shown), name)()
        drawn = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert min(drawn.x0, drawn.y0) >= -0.01, (name, drawn)
        assert drawn.x1 <= width + 0.01, (name, drawn)
        assert drawn.y1 <= height + 0.01, (name, drawn)


def test_a_run_of_one_state_is_drawn():
    one = made(rows=2)
    cut = {
        name: dataclasses.replace(v, values=v.values[:1]) if v.dims[0] == "time" else v
        for name, v in one.variables.items()
    }
    ledger = Ledger(*(np.ones(1),) * 4, np.zeros((1, 1)))
    still = dataclasses.replace(one, time=one.time[:1], variables=cut, energy=ledger)
    for name in figures_of(still).default:
        assert getattr(figures_of(still), name)().axes, name


def test_animation_has_every_frame(run, tmp_path):
    path = figures_of(run).animate(tmp_path / "strings.gif", seconds=0.6, fps=10.0)
    with Image.open(path) as film:
        assert film.n_frames == 6
        assert film.size == (840, 324)
    with pytest.raises(ModelError, match=r"\.gif, \.mp4, \.html"):
        figures_of(run).animate(tmp_path / "strings.avi")
    with pytest.raises(ModelError, match="seconds"):
        figures_of(run).animate(tmp_path / "strings.gif", seconds=-1.0)


def test_video_needs_ffmpeg(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match="install ffmpeg"):
        figures_of(run).animate(tmp_path / "strings.mp4")


def test_unknown_names_and_foreign_runs(run):
    with pytest.raises(AttributeError, match="spectrum"):
        figures_of(run).spectrm()
    bare = dataclasses.replace(run, variables={})
    with pytest.raises(ModelError, match="contact_force"):
        figures_of(bare).field()

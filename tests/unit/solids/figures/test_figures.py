"""Figures of solids: what they show is what the run holds. The runs are made up."""

import dataclasses

import matplotlib
import numpy as np
import pytest
from PIL import Image
from solid_runs import WORK, cap, grid_of, strip

import stiction as st
from stiction.core.determinism import Loss
from stiction.core.run import Variable
from stiction.errors import ModelError
from stiction.io.store import load, save
from stiction.plot import figures_of, write_figures
from stiction.solids import Q1, Body, Boundary, Fixed, LinearElastic, Program, Traction, rectangle
from stiction.solids.figures.data import SolidData
from stiction.solids.figures.energy import _ledgered
from stiction.solids.figures.outline import borders, loops, outline

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def run():
    return strip()


@pytest.fixture(scope="module")
def sheared():
    return cap()


def without(run, *names):
    saved = {key: value for key, value in run.variables.items() if key not in names}
    return dataclasses.replace(run, variables=saved)


def lines(ax, colour):
    return [line for line in ax.get_lines() if line.get_color() == colour]


def test_every_figure_is_drawn_inside_its_page(run):
    figures = figures_of(run)
    # a footprint is one of a surface in space: three_d/test_space_figures.py
    for name in set(figures.NAMES) - {"footprint"}:
        figure = getattr(figures, name)()
        figure.draw_without_rendering()
        page = figure.bbox
        for ax in figure.axes:
            box = ax.get_tightbbox()
            assert box is not None
            assert box.x0 >= page.x0 - 1.0, name
            assert box.x1 <= page.x1 + 1.0, name
            assert box.y0 >= page.y0 - 1.0, name
            assert box.y1 <= page.y1 + 1.0, name


def test_default_leaves_out_the_silent(run, sheared):
    named = figures_of(run).default
    assert {"forces", "fronts", "tractions", "shapes", "energy", "fracture"} <= set(named)
    assert "contact_length_force" not in named  # there is no fit
    named = figures_of(sheared).default
    assert "contact_length_force" in named
    assert not {"shapes", "fracture", "stress"} & set(named)
    still = without(run, "probe_stress_yy_corner", "gap")
    assert not {"stress", "interface"} & set(figures_of(still).default)


def test_a_loose_fit_is_left_out(sheared):
    spread = dataclasses.replace(sheared.quantities["xi"], value=0.5)
    loose = dataclasses.replace(sheared, quantities={**sheared.quantities, "xi_spread": spread})
    assert "contact_length_force" not in figures_of(loose).default


def test_unknown_figures_are_named(run):
    with pytest.raises(AttributeError, match=r"one of forces, fronts"):
        figures_of(run).force()
    with pytest.raises(ModelError, match=r"without snapshot_time"):
        figures_of(without(run, "snapshot_time")).shapes()
    with pytest.raises(ModelError, match=r"without displacement"):
        figures_of(without(run, "displacement")).forces()


def test_forces_mark_peak_sliding_and_limit():
    where = {"displacement": 100.0}
    run = strip(losses=[Loss(0.5, "limit_point", where, "followed")])
    figure = figures_of(run).forces()
    below = figure.axes[1]
    force, u = run.variables["force_y"].values, run.variables["displacement"].values
    marks = {line.get_marker(): line for line in below.get_lines() if line.get_marker() != "None"}
    assert marks["^"].get_ydata()[0] == force.max()
    assert marks["s"].get_xdata()[0] == u[np.argmin(np.abs(u - 21.0))]
    assert marks["X"].get_xdata()[0] == pytest.approx(50.0)
    (curve,) = lines(below, "#D55E00")
    np.testing.assert_array_equal(curve.get_xdata(), u)
    np.testing.assert_array_equal(curve.get_ydata(), force)


def test_unstable_states_are_dashed(run):
    sign = np.where(np.arange(run.time.size) > 80, -1.0, 1.0)
    variables = {**run.variables, "sign_of_determinant": Variable(sign, ("time",), "1", "sign")}
    drawn = figures_of(dataclasses.replace(run, variables=variables))
    (legend,) = (ax.get_legend() for ax in drawn.fracture().axes)
    assert "unstable" in [text.get_text() for text in legend.get_texts()]
    figure = drawn.forces()
    stable, unstable = lines(figure.axes[1], "#D55E00")
    assert stable.get_linestyle() == "-"
    assert unstable.get_linestyle() == "--"
    # the pieces share a point
    assert stable.get_xdata()[-1] == unstable.get_xdata()[0]


def test_a_constant_force_is_left_out(sheared):
    assert len(figures_of(sheared).forces().axes) == 1


def test_preload_is_left_out(sheared):
    data = SolidData(sheared)
    assert data.time[data.begin] == pytest.approx(0.3)
    assert data.curve("contact_length")[0] == sheared.quantities["contact_length_initial"].value
    assert data.curve("displacement")[1] > 0.0


def test_fronts_are_the_lengths(run):
    (ax,) = figures_of(run).fronts().axes
    drawn = [line.get_ydata() for line in ax.get_lines() if len(line.get_xdata()) == run.time.size]
    for name, curve in zip(
        ("contact_length", "peeling_length", "sliding_length"), drawn, strict=True
    ):
        np.testing.assert_array_equal(curve, run.variables[name].values)


def test_sliding_parts_are_dash_dotted(run):
    figure = figures_of(run).tractions(times=[0.3])
    below = figure.axes[1]
    pieces = [line for line in below.get_lines() if len(line.get_xdata()) > 2]
    row = int(np.argmin(np.abs(run.time - 0.3)))
    sliding = run.variables["slides"].values[row] == 2
    dashed = [line for line in pieces if line.get_linestyle() not in ("-", "None")]
    assert sum(len(line.get_xdata()) for line in dashed) == sliding.sum() + len(dashed)
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["$u = 30\\,L_0$", "slides"]


def test_two_bodies_get_a_column_each():
    figure = figures_of(cap(bodies=2)).tractions()
    assert len(figure.axes) == 4
    assert figure.axes[1].get_title() == "on body 2"


def test_gap_is_drawn_near_the_contact(sheared):
    (ax,) = figures_of(sheared).interface().axes
    assert ax.get_ylim()[1] == pytest.approx(3.0 * 0.08)
    assert 0.0 < ax.get_xlim()[0] < ax.get_xlim()[1] < 40.0
    # without adhesion gaps are zero where friction acts, but for rounding
    gap, slides = (sheared.variables[name] for name in ("gap", "slides"))
    for closed in (0.0, -1e-9):
        values = np.where(np.asarray(slides.values) > 0, closed, gap.values)
        variables = {**sheared.variables, "gap": dataclasses.replace(gap, values=values)}
        (ax,) = figures_of(dataclasses.replace(sheared, variables=variables)).interface().axes
        assert ax.get_ylim()[1] > 0.08


def test_times_outside_are_refused(run):
    with pytest.raises(ModelError, match=r"times between 0 and 1"):
        figures_of(run).tractions(times=[2.0])
    with pytest.raises(ModelError, match=r"times between 0 and 1"):
        figures_of(run).shapes(times=[-1.0])
    with pytest.raises(ModelError, match="times between 0 and 1"):
        figures_of(run).shapes(times="a")


def test_shapes_are_the_deformed_bodies(run):
    figure = figures_of(run).shapes(times=[1.0])
    ax = figure.axes[0]
    shading = [c for c in ax.collections if c.get_array() is not None]
    np.testing.assert_allclose(shading[0].get_array(), run.variables["stress_trace"].values[-1])
    places = run.variables["drawn_position"].values[-1]
    assert ax.get_xlim()[0] < places[:, 0].min()
    assert ax.get_ylim()[1] > places[:, 1].max()
    assert ax.get_aspect() == 1.0
    (plane,) = ax.get_lines()
    np.testing.assert_array_equal(plane.get_ydata(), [-0.5, -0.5])


def test_outline_is_the_border():
    places, cells = grid_of(4, 3)
    assert len(borders(cells)) == 2 * (4 + 3)
    body = np.ones(len(places), dtype=int)
    assert len(outline(places, cells, body)) == 14
    # a finer layer below that shares places, not points
    fine, more = grid_of(8, 1)
    layered = np.concatenate([places, fine * [1.0, 0.2] - [0.0, 0.2]])
    both = np.concatenate([cells, more + len(places)])
    found = outline(layered, both, np.ones(len(layered), dtype=int))
    middle = layered[found].mean(axis=1)
    assert len(found) == 4 + 2 * 3 + 2 + 8
    inside = (np.abs(middle[:, 1]) < 1e-9) & (middle[:, 0] > 0.0) & (middle[:, 0] < 1.0)
    assert not inside.any()
    # another body that touches keeps its own outline
    other = np.concatenate([body, np.full(len(fine), 2)])
    assert len(outline(layered, both, other)) == 14 + 18


def test_outlines_are_closed_lines():
    places, cells = grid_of(4, 3)
    two = np.concatenate([cells, cells + len(places)])
    found = loops(borders(two))
    assert sorted(len(line) for line in found) == [15, 15]
    assert all(line[0] == line[-1] for line in found)


def test_ledger_is_drawn_over_displacement(run):
    above, below = figures_of(run).energy().axes
    assert above.get_xlim() == (0.0, 100.0)
    assert below.get_xlabel() == "displacement $u/L_0$"
    assert above.get_ylabel() == "ledger / $(E\\,L_0^2)$"
    put_in = above.get_lines()[-1]
    np.testing.assert_allclose(put_in.get_ydata(), run.energy.external_work, atol=1e-12)
    np.testing.assert_allclose(put_in.get_xdata(), run.variables["displacement"].values)


def test_the_ledger_begins_with_the_drive(sheared):
    heat = np.linspace(1.0, 2.0, sheared.time.size)
    work = sheared.energy.external_work + heat
    energy = dataclasses.replace(sheared.energy, viscous_heat=heat, external_work=work)
    drawn, _ = _ledgered(SolidData(dataclasses.replace(sheared, energy=energy)))
    assert SolidData(sheared).begin > 0
    assert drawn.energy.viscous_heat[0] == 0.0
    before, _ = _ledgered(SolidData(sheared))
    np.testing.assert_allclose(drawn.energy.imbalance, before.energy.imbalance, atol=1e-12)


def test_the_ledger_begins_with_the_drive_at_negative_times_too(sheared):
    time = sheared.time - 2.0 * sheared.time[-1]
    energy = dataclasses.replace(sheared.energy, time=time)
    early, _ = _ledgered(SolidData(dataclasses.replace(sheared, time=time, energy=energy)))
    drawn, _ = _ledgered(SolidData(sheared))
    assert early.energy.time.size == drawn.energy.time.size


def test_a_path_that_turns_back_is_drawn_over_time(run):
    u = run.variables["displacement"]
    back = dataclasses.replace(u, values=np.sin(4.0 * run.time))
    turned = dataclasses.replace(run, variables={**run.variables, "displacement": back})
    assert figures_of(turned).energy().axes[1].get_xlabel() == "time of the program (dimensionless)"


def test_fracture_energy_has_its_reference(run):
    (ax,) = figures_of(run).fracture().axes
    flat = [line for line in ax.get_lines() if list(line.get_ydata()) == [WORK, WORK]]
    assert len(flat) == 1
    assert ax.get_xlim()[1] == pytest.approx(120.0)


def test_contact_shrinks_as_fitted(sheared):
    (ax,) = figures_of(sheared).contact_length_force().axes
    curve, fit = (line for line in ax.get_lines() if len(line.get_xdata()) > 2)
    xi = sheared.quantities["xi"].value
    start = sheared.quantities["contact_length_initial"].value
    np.testing.assert_allclose(curve.get_ydata(), start - xi * curve.get_xdata() ** 2)
    np.testing.assert_allclose(fit.get_ydata(), start - xi * fit.get_xdata() ** 2)
    (over,) = figures_of(sheared).contact_length().axes
    assert over.get_ylabel() == "contact length $L_\\mathrm{c}/L_0$"


def test_probes_are_drawn(run):
    (ax,) = figures_of(run).stress().axes
    curve = lines(ax, "#0072B2")[0]
    np.testing.assert_array_equal(curve.get_ydata(), run.variables["probe_stress_yy_corner"].values)
    assert ax.get_legend().get_texts()[0].get_text() == "stress yy corner"


def test_labels_carry_units(run):
    assert SolidData(run).ratio("force_y") == "$F_y/(E\\,L_0)$"
    metres = strip(unit="m")
    data = SolidData(metres)
    assert data.ratio("force_y") == "$F_y$"
    axes = figures_of(metres).forces().axes
    assert axes[1].get_xlabel() == "displacement $u$ (m)"
    assert axes[1].get_ylabel() == "vertical force $F_y$ (mN/m)"
    assert data.state(0.5) == "$u = 50\\,\\mathrm{m}$"
    assert figures_of(metres).energy().axes[0].get_ylabel() == "ledger per width (J/m)"


def test_labels_in_space_are_not_per_width(run):
    def label_of(run, figure):
        places = run.variables["drawn_position"]
        flat = np.concatenate([places.values, 0.0 * places.values[..., :1]], axis=-1)
        variables = {**run.variables, "drawn_position": dataclasses.replace(places, values=flat)}
        run = dataclasses.replace(run, variables=variables)
        return getattr(figures_of(run), figure)().axes[0].get_ylabel().replace("10^{3}\\,", "")

    cap, tape = (dataclasses.replace(run, system_name=n) for n in ("CapSliding3D", "TapePeeling"))
    assert label_of(cap, "forces") == "horizontal force $F_x/(E\\,L_0^2)$"
    assert label_of(cap, "energy") == "ledger / $(E\\,L_0^3)$"
    assert label_of(tape, "forces") == "horizontal force $F_x/(E\\,T\\,L_0)$"
    metres = strip(unit="m")
    assert label_of(metres, "forces") == "horizontal force $F_x$ (µN)"
    assert label_of(metres, "energy") == "ledger (J)"


def test_small_values_have_a_power_of_ten(run):
    figure = figures_of(run).tractions()
    figure.draw_without_rendering()
    below = figure.axes[1]
    assert below.get_ylabel() == "tangential traction $10^{3}\\,T_\\mathrm{t}/E$"
    low = float(below.get_ylim()[0])
    assert -1.0 < low < 0.0
    words = [text.get_text() for text in below.get_yticklabels()]
    assert "−0.6" in words


def test_a_word_alone_has_its_power_of_ten_too():
    """A block without a length to measure by, whose energies are small."""
    block = Body(rectangle(3.0, 1.5, (4, 2)), Q1(), LinearElastic(1.0, 0.0))
    pull = Traction(Boundary(0, "right"), 0, Program((0.0, 1.0), (0.0, 0.01)))
    solid = st.Solid([block], [], [Fixed(Boundary(0, "left")), pull], dimensionless=True)
    run = st.solve(solid, st.solids.Quasistatic(steps=4))
    assert 2e-4 < float(run.ledger["stored"][-1]) < 3e-4
    figure = figures_of(run).energy()
    figure.draw_without_rendering()
    above = figure.axes[0]
    assert above.get_ylabel() == "ledger $\\times\\,10^{3}$"
    assert "0.20" in [text.get_text() for text in above.get_yticklabels()]


def test_a_loaded_run_draws_the_same(run, tmp_path):
    folder = save(run, tmp_path / "run", scenario="")
    again = load(folder)
    assert figures_of(again).default == figures_of(run).default
    (path,) = write_figures(again, tmp_path, "forces")
    assert path.stat().st_size > 5000


def test_animation_has_every_frame(run, tmp_path):
    path = figures_of(run).animate(tmp_path / "film.gif", seconds=1.0, fps=5.0)
    with Image.open(path) as film:
        assert film.n_frames == 5
    with pytest.raises(ModelError, match=r"ends in \.gif, \.mp4, \.html"):
        figures_of(run).animate(tmp_path / "film.avi")

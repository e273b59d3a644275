"""The set of figures of a run, the files they become, and runs that ended badly."""

import dataclasses
import re
import sys

import numpy as np
import pytest
from PIL import Image

from stiction.chains.figures.figures import ChainFigures
from stiction.errors import ModelError, Status, StoreError
from stiction.plot import figures_of, write_figures

UNITS = re.compile(r"\((n|µ|m|k)?(m|s|m/s|N|J)\)$")
NO_UNIT = {"mass", "rel. imbalance", "friction force / stick bound"}


def artists(figure):
    return len(figure.findobj())


@pytest.mark.parametrize("name", ChainFigures.NAMES)
@pytest.mark.parametrize("run", ["baseline", "wave"])
def test_every_figure_has_si_units(name, run, request):
    figure = getattr(figures_of(request.getfixturevalue(run)), name)()
    figure.draw_without_rendering()
    labels = {ax.get_xlabel() for ax in figure.axes} | {ax.get_ylabel() for ax in figure.axes}
    labels.discard("")
    assert labels
    assert [label for label in labels if not UNITS.search(label) and label not in NO_UNIT] == []


@pytest.mark.parametrize("name", ChainFigures.NAMES)
def test_size_of_a_figure_is_bounded(name, huge, wave):
    big, middle = (artists(getattr(figures_of(run), name)()) for run in (huge, wave))
    assert big <= middle + 60
    assert big < 1500


@pytest.mark.parametrize("name", ChainFigures.NAMES)
def test_nothing_is_clipped(name, baseline, huge):
    """Every text lies inside the figure."""
    for run in (baseline, huge):
        figure = getattr(figures_of(run), name)()
        figure.draw_without_rendering()
        width, height = figure.bbox.width, figure.bbox.height
        for ax in figure.axes:
            for text in ax.findobj(lambda a: hasattr(a, "get_text") and a.get_text()):
                if text.get_visible() and not is_hidden_tick(ax, text):
                    box = text.get_window_extent()
                    inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
                    assert inside, (name, text.get_text(), box)


def is_hidden_tick(ax, text):
    """Return whether a text belongs to a tick outside the limits, which is not drawn."""
    for axis, q in ((ax.xaxis, 0), (ax.yaxis, 1)):
        if text in axis.get_majorticklabels():
            low, high = sorted(axis.get_view_interval())
            place = text.get_position()[q]
            return not low <= place <= high or text.get_window_extent().width == 0
    return False


def test_default_set_is_written(baseline, tmp_path):
    folder = tmp_path / "new" / "figures"
    paths = write_figures(baseline, folder)
    assert [path.name for path in paths] == [
        "motion.png",
        "phase.png",
        "energy.png",
        "onset.png",
        "stick_set.png",
    ]
    assert sorted(folder.iterdir()) == sorted(paths)
    with Image.open(paths[0]) as image:
        # one column of 3.4 in at 150 dpi
        assert image.width == 510


def test_run_plot_is_the_same_object(baseline):
    assert isinstance(baseline.plot, ChainFigures)
    assert baseline.plot.run is baseline


@pytest.mark.parametrize(
    ("format", "head"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?")]
)
def test_formats(baseline, tmp_path, format, head):
    (path,) = write_figures(baseline, tmp_path, "energy", format)
    assert path.name == f"energy.{format}"
    assert path.read_bytes().startswith(head)


def test_text_of_vector_files_stays_text(baseline, tmp_path):
    (path,) = write_figures(baseline, tmp_path, "energy", "svg")
    assert "friction heat" in path.read_text(encoding="utf-8")


def test_unknown_figures_are_named(baseline, tmp_path):
    with pytest.raises(ModelError, match="did you mean 'phase'") as caught:
        write_figures(baseline, tmp_path / "no", ["energy", "phases"])
    for name in ChainFigures.NAMES:
        assert name in str(caught.value)
    assert not (tmp_path / "no").exists()
    with pytest.raises(AttributeError, match="did you mean 'energy'"):
        baseline.plot.energie()
    with pytest.raises(ModelError, match="format: got 'bmp'; needs one of png, pdf, svg"):
        write_figures(baseline, tmp_path / "no", format="bmp")
    assert not (tmp_path / "no").exists()


def test_a_folder_that_cannot_be_written(baseline, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StoreError, match="a folder that can be written"):
        write_figures(baseline, blocked, "energy")
    assert blocked.read_text() == "in the way"


def test_pyplot_is_left_alone(baseline, tmp_path):
    before = "matplotlib.pyplot" in sys.modules
    write_figures(baseline, tmp_path, ["energy", "onset"])
    assert ("matplotlib.pyplot" in sys.modules) == before


def shortened(run, keep, **changes):
    """Return `run` cut down to the saved times `keep`."""
    variables = {
        name: dataclasses.replace(v, values=v.values[keep] if "time" in v.dims else v.values)
        for name, v in run.variables.items()
    }
    energy = run.energy
    cut = {
        name: getattr(energy, name)[keep]
        for name in ("time", "kinetic", "stored", "external_work", "friction_heat")
    }
    viscous = energy.viscous_heat if energy.viscous_heat.size == 1 else energy.viscous_heat[keep]
    energy = dataclasses.replace(energy, **cut, viscous_heat=viscous)
    return dataclasses.replace(
        run, time=run.time[keep], variables=variables, energy=energy, **changes
    )


@pytest.mark.parametrize("name", ChainFigures.NAMES)
def test_a_run_that_ended_at_once_is_drawn(name, baseline, wave):
    for run in (baseline, wave):
        short = shortened(run, slice(0, 1), status=Status.WORK_LIMIT)
        figure = getattr(figures_of(short), name)()
        figure.draw_without_rendering()
        assert figure.axes


@pytest.mark.parametrize("name", ChainFigures.NAMES)
def test_a_run_that_blew_up_is_drawn(name, baseline):
    variables = dict(baseline.variables)
    for key, bad in (("x", np.inf), ("v", np.nan), ("friction", np.nan)):
        values = variables[key].values.copy()
        values[-5:, 1:] = bad
        variables[key] = dataclasses.replace(variables[key], values=values)
    kinetic = baseline.energy.kinetic.copy()
    kinetic[-5:] = np.inf
    energy = dataclasses.replace(baseline.energy, kinetic=kinetic)
    run = dataclasses.replace(
        baseline, variables=variables, energy=energy, status=Status.NOT_FINITE
    )
    figure = getattr(figures_of(run), name)()
    figure.draw_without_rendering()
    assert figure.axes

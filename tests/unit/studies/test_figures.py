"""Figures of studies are drawn from what was saved."""

import numpy as np
import pytest

import stiction as st
from stiction.studies import Range
from stiction.studies.figures import write_study_figures


@pytest.fixture
def study(chain, tmp_path):
    fields = {"law.mu": Range(0.1, 0.3, 5), "load.rate": [0.5, 1.0, 2.0]}
    sweep = st.Sweep(chain, fields, results=("max(onset_force)", "final.x"), t_span=(0.0, 4.0))
    return sweep.run(tmp_path / "study", workers=1)


def test_the_default_set_is_written(study, tmp_path):
    paths = write_study_figures(study, tmp_path / "figures")
    assert [p.name for p in paths] == ["map.png", "phase.png", "events.png", "distribution.png"]
    assert all(p.stat().st_size > 3000 for p in paths)
    (path,) = write_study_figures(study, tmp_path / "figures", ["curve:final.x"], "svg")
    assert path.name == "curve-final.x.svg"


def test_a_map_shows_the_values(study):
    ax = study.plot.map("events").axes[0]
    drawn = np.asarray(ax.collections[0].get_array())
    assert np.array_equal(drawn, study.data["events"].values.T)
    assert ax.get_xlabel() == "law.mu"


def test_a_curve_has_a_band(study):
    ax = study.plot.curve("max(onset_force)").axes[0]
    assert len(ax.lines) == 1
    assert len(ax.collections) == 1


def test_phases_are_distinguished(study):
    figure = study.plot.phase("events")
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(words) == len(np.unique(study.table["events"]))


def test_unknown_figures_are_refused(study, tmp_path):
    with pytest.raises(st.ModelError, match="did you mean 'map'"):
        write_study_figures(study, tmp_path, ["mapp"])
    with pytest.raises(st.ModelError, match=r"max\(onset_force\)"):
        study.plot.map("onset")
    with pytest.raises(st.ModelError, match="png"):
        write_study_figures(study, tmp_path, ["map"], "bmp")

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


def test_members_at_one_place_are_all_seen(study):
    """The third field, which has no axis, hides no member."""
    study.table["load.rate"][:] = 1.0
    study.table["status"][:] = 0
    study.table["events"][:] = np.arange(15) % 3
    ax = study.plot.phase("events").axes[0]
    sizes = [squares.get_sizes() for squares in ax.collections]
    assert [len(np.unique(s)) for s in sizes] == [1, 1, 1]
    assert sizes[0][0] > sizes[1][0] > sizes[2][0] > 0.0
    assert [len(squares.get_offsets()) for squares in ax.collections] == [5, 5, 5]
    # a sparse design: the means of equal places
    study.table["law.mu"][:] = study.table["load.rate"][:] = np.arange(15) // 2
    study.table["events"][:] = np.arange(15) % 2
    points = study.plot.map("events").axes[0].collections[0]
    assert points.get_array().tolist() == [0.5] * 7 + [0.0]
    assert points.get_offsets()[:, 0].tolist() == list(range(8))


def test_a_distribution_of_lists_counts_their_entries(study):
    assert study.plot.distribution("final.x").axes[0].get_ylabel() == "entries of all members"
    assert study.plot.distribution("events").axes[0].get_ylabel() == "members"


def test_members_without_a_run_have_no_events_and_lists_their_largest_entry(tmp_path):
    # the second member of four is refused, and of the first three masses only the third slips
    jump = st.StaticKinetic(0.4, 0.1)
    chain = st.Chain(mass=1.0, stiffness=20.0, load=st.Ramp(1.0), law=jump, n=2)
    fields = {"law.mu_static": [0.4, 0.2], "law.mu_kinetic": [0.1, 0.3]}
    sweep = st.Sweep(chain, fields, results=("onset_time",), t_span=(0.0, 6.0))
    found = sweep.run(tmp_path / "refused", workers=1)
    (refused,) = np.flatnonzero(found.table["status"] != 0)
    drawn = np.ma.masked_invalid(found.plot.events().axes[0].collections[0].get_array())
    assert drawn.mask.sum() == 1
    assert drawn.min() > 0
    counted = np.delete(found.table["events"], refused)
    (line,) = [line for line in str(found).splitlines() if line.startswith("events ")]
    assert f"{counted.min()} ... {counted.max()}" in line
    assert found.plot.map("onset_time").axes[-1].get_ylabel() == "largest onset time (s)"
    place = found.plot._phases("onset_time")[1]
    assert place[refused] == -1
    # mass 2, which bears the load, slips first
    times = np.where(np.arange(4)[:, None] == 1, [np.nan, 1.0], np.nan)
    found.table["onset_time"][:] = times
    found.table["status"][:] = 0
    assert found.plot._phases("onset_time")[1].tolist() == [1, 0, 1, 1]


def test_figures_that_need_other_data_are_refused(chain, study, tmp_path):
    words = st.Sweep(chain, {"supports": ["left", "both"]}, t_span=(0.0, 1.0))
    with pytest.raises(st.ModelError, match="without numbers"):
        words.run(tmp_path / "words", workers=1).plot.curve()
    with pytest.raises(st.ModelError, match=r"draw map:final\.x"):
        write_study_figures(study, tmp_path, ["events:final.x"])


def test_unknown_figures_are_refused(study, tmp_path):
    with pytest.raises(st.ModelError, match="did you mean 'map'"):
        write_study_figures(study, tmp_path, ["mapp"])
    with pytest.raises(st.ModelError, match=r"max\(onset_force\)"):
        study.plot.map("onset")
    with pytest.raises(st.ModelError, match="png"):
        write_study_figures(study, tmp_path, ["map"], "bmp")

"""The movie of a study: a parameter slides, and frames are members that were run."""

import numpy as np
import pytest
from playing import film_in

import stiction as st
from stiction.studies import Range


@pytest.fixture
def study(chain, tmp_path):
    fields = {"law.mu": Range(0.1, 0.3, 5), "load.rate": [0.5, 1.0, 2.0]}
    sweep = st.Sweep(chain, fields, results=("max(onset_force)", "final.x"), t_span=(0.0, 4.0))
    return sweep.run(tmp_path / "study", workers=1)


def test_frames_are_the_members(study):
    movie = study.plot.movie(240)
    table = study.table
    assert movie.clock == "law.mu"
    assert movie.time.tolist() == np.unique(table["law.mu"]).tolist()
    dots = movie.views[0].layers[-1]
    name = "max(onset_force)"
    for k, mu in enumerate(movie.time):
        for (rate, shown), colour in zip(dots.points[k], dots.colour[k], strict=True):
            (saved,) = table[name][(table["law.mu"] == mu) & (table["load.rate"] == rate)]
            # a member without a number is hidden
            assert (colour == 255) if np.isnan(saved) else (shown == saved)


def test_the_page_says_what_slides(study, tmp_path):
    path = study.animate(tmp_path / "slides.html")
    text = path.read_text(encoding="utf-8")
    film = film_in(text)
    assert film["clock"] == "law.mu"
    assert film["even"]
    assert len(text) < 500_000
    assert "<iframe" in study.animate()._repr_html_()
    # members without a number are hidden in pictures too
    assert study.animate(tmp_path / "slides.gif", seconds=0.5, fps=10.0).stat().st_size > 5000


def test_one_field_moves_a_dot_along_its_curve(chain, tmp_path):
    sweep = st.Sweep(chain, {"law.mu": Range(0.1, 0.3, 4)}, results=("final.x",), t_span=(0.0, 2.0))
    study = sweep.run(tmp_path / "one", workers=1)
    dots = study.plot.movie(240).views[0].layers[-1]
    most = study.table["final.x"].reshape(4, -1).max(axis=1)
    assert np.array_equal(dots.points[:, 0, 1], most)


def test_no_field_varies(chain, tmp_path):
    sweep = st.Sweep(chain, {"law.mu": [0.2]}, results=("final.x",), t_span=(0.0, 1.0))
    study = sweep.run(tmp_path / "none", workers=1)
    with pytest.raises(st.ModelError, match="without a varied number"):
        study.animate()

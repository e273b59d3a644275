"""Animations: the film, its GIF, its video and its page."""

import dataclasses
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from playing import film_in
from scipy.interpolate import CubicHermiteSpline

from stiction.chains import Chain
from stiction.chains.figures.animation import animate
from stiction.chains.figures.data import ChainData
from stiction.chains.figures.film import BLOCK, film_of, nice_scale
from stiction.errors import ModelError, StoreError
from stiction.laws import Coulomb


@pytest.fixture(scope="module")
def film(baseline):
    return film_of(ChainData(baseline), seconds=2.0, fps=20.0)


def test_film_shows_the_saved_states(film, baseline):
    assert film.time.size == 40
    assert film.scale == 1.0
    x, v = (baseline.variables[name].values for name in "xv")
    cubic = CubicHermiteSpline(baseline.time, x, v)(film.time)
    # where an event lies between two saved rows the velocity bends, and a cubic is not taken
    assert film.place == pytest.approx(np.array([1.0, 2.0, 3.0]) + cubic, abs=1e-4)
    assert film.mode[0].tolist() == baseline.variables["mode"].values[0].tolist()
    assert film.mode[-1].tolist() == [0, 0, 0]
    assert film.linked.tolist() == [True, True, True, False]
    assert film.notes == "displacements × 1"
    assert len({film.clock(k) for k in range(40)}) == 40


def test_small_displacements_are_enlarged_and_it_is_said(wave):
    film = film_of(ChainData(wave), seconds=1.0, fps=10.0)
    assert film.scale == 10.0
    assert film.notes == "displacements × 10"
    assert np.diff(film.place, axis=1).min() > BLOCK * film.distance


def test_long_chains_show_some_masses(huge):
    film = film_of(ChainData(huge), seconds=1.0, fps=10.0)
    assert film.number.size == 60
    assert film.notes.endswith("60 of 10000 masses")


def test_a_free_chain_stays_in_the_picture(make_run):
    chain = Chain([1.0, 1.0], 20.0, law=Coulomb(0.3), supports="none", belt_speed=0.5)
    film = film_of(ChainData(make_run(chain, 4.0, 4000, 40)), seconds=1.0, fps=10.0)
    assert film.place.mean(axis=1) == pytest.approx(np.full(10, 1.5))
    # stuck to the belt, the surface stands still in a picture that follows the chain
    assert np.ptp(film.ground[5:]) < 1e-9


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.floats(1e-3, 1e3),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_scale_keeps_blocks_apart(x, distance, linked):
    x = np.array([x])
    scale = nice_scale(x, distance, np.array(linked))
    assert np.diff(distance * np.arange(3) + scale * x[0]).min() > BLOCK * distance
    assert scale > 0.0


def test_gif_has_every_frame(baseline, tmp_path):
    path = animate(baseline, tmp_path / "new" / "chain.gif", seconds=1.5, fps=20.0)
    with Image.open(path) as image:
        assert image.n_frames == 30
        assert image.size == (760, 216)
        first, last = image.convert("RGB"), None
        image.seek(29)
        last = image.convert("RGB")
        assert image.info["duration"] == 1500
    assert first.getpixel((380, 60)) == (255, 255, 255)
    assert colours_of_blocks(first) == {"stuck", "plus"}
    assert colours_of_blocks(last) == {"stuck"}
    assert [p.name for p in path.parent.iterdir()] == ["chain.gif"]


def colours_of_blocks(image):
    """Return which colours of blocks stand on the rail, above the legend."""
    pixels = np.asarray(image, dtype=int)[90:140].reshape(-1, 3)
    known = {"stuck": (0xC4,) * 3, "plus": (0x00, 0x72, 0xB2), "minus": (0xD5, 0x5E, 0x00)}
    return {
        name for name, rgb in known.items() if (np.abs(pixels - rgb).max(axis=1) < 12).sum() > 60
    }


def test_a_run_that_blew_up_is_shown_until_then(baseline):
    x = baseline.variables["x"]
    values = x.values.copy()
    values[-100:, 2] = np.inf
    x = dataclasses.replace(x, values=values)
    run = dataclasses.replace(baseline, variables={**baseline.variables, "x": x})
    film = film_of(ChainData(run), seconds=1.0, fps=10.0)
    assert film.time[-1] == baseline.time[-101]
    assert film.scale == 1.0


def test_video_needs_ffmpeg(baseline, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match=r"write a \.gif or \.html instead"):
        animate(baseline, tmp_path / "chain.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for ffmpeg is a shell script")
@pytest.mark.parametrize("works", [True, False])
def test_video_frames_go_to_ffmpeg(baseline, tmp_path, monkeypatch, works):
    stand_in = tmp_path / "bin" / "ffmpeg"
    stand_in.parent.mkdir()
    body = 'for last; do :; done\nwc -c > "$last"\necho "$@" >> "$last"\n'
    stand_in.write_text("#!/bin/sh\n" + (body if works else "echo no codec >&2; exit 3\n"))
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "chain.mp4"
    if works:
        animate(baseline, path, seconds=0.5, fps=10.0)
        count, arguments = path.read_text().splitlines()
        assert int(count) == 5 * 760 * 216 * 3
        assert "-s 760x216 -r 10" in arguments
    else:
        with pytest.raises(StoreError, match="no codec"):
            animate(baseline, path, seconds=0.5, fps=10.0)
        assert not path.exists()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["bin"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": 0.0}, r"animate\.seconds: got 0"),
        ({"fps": -1.0}, r"animate\.fps: got -1"),
        ({"scale": 0.0}, r"animate\.scale: got 0"),
        ({"window": (5.0, 50.0)}, r"animate\.window: got \(5\.0, 50\.0\)"),
    ],
)
def test_wrong_options_are_refused(baseline, tmp_path, options, message):
    with pytest.raises(ModelError, match=message):
        animate(baseline, tmp_path / "chain.html", **options)
    assert not list(tmp_path.iterdir())


def test_unknown_format_is_refused(baseline, tmp_path):
    with pytest.raises(ModelError, match=r"needs a name that ends in \.gif, \.mp4, \.html"):
        animate(baseline, tmp_path / "chain.avi")


def test_a_place_that_cannot_be_written(baseline, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="a place that can be written"):
        animate(baseline, tmp_path / "file" / "chain.html", seconds=0.2)


def test_run_plot_animates(baseline, tmp_path):
    path = baseline.plot.animate(tmp_path / "chain.html", seconds=0.5, window=(0.0, 1.0), scale=0.5)
    film = film_in(path.read_text(encoding="utf-8"))
    assert film["time"][-1] == 1.0
    assert film["notes"] == "displacements × 0.5"
    assert max(mark[0] for mark in film["marks"]) <= 1.0

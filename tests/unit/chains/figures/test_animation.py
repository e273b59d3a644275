"""Animations of a chain as files: GIF, video and page."""

import os

import numpy as np
import pytest
from PIL import Image
from playing import film_in

from stiction.errors import ModelError, StoreError


def test_gif_has_every_frame(baseline, tmp_path):
    path = baseline.animate(tmp_path / "new" / "chain.gif", seconds=1.5, fps=20.0)
    with Image.open(path) as image:
        assert image.n_frames == 30
        assert image.size == (840, 194)
        first, last = image.convert("RGB"), None
        image.seek(29)
        last = image.convert("RGB")
        # its own time, and the rest
        assert image.info["duration"] == 50 + 1500
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


def test_video_needs_ffmpeg(baseline, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match=r"write a \.gif or \.html instead"):
        baseline.animate(tmp_path / "chain.mp4")
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
        baseline.animate(path, seconds=0.5, fps=10.0)
        count, arguments = path.read_text().splitlines()
        assert int(count) == 5 * 840 * 194 * 3
        assert "-s 840x194 -r 10" in arguments
    else:
        with pytest.raises(StoreError, match="no codec"):
            baseline.animate(path, seconds=0.5, fps=10.0)
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
        baseline.animate(tmp_path / "chain.html", **options)
    assert not list(tmp_path.iterdir())


def test_unknown_format_is_refused(baseline, tmp_path):
    with pytest.raises(ModelError, match=r"needs a name that ends in \.gif, \.mp4, \.html"):
        baseline.animate(tmp_path / "chain.avi")


def test_a_place_that_cannot_be_written(baseline, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="a file that can be written"):
        baseline.animate(tmp_path / "file" / "chain.html", seconds=0.2)


def test_run_plot_animates(baseline, tmp_path):
    path = baseline.plot.animate(tmp_path / "chain.html", seconds=0.5, window=(0.0, 1.0), scale=0.5)
    film = film_in(path.read_text(encoding="utf-8"))
    assert film["time"][-1] == 1.0
    assert film["notes"] == "displacements × 0.5"
    assert max(mark[0] for mark in film["marks"]) <= 1.0

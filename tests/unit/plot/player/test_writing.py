"""Movies as files."""

import pytest
from PIL import Image

from stiction.errors import ModelError
from stiction.io.scenario import read_scenario
from stiction.solve import solve


@pytest.fixture(scope="module")
def blocks():
    s = read_scenario("two-block-stick-slip", ())
    return solve(s.system, s.method, (0.0, 10.0), save=201)


def test_every_format_is_written(blocks, tmp_path):
    path = blocks.animate(tmp_path / "new" / "x.gif", seconds=0.5, fps=8.0)
    with Image.open(path) as image:
        assert image.n_frames >= 3  # equal ones are one
        assert image.size == (840, 396)
    assert blocks.animate(tmp_path / "x.html").stat().st_size < 200_000
    assert blocks.animate()._repr_html_().startswith("<iframe")


@pytest.mark.parametrize(("seconds", "fps"), [(0.31, 100.0), (0.31, 30.0), (0.9, 7.0)])
def test_a_gif_plays_as_long_as_asked(blocks, tmp_path, seconds, fps):
    path = blocks.animate(tmp_path / "x.gif", seconds=seconds, fps=fps)
    total = 0
    with Image.open(path) as image:
        for k in range(image.n_frames):
            image.seek(k)
            total += image.info["duration"]
    # it rests on its last frame
    assert total == round(1000 * seconds) + 1500


def test_unknown_formats_are_refused(blocks, tmp_path, monkeypatch):
    with pytest.raises(ModelError, match=r"needs a name that ends in \.gif, \.mp4, \.html"):
        blocks.animate(tmp_path / "x.avi")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="no program ffmpeg"):
        blocks.animate(tmp_path / "x.mp4")
    assert not list(tmp_path.iterdir())

"""A self-contained page that plays a film in any browser, without a network."""

from __future__ import annotations

import html
import importlib.resources
import json

import numpy as np

from stiction.chains.figures.film import BLOCK, Film

__all__ = ["page"]

_DIGITS = 5  # of a block's place, over the width of the picture: a tenth of a pixel


def page(film: Film) -> str:
    """Return the page as text: the player with the film's data written into it.

    Verified by: tests/unit/chains/figures/test_animation.py::test_page_is_self_contained
    """
    left, right = film.extent
    width = right - left
    place = np.round((film.place - left) / width, _DIGITS)
    data = {
        "title": film.title,
        "notes": film.notes,
        "digits": film.digits,
        "fps": film.fps,
        "time": [float(f"{t:.9g}") for t in film.time],
        "place": place.tolist(),
        # one letter per block: - slips to the left, 0 sticks, + slips to the right
        "mode": ["".join("-0+"[m + 1] for m in row) for row in film.mode.astype(int)],
        "load": [float(f"{f:.6g}") for f in film.load],
        "ground": np.round(film.ground / width, _DIGITS).tolist(),
        "number": film.number.tolist(),
        "share": film.share.tolist(),
        "linked": film.linked.tolist(),
        "wall": [(wall - left) / width for wall in film.wall],
        "block": BLOCK * film.distance / width,
        "step": film.distance / width,
    }
    # "<" cannot end the script early once it is written as an escape
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    source = importlib.resources.files("stiction.chains.figures").joinpath("player.html")
    template = source.read_text(encoding="utf-8")
    return template.replace("{{title}}", html.escape(film.title)).replace('"{{film}}"', text)

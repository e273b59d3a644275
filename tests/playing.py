"""Reading the page of a movie back, and how far what it shows lies from the saved run."""

from __future__ import annotations

import json
import re

import numpy as np

from stiction.plot.player.packing import unpacked


def film_in(page):
    """Return the data of a page, its arrays unpacked."""
    text = re.search(r'<script type="application/json" id="film">(.*?)</script>', page).group(1)
    film = json.loads(text)

    def opened(value):
        if isinstance(value, dict) and "shape" in value:
            return unpacked(film["packed"], value)
        return value

    for view in film["views"]:
        view["layers"] = [{k: opened(v) for k, v in layer.items()} for layer in view["layers"]]
    for reading in film["readings"]:
        reading["values"] = opened(reading["values"])
    film["strip"] = opened(film["strip"])
    film["time"] = np.array(film["time"])
    return film


def shown(film, values, time, held=False):
    """Return what the player draws of an array at times, as its script does."""
    frames = film["time"]
    at = np.clip(np.searchsorted(frames, time, side="right") - 1, 0, frames.size - 1)
    if len(values) == 1:
        return np.repeat(values, len(time), axis=0)
    if not film["tween"] or held:
        return values[at]
    last = np.minimum(at + 1, frames.size - 1)
    gap = frames[last] - frames[at]
    part = np.where(gap > 0, (time - frames[at]) / np.where(gap > 0, gap, 1.0), 0.0)
    part = part.reshape(-1, *[1] * (values.ndim - 1))
    return values[at] + part * (values[last] - values[at])


def misses(run, film):
    """Return the largest miss over the range of each component, of all that moves.

    The truth is the movie at exactly the saved times, whose places are saved states; where the
    player shows only frames, the movie at the times of the frames.
    """
    exact = film["time"] if not film["tween"] else times_within(run, film)
    truth = movie_at(run, exact)
    worst = 0.0
    for view, reported in zip(truth.views, film["views"], strict=True):
        for layer, other in zip(view.layers, reported["layers"], strict=True):
            for name in ("points", "vectors"):
                mine = getattr(layer, name, None)
                if mine is None or layer.KIND == "trail":
                    continue
                held = getattr(layer, "held", False)
                when = film["time"] if held else exact
                if held:
                    mine = getattr(_same(movie_at(run, when), truth, layer), name)
                drawn = shown(film, other[name], when, held)
                parts = mine.shape[-1]
                size = np.ptp(mine.reshape(-1, parts), axis=0)
                off = np.abs(drawn - mine).reshape(-1, parts).max(axis=0)
                worst = max(worst, float((off / np.where(size > 0, size, np.inf)).max()))
    return worst


def _same(movie, other, layer):
    """Return the layer of a movie at the place of `layer` in another."""
    for mine, theirs in zip(movie.views, other.views, strict=True):
        for a, b in zip(mine.layers, theirs.layers, strict=True):
            if b is layer:
                return a
    raise AssertionError


def times_within(run, film):
    saved = run.time
    return saved[(saved >= film["time"][0]) & (saved <= film["time"][-1])]


def movie_at(run, time):
    """Return the movie of a run with frames at any times."""
    figures = run.plot
    kind = type(figures).__name__
    if kind == "ChainFigures":
        from stiction.chains.figures.data import ChainData
        from stiction.chains.figures.player import movie_of

        # as the page has it: more frames may show larger displacements
        scale = float(figures.movie(240).notes.removeprefix("displacements × ").partition(",")[0])
        return movie_of(ChainData(run), time, scale=scale)
    if kind == "FlowFigures":
        from stiction.switching.figures.player import movie_of

        return movie_of(figures._data, time)
    if kind == "RodFigures":
        from stiction.rods.figures.player import movie_of

        return movie_of(figures._data, time)
    if kind == "StringFigures":
        from stiction.rods.figures.strings.player import movie_of

        return movie_of(figures._data, time)
    if kind == "SolidFigures":
        from stiction.solids.figures.player import movie_of

        return movie_of(figures._data, time)
    from stiction.faults.figures.player import movie_of

    return movie_of(run, time)

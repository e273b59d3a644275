"""Pages of movies: one run of each family, their sizes, what they show, and a browser."""

import dataclasses
import html
import json
import re

import numpy as np
import pytest
from browser import Browser, chromium
from playing import film_in, misses

import stiction as st
from stiction.errors import ModelError
from stiction.plot.player.movie import Dots, Mark, Movie, View
from stiction.plot.player.page import MOST_BYTES, Page, frames_for, page, sag

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{film}}\u2028"


def still(count=5, **changes):
    """Return a movie of a dot that moves on a parabola."""
    time = np.linspace(0.0, 1.0, count)
    points = np.stack([time, time**2], axis=1)[:, None]
    view = View("a dot", [Dots(points, np.full((1, 1), 2))], np.zeros(2), np.ones(2), ("x", "y"))
    movie = Movie("dot", "", time, "s", [view], marks=[Mark(1.0 / 3.0, "event")])
    return dataclasses.replace(movie, **changes)


def test_page_is_self_contained():
    text = page(still())
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r"<link|<img|@import|url\(|fetch\(|XMLHttpRequest|\bimport\b", text)
    assert "default-src 'none'" in text
    film = film_in(text)
    assert film["views"][0]["layers"][0]["points"] == pytest.approx(
        still().views[0].layers[0].points, abs=1e-5
    )
    # events are exact
    assert film["marks"][0][0] == 1.0 / 3.0


def test_hostile_words_stay_words():
    marks = [Mark(0.5, HOSTILE)]
    view = dataclasses.replace(still().views[0], title=HOSTILE, axes=(HOSTILE, "y"))
    movie = still(title=HOSTILE, notes=HOSTILE, unit=HOSTILE, views=[view], marks=marks)
    text = page(dataclasses.replace(movie, keys=[(2, HOSTILE)]))
    assert text.count("</script>") == 2
    assert "<img" not in text
    film = film_in(text)
    assert film["title"] == film["marks"][0][1] == film["views"][0]["axes"][0] == HOSTILE


def test_a_page_fits_its_limit():
    random = np.random.default_rng(3)

    def noise(count):
        points = random.normal(size=(count, 400, 2))
        layer = Dots(points, np.full((1, 400), 2))
        return still(count, views=[View("noise", [layer], -np.ones(2), np.ones(2))])

    text = frames_for(noise)
    assert 0.5 * MOST_BYTES < len(text.encode()) <= MOST_BYTES
    film = film_in(text)
    # noise is nowhere straight between two frames
    assert not film["tween"]


def test_straight_lines_are_drawn_only_where_they_are_near():
    assert sag(still(5), still(9)) == pytest.approx(0.25 * 0.25**2)
    assert film_in(frames_for(still))["tween"]


def test_notebooks_show_it_in_a_closed_frame():
    shown = Page(page(still()))._repr_html_()
    inside = re.search(r'srcdoc="([^"]*)"', shown).group(1)
    assert html.unescape(inside) == page(still())
    assert 'sandbox="allow-scripts"' in shown
    assert "allow-same-origin" not in shown


def test_wrong_seconds_are_refused():
    with pytest.raises(ModelError, match=r"animate\.seconds: got 0"):
        page(still(), seconds=0.0)


def _chain():
    chain = st.Chain([1.0, 1.0, 1.0], 20.0, load=st.Constant(10.0), law=st.Coulomb(mu=0.3))
    return st.solve(chain, t_span=(0.0, 4.0), save=201)


def _wheel():
    from stiction.switching import WheelOnTurntable

    return st.solve(WheelOnTurntable(), t_span=(0.0, 6.0), save=301, throw=False)


def _blocks():
    from stiction.switching import TwoBlockStickSlip

    return st.solve(TwoBlockStickSlip(), t_span=(0.0, 10.0), save=301)


def _strings():
    from stiction.io.scenario import read_scenario

    s = read_scenario("string-offset", ())
    return st.solve(s.system, s.method, (0.0, 4.0), save=101)


def _rods():
    from stiction.io.scenario import read_scenario

    s = read_scenario("rods-crossed", ())
    return st.solve(s.system, s.method, (0.0, 0.02), save=21)


def _slider():
    from stiction.io.scenario import read_scenario

    s = read_scenario("spring-slider", ())
    return st.solve(s.system, s.method, s.t_span, save=s.save)


FAMILIES = {
    "chain": _chain,
    "wheel": _wheel,
    "blocks": _blocks,
    "strings": _strings,
    "rods": _rods,
    "slider": _slider,
}


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    run = FAMILIES[request.param]()
    return run, run.animate(tmp_path_factory.mktemp("pages") / f"{request.param}.html")


def test_every_shown_frame_is_within_half_a_percent(family):
    run, path = family
    assert path.stat().st_size <= MOST_BYTES
    film = film_in(path.read_text(encoding="utf-8"))
    assert misses(run, film) <= 5e-3
    shown = {mark[0] for mark in film["marks"]}
    assert shown >= set(run.event_log.time.tolist())
    # every event has a frame of its own
    assert np.isin(run.event_log.time, film["time"]).all()


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with Browser() as found:
        yield found


def test_a_browser_plays_it(family, browser):
    _, path = family
    browser.open(path)
    browser.wait("at > 0.005")
    assert not browser.problems
    assert browser.requests == [path.resolve().as_uri()]


def test_a_browser_hears_the_keyboard(browser, tmp_path):
    path = tmp_path / "dot.html"
    path.write_text(page(still(), tween=True), encoding="utf-8")
    # who asked for less motion presses play
    browser.open(path, reduced=True, dark=True, width=360)
    assert browser.run("[playing, at, dark, document.documentElement.scrollWidth]") == [
        False,
        0,
        True,
        360,
    ]
    for key in (".", "ArrowRight", "ArrowLeft", "End", "Home", "+"):
        browser.press(key)
        if key == ".":
            assert browser.run("shown()") == pytest.approx(1.0 / 3.0, abs=1e-12)
            assert browser.run('byId("event").textContent') == "event"
        if key == "End":
            assert browser.run("at") == 1
    assert browser.run('[at, byId("speed").value]') == [0, "2"]
    browser.press(" ")
    browser.wait("playing && at > 0")
    browser.press(" ")
    assert not browser.run("playing")
    browser.run('byId("slider").value = 0.5; byId("slider").dispatchEvent(new Event("input"))')
    # straight lines between frames, as Python has them
    assert browser.run("value(film.views[0].layers[0].points, 1)") == pytest.approx(0.25, abs=1e-4)
    assert not browser.problems


def test_a_browser_shows_hostile_words_as_words(browser, tmp_path):
    path = tmp_path / "hostile.html"
    movie = still(title=HOSTILE, notes=HOSTILE, marks=[Mark(0.0, HOSTILE)], keys=[(2, HOSTILE)])
    path.write_text(page(movie), encoding="utf-8")
    browser.open(path, reduced=True)
    assert browser.run('document.querySelectorAll("img").length') == 0
    assert browser.run('byId("title").textContent') == HOSTILE
    assert json.dumps(browser.problems) == "[]"


def test_a_browser_distinguishes_late_times(browser, tmp_path):
    path = tmp_path / "late.html"
    path.write_text(page(still(time=1e6 + 2.0 * np.linspace(0.0, 1.0, 5), marks=[])))
    browser.open(path, reduced=True)
    browser.press("ArrowRight")
    assert browser.run('byId("clock").textContent') == "t = 1000000.500 s"
    path.write_text(page(still(time=1e-4 + 1e-9 * np.linspace(0.0, 1.0, 5), marks=[])))
    browser.open(path, reduced=True)
    browser.press("ArrowRight")
    assert browser.run('byId("clock").textContent') == "t = 1.000002500e-4 s".replace("-", "\u2212")


def test_a_page_is_short_in_words():
    page = Page("<!DOCTYPE html>" + "x" * 5000)
    assert repr(page) == "<Page: 5 kB of HTML in `text`; a notebook plays it>"

"""Rows of the paper on rods, from runs that are made up of closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from paper_cases import one

from stiction.papers import rods
from stiction.papers.items import LOST

T = np.linspace(0.0, 10.0, 101)


def run(time=T, kinetic=None, stored=None, **values):
    variables = {name: SimpleNamespace(values=np.asarray(v)) for name, v in values.items()}
    size = len(time)
    energy = SimpleNamespace(
        kinetic=np.ones(size) if kinetic is None else np.array(kinetic),
        stored=np.ones(size) if stored is None else np.array(stored),
    )
    return SimpleNamespace(time=time, t_end=time[-1], variables=variables, energy=energy)


@pytest.fixture
def strings(monkeypatch):
    system = SimpleNamespace(
        speeds=(2.0, 1.0), lengths=(2.0 * np.pi, 3.0), F=1.5, G1=0.4, s1=2.0, s2=2.5
    )
    monkeypatch.setattr(rods, "_strings", lambda run: system)
    return system


@pytest.mark.usefixtures("strings")
def test_the_field_of_figure_2():
    x = np.linspace(0.0, 2.0 * np.pi, 5)
    made = run(
        np.array([0.0, 1.0, 2.0]), [1.0, 1.5, 1.0], [1.0, 0.5, 0.75],
        s1=[2.0, 1.5, 3.0], s1_rate=[0.5, -1.0, 0.25], x=x,
        u=[np.sin(x) + 0.125 * (np.arange(5) == 3), 0.0 * x, 0.0 * x],
    )  # fmt: skip
    rows = rods._field({"string-figure-2": made})
    assert [row.ours for row in rows] == pytest.approx(
        [2.0 * np.pi, 0.125, 1.5, 0.4, 2.0, 2.5, 2.0, 1.5, 3.0, 0.5, 0.125]
    )
    assert rows[0].paper == pytest.approx(2.0 * np.pi)
    assert [row.paper for row in rows[1:3]] == [0.0, LOST]


@pytest.mark.parametrize(("high", "persist"), [(0.5, "yes"), (0.0, "no")])
def test_the_spectrum_of_figure_2(monkeypatch, high, persist):
    found = SimpleNamespace(
        omega=np.array([0.5, 1.0, 1.5, 2.0]), density=np.array([0.1, 0.4, 0.0, high]), free=1.0,
        share_of_line=0.75, flatness=0.25,
    )  # fmt: skip
    monkeypatch.setattr(rods, "_spectrum", lambda run: found)
    monkeypatch.setattr(rods, "_free_high_fraction", lambda run, found: 1e-6)
    rows = rods._lines({"string-figure-2": run()})
    share = high / (0.5 + high)
    peak = 2.0 if high else 1.0
    assert [row.ours for row in rows] == [
        1.0, "second", peak, 0.75, pytest.approx(share), 1e-6, persist, 0.25,
    ]  # fmt: skip


def test_the_window_alone_leaves_little_above_the_line():
    """A cosine over whole periods under a Hann window is three lines about its own."""
    time = np.arange(256) * (2.0 * np.pi / 32.0)
    omega = np.arange(1, 129) * 32.0 / 256.0
    found = SimpleNamespace(free=1.0, omega=omega)
    made = rods._free_high_fraction(SimpleNamespace(time=time), found)
    assert made < 1e-4
    # all of it where the line is counted too: only the mean is taken away
    low = SimpleNamespace(free=1.0, omega=omega + 100.0)
    assert rods._free_high_fraction(SimpleNamespace(time=time), low) == pytest.approx(1.0)
    signal = (np.cos(time) - np.average(np.cos(time), weights=np.hanning(256))) * np.hanning(256)
    power = np.abs(np.fft.rfft(signal))[1:] ** 2
    assert made == pytest.approx(power[omega > 1.5].sum() / power.sum())


def test_rings_are_free_waves():
    x = np.linspace(0.0, 2.0 * np.pi, 8)
    t = np.array([0.0, 0.7, 1.9])
    free = np.sin(x) * np.cos(t[:, None]) + 0.5 * np.cos(2.0 * x) * np.cos(2.0 * t[:, None])
    u = 0.25 * free
    v = free - u
    v[2, 5] += 0.03125
    made = run(t, x=x, u=u, v=v, energy_P=[2.0, 2.5, 2.0], energy_M=[1.0, 1.0, 0.5], s1=[1, 2, 3])
    rows = rods._ring({"string-periodic": made})
    assert [row.ours for row in rows] == [
        pytest.approx(0.03125), pytest.approx(0.5), 3.0, -2.0, "P_t",
    ]  # fmt: skip
    assert rows[3].paper == 2.0


def test_equal_contact_points_have_a_closed_form(strings):
    """tan(s / 2) = tan(s0 / 2) exp(-G (1 - cos t) / 2)."""
    s = 2.0 * np.arctan(np.tan(1.0) * np.exp(-0.2 * (1.0 - np.cos(T))))
    off = 0.0625 * (np.arange(T.size) == 50)
    made = run(s1=s + off, u1=0.25 * np.cos(T), v1=0.75 * np.cos(T) - 0.5 * off)
    rows = rods._same({"string-symmetric": made})
    assert [row.ours for row in rows[:2]] == pytest.approx([0.0625, 0.03125])
    assert strings.s1 == 2.0


def test_growth_is_reported_for_both_starts(monkeypatch):
    growth = SimpleNamespace(
        factor=2.0, rate=0.5, misfit_rate=0.25, misfit_power=0.125, linear_until=7.0
    )
    monkeypatch.setattr(rods, "_growths", lambda runs: {"one": growth, "two": growth})
    rows = rods._chaos({})
    assert [row.ours for row in rows] == [2.0, 0.5, 0.25, 0.125, 7.0] * 2
    assert one(rows, "two: compared up to").paper == "none given"


def test_both_starts_are_followed_to_one_time(monkeypatch):
    seen = []
    monkeypatch.setattr(rods, "_strings", lambda run: run)
    monkeypatch.setattr(
        "stiction.rods.strings.growth.growth",
        lambda system, end, *, method, field: seen.append((system, end, method.step, field)) or 1,
    )
    names = {"string-figure-2": "a", "string-symmetric": "b"}
    assert list(rods._growths(names)) == ["s1 = 2, s2 = 2.5", "s1 = s2 = 2"]
    assert seen == [("a", 60.0, 1e-3, "s1"), ("b", 60.0, 1e-3, "s1")]


def test_pictures_are_those_of_the_runs(monkeypatch, tmp_path):
    drawn = []

    class Plot:
        def __init__(self, name):
            self.name = name

        def __getattr__(self, what):
            def draw(*given):
                save = lambda path, dpi: drawn.append((self.name, what, given, path, dpi))  # noqa: E731
                return SimpleNamespace(savefig=save)

            return draw

    monkeypatch.setattr(
        "stiction.rods.figures.strings.over_time.growths",
        lambda curves: Plot("both").growths(curves),
    )
    monkeypatch.setattr(
        rods, "_growths", lambda runs: {"w": SimpleNamespace(time="t", distance="d")}
    )
    for key, name, what, given in (
        ("figure-2-left", "string-figure-2", "field", ("u",)),
        ("figure-2-right", "string-figure-2", "spectrum", ()),
        ("periodic", "string-periodic", "field", ()),
        ("symmetric", "string-symmetric", "paths", ()),
        ("chaos", "both", "growths", ({"w": ("t", "d")},)),
    ):
        item = rods.ITEMS[key]
        runs = {n: SimpleNamespace(plot=Plot(n)) for n in item.scenarios}
        item.draw(runs, tmp_path / key)
        assert drawn.pop() == (name, what, given, tmp_path / key, 200)

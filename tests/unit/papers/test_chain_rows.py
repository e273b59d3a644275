"""Rows of the paper on chains, from runs that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest
from paper_cases import one

from stiction.papers import chains
from stiction.papers.items import LOST


def reported(rows):
    return [(row.what, row.paper, row.ours) for row in rows]


def made(quantities=None, events=(), **values):
    """A run with quantities, events (time, contact, kind), and rows of variables."""
    variables = {name: SimpleNamespace(values=np.array(v, float)) for name, v in values.items()}
    log = SimpleNamespace(
        time=np.array([e[0] for e in events]),
        contact=np.array([e[1] for e in events], dtype=int),
        kind=[e[2] for e in events],
    )
    named = {name: SimpleNamespace(value=v) for name, v in (quantities or {}).items()}
    final = {name: v.values[-1] for name, v in variables.items()}
    return SimpleNamespace(quantities=named, event_log=log, variables=variables, final=final)


def test_table_1_holds_the_numbers_of_the_chain():
    chain = SimpleNamespace(
        n_mass=2,
        masses=np.array([1.5, 2.5]),
        link_stiffness=np.array([20.0, 30.0, 40.0]),
        link_damping=np.array([0.1, 0.7, 0.2]),
        friction=SimpleNamespace(mu_static=np.array([0.3, 0.4])),
        load=SimpleNamespace(at=lambda t: 5.0 + t),
        gravity=9.5,
    )
    assert reported(chains._table_1({"baseline": SimpleNamespace(system=chain)})) == [
        ("mass 1 [kg]", LOST, 1.5),
        ("mass 2 [kg]", LOST, 2.5),
        ("spring 1 [N/m]", LOST, 20.0),
        ("spring 2 [N/m]", LOST, 30.0),
        ("dampers [N s/m]", 0.0, 0.7),
        ("static friction coefficient [1]", LOST, 0.3),
        ("load [N]", LOST, 5.0),
        ("gravity [m/s^2]", LOST, 9.5),
    ]


def test_table_2_counts_from_the_loaded_end():
    values = {"onset_time": [3.0, 2.0, 1.0], "onset_force": [6, 5, 4], "critical_force": [9, 8, 7]}
    rows = chains._table_2({"slip-wave": made(values)})
    assert [row.ours for row in rows] == [1.0, 2.0, 3.0, 4, 5, 6, 7, 8, 9]
    assert [row.what for row in rows[:4]] == [
        *(f"first slip of mass {i} [s]" for i in (3, 2, 1)),
        "load at first slip of mass 3 [N]",
    ]


@pytest.mark.parametrize(
    ("onset", "x", "order", "never"),
    [
        ([3.0, 2.0, 1.0], [[0, 0, 0], [0, 0, 1], [0, 1, 2]], "3, 2, 1", "yes"),
        ([1.0, 2.0, 3.0], [[0, 0, 0], [0, 0, 1], [0, 1, 0.5]], "1, 2, 3", "no"),
    ],
)
def test_figure_5_reports_the_order_of_first_slips(onset, x, order, never):
    values = {"onset_time": onset, "onset_force": onset, "critical_force": onset}
    rows = chains._figure_5({"slip-wave": made(values, x=x)})
    assert reported(rows[:2]) == [
        ("order of first slips, from the loaded end", "3, 2, 1", order),
        ("displacements never decrease", "yes", never),
    ]
    assert len(rows) == 11


EVENTS = [
    (1.0, 1, "reverse"), (2.0, 2, "reverse"), (2.5, 2, "slip"), (4.0, 2, "reverse"),
    (4.5, 1, "stop"), (5.0, 2, "reverse"),
]  # fmt: skip


@pytest.mark.parametrize("stop", [None, 6.0])
def test_swings_and_reversals_are_counted_by_mass(stop):
    run = made({"stop_time": stop}, EVENTS, x=[[0.0, 1.0], [2.0, -1.0], [0.5, 4.0]])
    assert reported(chains._swings("one", run)) == [
        ("one: amplitude of mass 1 [m]", "a figure", 2.0),
        ("one: amplitude of mass 2 [m]", "a figure", 5.0),
        # the loaded mass turns at 2, 4 and 5
        ("one: time between reversals of mass 2 [s]", "not periodic", "1 ... 2"),
        ("one: all masses stick from t [s]", LOST, "never" if stop is None else 6.0),
    ]
    assert reported(chains._figure_4({"baseline": run})) == [
        ("all masses stop in finite time", "yes", "no" if stop is None else "yes"),
        ("at t [s]", LOST, stop),
        ("reversals of mass 1", "a figure", 1),
        ("reversals of mass 2", "a figure", 3),
    ]
    few = made({"stop_time": stop}, EVENTS[:2], x=[[0.0, 1.0], [2.0, -1.0]])
    assert chains._swings("one", few)[2].ours == "no two reversals"
    both = chains._unequal({"unequal-124": run, "unequal-421": few})
    assert [row.what.partition(":")[0] for row in both[::4]] == ["unequal-124", "unequal-421"]


def rest_of(monkeypatch, inside=True):
    box = SimpleNamespace(lower=np.array([-1.0, -2.0]), upper=np.array([1.0, 2.0]), box_ratio=1.25)
    rest = SimpleNamespace(
        projections=lambda: box,
        contains=lambda x: inside,
        launch=lambda rising: SimpleNamespace(vertex="the right ends" if rising else "left"),
    )
    monkeypatch.setattr(chains, "_stick_set", lambda run: rest)


@pytest.mark.parametrize("inside", [True, False])
def test_stick_regions_and_equilibrium(monkeypatch, inside):
    rest_of(monkeypatch, inside)
    word = "yes" if inside else "no"
    assert reported(chains._figure_2({"stick-set": made(x=[[0.0, 0.0]])})) == [
        ("(29) x_1 [m]", LOST, "[-1, 1]"),
        ("(29) x_2 [m]", LOST, "[-2, 2]"),
        ("volume of their product / of the stick set", "taken as equal", 1.25),
        ("ends from which every increase of f moves all masses", "the right ends",
         "the right ends"),
        ("the run ends in the stick set", "", word),
    ]  # fmt: skip
    values = {"onset_time": [0.5, 0.25], "stop_time": 6.0}
    assert reported(chains._figure_3({"baseline": made(values, x=[[0.0, 0.0], [3.0, 4.0]])})) == [
        ("the loaded mass starts at t [s]", "at once", 0.25),
        ("first slip of mass 1 [s]", LOST, 0.5),
        ("all masses stick from t [s]", LOST, 6.0),
        ("the final state satisfies (29)", "yes", word),
        ("final x_1 [m]", LOST, 3.0),
        ("final x_2 [m]", LOST, 4.0),
    ]


def test_the_stick_set_is_that_of_the_load_at_the_end(monkeypatch):
    import stiction as st

    seen = []
    monkeypatch.setattr("stiction.chains.stick_set.StickSet", lambda chain, load: seen.append(load))
    chain = st.Chain(mass=[1.0], stiffness=1.0, load=st.Ramp(rate=2.0), law=st.Coulomb(mu=0.5))
    chains._stick_set(SimpleNamespace(system=chain, t_end=3.0))
    assert seen == [6.0]


def test_steps_of_three_thetas_are_compared():
    # the paper: seven Newton iterations a step for every theta
    half, none, full = np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2))
    none[1, 0], full[2, 1] = -0.5, 0.25
    runs = {
        name: SimpleNamespace(
            stats={"mean_iterations": i}, variables=made(x=x, v=2.0 * x).variables
        )
        for name, i, x in (("theta-half", 3, half), ("theta-0", 4, none), ("theta-one", 5, full))
    }
    assert reported(chains._thetas(runs)) == [
        ("theta-0: Newton iterations per step", 7.0, 4.0),
        ("theta-half: Newton iterations per step", 7.0, 3.0),
        ("theta-one: Newton iterations per step", 7.0, 5.0),
        ("largest |x - x(1/2)|, theta-0 [m]", LOST, 0.5),
        ("largest |v - v(1/2)|, theta-0 [m/s]", LOST, 1.0),
        ("largest |x - x(1/2)|, theta-one [m]", LOST, 0.25),
        ("largest |v - v(1/2)|, theta-one [m/s]", LOST, 0.5),
    ]


def test_energies_with_and_without_the_term_of_the_scheme():
    def run(i):
        columns = {
            "imbalance": np.array([0.0, 0.5 * i, 0.25]),
            "algorithmic": np.array([0.0, 1.0, 0.25 - i]),
            "friction_heat": np.array([0.0, 1.0, 7.0]),
            "stored": np.array([3.0, 4.0, 8.0]),
        }
        return SimpleNamespace(energy=SimpleNamespace(columns=lambda: columns))

    names = ("energy-balance", *chains._THETAS)
    rows = chains._figure_10({name: run(float(i)) for i, name in enumerate(names, start=1)})
    assert [row.ours for row in rows[:8:2]] == [1.0, 2.0, 3.0, 4.0]
    assert [row.ours for row in rows[1:8:2]] == [0.5, 1.0, 1.5, 2.0]
    assert [row.what.partition(":")[0] for row in rows[:8:2]] == list(names)
    assert one(rows, "friction heat at the end").ours == 7.0
    assert one(rows, "elastic energy at the end").ours == 8.0


def test_figures_are_drawn_from_the_runs_that_they_name(monkeypatch, tmp_path):
    drawn = []

    class Figure:
        def __init__(self, *words):
            self.words = words

        def savefig(self, path, dpi):
            drawn.append((*self.words, path, dpi))

    class Figures:
        def __init__(self, run):
            self.run = run

        def __getattr__(self, name):
            return lambda: Figure(self.run, name)

    monkeypatch.setattr("stiction.plot.figures_of", Figures)
    monkeypatch.setattr(
        "stiction.chains.figures.comparison.compare",
        lambda runs, labels: Figure(tuple(zip(runs, labels, strict=True))),
    )
    wanted = {
        "figure-2": ("stick-set", "stick_set"),
        "figure-3": ("baseline", "motion"),
        "figure-4": ("baseline", "phase"),
        "figure-5": ("slip-wave", "motion"),
        "figure-6": ("unequal-124", "motion"),
        "figure-7": ("unequal-421", "motion"),
        "figure-10": ("energy-balance", "energy"),
    }
    for key, (run, name) in wanted.items():
        item = chains.ITEMS[key]
        item.draw({scenario: scenario for scenario in item.scenarios}, tmp_path / key)
        assert drawn.pop() == (run, name, tmp_path / key, 150)
    item = chains.ITEMS["figure-8"]
    item.draw({scenario: scenario for scenario in item.scenarios}, tmp_path / "8")
    labels = (
        ("theta-half", "theta = 1/2"), ("theta-0", "theta = 0"), ("theta-one", "theta = 1"),
    )  # fmt: skip
    assert drawn == [(labels, tmp_path / "8", 150)]
    assert chains.ITEMS["figure-9"] is item

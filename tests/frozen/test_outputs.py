"""Every built-in scenario still gives what it gave before the package was rearranged."""

import copy

import pytest
from freezing import CHAOTIC, allowed, differences, frozen, outputs

from stiction.io.scenario import built_in, read_scenario

FROZEN = frozen()
SCENARIOS = FROZEN["scenarios"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(k, marks=pytest.mark.slow) if e["slow"] else k for k, e in SCENARIOS.items()],
)
def test_it_gives_what_it_gave(name):
    entry = SCENARIOS[name]
    until = [] if entry["until"] is None else [f"solve.t_end={entry['until']!r}"]
    run = read_scenario(name, until).solve(throw=False)
    assert not differences(entry, outputs(run), name)


def test_every_scenario_is_frozen():
    assert set(SCENARIOS) == set(built_in())


def test_chaotic_scenarios_are_listed():
    chaotic = {name: entry for name, entry in SCENARIOS.items() if entry["growth"] > CHAOTIC}
    assert set(FROZEN["chaotic"]) == set(chaotic)
    for name, entry in chaotic.items():
        assert entry["until"] == FROZEN["chaotic"][name]["until"]


DAMAGED = "unequal-421"


def put(*path, value):
    """Return a function that changes one entry of a tree by `value(old)`."""

    def damage(tree):
        for key in path[:-1]:
            tree = tree[key]
        tree[path[-1]] = value(tree[path[-1]])

    return damage


def swap(entry):
    events = entry["words"]["events"]
    events[3], events[4] = events[4], events[3]


def drop_a_quantity(entry):
    del entry["numbers"]["quantity onset_time [s]"]


def nudged(x):
    return x * (1.0 + 1e-7)


DAMAGES = {
    "status": put("words", "status", value=lambda _: "stopped"),
    "events": swap,
    "kinds": put("words", "kinds", "slip", value=lambda n: n + 1),
    "losses": put("words", "losses", value=lambda _: ["two_fold"]),
    "audit": put("words", "audit", "replay_agrees", value=lambda _: False),
    "limits": put("words", "limits", "replay_agrees", value=lambda x: 1.1 * x),
    "audit ledger_closes": put(
        "numbers", "audit ledger_closes", "value", 0, value=lambda x: x + 1e-13
    ),
    "energy friction_heat": put("numbers", "energy friction_heat", "value", 0, value=nudged),
    "final x": put("numbers", "final x", "value", 2, value=nudged),
    "quantity onset_force [N]": put(
        "numbers", "quantity onset_force [N]", "value", 0, value=lambda _: None
    ),
    "quantity onset_time [s]": drop_a_quantity,
    "t_end": put("numbers", "t_end", "value", 0, value=nudged),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_copy_is_noticed(what):
    entry, damaged = SCENARIOS[DAMAGED], copy.deepcopy(SCENARIOS[DAMAGED])
    assert differences(entry, damaged) == []
    DAMAGES[what](damaged)
    found = differences(entry, damaged)
    assert len(found) == 1
    assert found[0].startswith(what)


def test_a_time_of_an_event_is_noticed():
    damaged = copy.deepcopy(SCENARIOS[DAMAGED])
    put("numbers", "events", "value", 7, value=nudged)(damaged)
    assert differences(SCENARIOS[DAMAGED], damaged)[0].startswith("events: entry 7")


@pytest.mark.parametrize(
    ("row", "most"),
    [
        ({"scale": 2.0, "error": 1e-12, "rounding": 1e-15}, 2e-9),
        ({"scale": 2.0, "error": 1e-4, "rounding": 1e-15}, 1e-5),
        ({"scale": 2.0, "error": None, "rounding": 1e-7}, 1e-6),
    ],
)
def test_the_largest_of_three_decides(row, most):
    assert allowed(row) == pytest.approx(most, rel=1e-12)
    entry = copy.deepcopy(SCENARIOS[DAMAGED])
    entry["numbers"]["t_end"].update(row)
    for part, many in ((0.99, 0), (1.01, 1)):
        now = copy.deepcopy(entry)
        now["numbers"]["t_end"]["value"][0] += part * most
        assert len(differences(entry, now)) == many


def test_events_beyond_those_that_agree_are_not_compared():
    entry = copy.deepcopy(SCENARIOS[DAMAGED])
    entry["agreeing"] = 3
    now = copy.deepcopy(entry)
    swap(now)
    assert differences(entry, now) == []
    entry["agreeing"] = 4
    assert len(differences(entry, now)) == 1

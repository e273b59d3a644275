"""The table of `stiction list`: it fits, nothing is left out, every name has its time."""

import pytest

from stiction.errors import ScenarioError
from stiction.io.scenario.built_in import Entry, built_in, entries, seconds
from stiction.io.scenario.listing import chosen, cut, duration, table
from stiction.studies.listing import ready, ready_entries


@pytest.fixture(scope="module")
def every():
    return [*entries(), *ready_entries()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 10_000])
def test_it_fits(every, width):
    lines = table(every, width).splitlines()
    assert all(len(line) <= width for line in lines)
    # one line for each, one for each system, and one between
    systems = {entry.system for entry in every}
    assert len(lines) == len(every) + 2 * len(systems) - 1
    for entry in every:
        (line,) = (x for x in lines if x.startswith(f"  {entry.name} "))
        assert duration(entry.seconds) in line


def test_wide_screens_show_papers_and_nothing_is_cut_in_a_pipe(every):
    assert "Axioms" not in table(every, 100)
    assert "Fig. 5, Table 2, Axioms" in table(every, 160)
    whole = table(every, 10_000)
    assert "…" not in whole
    assert all(entry.title in whole and entry.paper in whole for entry in every)


def test_groups_begin_with_what_their_room_says(every):
    heads = [line for line in table(every, 100).splitlines() if line and line[0] != " "]
    names = [head.partition(":")[0] for head in heads]
    assert names == [*sorted(names[:-1]), "studies"]
    assert heads[1].startswith("chains: n masses on a rail")
    assert all("…" not in head for head in heads)


def test_every_name_has_its_time():
    # tools/time_scenarios.py NAME measures a new one
    assert set(seconds()) == {*built_in(), *ready()}
    assert all(0.1 < value < 3600.0 for value in seconds().values())


def test_systems_are_chosen_by_name(every):
    assert {entry.system for entry in chosen(every, ["rods"])} == {"rods"}
    assert chosen(every, []) == every
    with pytest.raises(ScenarioError, match="did you mean 'rods'"):
        chosen(every, ["rod"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.04, "0.0 s"),
        (1.44, "1.4 s"),
        (9.97, "10 s"),
        (42.4, "42 s"),
        (200.0, "3 min"),
    ],
)
def test_times_in_few_letters(value, text):
    assert duration(value) == text


def test_cut_at_words():
    assert cut("one two three", 13) == "one two three"
    assert cut("one two three", 12) == "one two thr…"
    assert cut("one two three", 9) == "one two…"
    assert cut("extraordinarily", 8) == "extraor…"
    assert cut("a: b", 0) == ""


def test_an_entry_without_anything():
    assert table([Entry("x", "t", "", "", "chains")], 80).splitlines()[1] == "  x    t"

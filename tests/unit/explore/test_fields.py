"""Numbers of scenarios: which there are, their ranges, what may be put in their place."""

import math
import tomllib

import pytest

from stiction.errors import ScenarioError
from stiction.explore.fields import comments, fields_of, value_of, with_values
from stiction.io.scenario.built_in import built_in
from stiction.io.scenario.reader import scenario_of

WAVE = built_in()["slip-wave"].read_text(encoding="utf-8")


def fields(text=WAVE):
    return {field.path: field for field in fields_of(tomllib.loads(text), text)}


def count(value):
    """Return how many numbers a table holds, lists of more than four left out."""
    if isinstance(value, bool | str):
        return 0
    if isinstance(value, dict):
        return sum(map(count, value.values()))
    if isinstance(value, list):
        return sum(map(count, value)) if len(value) <= 4 else 0
    return 1


@pytest.mark.parametrize("name", built_in())
def test_every_number_has_a_range_about_it(name):
    text = built_in()[name].read_text(encoding="utf-8")
    table = tomllib.loads(text)
    found = fields(text)
    assert len(found) == count({key: table.get(key, {}) for key in ("system", "method", "solve")})
    assert "solve.t_end" in found
    for field in found.values():
        assert math.isfinite(field.low)
        assert field.low <= field.value <= field.high
        assert field.low < field.high
        assert field.step > 0.0
        if field.whole:
            assert isinstance(field.value, int)
            assert field.step == 1.0


def test_ranges_know_what_a_number_means():
    found = fields()
    mu, rtol = found["system.law.mu"], found["method.rtol"]
    assert (mu.low, mu.high, mu.whole, mu.powers) == (0.03, 1.0, False, False) or mu.high <= 1.0
    assert rtol.powers
    assert found["system.damping"].low == 0.0
    assert found["system.mass[0]"].low > 0.0
    started = fields(
        "[system]\ntype = 'Chain'\nx0 = [0.5, 0.0]\nn = 10\n[method]\ntype = 'ThetaStepper'\n"
        "theta = 0.7\nmax_steps = 5\n"
    )
    assert started["system.x0[0]"].low == -started["system.x0[0]"].high
    assert started["system.x0[1]"].low < 0.0
    assert (started["method.theta"].low, started["method.theta"].high) == (0.5, 1.0)
    assert started["system.x0[0]"].words == "m"
    assert started["system.n"].low == 1.0


def test_an_integer_may_stand_for_a_number():
    found = fields(
        "[system]\ntype = 'Chain'\nmass = [1, 1]\nn = 2\nlaw = { type = 'Coulomb', mu = 1 }\n"
        "[method]\ntype = 'ThetaStepper'\nstep = 1\n[solve]\nt_span = [0, 1]\nsave = 11\n"
    )
    assert [path for path, field in found.items() if field.whole] == ["system.n", "solve.save"]
    assert value_of(found["system.law.mu"], "0.5") == 0.5
    assert found["solve.t_span[1]"].step < 0.1
    assert "system.mass" not in fields("[system]\nmass = 5e-324\n")


def test_tables_in_lists_have_their_own_comments_and_bounds():
    text = built_in()["cube-slides"].read_text(encoding="utf-8")
    found = fields(text)
    mass, velocity = found["system.bodies[0].mass"], found["system.bodies[0].velocity[0]"]
    assert (mass.words, velocity.words) == ("kg", "m/s")
    assert velocity.low < 0.0 < mass.low
    two = "[system]\nm = 2 # a\n[[system.b]]\nm = 1 # b\n[[system.b]]\nm = 1 # c\n"
    nested = "[system.b.s]\nm = 1 # d\n[[system.b.t]]\nm = 1 # e\n"
    assert comments(two + nested + "[[system.b]]\n[[system.b.t]]\nm = 1 # f\n") == {
        "system.m": "a", "system.b[0].m": "b", "system.b[1].m": "c",
        "system.b[1].s.m": "d", "system.b[1].t[0].m": "e", "system.b[2].t[0].m": "f",
    }  # fmt: skip


def test_comments_give_units():
    message = comments(WAVE)
    assert message["system.stiffness"] == "N/m, every spring"
    assert message["solve.t_end"] == "s"
    found = fields()
    assert found["system.mass[2]"].words == "kg"
    assert found["system.law.mu"].words == ""


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "1_000",
        "nan",
        "inf",
        "1e400",
        math.inf,
        math.nan,
        None,
        True,
        [1],
        {"a": 1},
        "<script>alert(1)</script>",
        "1;2",
        10**400,
        "0x10",
        "9" * 400,
    ],
)
def test_bad_values_are_refused(value):
    with pytest.raises(ScenarioError, match=r"system\.law\.mu: got .*; needs a finite number"):
        value_of(fields()["system.law.mu"], value)


def test_good_values_become_numbers():
    mu = fields()["system.law.mu"]
    assert value_of(mu, " 0.4 ") == value_of(mu, 0.4) == 0.4
    assert isinstance(value_of(mu, 1), float)
    nodes = fields("[system]\nn = 10\n")["system.n"]
    assert value_of(nodes, "12") == 12
    assert isinstance(value_of(nodes, 12.0), int)
    with pytest.raises(ScenarioError, match="whole number"):
        value_of(nodes, 12.5)


def test_values_are_put_in_place():
    table = tomllib.loads(WAVE)
    made = with_values(table, {"system.mass[1]": 3.0, "system.law.mu": 0.4, "solve.t_end": 2.0})
    scenario = scenario_of(made)
    assert scenario.system.masses.tolist() == [1.0, 3.0, 1.0]
    assert scenario.system.law.mu == 0.4
    assert scenario.t_end == 2.0
    # what it was made from stays
    assert table["system"]["mass"] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "path",
    [
        "system.law.type",
        "system",
        "title",
        "system.mass",
        "system.mass[7]",
        "__class__",
        "x" * 999,
        "system.law.mu.real",
        "system.mass[-1]",
        "solve.save",
        "",
    ],
)
def test_only_numbers_that_are_there_are_set(path):
    with pytest.raises(ScenarioError, match="number of this scenario"):
        with_values(tomllib.loads(WAVE), {path: 1.0})

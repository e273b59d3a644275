"""Fields declare what they may hold: they hold clean values, or the object is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from stiction.core.fields import (
    Choice,
    Components,
    Count,
    Declared,
    Finite,
    Flag,
    Limit,
    NonNegative,
    Part,
    Parts,
    Positive,
    rules_of,
)
from stiction.errors import ModelError
from stiction.io.scenario import built_in, read_scenario
from stiction.numerics.checks import Numbers


class Wheel:
    """A part."""


@dataclass(frozen=True, eq=False, repr=False)
class Cart(Declared):
    mass: Annotated[Numbers, Positive("kg", "it has {0.n} boxes.", "give {0.n}.", per="box")] = 1.0
    length: Annotated[float, Positive("m", "it is long.", most=3.0)] = 1.0
    slope: Annotated[float, Finite("", "it leans.", above=-1.0, below=1.0)] = 0.0
    drag: Annotated[float | None, NonNegative("N s/m", "it slows down.")] = None
    least: Annotated[float, Finite("", "not too small.", least=2.0)] = 2.0
    places: Annotated[Sequence[float], Finite("m", "boxes stand there.", per="box")] = (0.0, 1.0)
    axis: Annotated[Sequence[float], Finite("", "it points there.", per="axis", size=3)] = (1, 0, 0)
    ratios: Annotated[Numbers, Finite("", "as many as you like.", per="thing", most=5.0)] = 1.0
    times: Annotated[Numbers, Finite("s", "later.", per="time", fewest=0, rising=True)] = ()
    levels: Annotated[Sequence[float], Finite("", "some.", per="level", fewest=2)] = (0.0, 0.0)
    pull: Annotated[Sequence[float], Components("N", "it is pulled.")] = (0.0, 0.0, 0.0)
    up: Annotated[Sequence[float], Components("", "it is.", counts=(2, 3), direction=True)] = (0, 1)
    n: Annotated[int, Count(1, "boxes are counted.", most=10)] = 2
    grid: Annotated[tuple[int, int], Count(1, "it has cells.", each=1e9, size=2)] = (1, 2)
    steps: Annotated[int, Limit(each=1e9)] = 1
    loud: Annotated[bool, Flag("it rings or not.")] = False
    side: Annotated[str | float, Choice(("left", "right", 2.0), "one of these.")] = "left"
    wheel: Annotated[Wheel | None, Part("it rolls.", "Wheel().")] = None
    wheels: Annotated[Sequence[Wheel], Parts("they roll.", least=1)] = (Wheel(),)

    @property
    def lengths(self):
        return {"box": self.n}


def test_fields_hold_clean_values():
    cart = Cart(mass=[1, 2], length=np.float32(2), n=np.int64(2), side=2, loud=np.True_)
    assert type(cart.length) is float
    assert type(cart.n) is int
    assert cart.loud is True
    assert cart.side == 2.0
    assert cart.mass.tolist() == [1.0, 2.0]
    assert not cart.mass.flags.writeable
    assert Cart(mass=3).mass == 3.0
    assert cart.axis.tolist() == [1.0, 0.0, 0.0]
    assert Cart(ratios=[1, 2, 3]).ratios.size == 3
    assert cart.times == ()
    assert Cart(times=[]).times == ()
    assert Cart(times=[1, 2]).times.tolist() == [1.0, 2.0]
    assert cart.pull.tolist() == [0.0, 0.0, 0.0]
    assert not cart.pull.flags.writeable
    assert Cart(up=[0, 0, 2]).up.tolist() == [0.0, 0.0, 2.0]
    assert Cart(grid=[np.int64(2), 1]).grid == (2, 1)
    wheel = Wheel()
    assert Cart(wheels=wheel).wheels == (wheel,)
    assert Cart(wheels=[wheel, wheel]).wheels == (wheel, wheel)
    # what it is may be left out where the type says None
    assert Cart().drag is None
    assert Cart(drag=0).drag == 0.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"mass": [0.0, 1.0]},
            "with 0.0 at position 1; needs positive numbers [kg], one per box.",
        ),
        ({"mass": 0.0}, "Cart.mass: got 0.0; needs one positive number [kg]."),
        ({"mass": [1.0, 2.0, 3.0]}, "Why: it has 2 boxes.\nTry: give 2."),
        ({"length": -1.0}, "needs one positive number [m]"),
        (
            {"length": 4.0},
            "Cart.length: got 4.0; needs at most 3 [m].\nWhy: it is long.\nTry: leave this value",
        ),
        ({"length": None}, "Cart.length: got None"),
        ({"slope": 1.0}, "a number between -1 and 1"),
        ({"slope": -1.0}, "a number between -1 and 1"),
        ({"drag": -1.0}, "needs one number >= 0 [N s/m]"),
        ({"least": 1.0}, "at least 2"),
        ({"places": 1.0}, "needs at least one value"),
        ({"places": [1.0]}, "needs 2 values"),
        ({"axis": [1.0, 2.0]}, "needs 3 values"),
        ({"ratios": [1.0, 6.0]}, "Cart.ratios: got 6.0; needs at most 5"),
        ({"times": [2.0, 1.0]}, "got [2.0, 1.0]; needs numbers [s] that increase strictly"),
        (
            {"times": np.zeros(20)},
            "Cart.times: got 20 numbers that do not increase; needs numbers [s]",
        ),
        ({"levels": [1.0]}, "Cart.levels: got 1 values; needs at least 2 numbers.\nWhy"),
        ({"levels": []}, "Cart.levels: got 0 values; needs at least one value"),
        (
            {"pull": 9.81},
            "Cart.pull: got 9.81; needs 3 finite numbers [N], one per component.\nWhy: it is "
            "pulled.\nTry: give [x, y, z].",
        ),
        ({"pull": [1.0, 2.0]}, "Cart.pull: got 2 values"),
        ({"pull": [[1.0, 2.0, 3.0]]}, "Cart.pull: got an array of shape (1, 3)"),
        ({"pull": [1.0, 2.0, None]}, "Cart.pull: got [1.0, 2.0, None]"),
        ({"pull": [1.0, 2.0, np.nan]}, "nan at position 3"),
        ({"up": [0.0, 0.0]}, "Cart.up: got a vector of length 0; needs a direction"),
        ({"up": [1e200, 0.0]}, "Cart.up: got a vector of length inf"),
        ({"up": [1.0]}, "Try: give [x, y] or [x, y, z]."),
        ({"grid": 3}, "Cart.grid: got 3; needs 2 whole numbers"),
        ({"grid": [3]}, "needs 2 whole numbers"),
        ({"grid": [3, 0]}, "Cart.grid: got 0; needs a whole number >= 1"),
        ({"grid": [3, 2]}, "at most 4"),
        ({"n": 0}, "a whole number >= 1"),
        ({"n": 11}, "a whole number from 1 to 10"),
        ({"n": 1.5}, "Cart.n: got 1.5"),
        ({"steps": 10}, "at most 4"),
        ({"loud": 1}, "Cart.loud: got 1; needs True or False"),
        ({"side": "up"}, "needs one of 'left', 'right', 2.0"),
        ({"side": True}, "Cart.side: got True"),
        ({"side": ["left"]}, "Cart.side: got ['left']"),
        ({"wheel": 3}, "Cart.wheel: got 3; needs a Wheel"),
        ({"wheels": 3}, "Cart.wheels: got 3; needs Wheel objects"),
        ({"wheels": []}, "Cart.wheels: got none"),
    ],
)
def test_every_rule_refuses(given, words):
    with pytest.raises(ModelError) as caught:
        Cart(**given)
    assert words in str(caught.value)
    assert str(caught.value).count("\n") == 2


def test_rules_are_read():
    rules = rules_of(Cart)
    assert rules["mass"].unit == "kg"
    # arrays come last, because their lengths may follow from other fields
    names = list(rules)
    assert names.index("n") < names.index("mass")
    assert set(names) == set(Cart.__dataclass_fields__)


Mass = Annotated[float, Positive("kg", "it is heavy.")]


@dataclass(frozen=True, eq=False, repr=False)
class ByAlias(Declared):
    mass: Mass = 1.0
    other: Unknown = 2.0  # noqa: F821


def test_rules_count_however_they_are_written():
    """Behind a name of the module too; where they would check nothing, the class is refused."""
    assert ByAlias(3.0).mass == 3.0
    with pytest.raises(ModelError, match=r"ByAlias\.mass: got -5\.0; needs one positive number"):
        ByAlias(-5.0)
    rule = Positive("kg", "it is heavy.")
    for hint in (Annotated[float, rule] | None, Sequence[Annotated[float, rule]]):
        nested = dataclasses.make_dataclass("Nested", [("mass", hint)], bases=(Declared,), eq=False)
        with pytest.raises(ModelError, match="needs the rule around the whole type"):
            nested(-5.0)


def test_annotations_of_users_are_left_alone():
    class Unknown(Declared):
        part: NotThere  # noqa: F821
        n: "a name" = 1  # noqa: F722

    assert rules_of(Unknown) == {}

    @dataclass(frozen=True, eq=False, repr=False)
    class Longer(Cart):
        part: NotThere = None  # noqa: F821

    assert Longer(mass=2).mass == 2.0
    with pytest.raises(ModelError, match=r"Longer\.mass"):
        Longer(mass=-1)


def described():
    """Return the systems and methods of all built-in scenarios, one of each class."""
    found = {}
    for name in built_in():
        scenario = read_scenario(name)
        found |= {type(one): one for one in (scenario.system, scenario.method)}
    return [one for one in found.values() if rules_of(type(one))]


def test_every_field_refuses_what_it_cannot_hold():
    taken, tried = [], 0
    for one in described():
        for name, rule in rules_of(type(one)).items():
            number = isinstance(rule, Finite | Count)
            for wrong in (np.nan, "wordy", object(), {}, [[1.0]], True if number else 2j):
                tried += 1
                try:
                    dataclasses.replace(one, **{name: wrong})
                except ModelError:
                    continue
                taken.append((type(one).__name__, name, wrong))
    assert tried > 1000
    assert taken == []

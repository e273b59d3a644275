"""Values of a file by the type of the field: what is taken, and what is said of the rest."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import stiction as st
from stiction.chains.loads import Load, Ramp
from stiction.errors import ScenarioError
from stiction.io.scenario import reader


@dataclasses.dataclass(frozen=True)
class Point:
    """A class of no kind."""

    x: float
    y: float = 2.0


Rows = npt.NDArray[np.float64]


@pytest.mark.parametrize(
    ("hint", "kind", "listed", "scalars", "single", "rows", "needs"),
    [
        (float, None, False, {"float"}, None, False, "a number"),
        (int, None, False, {"int"}, None, False, "a whole number"),
        (float | int, None, False, {"float", "int"}, None, False, "a number"),
        (str | None, None, False, {"str"}, None, False, "a string"),
        (bool | str, None, False, {"bool", "str"}, None, False, "a string or a bool"),
        (float | Sequence[float], None, True, {"float"}, None, False,
         "a number or a list of numbers"),
        (Sequence[float], None, True, set(), None, False, "a list of numbers"),
        (Point | None, None, False, set(), Point, False, "a table with fields of Point"),
        (Rows, None, True, set(), None, True, "a list of numbers"),
        (Rows | float, None, True, {"float"}, None, False, "a number or a list of numbers"),
        (Load, "Load", False, set(), None, False, None),
        (Sequence[Load], "Load", True, set(), None, False, None),
    ],
)  # fmt: skip
def test_types_become_slots(hint, kind, listed, scalars, single, rows, needs):
    slot = reader._slot(hint)
    assert (slot.kind, slot.listed, slot.scalars) == (kind, listed, scalars)
    assert (slot.single, slot.rows) == (single, rows)
    if needs is not None:
        assert slot.needs == needs
    elif listed:
        assert slot.needs == f"[[...]] tables, each {reader.ARTICLES[kind]}"
    else:
        assert slot.needs == f"{reader.ARTICLES[kind]} (a table)"


@pytest.mark.parametrize(
    ("value", "hint", "made"),
    [
        (1.5, float, 1.5),
        (2, float, 2),
        (2, int, 2),
        ("a", str, "a"),
        (True, bool, True),
        ([1, 2.5], Sequence[float], [1, 2.5]),
        ([], Sequence[float], []),
        ([[1.0], [2.0, 3.0]], Rows, [[1.0], [2.0, 3.0]]),
        ({"x": 1.0}, Point, Point(1.0)),
        ({"type": "Point", "x": 1.0, "y": 3.0}, Point | None, Point(1.0, 3.0)),
        ({"a": 1.0, "b": 2}, Mapping[str, float], {"a": 1.0, "b": 2}),
        ({"type": "Ramp", "rate": 2.0}, Load, Ramp(rate=2.0)),
        ([{"type": "Ramp", "rate": 2.0}], Sequence[Load], [Ramp(rate=2.0)]),
        (2**63 - 1, int, 2**63 - 1),
    ],
)
def test_values_are_taken(value, hint, made):
    found = reader._convert(value, hint, "system.a")
    assert found == made
    assert type(found) is type(made)


@pytest.mark.parametrize(
    ("value", "hint", "reported"),
    [
        ("1.5", float, "a string, '1.5'; needs a number"),
        (True, float, "a bool, True; needs a number"),
        (1.5, int, "a number, 1.5; needs a whole number"),
        (1, str, "int, 1; needs a string"),
        ("yes", bool, "a string, 'yes'; needs a bool"),
        ([1.0], float, r"a list, \[1.0\]; needs a number"),
        ([1.0, "a"], Sequence[float], r"a list, \[1.0, 'a'\]; needs a list of numbers"),
        ([True], Sequence[float], r"a list, \[True\]; needs a list of numbers"),
        ([[1.0]], Sequence[float], r"a list, \[\[1.0\]\]; needs a list of numbers"),
        ([[1.0], 2.0], Rows, "a list, .*; needs a list of numbers"),
        (1.0, Point, "a number, 1.0; needs a table with fields of Point"),
        ({"type": "Other", "x": 1.0}, Point, "a table, .*; needs a table with fields of Point"),
        ({"type": "Ramp"}, Sequence[Load], r"a table, .*; needs \[\[...\]\] tables, each"),
        ([], Sequence[Load], r"a list, \[\]; needs \[\[...\]\] tables, each"),
        ("Ramp", Sequence[Load], r"a string, 'Ramp'; needs \[\[...\]\] tables, each"),
        ("x" * 70, float, "a string, 'x{56}\\.\\.\\.; needs a number"),
        (float("nan"), float, "nan; needs a finite number"),
        (float("inf"), float, "inf; needs a finite number"),
        ([1.0, float("inf")], Sequence[float], "inf; needs a finite number"),
        (2**64, int, "a whole number of more than 64 bits; needs a finite number"),
        ({"a": "b"}, Mapping[str, float], "system.a.a: got a string, 'b'; needs a number"),
    ],
)
def test_other_values_are_refused(value, hint, reported):
    with pytest.raises(ScenarioError, match=reported):
        reader._convert(value, hint, "system.a")


def test_parts_of_a_list_are_counted_from_one():
    with pytest.raises(ScenarioError, match=r"system\.a \(part 2\)"):
        reader._convert(
            [{"type": "Ramp", "rate": 2.0}, {"type": "Remp"}], Sequence[Load], "system.a"
        )


def test_what_may_be_left_out():
    @dataclasses.dataclass
    class Made:
        a: float
        b: float = 1.0
        c: Any = dataclasses.field(default_factory=list)

    needed = {f.name: reader._required(f) for f in dataclasses.fields(Made)}
    assert needed == {"a": True, "b": False, "c": False}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("[solve]\nt_span = [0.0, 1.0]\n", "write t_start and t_end"),
        ("[run]\nt_end = 1.0\n", r"write \[solve\], with t_end"),
        ("[solver]\nsteps = 3\n", r"write \[method\] for the method"),
        # a misspelt key has the nearest one
        ("[solve]\nt_emd = 1.0\n", "did you mean 't_end'"),
        ("[systen]\n", "did you mean 'system'"),
    ],
)
def test_keys_of_scripts_and_other_programs_name_their_place(tmp_path, text, advice):
    path = tmp_path / "mine.toml"
    law = '[system]\ntype = "Chain"\nmass = [1.0]\nload = { type = "Ramp", rate = 1.0 }\n'
    path.write_text(f'{law}stiffness = [1.0]\nfriction = {{ type = "Coulomb", mu = 0.3 }}\n{text}')
    with pytest.raises(ScenarioError, match=advice):
        st.read_scenario(path)

"""One table of names: what is at the top, in the subpackages, and in files."""

import importlib
import subprocess
import sys
import warnings

import pytest

import stiction as st
from stiction._kind import Kind
from stiction.catalogue import (
    CATALOGUE,
    SUBPACKAGES,
    TOP,
    homes,
    method_homes,
    names_in,
    package_of,
)
from stiction.errors import ModelError, Status, StoreError, advice_in, nearest
from stiction.numerics.checks import Record


def test_a_star_imports_the_names_of_a_subpackage():
    names = {}
    exec("from stiction.rods import *", names)
    assert names["CosseratRod"] is importlib.import_module("stiction.rods").CosseratRod
    assert set(dir(importlib.import_module("stiction.rods"))) <= set(names)


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_every_name_is_found_in_its_subpackage(subpackage):
    package = importlib.import_module(f"stiction.{subpackage}")
    for name, module in names_in(subpackage).items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    assert sorted(names_in(subpackage)) == dir(package)


def test_a_name_stands_once_in_a_subpackage():
    for subpackage in SUBPACKAGES:
        listed = [
            name
            for kind in CATALOGUE.values()
            for name, module in kind.names.items()
            if (kind.subpackage or module.split(".")[1]) == subpackage
        ]
        assert sorted(listed) == sorted(set(listed)), subpackage


def test_no_name_of_a_room_is_also_a_module_of_it():
    """Importing a submodule would put it over a function of the same name."""
    for subpackage in SUBPACKAGES:
        package = importlib.import_module(f"stiction.{subpackage}")
        for name in names_in(subpackage):
            for folder in package.__path__:
                assert importlib.machinery.PathFinder.find_spec(name, [folder]) is None, name


def test_a_name_may_stand_under_two_kinds():
    assert [kind for kind, _ in homes("Sine")] == ["Load", "Shape"]
    assert st.chains.Sine is not st.rods.Sine
    assert st.solids.Driven is not st.rods.Driven


def test_the_top_is_what_a_first_user_needs():
    # about forty
    assert 30 <= len(TOP) <= 46
    assert set(st.__all__) == {*TOP, "solve", "__version__"}
    for name in TOP:
        assert getattr(st, name).__name__ == name


def test_an_unknown_name_says_where_there_is_one():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        st.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        st.solids.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"there is stiction\.chains\.PiecewiseLinear$"):
        st.PiecewiseLinear  # noqa: B018
    with pytest.raises(AttributeError, match=r"there is stiction\.switching\.Leave$"):
        st.chains.Leave  # noqa: B018


@pytest.mark.parametrize(
    ("subpackage", "name", "near"),
    [
        ("", "Chian", r"stiction\.Chain\?"),
        ("", "Stribek", r"stiction\.laws\.Stribeck\?"),
        ("solids", "Rectangle", r"stiction\.solids\.rectangle\?"),
    ],
)
def test_a_misspelt_name_leads_to_the_nearest(subpackage, name, near):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean {near}$"):
        getattr(getattr(st, subpackage) if subpackage else st, name)


def test_systems_are_known_by_the_name_in_a_saved_run():
    assert package_of("WheelOnTurntable") == "stiction.switching"
    assert package_of("Chain") == "stiction.chains"
    assert package_of("SomethingElse") == ""


def test_names_warn_nobody():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for name in TOP:
            getattr(st, name)
        importlib.import_module("stiction.chains.model")
    assert not said


def test_importing_the_package_imports_no_subpackage():
    code = (
        "import sys, stiction as st\n"
        "subpackages = [m for m in sys.modules if m.startswith('stiction.')]\n"
        "assert sorted(subpackages) == ['stiction._kind', 'stiction._lazy', 'stiction._version',"
        " 'stiction.catalogue', 'stiction.solve'], subpackages\n"
        "assert 'Chain' in dir(st) and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("subpackage", ["exact", "papers", "plot", "switching"])
def test_subpackages_are_found_that_nothing_has_imported(subpackage):
    same = f"st.{subpackage} is sys.modules['stiction.{subpackage}']"
    code = f"import sys, stiction as st; assert {same}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_lead_to_their_homes():
    assert homes("Chain") == [("System", "stiction.chains.model")]
    assert homes("SomethingElse") == []
    methods = dict(method_homes())
    assert methods["chains.EventDriven"] is st.chains.EventDriven
    assert methods["switching.EventDriven"] is st.switching.EventDriven
    assert "System.Chain" not in methods
    assert "Chain" not in {name.partition(".")[2] for name in methods}


@pytest.mark.parametrize(
    ("bases", "subpackage"),
    [((st.Chain,), "stiction.chains"), ((), ""), ((st.rods.CosseratRod,), "stiction.rods")],
)
def test_a_system_of_a_user_is_known_by_its_bases(bases, subpackage):
    made = type("Mine", bases, {"__module__": "mine.models"})
    assert package_of("Mine", object.__new__(made)) == subpackage
    # a name of ours says more than the object, and no object says nothing
    assert package_of("WheelOnTurntable", object.__new__(made)) == "stiction.switching"
    assert package_of("Mine") == ""


def test_a_base_that_is_no_system_makes_none():
    assert Record.__module__.startswith("stiction.numerics")
    made = type("Mine", (Record,), {"__module__": "mine.models"})
    assert package_of("Mine", made()) == ""


def test_files_name_what_python_can_and_they_may():
    names = {"A": "m.a", "B": "m.b"}
    assert Kind("a thing", names).in_files == names
    assert Kind("a thing", names, written=False).in_files == {}
    assert Kind("a thing", names, {"B": "A"}).in_files == {"A": "m.a"}
    assert Kind("a thing", names, also={"C": "m.c"}).in_files == {**names, "C": "m.c"}


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("stifness", ["mass", "stiffness"], "did you mean 'stiffness'?"),
        ("MASS", ["mass", "stiffness"], "did you mean 'mass'?"),
        ("xyz", ["b", "a"], "known: a, b."),
        # difflib: 2 m / (n + n') with m letters in common; half is enough
        ("abxy", ["abuv"], "did you mean 'abuv'?"),
        ("abxyz", ["abuv"], "known: abuv."),
        ("ABxy", ["abuv"], "did you mean 'abuv'?"),
        ("ABxyz", ["abuv"], "known: abuv."),
        # letters as they are written come before letters of any case
        ("abxy", ["abuv", "ABXY"], "did you mean 'abuv'?"),
    ],
)
def test_the_nearest_word(name, known, words):
    assert nearest(name, known) == words


def test_messages_have_four_parts_or_one():
    reported = "Chain.mass: got 0; needs > 0.\nWhy: inertia.\nTry: 1."
    assert str(ModelError("Chain.mass", 0, "> 0", "inertia.", "1.")) == reported
    assert str(ModelError("all of it", 0, "", "why", "try")) == "all of it"
    assert str(StoreError("folder", "nothing", "a run", "", "")).startswith("folder: got nothing")


@pytest.mark.parametrize("status", list(Status))
def test_advice_is_that_of_the_subpackage(status):
    ok = status in (Status.SOLVED, Status.STOPPED)
    assert (status.ok, status.complete) == (ok, ok or status is Status.UNTRUSTED)
    own = status in (Status.WORK_LIMIT, Status.NOT_FINITE)
    assert advice_in("chains", status) == status.advice
    assert (advice_in("switching", status) != status.advice) is own

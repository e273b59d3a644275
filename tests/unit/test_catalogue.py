"""One table of names: what is at the top, in the rooms, in files, and under former names."""

import importlib
import subprocess
import sys
import warnings

import pytest

import stiction as st
from stiction._lazy import FORMER_FOLDERS, FORMER_MODULES, FORMER_PLOT, FORMER_TOP
from stiction.catalogue import CATALOGUE, ROOMS, TOP, homes, names_in, room_of


def test_a_star_imports_the_names_of_a_room():
    names = {}
    exec("from stiction.rods import *", names)
    assert names["CosseratRod"] is importlib.import_module("stiction.rods").CosseratRod
    assert set(dir(importlib.import_module("stiction.rods"))) <= set(names)


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_found_in_its_room(room):
    package = importlib.import_module(f"stiction.{room}")
    for name, module in names_in(room).items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    assert sorted(names_in(room)) == dir(package)


def test_a_name_stands_once_in_a_room():
    for room in ROOMS:
        listed = [
            name
            for kind in CATALOGUE.values()
            for name, module in kind.names.items()
            if (kind.room or module.split(".")[1]) == room
        ]
        assert sorted(listed) == sorted(set(listed)), room


def test_no_name_of_a_room_is_also_a_module_of_it():
    """Importing a submodule would put it over a function of the same name."""
    for room in ROOMS:
        package = importlib.import_module(f"stiction.{room}")
        for name in names_in(room):
            for folder in package.__path__:
                assert importlib.machinery.PathFinder.find_spec(name, [folder]) is None, name


def test_a_name_may_stand_under_two_kinds():
    assert [kind for kind, _ in homes("Sine")] == ["Load", "Shape"]
    assert st.chains.Sine is not st.rods.Sine
    assert st.solids.Driven is not st.rods.Driven


def test_the_top_is_what_a_first_user_needs():
    # about forty
    assert 30 <= len(TOP) <= 42
    assert set(st.__all__) == {*TOP, "solve", "__version__"}
    for name in TOP:
        assert getattr(st, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        st.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        st.solids.Nonsense  # noqa: B018


def test_systems_are_known_by_the_name_in_a_saved_run():
    assert room_of("WheelOnTurntable") == "stiction.switching"
    assert room_of("Chain") == "stiction.chains"
    assert room_of("SomethingElse") == ""


@pytest.mark.parametrize("name", FORMER_TOP)
def test_former_names_say_where_they_are(name):
    with pytest.warns(DeprecationWarning, match=rf"is now stiction\.\w+\.{name}; "):
        found = getattr(st, name)
    assert found.__name__ == name


@pytest.fixture
def first_import(monkeypatch):
    """Let a former module be imported as if for the first time; the package is as before after it.

    Importing a module puts it into its package, over a function of the same name.
    """

    def forget(old):
        package, _, name = f"stiction.{old}".rpartition(".")
        monkeypatch.delitem(sys.modules, f"{package}.{name}", raising=False)
        names = vars(importlib.import_module(package))
        monkeypatch.setitem(names, name, None)
        del names[name]

    return forget


@pytest.mark.parametrize("old", sorted(FORMER_MODULES))
def test_former_modules_say_where_they_are(old, first_import):
    first_import(old)
    new = f"stiction.{FORMER_MODULES[old]}"
    with pytest.warns(DeprecationWarning, match=f"stiction.{old} is now {new}; "):
        module = importlib.import_module(f"stiction.{old}")
    target = importlib.import_module(new)
    public = [name for name in getattr(target, "__all__", []) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(target, name) for name in public)


@pytest.mark.parametrize("old", sorted({*FORMER_FOLDERS} - {"methods"}))
def test_modules_that_became_folders_still_give_their_names(old):
    target = importlib.import_module(f"stiction.{FORMER_FOLDERS[old]}")
    folder = importlib.import_module(f"stiction.{old}")
    name = target.__all__[0]
    with pytest.warns(DeprecationWarning, match=f"stiction.{old}.{name} is now"):
        assert getattr(folder, name) is getattr(target, name)


@pytest.mark.parametrize("name", sorted(FORMER_PLOT))
def test_figures_of_single_systems_left_the_kit(name):
    plot = importlib.import_module("stiction.plot")
    with pytest.warns(DeprecationWarning, match=f"stiction.plot.{name} is now"):
        assert getattr(plot, name).__name__ == name


def test_policies_are_still_found_among_the_methods():
    methods = importlib.import_module("stiction.methods")
    with pytest.warns(DeprecationWarning, match=r"is now stiction\.switching\.policies"):
        assert methods.Leave is st.switching.Leave


def test_former_presets_are_the_scenarios(first_import):
    first_import("chains.presets")
    with pytest.warns(DeprecationWarning, match="is now"):
        presets = importlib.import_module("stiction.chains.presets")
    preset = presets.slip_wave(mass=(1.0, 2.0, 4.0), t_end=20.0)
    scenario = st.read_scenario("slip-wave", mass=[1.0, 2.0, 4.0], t_end=20.0)
    assert preset.system == scenario.system
    assert preset.t_span == (0.0, 20.0)
    wave = presets.detachment_wave(20, force=3.0).system
    assert wave.masses.sum() == pytest.approx(1.0, rel=1e-14)
    assert wave.n_mass == 20
    assert wave.load.value == 3.0


def test_a_function_stays_callable_after_its_former_module_was_imported():
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import stiction as st\n"
        "import stiction.switching.two_fold\n"
        "wheel = st.WheelOnTurntable()\n"
        "point = st.switching.two_fold(wheel, guess=(0.19, -0.03, -1.03))\n"
        "assert abs(point.x[0] - 0.1859) < 1e-3\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_that_stayed_warn_nobody():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for name in TOP:
            getattr(st, name)
        importlib.import_module("stiction.chains.model")
    assert not said


def test_importing_the_package_imports_no_room():
    code = (
        "import sys, stiction as st\n"
        "rooms = [m for m in sys.modules if m.startswith('stiction.')]\n"
        "assert sorted(rooms) == ['stiction._kind', 'stiction._lazy', 'stiction._version',"
        " 'stiction.catalogue', 'stiction.errors', 'stiction.solve'], rooms\n"
        "assert 'Chain' in dir(st) and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", ["exact", "papers", "plot", "switching"])
def test_rooms_are_found_that_nothing_has_imported(room):
    code = f"import sys, stiction as st; assert st.{room} is sys.modules['stiction.{room}']"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

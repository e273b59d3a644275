"""The kit of figures: who draws a run is found by its system, and what it cannot do is said."""

import dataclasses
import importlib
import inspect

import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.plot import figures_of
from stiction.plot.figures import Figures


def test_figures_are_those_of_the_system(baseline):
    assert type(figures_of(baseline)).__module__ == "stiction.chains.figures.figures"
    flow = st.solve(st.BeltOscillator(), t_span=(0.0, 0.1), save=3)
    assert type(flow.plot).__module__ == "stiction.switching.figures.figures"


@pytest.mark.parametrize("path", [
    "bodies", "chains", "faults", "rods", "rods.strings", "solids", "switching",
])  # fmt: skip
def test_every_figure_of_a_system_is_named_once(path):
    folder, _, part = path.partition(".")
    module = ".".join(filter(None, ["stiction", folder, "figures", part, "figures"]))
    found = vars(importlib.import_module(module)).values()
    kinds = [c for c in found if isinstance(c, type) and c.__module__ == module]
    for kind in (c for c in kinds if issubclass(c, Figures)):
        drawn = {
            name
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if method.__annotations__.get("return") == "PaperFigure"
            and all(
                parameter.default is not parameter.empty
                for parameter in list(inspect.signature(method).parameters.values())[1:]
            )
        }
        assert drawn
        assert sorted(kind.NAMES) == sorted(drawn)


def test_a_loaded_run_needs_no_system(baseline):
    loaded = dataclasses.replace(baseline, system=None, method=None)
    assert loaded.plot.NAMES == baseline.plot.NAMES


def test_a_run_of_a_stranger_has_no_figures(baseline):
    strange = dataclasses.replace(baseline, system=None, system_name="Pendulum")
    with pytest.raises(st.ModelError, match="a run of 'Pendulum'"):
        figures_of(strange)


def test_a_system_without_animation_says_so(baseline, tmp_path):
    strange = dataclasses.replace(baseline, system=None, system_name="Pendulum")
    with pytest.raises(st.ModelError, match="a run of 'Pendulum'"):
        strange.animate(tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


def test_calling_the_figures_names_them(baseline):
    with pytest.raises(ModelError, match=r"run\.plot\.motion\(\); figures: motion, "):
        baseline.plot()

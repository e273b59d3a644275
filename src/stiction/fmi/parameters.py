"""The parameters of an FMI unit: the real numbers in the fields of the system of a scenario.

Names are paths of fields, such as `law.mu` and `mass[1]`; entries are numbered from 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stiction.io.scenario import Scenario
from stiction.studies.fields import changed, place_of, unit_of

__all__ = ["parameters_of", "unit_of_parameter", "with_parameters"]


def parameters_of(scenario: Scenario) -> dict[str, float]:
    """Return {path: number} of the real numbers in the fields of the system.

    Integers, such as a seed or a count, are not parameters of the unit.

    Verified by: tests/unit/fmi/test_unit.py::test_parameters_are_the_numbers_of_the_system
    """
    return dict(_numbers(scenario.system, ""))


def unit_of_parameter(scenario: Scenario, name: str) -> str:
    """Return the unit that the field of a parameter declares; "" if it declares none."""
    return unit_of(scenario, place_of(scenario, _from_zero(name)))


def with_parameters(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """Return the scenario with these values of parameters; unchanged objects are reused.

    Raises
    ------
    ModelError : if an object refuses a number.

    Verified by: tests/unit/fmi/test_unit.py::test_parameters_are_the_numbers_of_the_system
    """
    stands = parameters_of(scenario)
    others = {path: value for path, value in values.items() if stands[path] != value}
    if not others:
        return scenario
    places = [place_of(scenario, _from_zero(path)) for path in others]
    return changed(scenario, places, list(others.values()))


def _numbers(owner: Any, path: str) -> Iterator[tuple[str, float]]:
    for field in dataclasses.fields(owner):
        value, name = getattr(owner, field.name), f"{path}{field.name}"
        if dataclasses.is_dataclass(value):
            yield from _numbers(value, f"{name}.")
        elif isinstance(value, float):
            yield name, value
        elif isinstance(value, (list, tuple, np.ndarray)):
            entries = list(value)
            for i, entry in enumerate(entries, start=1):
                if dataclasses.is_dataclass(entry):
                    yield from _numbers(entry, f"{name}[{i}].")
                elif isinstance(entry, (float, np.floating)):
                    yield f"{name}[{i}]", float(entry)


def _from_zero(path: str) -> str:
    head, bracket, remainder = path.partition("[")
    if not bracket:
        return path
    index, _, tail = remainder.partition("]")
    return f"{head}[{int(index) - 1}]{_from_zero(tail)}"

"""Scenario files: TOML to objects and back, one to one.

`type` names a class, the other keys are its fields. A class's module is imported only
when a file names it, so that listing scenarios costs nothing.
"""

from stiction.io.scenario.built_in import Entry, built_in, entries
from stiction.io.scenario.reader import read_scenario
from stiction.io.scenario.scenario import Scenario
from stiction.io.scenario.writer import scenario_text, write_scenario

__all__ = [
    "Entry",
    "Scenario",
    "built_in",
    "entries",
    "read_scenario",
    "scenario_text",
    "write_scenario",
]

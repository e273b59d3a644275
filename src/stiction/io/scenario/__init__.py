"""Scenario files: text files in TOML that describe a system, a method and a time span.

`read_scenario` builds the objects from a file, and `write_scenario` writes a file from the objects.
In a table of the file, `type` names a class and the other keys are its fields. The module of a
class is imported only when a file names the class.
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

"""The record of the catalogue for one kind of public object, such as "a system" or "a load".

`stiction.catalogue` holds one record for each kind. The reader of scenario files, the lazy imports
and the pages of the API use these records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Kind"]


@dataclass(frozen=True)
class Kind:
    """One kind of public object.

    Parameters
    ----------
    article : noun with its article for messages, such as "a system"
    names : {name of a class or function: its module}
    python_only : {name that a scenario file cannot contain: advice on what to use instead}
    subpackage : subpackage that exports the names, if it is not the folder of their module
    written : whether scenario files refer to these classes by the key `type`
    also : {name: module} of another kind that a file may use in place of one of these
    """

    article: str
    names: Mapping[str, str]
    python_only: Mapping[str, str] | None = None
    subpackage: str = ""
    written: bool = True
    also: Mapping[str, str] | None = None

    @property
    def in_files(self) -> dict[str, str]:
        """The names that a scenario file may use, with their modules."""
        if not self.written:
            return {}
        held = self.python_only or {}
        known = {**self.names, **(self.also or {})}
        return {name: module for name, module in known.items() if name not in held}

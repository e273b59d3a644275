"""The record of the catalogue for one kind of object that users can name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Kind"]


@dataclass(frozen=True)
class Kind:
    """One kind of thing.

    Parameters
    ----------
    article : what one of them is called in messages
    names : class or function name -> module
    python_only : names that a file cannot hold -> what it can hold in their place
    room : where users find the names, when it is not the folder of their module
    written : whether scenario files name them by `type`
    also : names of another kind that a file may use in place of one of these
    """

    article: str
    names: Mapping[str, str]
    python_only: Mapping[str, str] | None = None
    room: str = ""
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

"""Friction laws and systems that other installed packages add by entry points.

An entry point of the group `stiction.laws` or `stiction.systems` gives the name of a class and its
module, for example ``Sledge = "sledge_on_ice.model:Sledge"``. The catalogue
(`stiction.catalogue`) reads entry points when this package does not define a name, and when names
are listed. The module of a class is imported on first use of the class.
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
from collections.abc import Container, Iterator
from importlib.metadata import Distribution, EntryPoint, distributions

from stiction.errors import ExtensionWarning, explain

__all__ = ["GROUPS", "Extension", "read"]

# kind in the catalogue -> group of entry points
GROUPS = {"Friction": "stiction.laws", "System": "stiction.systems"}


@dataclasses.dataclass(frozen=True)
class Extension:
    """A class of another package.

    Parameters
    ----------
    kind : "Friction" or "System"
    name : name of the class
    module : module that defines the class
    distribution : name and version of the installed package
    """

    kind: str
    name: str
    module: str
    distribution: str

    def load(self) -> bool:
        """Import the class and check its base class; on failure warn and return False.

        Verified by: tests/unit/test_extensions.py::test_what_is_broken_is_named_and_left_out
        """
        try:
            cls = getattr(importlib.import_module(self.module), self.name)
            if self.kind == "System":
                methods = importlib.import_module(f"{self.module.rpartition('.')[0]}.methods")
                getattr(methods, cls.default_method)
        except Exception as error:  # noqa: BLE001
            # a module of another package may raise anything while it is imported
            _warn(self.distribution, self.kind, f"{type(error).__name__}: {error}", _IMPORTS)
            return False
        bases = {f"{base.__module__}.{base.__name__}" for base in getattr(cls, "__mro__", ())}
        if _BASES[self.kind] not in bases:
            got = f"{self.module}:{self.name}, which does not inherit {_BASES[self.kind]}"
            _warn(self.distribution, self.kind, got, _IMPORTS)
            return False
        return True


_BASES = {"Friction": "stiction.laws.friction.Friction", "System": "stiction.core.fields.Declared"}
_IMPORTS = "a class that can be imported and is of this kind; a system beside its `methods`"
_TAKEN = "a name that neither stiction nor another package uses already"
_SHAPE = 'lines such as Name = "package.module:Name"'


def read(kind: str, taken: Container[str]) -> dict[str, Extension]:
    """Return the classes that installed packages add to a kind, by name; warn of refused entries.

    Parameters
    ----------
    kind : a key of `GROUPS`
    taken : names of this package's own classes, of any kind

    Verified by: tests/unit/test_extensions.py::test_names_that_are_taken_are_refused
    """
    found: dict[str, Extension] = {}
    for distribution in distributions():
        for label, entry in _entries(distribution, kind):
            name, same = entry.name, found.get(entry.name)
            if entry.attr != name:
                _warn(label, kind, f"{name} = {entry.value}", _SHAPE)
            elif same is None and name not in taken:
                found[name] = Extension(kind, name, entry.module, label)
            elif same is None or same.distribution.split()[0] != label.split()[0]:
                # a distribution that occurs twice on sys.path is read once
                whose = same.distribution if same else "stiction"
                _warn(label, kind, f"{name}, a name of {whose}", _TAKEN)
    return found


def _entries(distribution: Distribution, kind: str) -> Iterator[tuple[str, EntryPoint]]:
    """Yield (distribution and version, entry point) for the entry points of a kind."""
    group, entries = GROUPS[kind], []
    try:
        # parsing is slow, and most distributions do not mention the group
        if group in (distribution.read_text("entry_points.txt") or ""):
            entries = [entry for entry in distribution.entry_points if entry.group == group]
            label = f"{distribution.metadata['Name']} {distribution.version}"
            yield from ((label, entry) for entry in entries if entry.module)
    except (AttributeError, TypeError, ValueError, OSError) as error:
        where = str(getattr(distribution, "_path", "a distribution"))
        _warn(where, kind, f"metadata that cannot be read ({error})", _SHAPE)


def _warn(distribution: str, kind: str, got: str, needs: str) -> None:
    why = "classes of other packages are found by their entry points; this entry is ignored."
    try_ = f"update {distribution}, write to its authors, or uninstall it."
    message = explain(f"{GROUPS[kind]} of {distribution}", got, needs, why, try_)
    warnings.warn(message, ExtensionWarning, stacklevel=2)

"""Laws and systems of other packages: what entry points of installed distributions name.

An entry point of the group `stiction.laws` or `stiction.systems` has the name of a class and leads
to it, as in ``Sledge = "sledge_on_ice.model:Sledge"``. Metadata is read when a name is none of ours
or when names are listed; a module is imported when its class is asked for.
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
    name : of the class
    module : in which it is found
    distribution : name and version of what brought it
    """

    kind: str
    name: str
    module: str
    distribution: str

    def load(self) -> bool:
        """Import the class; warn and return False if that fails or it is not of its kind.

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
_TAKEN = "a name that stiction or another package does not have already"
_SHAPE = 'lines such as Name = "package.module:Name"'


def read(kind: str, taken: Container[str]) -> dict[str, Extension]:
    """Return what distributions add to a kind, by name; warn of each entry that is refused.

    Parameters
    ----------
    kind : a key of `GROUPS`
    taken : names of our own, of any kind

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
                # an installation that stands twice on the path is read once
                whose = same.distribution if same else "stiction"
                _warn(label, kind, f"{name}, a name of {whose}", _TAKEN)
    return found


def _entries(distribution: Distribution, kind: str) -> Iterator[tuple[str, EntryPoint]]:
    """Yield (distribution and version, entry point) of the group of a kind."""
    group, entries = GROUPS[kind], []
    try:
        # most distributions have no entry of ours, and are not parsed
        if group in (distribution.read_text("entry_points.txt") or ""):
            entries = [entry for entry in distribution.entry_points if entry.group == group]
            label = f"{distribution.metadata['Name']} {distribution.version}"
            yield from ((label, entry) for entry in entries if entry.module)
    except (AttributeError, TypeError, ValueError, OSError) as error:
        where = str(getattr(distribution, "_path", "a distribution"))
        _warn(where, kind, f"metadata that cannot be read ({error})", _SHAPE)


def _warn(distribution: str, kind: str, got: str, needs: str) -> None:
    why = "what another package adds is found by its entry points; this one is left out."
    try_ = f"update {distribution}, write to its authors, or uninstall it."
    message = explain(f"{GROUPS[kind]} of {distribution}", got, needs, why, try_)
    warnings.warn(message, ExtensionWarning, stacklevel=2)

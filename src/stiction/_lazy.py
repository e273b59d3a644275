"""Lazy imports: `__getattr__` and `__dir__` for the package and its subpackages (PEP 562).

A module is imported when one of its names is first used, so that `import stiction` takes
milliseconds. `stiction.catalogue` lists the names and their modules. Systems and friction laws of
other packages (entry points) resolve like names of this package. The `__init__` modules of the
package and of its subpackages call the two functions.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from stiction.catalogue import SUBPACKAGES, attribute, module_outside, names_in, top

__all__ = ["subpackage_names", "top_names"]

Names = tuple[Callable[[str], Any], Callable[[], list[str]]]


def top_names(package: str, more: Sequence[str]) -> Names:
    """Return `__getattr__` and `__dir__` of the package itself.

    Parameters
    ----------
    package : name of the package, "stiction"
    more : names that the package defines itself

    Verified by: tests/unit/test_catalogue.py::test_an_unknown_name_says_where_there_is_one
    """

    def find(name: str) -> Any:
        if name in (first := top()):
            value = attribute(first[name], name)
        elif name in SUBPACKAGES or name in ("exact", "papers", "plot"):
            return importlib.import_module(f"{package}.{name}")
        elif not name.startswith("_") and (module := module_outside("System", name)):
            value = attribute(module, name)
        else:
            raise AttributeError(_unknown(package, name))
        vars(sys.modules[package])[name] = value
        return value

    return find, lambda: sorted({*top(), *SUBPACKAGES, *more})


def subpackage_names(package: str) -> Names:
    """Return `__getattr__` and `__dir__` of a subpackage such as `stiction.solids`.

    Verified by: tests/unit/test_catalogue.py::test_every_name_is_found_in_its_subpackage
    """

    def find(name: str) -> Any:
        subpackage = package.rpartition(".")[2]
        known = names_in(subpackage)
        if name == "__all__":
            return sorted(known)
        module = known.get(name, "")
        if not module and subpackage == "laws" and not name.startswith("_"):
            module = module_outside("Friction", name)
        if not module:
            raise AttributeError(_unknown(package, name))
        value = attribute(module, name)
        vars(sys.modules[package])[name] = value
        return value

    return find, lambda: sorted(names_in(package.rpartition(".")[2]))


def _unknown(package: str, name: str) -> str:
    """Return the message for an unknown name: the package that has it, or the nearest name."""
    if name.startswith("_"):  # only tools request such names
        return f"module {package!r} has no attribute {name!r}"
    import difflib

    top_package = package.partition(".")[0]
    # each name with the packages that have it; those of the package itself come first
    homes = {known: [top_package] for known in top()}
    for subpackage in SUBPACKAGES:
        for known in names_in(subpackage):
            homes.setdefault(known, []).append(f"{top_package}.{subpackage}")
    if package != top_package:
        own = {known: [package] for known in names_in(package.rpartition(".")[2])}
        homes = {name: homes[name]} if name in homes else own
    if name in homes:
        hint = "there is " + " and ".join(f"{home}.{name}" for home in homes[name])
    elif close := difflib.get_close_matches(name, homes, n=1, cutoff=0.7):
        hint = f"did you mean {homes[close[0]][0]}.{close[0]}?"
    else:
        return f"module {package!r} has no attribute {name!r}"
    return f"module {package!r} has no attribute {name!r}; {hint}"

"""Look-up of the class that `type` names in a table of a scenario file.

The catalogue (`stiction.catalogue`) lists the classes by kind, such as "System" or "Load".
"""

from __future__ import annotations

from collections.abc import Mapping

from stiction.catalogue import CATALOGUE, attribute, module_outside, outside
from stiction.errors import ScenarioError, nearest

__all__ = ["ARTICLES", "KINDS", "find", "find_among", "is_writable", "known_for", "places"]

KINDS = {kind: k.in_files for kind, k in CATALOGUE.items() if k.written}
ARTICLES = {kind: CATALOGUE[kind].article for kind in KINDS}
# `MovingSolid` adds inertia to one of these systems
_SOLIDS = ("stiction.solids.model", "stiction.solids.presets.")
KINDS["SolidSystem"] = {n: p for n, p in KINDS["System"].items() if p.startswith(_SOLIDS)}
ARTICLES["SolidSystem"] = "a solid"


def is_writable(name: str) -> bool:
    """Return whether a scenario file can describe an object of the class called `name`."""
    return bool(places(name))


def places(name: str) -> set[str]:
    """Return the modules of the classes called `name`: of this package, else of other packages."""
    found = {names[name] for names in KINDS.values() if name in names}
    return found or {module for kind in KINDS if (module := module_outside(kind, name))}


def known_for(kind: str, name: object) -> Mapping[str, str]:
    """Return {name: module} of the classes of a kind in which `name` is looked up.

    If this package has no class `name`, the classes of other packages are included. A class of that
    name that cannot be imported is left out, with a warning.
    """
    ours = KINDS[kind]
    if not isinstance(name, str) or name in ours:
        return ours
    module_outside(kind, name)
    return {**ours, **{theirs: found.module for theirs, found in outside(kind).items()}}


def find(kind: str, name: object, where: str) -> type:
    """Return the class called `name` among those of `kind`; ScenarioError if there is none.

    Verified by: tests/unit/test_scenario.py::test_unknown_type_names_the_nearest
    """
    return find_among(known_for(kind, name), ARTICLES[kind], name, where)


def find_among(known: Mapping[str, str], article: str, name: object, where: str) -> type:
    """Return the class called `name` among {name: module}; ScenarioError if there is none."""
    if isinstance(name, str) and name in known:
        found: type = attribute(known[name], name)
        return found
    why = f"`type` is the class name of {article}."
    instead = {n: t for k in CATALOGUE.values() for n, t in (k.python_only or {}).items()}
    if isinstance(name, str) and name in instead:
        raise ScenarioError(
            f"{where}.type",
            repr(name),
            f"{article} that a file can describe",
            f"{name} holds a Python function or a mesh, which cannot be written to a file.",
            f"solve it from Python, or {instead[name]}.",
        )
    elsewhere = [k for k, names in KINDS.items() if isinstance(name, str) and name in names]
    if elsewhere:
        why = f"{name} is {ARTICLES[elsewhere[0]]}, but this table describes {article}."
    raise ScenarioError(
        f"{where}.type",
        repr(name),
        "one of " + ", ".join(sorted(known)),
        why,
        nearest(name if isinstance(name, str) else "", known),
    )

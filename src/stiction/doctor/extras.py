"""Which packages are needed, which are there, and what each extra is for."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator

from stiction.core.provenance import TRIED, is_untried, release
from stiction.doctor.finding import FAULT, NOTE, OK, Finding

__all__ = ["core", "extras", "untried"]

_FOR = {
    "pardiso": "a fast sparse solver for solids, x86-64 only",
    "amg": "solids of more than 10^5 unknowns",
    "explore": "a page with sliders on this machine",
    "mesh": "meshes of solids from files",
    "viz3d": "rods as tubes",
    "cluster": "studies on many machines",
    "fmi": "chains for other simulators",
    "zarr": "other programs that read a study",
}
_LINE = re.compile(r"^([\w.-]+)\s*(?:\[[\w,.-]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$")


def core() -> Iterator[Finding]:
    """Tell of every package that is needed: absent and old ones are faults."""
    for name, bound, extra in _requirements():
        if not extra:
            yield _package("versions", name, bound)


def extras() -> Iterator[Finding]:
    """Tell of every extra that a user may want: whether it is there, what it is for."""
    every = list(_requirements())
    for extra, what in _FOR.items():
        needed = [(name, bound) for name, bound, of in every if of == extra]
        found = [_package("extras", name, bound) for name, bound in needed]
        absent = [f.name for f in found if f.state != OK]
        if absent or not found:
            advice = f'pip install "stiction[{extra}]"'
            yield Finding("extras", extra, NOTE, f"not installed: {what}", advice)
        else:
            words = ", ".join(f"{f.name} {f.value}" for f in found)
            yield Finding("extras", extra, OK, f"{words}: {what}")


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Return what the package asks for: (name, bound such as ">=2.0", extra or "")."""
    for line in importlib.metadata.requires("stiction") or ():
        if (match := _LINE.match(line)) is None:
            continue
        marker = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", match[3] or "")
        yield match[1], match[2].strip(), marker[1] if marker else ""


def untried(name: str, version: str) -> tuple[str, str]:
    """Return what is said of a release later than any that was tried, and what to do."""
    words = f"{version}, later than any that was tried: {TRIED[name]}"
    return words, "compare a run that you know, and report what differs"


def _package(part: str, name: str, bound: str) -> Finding:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(part, name, FAULT, "is not installed", f'pip install "{name}{bound}"')
    least = re.search(r">=\s*([\d.]+)", bound)
    if least is not None and release(version) < release(least[1]):
        advice = f'pip install "{name}{bound}"'
        return Finding(part, name, FAULT, f"{version}, needs {bound}", advice)
    if is_untried(name, version):
        return Finding(part, name, NOTE, *untried(name, version))
    return Finding(part, name, OK, version)

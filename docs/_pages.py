"""Pages that the build writes: the API, from the catalogue, and the picture of the layers."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

from stiction.catalogue import CATALOGUE, SUBPACKAGES, names_in

HERE = Path(__file__).resolve().parent

TITLES = {
    "chains": "n masses on a rail",
    "switching": "Filippov flows",
    "rods": "strings and rods in rolling contact",
    "solids": "adhesive and frictional contact of solids",
    "bodies": "rigid bodies in the plane and in space",
    "faults": "sliders and faults under rate-and-state friction",
    "laws": "friction, tyre and adhesion laws",
    "studies": "many runs",
    "fits": "identification of laws from data",
    "fmi": "export of chains to other simulators",
}
# modules whose names users meet without asking for them by name
ALSO = {
    "chains": ["stiction.chains.equilibria"],
    "switching": [
        "stiction.switching.nonuniqueness.exits",
        "stiction.switching.two_folds.local_flow",
        "stiction.switching.wheel.line",
    ],
    "rods": ["stiction.rods.model"],
    "solids": [
        "stiction.solids.shape_functions.splines",
        "stiction.solids.arrays",
        "stiction.solids.elements.assembly",
    ],
    "bodies": [],
    "faults": [],
    "laws": ["stiction.laws.friction"],
    "studies": ["stiction.studies.sensitivity.sobol"],
    "fits": ["stiction.fits.figures"],
    "fmi": [],
}


def write_pages() -> None:
    """Write docs/api/generated/*.md and docs/layers.svg; unchanged files are left alone."""
    folder = HERE / "api" / "generated"
    folder.mkdir(exist_ok=True)
    for subpackage in SUBPACKAGES:
        _put(folder / f"{subpackage}.md", page(subpackage))
    tool = HERE.parent / "tools" / "draw_layers.py"
    subprocess.run([sys.executable, tool, HERE / "layers.svg"], check=True)


def page(subpackage: str) -> str:
    """Return the page of a subpackage: its kinds, and for each the modules that hold them."""
    names, written = names_in(subpackage), set()
    parts = [f"# stiction.{subpackage}: {TITLES[subpackage]}\n"]
    for kind in CATALOGUE.values():
        here = [(n, m) for n, m in kind.names.items() if names.get(n) == m]
        modules = dict.fromkeys(module for _, module in here if module not in written)
        if not here:
            continue
        title = kind.article[0].upper() + kind.article[1:]
        listed = ", ".join(f"`{name}`" for name, _ in here)
        parts.append(f"## {title}\n\n{listed}\n")
        for module in modules:
            written.add(module)
            if module.split(".")[1] not in ("methods", "core", "numerics", "plot"):
                parts.append(_automodule(module))
    more = [module for module in ALSO[subpackage] if module not in written]
    if more:
        parts.append("## More\n")
        parts += [_automodule(module) for module in more]
    return "\n".join(parts)


def _automodule(name: str) -> str:
    """Return the directive for a module; what it only passes on is left to its own page."""
    module = importlib.import_module(name)
    passed = [
        entry
        for entry in getattr(module, "__all__", [])
        if getattr(getattr(module, entry), "__module__", name) != name
    ]
    exclude = f"\n   :exclude-members: {', '.join(passed)}" if passed else ""
    return f"```{{eval-rst}}\n.. automodule:: {name}{exclude}\n```\n"


def _put(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

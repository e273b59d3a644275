"""Names that are imported when they are first used, and old names that still work for a version."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stiction.catalogue import ROOMS, attribute, homes, names_in, top

__all__ = ["former_names", "install_former_modules", "room_names", "top_names"]

_UNTIL = "it goes with the next version"

# modules that pages of the documentation named, and where their contents are now
FORMER_MODULES: Mapping[str, str] = {
    "chains.branches": "chains.branching",
    "chains.presets": "_former_presets",
    "chains.time_stepping": "chains.theta.methods",
    "laws.return_map": "laws.return_mapping",
    "plot.animation": "chains.figures.animation",
    "plot.comparison": "chains.figures.comparison",
    "plot.flow_figures": "switching.figures.figures",
    "plot.rod_figures": "rods.figures.figures",
    "plot.solid_comparison": "solids.figures.comparison",
    "plot.solid_figures": "solids.figures.figures",
    "plot.string_figures": "rods.figures.strings.figures",
    "rods.characteristics": "rods.strings.characteristics",
    "rods.equilibrium": "rods.statics",
    "rods.growth": "rods.strings.growth",
    "rods.shapes": "rods.strings.shapes",
    "rods.strands": "rods.strings.strands",
    "rods.vakonomic": "rods.principles",
    "rods.vector_strings": "rods.strings.vector_strings",
    "scenario.catalogue": "scenario.built_in",
    "scenario.registry": "catalogue",
    "solids.partners": "solids.contact.partners",
    "solids.splines": "solids.elements.splines",
    "switching.dynamic_tyre": "switching.wheel.dynamic_tyre",
    "switching.ensemble": "switching.ensembles.study",
    "switching.escapes": "switching.wheel.escapes",
    "switching.futures": "switching.funnel",
    "switching.line": "switching.wheel.line",
    "switching.local_flow": "switching.two_folds.local_flow",
    "switching.portrait": "switching.portraits",
    "switching.return_map": "switching.wheel.return_map",
    "switching.spiral": "switching.two_folds.spiral",
    "switching.two_fold": "switching.two_folds.finding",
    "switching.two_fold_curves": "switching.two_folds.curves",
    "switching.wheel_folds": "switching.wheel.folds",
}

# modules that became folders of the same name: (folder, what was public) -> where it is now
FORMER_FOLDERS: Mapping[str, str] = {
    "chains.event_driven": "chains.event_driven.run",
    "chains.quasistatic": "chains.quasistatic.run",
    "rods.contact": "rods.contact.model",
    "rods.leapfrog": "rods.leapfrog.method",
    "rods.midpoint": "rods.midpoint.method",
    "rods.plane": "rods.plane.model",
    "rods.strings": "rods.strings.model",
    "solids.contact": "solids.contact.model",
    "solids.elements": "solids.elements.kinds",
    "methods": "switching.policies",
    "solids.mesh": "solids.mesh.model",
    "switching.wheel": "switching.wheel.model",
}

FORMER_TOP = (
    "PiecewiseLinear", "Sine", "SumOf", "RegularizedTheta", "Stop", "Leave", "Sample",
    "Enumerate", "ByKind", "BumpStrands", "RelayFeedback", "NormalForm", "TwoBlockStickSlip",
    "StaticJumpOscillator", "CosseratRod", "CircularSection", "RollingContact",
    "ContactSearch", "RollingMidpoint", "RodOnFixedRod", "RodNet", "Braid", "TighteningKnot",
    "Body", "Contact", "Boundary", "RigidPlane", "RigidCircle", "Fixed", "Driven", "Loaded",
    "Nearest", "Rigid", "Program", "Mesh", "rectangle", "Q1", "Q2", "Q1N2", "Q2N2", "Q1H",
    "NeoHookean", "NearlyIncompressible", "MooneyRivlin", "Yeoh", "LinearElastic",
    "TwoCylinders", "SuperLU", "Pardiso", "RandomCoulomb", "SquareRootSign", "TanhSign",
    "StretchedString", "SimplifiedTyre", "Pacejka", "Frictionless", "UserThreshold", "amontons",
)  # fmt: skip
# of the names that stand under two kinds, the one that was at the top
_FORMER_KIND = {"Sine": "Load", "Driven": "Condition"}

# what `stiction.plot` held of single systems
FORMER_PLOT = {
    "ChainFigures": "chains.figures.figures",
    "animate": "chains.figures.animation",
    "compare": "chains.figures.comparison",
    "compare_solids": "solids.figures.comparison",
}

Names = tuple[Callable[[str], Any], Callable[[], list[str]]]


def top_names(package: str, more: Sequence[str]) -> Names:
    """Return `__getattr__` and `__dir__` of the package itself.

    Parameters
    ----------
    package : its name
    more : names that it holds already

    Verified by: tests/unit/test_catalogue.py::test_former_names_say_where_they_are
    """

    def find(name: str) -> Any:
        if name in (first := top()):
            value = attribute(first[name], name)
        elif name in ROOMS or name in ("exact", "papers", "plot"):
            return importlib.import_module(f"{package}.{name}")
        elif name in FORMER_TOP:
            kinds = dict(homes(name))
            module = kinds[_FORMER_KIND.get(name, next(iter(kinds)))]
            place = next(r for r in ROOMS if names_in(r).get(name) == module)
            _warn(f"{package}.{name}", f"{package}.{place}.{name}")
            return attribute(module, name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(sys.modules[package])[name] = value
        return value

    return find, lambda: sorted({*top(), *ROOMS, *more})


def room_names(package: str) -> Names:
    """Return `__getattr__` and `__dir__` of a room such as `stiction.solids`.

    Verified by: tests/unit/test_catalogue.py::test_every_name_is_found_in_its_room
    """

    def find(name: str) -> Any:
        known = names_in(package.rpartition(".")[2])
        if name == "__all__":
            return sorted(known)
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = attribute(known[name], name)
        vars(sys.modules[package])[name] = value
        return value

    return find, lambda: sorted(names_in(package.rpartition(".")[2]))


def former_names(package: str) -> Callable[[str], Any]:
    """Return `__getattr__` of a folder that was a module, or of what lost names to others."""
    short = package.removeprefix("stiction.")

    def find(name: str) -> Any:
        place = FORMER_PLOT.get(name) if short == "plot" else FORMER_FOLDERS[short]
        if place is not None and not name.startswith("_"):
            module = importlib.import_module(f"stiction.{place}")
            if hasattr(module, name):
                _warn(f"{package}.{name}", f"stiction.{place}.{name}")
                return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now {new}; {_UNTIL}.", DeprecationWarning, stacklevel=4)


class _Former(types.ModuleType):
    """A module under its old name: whatever is asked of it comes from its new place."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(sys.modules[_new_place(self.__name__)], name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        # importing a module puts it over a function of the same name in its package
        function = getattr(self, self.__name__.rpartition(".")[2])
        return function(*args, **options)


def _new_place(name: str) -> str:
    return f"stiction.{FORMER_MODULES[name.removeprefix('stiction.')]}"


class _FormerModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules under their old names."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.removeprefix("stiction.") not in FORMER_MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        importlib.import_module(_new_place(spec.name))
        warnings.warn(
            f"{spec.name} is now {_new_place(spec.name)}; {_UNTIL}.",
            DeprecationWarning,
            stacklevel=6,
        )
        return _Former(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: there is nothing to run."""


def install_former_modules() -> None:
    """Let modules be imported under the names they had in the last version, with a warning.

    Verified by: tests/unit/test_catalogue.py::test_former_modules_say_where_they_are
    """
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(_FormerModules())

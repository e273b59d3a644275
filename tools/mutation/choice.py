"""Which faults are tried: a draw that a seed repeats and that edits elsewhere hardly change."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import math
import tomllib
from collections.abc import Iterable
from pathlib import Path

from mutation.operators import OPERATORS, mutants_of
from mutation.source import Mutant, Source, is_looks
from mutation.tree import Tree

__all__ = ["argued", "candidates", "draw", "sample"]

# every package is looked at; what only draws matters less
_LEAST_PER_PACKAGE = 8
_FRACTION_OF_LOOKS = 0.15


def candidates(tree: Tree) -> list[Mutant]:
    """Return every fault that can be put into a tree."""
    left_out = {"_version.py"}
    if importlib.util.find_spec("pypardiso") is None:
        # it runs only where this extra is installed
        left_out.add("pardiso.py")
    files = [file for file in tree.sources if Path(file).name not in left_out]
    return [m for f in files for m in mutants_of(Source(f, (tree.root / f).read_bytes()))]


# ---- drawing


def draw(tree: Tree, found: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return `count` faults: each package has its fraction of lines, each kind its part.

    Every fault has a number that depends on the seed and its own text alone, and the lowest of
    each package and kind are taken.
    """
    groups: dict[str, dict[str, list[Mutant]]] = {}
    lines: dict[str, dict[tuple[str, int], float]] = {}
    for mutant in found:
        part = tree.part(mutant.file)
        groups.setdefault(part, {}).setdefault(mutant.operator, []).append(mutant)
        weight = _FRACTION_OF_LOOKS if is_looks(mutant.file) else 1.0
        lines.setdefault(part, {})[mutant.file, mutant.line] = weight
    shares = {part: sum(rows.values()) for part, rows in lines.items()}
    available = {part: sum(map(len, kinds.values())) for part, kinds in groups.items()}
    per_part = _divided(count, shares, available, _LEAST_PER_PACKAGE)
    drawn = []
    for part, kinds in sorted(groups.items()):
        weights = {name: OPERATORS[name][1] for name in kinds}
        sizes = {name: len(rows) for name, rows in kinds.items()}
        for name, number in _divided(per_part[part], weights, sizes, 0).items():
            ordered = sorted(kinds[name], key=lambda m: _number(m, seed))
            drawn += _valid(tree, ordered, number)
    return sorted(drawn, key=lambda m: (m.file, m.start, m.id))


def sample(tree: Tree, drawn: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a few of the drawn faults: one of each package before a second of any."""
    ordered = sorted(drawn, key=lambda m: _number(m, seed))
    turn: dict[str, int] = {}
    rounds = {}
    for mutant in ordered:
        part = tree.part(mutant.file)
        turn[part] = turn.get(part, -1) + 1
        rounds[mutant.id] = turn[part]
    return sorted(ordered, key=lambda m: (rounds[m.id], _number(m, seed)))[:count]


def _number(mutant: Mutant, seed: int) -> float:
    """Return the place of a fault in the draw; that of drawings is later, but not the last."""
    digest = hashlib.sha256(f"{seed} {mutant.id}".encode()).digest()
    uniform = (int.from_bytes(digest[:8], "big") + 0.5) / 2.0**64
    return -math.log(uniform) / (_FRACTION_OF_LOOKS if is_looks(mutant.file) else 1.0)


def _divided(
    count: int, weights: dict[str, float], most: dict[str, int], least: int
) -> dict[str, int]:
    """Return whole numbers with a given sum in proportion to weights, within their bounds."""
    given = {name: min(least, most[name]) for name in weights}
    while sum(given.values()) < count:
        open_ = [name for name in sorted(weights) if given[name] < most[name]]
        if not open_:
            break
        # whoever is farthest behind its share is next
        behind = min(open_, key=lambda name: (given[name] + 0.5) / max(weights[name], 1e-9))
        given[behind] += 1
    return given


def _valid(tree: Tree, ordered: list[Mutant], count: int) -> list[Mutant]:
    """Return the first faults that are Python and change what it means."""
    found: list[Mutant] = []
    for mutant in ordered:
        if len(found) == count:
            break
        before = (tree.root / mutant.file).read_bytes()
        try:
            after = ast.dump(ast.parse(mutant.applied(before)))
        except SyntaxError:
            continue
        if after != ast.dump(ast.parse(before)):
            found.append(mutant)
    return found


# ---- faults that change nothing


def argued(path: Path | None, found: list[Mutant], *, strict: bool = True) -> dict[str, str]:
    """Return the arguments of a file by fault.

    Raises
    ------
    SystemExit : if an entry has no argument or, when `strict`, speaks of no fault that can be
        put in.
    """
    if path is None or not path.exists():
        return {}
    arguments: dict[str, str] = {}
    for row in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        argument = row.pop("argument", "")
        meant = [m for m in found if all(getattr(m, key) == row[key] for key in row)]
        if (strict and not meant) or not argument.strip():
            what = "no fault like this" if not meant else "no argument"
            raise SystemExit(f"{path}: {what}: {row}")
        arguments |= {m.id: argument for m in meant}
    return arguments

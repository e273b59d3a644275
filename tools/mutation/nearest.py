"""Which tests concern a place of the package, the nearest first."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from mutation.source import Mutant, is_looks
from mutation.tree import Tree

__all__ = ["Near", "Nearest"]

_REFERENCE = re.compile(r"(tests/[\w/.-]+\.py)((?:::\w+)*)")
# rules about the tree and scripts of the documentation say nothing about one number
_ELSEWHERE = ("tests/meta/", "tests/examples/")
# every unit, meaning and kind of a result is reported there once more, by hand
_REPORTED = "tests/golden/test_golden.py"
_TEXTS = ("wrong unit", "wrong kind")
_LATER = ("tests/exact/", "tests/properties/", "tests/scenarios/", "tests/convergence/")
_FAR = 12
_FIRST_FILES, _LATER_FILES = 8, 4


@dataclass(frozen=True)
class Near:
    """The tests to run for one fault.

    Parameters
    ----------
    first, later : test files of the two rings, the nearest first
    meant : tests that the documentation of the place names, as `file::test`; for a text, those
        that compare results with the tables of units and kinds
    words : what the place speaks of, with the weight of each word: rare ones say more
    """

    first: list[str]
    later: list[str]
    meant: list[str]
    words: dict[str, float]

    def relevance(self, words: set[str]) -> float:
        """Return from 0 to 1 how much of what the place speaks of a text mentions."""
        shared = sum(weight for word, weight in self.words.items() if word in words)
        return shared / max(sum(self.words.values()), 1e-9)


class Nearest:
    """The tests of a tree by what they concern."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.functions = cache(self._functions)
        self.files = [
            f
            for f in tree.tests
            if Path(f).name.startswith("test_") and not f.startswith(_ELSEWHERE)
        ]

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        return {f: set(re.findall(r"\w+", self.tree.text(f))) for f in self.files}

    def _spoken(self, mutant: Mutant) -> dict[str, float]:
        """Return the words of the function around a fault, those of the line counted twice."""
        lines = self.tree.text(mutant.file).splitlines()
        line = lines[mutant.line - 1]
        text = f"{line} {mutant.function} {Path(mutant.file).stem}"
        for node in self.tree.around(mutant):
            if isinstance(node, ast.FunctionDef):
                text += " " + " ".join(lines[node.lineno - 1 : node.end_lineno])
        found = {}
        for word in set(re.findall(r"[A-Za-z_]\w{2,}", text)):
            containing = sum(word in words for words in self._words.values())
            if containing:
                weight = math.log((len(self.files) + 1) / containing)
                found[word] = weight * (1 + bool(re.search(rf"\b{word}\b", line)))
        return found

    def _functions(self, file: str) -> dict[str, set[str]]:
        """Return the words of every test function of a file, by `file::test`."""
        found = {}
        for node in self.tree.trees[file].body:
            prefix, inside = file, [node]
            if isinstance(node, ast.ClassDef):
                prefix, inside = f"{file}::{node.name}", node.body
            for inner in inside:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_"):
                    words = set(re.findall(r"\w+", ast.unparse(inner)))
                    found[f"{prefix}::{inner.name}"] = words
        return found

    def of(self, mutant: Mutant) -> Near:
        """Return the tests near a fault."""
        meant = list(self._meant(mutant))
        distance = self.tree.distances(mutant.file)
        words = self._spoken(mutant)
        near = Near([], [], meant, words)
        relevant = {f: near.relevance(self._words[f]) for f in self.files if f in distance}
        most = max(relevant.values(), default=0.0) or 1.0
        score = {
            f: self._score(f, mutant, distance[f]) - 4.0 * r / most for f, r in relevant.items()
        }
        named = {test.partition("::")[0] for test in meant}
        score |= {f: -10.0 if f == _REPORTED else -20.0 for f in self.files if f in named}
        ranked = sorted(score, key=lambda f: (score[f], f))
        direct = [
            f for f in ranked if not f.startswith(_LATER) or score[f] < 0 or distance.get(f) == 1
        ]
        first = [f for f in direct if score[f] < _FAR][:_FIRST_FILES]
        folder = self.tree.part(mutant.file).rstrip("s")
        rest = []
        for file in ranked:
            systems = self._systems(file)
            same = not systems or folder in systems or folder not in self._parts
            if file not in first and same and distance.get(file, _FAR) <= _FAR:
                # files of the later folders look at whole runs; further unit tests seldom see
                # more, nor do tests of the command line that are about no system
                rest.append((not file.startswith(_LATER), not systems, score[file], file))
        return Near(first, [row[-1] for row in sorted(rest)][:_LATER_FILES], meant, words)

    def _score(self, test: str, mutant: Mutant, distance: int) -> float:
        """Return how far a test file is: imports between, less what speaks for it."""
        words, path, file = self._words[test], Path(test), Path(mutant.file)
        # what is private is tried under the public name of what it stands for
        whole = [n for n in mutant.function.split(".") if n and not n.startswith("__")]
        names = [n if n in words else n.lstrip("_") for n in whole]
        stem = file.stem.strip("_").removesuffix("_kernels")
        folder = self.tree.part(mutant.file)
        room, inside = path.parent.parts[2:], file.parent.parts[2:]
        mirrored = room == inside
        value = 2.0 * distance
        if f"{path.stem}_".startswith(f"test_{stem}_"):
            # a folder of tests may stand for those inside of the package's folder
            value -= 12.0 if mirrored or (room and room == inside[: len(room)]) else 3.0
        if mirrored or folder in path.parts or folder in path.stem:
            value -= 3.0
        if names and names[-1] in words:
            value -= 3.0
        if len(names) > 1 and names[0] in words:
            value -= 2.0
        return value

    @cached_property
    def _parts(self) -> set[str]:
        """The names of sub-packages, in the singular."""
        parts = {self.tree.part(f) for f in self.tree.sources}
        return {part.rstrip("s") for part in parts if len(part) > 3}

    def _systems(self, test: str) -> set[str]:
        """Return the sub-packages that the name of a test file reports."""
        return {w for w in self._parts if w in Path(test).stem}

    def _meant(self, mutant: Mutant) -> Iterator[str]:
        """Yield the tests that docstrings around a place name, the innermost first."""
        for node in reversed(self.tree.around(mutant)):
            text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
            for match in _REFERENCE.finditer(text.partition("Verified by:")[2]):
                if match[1] in self.tree.tests:
                    yield match[1] + match[2]
        is_text = mutant.operator in _TEXTS and not is_looks(mutant.file)
        if is_text and _REPORTED in self.tree.tests:
            yield from self.functions(_REPORTED)

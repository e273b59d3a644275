"""Which tests concern a place of the package, the nearest first."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mutation.source import Mutant, is_looks
from mutation.tree import Tree

__all__ = ["LATER", "Near", "Nearest"]

_REFERENCE = re.compile(r"(tests/[\w/.-]+\.py)((?:::\w+)*)")
# rules about the tree and scripts of the documentation say nothing about one number
_ELSEWHERE = ("tests/meta/", "tests/examples/")
# every unit, meaning and kind of a result is reported there once more, by hand
_REPORTED = "tests/golden/test_golden.py"
_TEXTS = ("wrong unit", "wrong kind", "named")
LATER = ("tests/exact/", "tests/properties/", "tests/scenarios/", "tests/convergence/")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FAR = 6
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
    words: dict[str, float] = field(default_factory=dict)

    def relevance(self, words: set[str]) -> float:
        """Return from 0 to 1 how much of what the place speaks of a text mentions."""
        shared = sum(weight for word, weight in self.words.items() if word in words)
        return shared / max(sum(self.words.values()), 1e-9)


class Nearest:
    """The tests of a tree by what they concern."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._functions: dict[str, dict[str, set[str]]] = {}
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
        for node in ast.walk(self.tree.trees[mutant.file]):
            if isinstance(node, _SCOPES[:2]) and node.lineno <= mutant.line <= (
                node.end_lineno or 0
            ):
                text += " " + " ".join(lines[node.lineno - 1 : node.end_lineno])
        near, total = set(_long_words(line)), len(self.files)
        found = {}
        for word in set(_long_words(text)):
            containing = sum(word in words for words in self._words.values())
            if containing:
                found[word] = math.log((total + 1) / containing) * (2.0 if word in near else 1.0)
        return found

    def functions(self, file: str) -> dict[str, set[str]]:
        """Return the words of every test function of a file, by `file::test`."""
        if file not in self._functions:
            self._functions[file] = {
                f"{prefix}::{node.name}": set(re.findall(r"\w+", ast.unparse(node)))
                for prefix, node in _tests_of(self.tree.trees[file], file)
            }
        return self._functions[file]

    def of(self, mutant: Mutant) -> Near:
        """Return the tests near a fault."""
        tree, file = self.tree, mutant.file
        meant = list(self._meant(mutant))
        distance = tree.distances(file)
        near = Near([], [], meant, self._spoken(mutant))
        score = {f: self._score(f, mutant, distance[f]) for f in self.files if f in distance}
        relevant = {f: near.relevance(self._words[f]) for f in score}
        most = max(relevant.values(), default=0.0) or 1.0
        score = {f: value - 4.0 * relevant[f] / most for f, value in score.items()}
        named = {m.partition("::")[0] for m in meant} & set(self.files)
        score |= {f: -10.0 if f == _REPORTED else -20.0 for f in named}
        ranked = sorted(score, key=lambda f: (score[f], f))
        direct = [
            f for f in ranked if not f.startswith(LATER) or score[f] < 0 or distance.get(f) == 1
        ]
        first = [f for f in direct if score[f] < 2 * _FAR][:_FIRST_FILES]
        rest = [f for f in ranked if f not in first and self._same_system(f, file, distance)]
        # files of the later folders look at whole runs; further unit tests seldom see more, nor
        # do tests of the command line that are about no system
        rest.sort(key=lambda f: (not f.startswith(LATER), not self._systems(f), score[f], f))
        return Near(first, rest[:_LATER_FILES], meant, near.words)

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

    def _same_system(self, test: str, file: str, distance: dict[str, int]) -> bool:
        """Return whether a test can see a change of this file in the runs of its system."""
        if test not in distance or distance[test] > 2 * _FAR:
            return False
        reported, folder = self._systems(test), self.tree.part(file).rstrip("s")
        return not reported or folder in reported or folder not in self._parts

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
        body: ast.AST = self.tree.trees[mutant.file]
        around = [body]
        for name in filter(None, mutant.function.split(".")):
            body = next(n for n in ast.walk(body) if isinstance(n, _SCOPES) and n.name == name)
            around.append(body)
        for node in reversed(around):
            text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
            for match in _REFERENCE.finditer(text.partition("Verified by:")[2]):
                if match[1] in self.tree.tests:
                    yield match[1] + match[2]
        is_text = mutant.operator in _TEXTS and '"' in mutant.old and not is_looks(mutant.file)
        if is_text and _REPORTED in self.tree.tests:
            yield from self.functions(_REPORTED)


def _long_words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", text)


def _tests_of(tree: ast.Module, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_"):
                    yield f"{prefix}::{node.name}", inner

"""What the checks of this folder look at: the files of the tree, parsed once."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the root, its text and its syntax tree."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]


def _read(folder: str, pattern: str = "*.py") -> list[Source]:
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob(pattern))
    ]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def make_source() -> type[Source]:
    """The class itself, for tests that try a check on a sample written in the test."""
    return Source


@pytest.fixture(scope="session")
def package_sources() -> list[Source]:
    return _read("src/stiction")


@pytest.fixture(scope="session")
def test_sources() -> list[Source]:
    return _read("tests")

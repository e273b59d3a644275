"""Who imports whom in a tree: modules of the package, and the files of tests and their helpers.

Public names are followed to the modules that define them, as the stubs of lazy packages say.
"""

from __future__ import annotations

import ast
import hashlib
import heapq
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from mutation.source import Mutant, called, enclosing, is_looks

__all__ = ["TOP", "Tree"]

# the package of modules that lie in no sub-package
TOP = "(top)"
_MARKS = {"kernel", "native", "intrinsic", "njit", "jit"}
_KERNELS = re.compile(r"^\s*(?:from|import) (?:numba\b|[\w.]*\bnumerics\.jit\b)", re.MULTILINE)
# a public name in a test: `st.solve`, `chains.Ramp`, `type = "Chain"`
_PUBLIC = re.compile(r"\bst\.(\w+)|[\"'.]([A-Z]\w+)")


class Tree:
    """The Python files of a checkout, by path from the root.

    Parameters
    ----------
    root : the folder that holds `src` with one package, and `tests`
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        packages = list((root / "src").glob("*/__init__.py"))
        if len(packages) != 1:
            raise SystemExit(f"{root / 'src'}: got {len(packages)} packages; needs one")
        self.sources, self.tests = (
            [path.relative_to(root).as_posix() for path in sorted((root / part).rglob("*.py"))]
            for part in ("src", "tests")
        )
        self.files = [*self.sources, *self.tests]
        self.file_of = {_module(file): file for file in self.files}

    def text(self, file: str) -> str:
        """Return what a file holds."""
        return (self.root / file).read_text(encoding="utf-8")

    def part(self, file: str) -> str:
        """Return the sub-package of a source file."""
        inside = file.split("/")[2:]
        return inside[0] if len(inside) > 1 else TOP

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Every file, parsed."""
        return {file: ast.parse(self.text(file)) for file in self.files}

    @cached_property
    def _public(self) -> dict[str, str]:
        """The files that define public names, by name."""
        found = {}
        for stub in sorted((self.root / "src").rglob("__init__.pyi")):
            for node in ast.parse(stub.read_bytes()).body:
                if isinstance(node, ast.ImportFrom) and node.module in self.file_of:
                    found.update({a.name: self.file_of[node.module] for a in node.names})
        return found

    def _edges(self, file: str) -> Iterator[tuple[str, int]]:
        """Yield the files that a file depends on, and how far they are.

        A look-up by name counts three times: many files are reached that way, few are meant.
        """
        hidden: set[ast.stmt] = set()
        for node in ast.walk(self.trees[file]):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                hidden |= set(node.body)
            elif isinstance(node, ast.ImportFrom) and node not in hidden:
                home = self.file_of.get(node.module or "", "")
                for alias in node.names:
                    inner = self.file_of.get(f"{node.module}.{alias.name}")
                    lazy = self._public.get(alias.name) if home.endswith("__init__.py") else None
                    yield inner or lazy or home, 1
            elif isinstance(node, ast.Import):
                # the roof is followed by name
                whole = [alias.name for alias in node.names]
                yield from ((self.file_of[n], 1) for n in whole if n in self.file_of and "." in n)
            elif isinstance(node, ast.Constant) and not file.endswith("__init__.py"):
                yield self.file_of.get(str(node.value).partition(":")[0], ""), 3
        if file in self.tests:
            words = {a or b for a, b in _PUBLIC.findall(self.text(file))}
            yield from ((self._public[word], 1) for word in words & set(self._public))
            folders = {f"{folder.as_posix()}/conftest.py" for folder in Path(file).parents}
            yield from ((fixtures, 1) for fixtures in folders & set(self.tests))

    @cached_property
    def _users(self) -> dict[str, dict[str, int]]:
        """The files that depend on each file, and how far they are."""
        found: dict[str, dict[str, int]] = {}
        for file in self.files:
            for used, price in self._edges(file):
                users = found.setdefault(used, {})
                users[file] = min(price, users.get(file, price))
        found.pop("", None)
        return found

    def distances(self, start: str, most: int = 3) -> dict[str, int]:
        """Return how many imports lead from each file that can reach this one to it.

        Parameters
        ----------
        most : leave out the edges that count more than this
        """
        found: dict[str, int] = {}
        queue = [(0, start)]
        while queue:
            cost, here = heapq.heappop(queue)
            if here not in found:
                found[here] = cost
                for user, price in self._users.get(here, {}).items():
                    if price <= most:
                        heapq.heappush(queue, (cost + price, user))
        return found

    def in_kernel(self, mutant: Mutant) -> bool:
        """Return whether a fault changes compiled code: a kernel, or a constant that one may hold.

        Drawing compiles nothing.
        """
        if mutant.function:
            return any(_is_kernel(node) for node in self.around(mutant))
        reached = set(self.distances(mutant.file, 1)) & self._with_kernels
        return not all(map(is_looks, reached))

    @cached_property
    def _with_kernels(self) -> set[str]:
        """Files that compile functions, or may."""
        return {file for file in self.files if _KERNELS.search(self.text(file))}

    def around(self, mutant: Mutant) -> list[ast.AST]:
        """Return the module, classes and functions around a fault, the innermost last."""
        return enclosing(self.trees[mutant.file], mutant.line)

    def digest(self, files: Iterable[str]) -> str:
        """Return a short name of what some files hold."""
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.encode())
            digest.update((self.root / file).read_bytes())
        return digest.hexdigest()[:16]


def _is_kernel(node: ast.AST) -> bool:
    for mark in getattr(node, "decorator_list", []):
        name = called(mark) or ast.unparse(mark).rpartition(".")[2]
        if name in _MARKS:
            return True
    return False


def _module(file: str) -> str:
    """Return the name by which a file is imported."""
    parts = file.removesuffix(".py").split("/")[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

"""Who imports whom in a tree: modules of the package, and the files of tests and their helpers.

Names are followed to where they are defined: `import stiction as st` and `st.Chain` make a file
depend on the module of `Chain`, and not on all that the package's roof can reach.
"""

from __future__ import annotations

import ast
import hashlib
import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from mutation.source import Mutant, is_looks

__all__ = ["TOP", "Tree"]

# the package of modules that lie in no sub-package
TOP = "(top)"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MARK = re.compile(r"(?:[\w.]*\.)?(?:kernel|native|intrinsic|njit|jit)\b")
_KERNELS = re.compile(r"^\s*(?:from|import) (?:numba\b|[\w.]*\bnumerics\.jit\b)", re.MULTILINE)


class Tree:
    """The Python files of a checkout, by path from the root.

    Parameters
    ----------
    root : the folder that holds `src` with one package, and `tests`
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        found = sorted((root / "src").glob("*/__init__.py"))
        if len(found) != 1:
            raise SystemExit(f"{root / 'src'}: got {len(found)} packages; needs one")
        self.package = found[0].parent.name
        self.sources = [self._short(path) for path in sorted((root / "src").rglob("*.py"))]
        self.tests = [self._short(path) for path in sorted((root / "tests").rglob("*.py"))]
        self.module_of = {file: _module(file) for file in self.sources}
        self.file_of = {module: file for file, module in self.module_of.items()}
        self._helpers = {Path(f).stem: f for f in self.tests if f.count("/") == 1}

    def _short(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

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
        return {file: ast.parse(self.text(file)) for file in (*self.sources, *self.tests)}

    @cached_property
    def with_kernels(self) -> set[str]:
        """Files that compile functions, or may."""
        return {f for f in (*self.sources, *self.tests) if _KERNELS.search(self.text(f))}

    @cached_property
    def libraries(self) -> list[str]:
        """Modules that files of the tree import, and do not themselves hold."""
        found = {"pytest"}
        for tree in self.trees.values():
            for node in _at_run_time(tree):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    found.add(node.module)
        ours = {self.package, "tests", *(Path(f).stem for f in self.tests)}
        # a graphics processor is asked for by who needs it
        return sorted(n for n in found if n.partition(".")[0] not in ours)

    # ---- what a name stands for

    @cached_property
    def _names(self) -> dict[str, dict[str, tuple[str, str]]]:
        """By module: imported names, as (module, name); also those of a table of lazy imports."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for file, module in self.module_of.items():
            names = found[module] = {}
            # a stub says in plain imports what is imported lazily
            stub = self.root / f"{file}i"
            trees = [self.trees[file], *([ast.parse(stub.read_bytes())] if stub.exists() else [])]
            for node in (node for tree in trees for node in ast.walk(tree)):
                if isinstance(node, ast.ImportFrom):
                    home = self._home(node, file)
                    names.update({a.asname or a.name: (home, a.name) for a in node.names})
                elif isinstance(node, ast.Dict) and file.endswith("__init__.py"):
                    names.update(self._table(node))
        return found

    def _table(self, node: ast.Dict) -> Iterator[tuple[str, tuple[str, str]]]:
        for key, value in zip(node.keys, node.values, strict=True):
            text = value.value if isinstance(value, ast.Constant) else None
            if isinstance(key, ast.Constant) and text in self.file_of:
                yield str(key.value), (str(text), str(key.value))

    def _home(self, node: ast.ImportFrom, file: str) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module_of[file].split(".") if file in self.module_of else []
        if not file.endswith("__init__.py"):
            parts = parts[:-1]
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def defined_in(self, module: str, name: str) -> str | None:
        """Return the file that defines a name of a module; None for what is not ours."""
        for _ in range(20):
            if f"{module}.{name}" in self.file_of:
                return self.file_of[f"{module}.{name}"]
            if module not in self.file_of:
                return None
            if name not in self._names[module]:
                return self.file_of[module]
            home, inner = self._names[module][name]
            if home not in self.file_of and f"{home}.{inner}" not in self.file_of:
                return self.file_of[module]
            module, name = home, inner
        return self.file_of.get(module)

    # ---- edges

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Files whose names each file uses."""
        return {file: set(self._uses(file)) - {file} for file in (*self.sources, *self.tests)}

    def _uses(self, file: str) -> Iterator[str]:
        aliases: dict[str, str] = {}
        for node in _at_run_time(self.trees[file]):
            if isinstance(node, ast.ImportFrom):
                yield from self._imported(node, file)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    aliases[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
                    yield from self._whole(alias.name)
        for node in ast.walk(self.trees[file]):
            if isinstance(node, ast.Attribute):
                found = self._attribute(node, aliases)
                if found is not None:
                    yield found
        yield from self._fixtures(file)

    def _whole(self, module: str) -> Iterator[str]:
        """Yield the file of a module that is imported whole; the roof is followed by name."""
        if module in self.file_of and module != self.package:
            yield self.file_of[module]
        elif module in self._helpers:
            yield self._helpers[module]

    def _imported(self, node: ast.ImportFrom, file: str) -> Iterator[str]:
        home = self._home(node, file)
        if home in self._helpers:
            yield self._helpers[home]
        for alias in node.names:
            found = self.defined_in(home, alias.name)
            if found is not None:
                yield found

    def _attribute(self, node: ast.Attribute, aliases: dict[str, str]) -> str | None:
        words = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id not in aliases:
            return None
        module = aliases[inner.id]
        for word in reversed(words[1:]):
            module = f"{module}.{word}"
        return self.defined_in(module, words[0])

    def _fixtures(self, file: str) -> Iterator[str]:
        """Yield the files of fixtures that a test can use."""
        if not file.startswith("tests/") or file.endswith("conftest.py"):
            return
        folder = Path(file).parent
        while folder != Path():
            if f"{folder.as_posix()}/conftest.py" in self.tests:
                yield f"{folder.as_posix()}/conftest.py"
            folder = folder.parent

    @cached_property
    def looked_up(self) -> dict[str, set[str]]:
        """Files that each file finds by the name of their module, when it runs."""
        found: dict[str, set[str]] = {}
        for file in self.sources:
            # the roof's table is followed name by name
            if not file.endswith("__init__.py"):
                words = _texts(self.trees[file]) & set(self.file_of)
                found[file] = {self.file_of[word] for word in words} - {file}
        return found

    @cached_property
    def reported(self) -> dict[str, set[str]]:
        """Files named in texts that mean them: `module:function`, and whatever tests name.

        Tests may name modules, or public names of the package's rooms.
        """
        rooms = [m for m, f in self.file_of.items() if f.endswith("__init__.py")]
        public = {name: room for room in rooms for name in self._names[room] if name[0].isupper()}
        found: dict[str, set[str]] = {}
        for file in self.tests:
            words = _texts(self.trees[file])
            named = {self.defined_in(public[word], word) for word in words & set(public)}
            modules = {self.file_of[word] for word in words & set(self.file_of)}
            found[file] = {f for f in named if f is not None} | modules
        for file in self.sources:
            heads = {w.partition(":")[0] for w in _texts(self.trees[file]) if ":" in w}
            found[file] = {self.file_of[head] for head in heads & set(self.file_of)} - {file}
        return found

    def distances(self, file: str) -> dict[str, int]:
        """Return how many imports lead from each file that can reach this one to it.

        A look-up by name counts three times: many files are reached that way, few are meant.
        """
        return _distances(file, self._ways)

    @cached_property
    def _ways(self) -> tuple[tuple[dict[str, list[str]], int], ...]:
        priced = ((self.imports, 1), (self.reported, 1), (self.looked_up, 3))
        return tuple((_turned(edges), price) for edges, price in priced)

    def in_kernel(self, mutant: Mutant) -> bool:
        """Return whether a fault changes compiled code: a kernel, or a constant that one may hold.

        Drawing compiles nothing.
        """
        if mutant.function:
            names = mutant.function.split(".")
            found = [n for n in _named(self.trees[mutant.file], names) if _is_kernel(n)]
            return bool(found)
        reached = set(_distances(mutant.file, self._ways[:1]))
        return any(not is_looks(f) for f in reached & self.with_kernels)

    def digest(self, files: Iterable[str]) -> str:
        """Return a short name of what some files hold."""
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.encode())
            digest.update((self.root / file).read_bytes())
        return digest.hexdigest()[:16]


def _named(tree: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Yield the classes and functions of a path of names; all that fit where a name is reused."""
    places: list[ast.AST] = [tree]
    for name in names:
        inside = [n for place in places for n in ast.walk(place) if n is not place]
        places = [n for n in inside if isinstance(n, _SCOPES) and n.name == name]
        yield from places


def _is_kernel(node: ast.AST) -> bool:
    marks = map(ast.unparse, getattr(node, "decorator_list", []))
    return any(_MARK.match(mark) for mark in marks)


def _turned(edges: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the edges in the other direction."""
    found: dict[str, list[str]] = {}
    for file, used in edges.items():
        for other in used:
            found.setdefault(other, []).append(file)
    return found


def _distances(
    start: str, steps: tuple[tuple[Mapping[str, Iterable[str]], int], ...]
) -> dict[str, int]:
    """Return the least cost of a way from a file to those it reaches by steps of given costs."""
    found: dict[str, int] = {}
    queue = [(0, start)]
    while queue:
        cost, here = heapq.heappop(queue)
        if here in found:
            continue
        found[here] = cost
        for edges, price in steps:
            for other in edges.get(here, ()):
                if other not in found:
                    heapq.heappush(queue, (cost + price, other))
    return found


def _module(file: str) -> str:
    parts = file.removesuffix(".py").split("/")[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _texts(tree: ast.AST) -> set[str]:
    """Return the texts of a file, without docstrings."""
    found = {n.value for n in _at_run_time(tree) if isinstance(n, ast.Constant)}
    return {text for text in found if isinstance(text, str)}


def _at_run_time(tree: ast.AST) -> Iterable[ast.AST]:
    """Yield the nodes of a tree, without what only type checkers read and docstrings."""
    queue = deque([tree])
    while queue:
        node = queue.popleft()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        queue.extend(ast.iter_child_nodes(node))

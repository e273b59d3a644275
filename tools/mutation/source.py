"""A file that can be changed, what of it may be, and one change: a mutant."""

from __future__ import annotations

import ast
import bisect
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["NOTES", "Mutant", "Source", "called", "changeable", "enclosing", "is_looks", "one_line"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Parameters
    ----------
    file : path from the root
    line : where the text changes
    function : the class and function around it, joined by dots; "" outside of all
    operator : kind of the fault
    old, new : the expression around it before and after, on one line
    start, end, text : bytes of the file to replace, and by what
    order : place among faults of the function that read the same
    """

    file: str
    line: int
    function: str
    operator: str
    old: str
    new: str
    start: int
    end: int
    text: str
    order: int = 0

    @property
    def id(self) -> str:
        """A short name that edits elsewhere in the file do not change."""
        words = (self.file, self.function, self.operator, self.old, self.new, str(self.order))
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:10]

    def applied(self, content: bytes) -> bytes:
        """Return the content of the file with the fault in it."""
        return content[: self.start] + self.text.encode() + content[self.end :]


@dataclass
class Source:
    """A Python file: its bytes and its syntax tree, with parents.

    Parameters
    ----------
    file : path from the root
    parts : words by the part they play in the file, filled by who needs them
    """

    file: str
    content: bytes
    tree: ast.Module = field(init=False)
    parents: dict[ast.AST, ast.AST] = field(init=False)
    parts: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.content, filename=self.file)
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    @cached_property
    def _lines(self) -> list[int]:
        starts = [0]
        for line in self.content.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the bytes of a node, from and to."""
        start = self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def line(self, at: int) -> int:
        """Return the number of the line that holds a byte."""
        return bisect.bisect_right(self._lines, at)

    def text(self, node: ast.AST) -> str:
        """Return the text of a node as it stands."""
        start, end = self.span(node)
        return self.content[start:end].decode()

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> str:
        """Return the names of the classes and functions around a node, joined by dots."""
        names = [a.name for a in (node, *self.above(node)) if isinstance(a, _SCOPES)]
        return ".".join(reversed(names))

    def sign(self, left: ast.expr, right: ast.expr, sign: str) -> int | None:
        """Return where the sign between two operands stands; None if it is not found."""
        at, end = self.span(left)[1], self.span(right)[0]
        while at < end:
            if self.content[at : at + 1] == b"#":
                at = self.content.index(b"\n", at)
            elif self.content[at : at + len(sign)] == sign.encode():
                return at
            at += 1
        return None


# ---- what is left alone

_MESSAGES = re.compile(r"^(explain|number|numbers|whole|nearest|warn|cast|TypeVar|_?refuse\w*)$")
NOTES = {"why", "try_", "note", "meaning", "reason", "help", "where"}

# of a figure: how it looks, not what it says
_LOOKS = re.compile(
    r"^(size|fontsize|pad|color|c|lw|ls|alpha|zorder|linewidth|loc|ha|va|dpi|marker|ms|height|width"
    r"|figsize|rotation|labelpad)$"
)
_DRAWN = re.compile(
    r"^(set_xlim|set_ylim|text|annotate|margins|legend|tick_params|subplots|subplots_adjust"
    r"|add_gridspec|GridSpec|set_size_inches|figure|add_axes)$"
)


def is_looks(file: str) -> bool:
    """Return whether a file draws."""
    return bool({"plot", "figures"} & set(file.split("/")))


def called(node: ast.AST) -> str:
    """Return the last word of what is called: `c` for `a.b.c(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_left_alone(node: ast.AST) -> bool:
    """Return whether nothing inside matters to results: messages, types, texts."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        return "__all__" in names or "__version__" in names
    if isinstance(node, ast.Call):
        return bool(_MESSAGES.match(called(node))) or called(node).endswith("Error")
    return isinstance(node, ast.keyword) and node.arg in NOTES


def _is_only_looks(node: ast.AST) -> bool:
    name = str(node.arg) if isinstance(node, ast.keyword) else ""
    return bool(_DRAWN.match(called(node)) or _LOOKS.match(name))


def changeable(node: ast.AST, looks: bool) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that may be changed."""
    if _is_left_alone(node) or (looks and _is_only_looks(node)):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from changeable(child, looks)


def one_line(text: bytes) -> str:
    """Return a text with every space and line break as one space."""
    return " ".join(text.decode().split())


def enclosing(tree: ast.Module, line: int) -> list[ast.AST]:
    """Return the module, classes and functions around a line, the innermost last."""
    inside = (node for node in ast.walk(tree) if isinstance(node, _SCOPES))
    return [tree, *(n for n in inside if n.lineno <= line <= (n.end_lineno or 0))]

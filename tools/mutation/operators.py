"""What can be changed in a file: small faults found in its syntax tree, as edits of its text.

An edit replaces as little text as it can and keeps every line break, so that what is reported by
line numbers, such as the caches of compiled kernels, stays comparable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from mutation.source import NOTES, Mutant, Source, called, changeable, is_looks, one_line

__all__ = ["OPERATORS", "mutants_of"]


@dataclass(frozen=True)
class Edit:
    """A change of the bytes from `start` to `end`; `frame` is the expression that reports of it."""

    start: int
    end: int
    text: str
    frame: ast.AST


_TEXTS = ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.Set


def _is_text(node: ast.AST) -> bool:
    """Return whether `+` would join rather than add, as far as the syntax reports."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, _TEXTS) or called(node) in ("join", "list", "tuple", "str", "format")


def _is_nothing(source: Source, node: ast.AST) -> bool:
    """Return whether an operand is so small that it stands for rounding."""
    if isinstance(node, ast.Name):
        node = next((n for n in source.tree.body if _assigns(n, node.id)), node)
        node = getattr(node, "value", node)
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, float) and abs(value) <= 1e-6


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name


# ---- the kinds of faults


def _sign(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield `a - b` for `a + b` and back, `+a` for `-a`, `-=` for `+=`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        if not _is_text(node) and not _is_nothing(source, node.right):
            old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            at = source.sign(node.left, node.right, old)
            if at is not None:
                yield Edit(at, at + 1, new, node)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        if not _is_text(node.value):
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            at = source.sign(node.target, node.value, old)
            if at is not None:
                yield Edit(at, at + 2, new, node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        start = source.span(node)[0]
        # an index is for another operator
        if not isinstance(source.parents.get(node), ast.Subscript | ast.Slice):
            yield Edit(start, start + 1, "+", node)


def _term(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield `a` for `a + b` and `a - b`, and for `a and b` and `a or b`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        if _is_text(node) or _is_nothing(source, node.right):
            return
        at = source.sign(node.left, node.right, "+" if isinstance(node.op, ast.Add) else "-")
    elif isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        at = source.sign(node.values[-2], node.values[-1], word)
    else:
        return
    if at is not None:
        end = source.span(node)[1]
        breaks = source.content[at:end].count(b"\n")
        yield Edit(at, end, "\n" * breaks, node)


def _index(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield `a[i - 1]` for a constant index i, `a[1]` for `a[0]`."""
    if not isinstance(node, ast.Subscript):
        return
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in inner:
        try:
            i = ast.literal_eval(part)
        except ValueError:
            continue
        if isinstance(i, int) and not isinstance(i, bool):
            yield Edit(*source.span(part), str(i - 1 if i else 1), node)


# names of bounds on work and on rounding: a per cent of them is no fault
_BOUNDS = re.compile(r"MOST|LEAST|TOL|NEAR|SAME|FLAT|ROUGH|SMALL|TINY|LARGE|ENOUGH|SLACK|CLOSE|EPS")


def _percent(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield a number with a decimal point that is one per cent larger.

    Numbers in comparisons and powers of ten stand for bounds, where one per cent is no fault.
    """
    if not isinstance(node, ast.Constant) or type(node.value) is not float:
        return
    value = abs(node.value)
    if not 1e-3 < value < 1e5 or is_looks(source.file):
        return
    for around in source.above(node):
        if isinstance(around, ast.Compare | ast.JoinedStr):
            return
        if called(around) in ("max", "min", "maximum", "minimum", "clip"):
            return
        if isinstance(around, ast.stmt):
            if isinstance(around, ast.Assign) and _BOUNDS.search(ast.unparse(around.targets[0])):
                return
            break
    parent = source.parents[node]
    signed = source.parents[parent] if isinstance(parent, ast.UnaryOp) else parent
    # one by itself is a fraction of all, or stands for a side
    if value == 1.0 and not isinstance(signed, ast.BinOp):
        return
    frame = parent if isinstance(parent, ast.expr | ast.Assign | ast.AnnAssign) else node
    yield Edit(*source.span(node), repr(float(f"{node.value * 1.01:.10g}")), frame)


# the order of what is given to these does not matter, or is no name
_SYMMETRIC = {"max", "min", "maximum", "minimum", "hypot", "dot", "vdot", "inner", "allclose"}
_SYMMETRIC |= {"isclose", "array_equal", "add", "multiply", "isinstance", "getattr", "hasattr"}
_PLAIN = ast.Name | ast.Attribute | ast.Subscript


def _are_alike(a: str, b: str) -> bool:
    """Return whether somebody could take one name for the other: others fail at once."""
    if max(len(a), len(b)) <= 2 or a.rstrip("0123456789") == b.rstrip("0123456789"):
        return True
    (head, _, last), (other, _, other_last) = a.rpartition("."), b.rpartition(".")
    if head and head == other:
        return True
    if "[" in a and a.partition("[")[0] == b.partition("[")[0]:
        return True
    shared = a[0] == b[0] or last[-3:] == other_last[-3:]
    return shared and abs(len(a) - len(b)) <= 3


def _exchanged(source: Source, one: ast.AST, two: ast.AST, frame: ast.AST) -> Iterator[Edit]:
    (start, mid), (after, end) = source.span(one), source.span(two)
    a, b = source.text(one), source.text(two)
    if a != b and _are_alike(a, b):
        between = source.content[mid:after].decode()
        yield Edit(start, end, b + between + a, frame)


def _swap(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield two neighbouring names in each other's place, or one parameter for another."""
    if isinstance(node, ast.Call) and called(node) not in _SYMMETRIC:
        for one, two in pairwise(node.args):
            if isinstance(one, _PLAIN) and isinstance(two, _PLAIN):
                yield from _exchanged(source, one, two, node)
        for first, second in pairwise(node.keywords):
            one, two = first.value, second.value
            if isinstance(one, _PLAIN) and isinstance(two, _PLAIN) and second.arg not in NOTES:
                yield from _exchanged(source, one, two, node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.MatMult | ast.Pow):
        if isinstance(node.left, _PLAIN) and isinstance(node.right, _PLAIN):
            yield from _exchanged(source, node.left, node.right, node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_parameter(source, node)


@cache
def _kind_of(argument: ast.arg) -> str:
    return "" if argument.annotation is None else ast.unparse(argument.annotation)


def _other_parameter(source: Source, node: ast.Name) -> Iterator[Edit]:
    # what stands among the arguments belongs to the function outside
    kinds = (ast.FunctionDef, ast.Lambda, ast.arguments)
    around = next((a for a in source.above(node) if isinstance(a, kinds)), None)
    parent = source.parents[node]
    if not isinstance(around, ast.FunctionDef) or getattr(parent, "func", None) is node:
        return
    given = [a for a in (*around.args.posonlyargs, *around.args.args) if a.annotation]
    mine = next((a for a in given if a.arg == node.id), None)
    if mine is None:
        return
    alike = [a.arg for a in given if _kind_of(a) == _kind_of(mine)]
    if len(alike) > 1:
        other = alike[(alike.index(node.id) + 1) % len(alike)]
        frame = parent if isinstance(parent, ast.expr) else node
        yield Edit(*source.span(node), other, frame)


_OPPOSITE = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


def _is_whole(node: ast.AST) -> bool:
    """Return whether this is a whole number by its looks: a boundary then matters."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return called(node) == "len" or getattr(node, "attr", "") in ("size", "ndim")


def _compare(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield the opposite of a comparison, `<=` for `<` between whole numbers, `a` for `not a`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start = source.span(node)[0]
        yield Edit(start, start + 3, "   ", node)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    left, right, kind = node.left, node.comparators[0], type(node.ops[0])
    old, new = _OPPOSITE[kind]
    at = source.sign(left, right, old)
    if at is None:
        return
    yield Edit(at, at + len(old), new, node)
    if kind in _BOUNDARY and (_is_whole(left) or _is_whole(right)):
        yield Edit(at, at + len(old), _BOUNDARY[kind], node)


def _check(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield `True` for what a check of the audit asserts."""
    if called(node) != "Check" or not isinstance(node, ast.Call):
        return
    held = next((k.value for k in node.keywords if k.arg == "ok"), None)
    if held is None and len(node.args) > 1:
        held = node.args[1]
    if held is not None and not isinstance(held, ast.Constant):
        breaks = "\n" * source.text(held).count("\n")
        yield Edit(*source.span(held), "True" + breaks, node)


def _refusal(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield `False` for the condition under which an error is raised."""
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
        raises = isinstance(node.body[0], ast.Raise)
        if raises and "\n" not in source.text(node.test):
            yield Edit(*source.span(node.test), "False", node.test)


_UNITS = {"N": "kN", "J": "N", "m": "mm", "s": "ms", "kg": "g", "rad": "deg", "1": "m", "Pa": "kPa"}
_UNIT = re.compile(r"^(?!1$)(k?(N|J|m|s|kg|rad|Pa|W|Hz|1)(\^\d)?)([ /](N|J|m|s|kg|rad)(\^\d)?)*$")
# tables of rules, not of results
_RULES = {"positive", "nonnegative", "finite", ""}
_PLACE_OF_UNIT = {"Variable": 2, "Quantity": 1}


def _unit(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield another unit for the unit of a variable, a quantity or a column of events."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    parent = source.parents[node]
    name, slot = called(parent), False
    if isinstance(parent, ast.Call) and name in _PLACE_OF_UNIT:
        slot = len(parent.args) > _PLACE_OF_UNIT[name] and node is parent.args[_PLACE_OF_UNIT[name]]
    elif _UNIT.match(node.value):
        slot = _is_in_table_of_units(source, node, parent)
    if slot and node.value:
        new = _UNITS.get(node.value, node.value[1:] if node.value[0] == "k" else f"k{node.value}")
        frame = parent if isinstance(parent, ast.expr) else node
        yield Edit(*source.span(node), f'"{new}"', frame)


def _is_in_table_of_units(source: Source, node: ast.Constant, parent: ast.AST) -> bool:
    """Return whether a text stands among units: in a value of a dict, alone or with a meaning."""
    if isinstance(parent, ast.Tuple):
        words = {e.value for e in parent.elts if isinstance(e, ast.Constant)}
        grand = source.parents[parent]
        return isinstance(grand, ast.Dict) and parent in grand.values and not words & _RULES
    if isinstance(parent, ast.Dict | ast.IfExp):
        for around in source.above(node):
            if isinstance(around, ast.Assign | ast.AnnAssign | ast.keyword):
                return "unit" in ast.unparse(around).partition("=")[0].lower()
    return False


_WORD = re.compile(r"^[a-z][a-z0-9_+-]*$")
_PLACE_OF_KIND = {"Check": 0, "Loss": 1}


def _kind(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Yield another kind of event or loss, or another check, of the same file."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    if not _WORD.match(node.value):
        return
    pool = _row_of_kinds(source, node) or _alike(source, node)
    others = sorted(set(pool) - {node.value})
    if others and node.value in pool:
        later = [word for word in others if word > node.value]
        parent = source.parents[node]
        frame = parent if isinstance(parent, ast.expr) else node
        yield Edit(*source.span(node), f'"{(later or others)[0]}"', frame)


def _row_of_kinds(source: Source, node: ast.Constant) -> list[str]:
    """Return the words of the table or row of words that a word stands in."""
    parent = source.parents[node]
    if isinstance(parent, ast.Dict):
        row = parent.values if node in parent.values else []
    elif isinstance(parent, ast.Tuple | ast.List):
        row = parent.elts
    else:
        return []
    words = [e.value for e in row if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if len(words) != len(row) or not all(map(_WORD.match, words)):
        return []
    for around in source.above(node):
        if isinstance(around, ast.Assign | ast.AnnAssign):
            target = ast.unparse(around).partition("=")[0].lower()
            return words if re.search(r"kind|mode|name|word|event", target) else []
        if isinstance(around, ast.stmt):
            return []
    return []


def _alike(source: Source, node: ast.Constant) -> list[str]:
    """Return the words of the file that play the same part: checks, losses, kinds compared."""
    part = _part(source, node)
    if part and not source.parts:
        for found in ast.walk(source.tree):
            if isinstance(found, ast.Constant) and isinstance(found.value, str):
                source.parts.setdefault(_part(source, found), []).append(found.value)
    return source.parts.get(part, []) if part else []


def _part(source: Source, node: ast.Constant) -> str:
    """Return what a word is for: the name of a check, of a loss, what a kind is compared with."""
    parent = source.parents.get(node)
    name = called(parent) if parent is not None else ""
    if isinstance(parent, ast.Call) and name in _PLACE_OF_KIND:
        place = _PLACE_OF_KIND[name]
        return name if len(parent.args) > place and parent.args[place] is node else ""
    if isinstance(parent, ast.Compare):
        compared = getattr(parent.left, "attr", getattr(parent.left, "id", ""))
        return "compared" if compared in ("kind", "mode", "check", "event") else ""
    return ""


Operator = Callable[[Source, ast.AST], Iterator[Edit]]

# each kind of fault, and its fraction of those that are drawn
OPERATORS: dict[str, tuple[Operator, float]] = {
    "sign": (_sign, 5.0),
    "dropped term": (_term, 4.0),
    "wrong index": (_index, 3.0),
    "one per cent": (_percent, 4.0),
    "swapped names": (_swap, 4.0),
    "comparison": (_compare, 3.0),
    "check disabled": (_check, 3.0),
    "refusal dropped": (_refusal, 1.0),
    "wrong unit": (_unit, 3.0),
    "wrong kind": (_kind, 3.0),
}


def mutants_of(source: Source) -> list[Mutant]:
    """Return every fault that can be put into a file, in the order of the text."""
    edits = [
        (name, edit)
        for node in changeable(source.tree, is_looks(source.file))
        for name, (operator, _) in OPERATORS.items()
        for edit in operator(source, node)
    ]
    edits.sort(key=lambda entry: (entry[1].start, entry[1].end, entry[0], entry[1].text))
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for name, edit in edits:
        words = (source.function(edit.frame), name, *_reported(source, edit))
        order = seen[words] = seen.get(words, -1) + 1
        line = source.line(edit.start)
        found.append(Mutant(source.file, line, *words, edit.start, edit.end, edit.text, order))
    return found


_LONGEST_REPORTED = 120


def _reported(source: Source, edit: Edit) -> tuple[str, str]:
    """Return what the text around an edit reads before and after: its frame, or its line."""
    start, end = source.span(edit.frame)
    if len(one_line(source.content[start:end])) > _LONGEST_REPORTED:
        start = source.content.rfind(b"\n", 0, edit.start) + 1
        end = source.content.find(b"\n", edit.end)
    old = source.content[start:end]
    new = old[: edit.start - start] + edit.text.encode() + old[edit.end - start :]
    return one_line(old), one_line(new)

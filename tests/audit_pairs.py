"""The pairs of a system and a check that runs can carry, read from the syntax of the sources."""

import ast
from dataclasses import dataclass
from functools import cache

# subpackages whose results carry an audit
SYSTEMS = ("chains", "switching", "rods", "solids", "faults", "bodies", "fits")
# a saved run is read back here, and a line becomes a check: those were made elsewhere
READS_BACK = "src/stiction/io/store.py"
LINES = "src/stiction/core/audit.py"
# what makes a check, and the position of its kind: a `Line` is one of many members
CLASSES = {"Check": 6, "Line": 5}
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# ---- what the sources make


@dataclass(frozen=True)
class Made:
    """One call that makes a check: where, name and kind if written out, who to call for it."""

    place: str
    name: str | None
    kind: str | None
    always: bool
    system: str | None
    helper: str


def system_of(path: str) -> str | None:
    """Return the system a source belongs to, by its folder in the package; None if shared."""
    parts = path.split("/")
    return parts[2] if len(parts) > 3 and parts[2] in SYSTEMS else None


def names_of_check(tree: ast.Module) -> dict[str, str]:
    """Return what a module calls `Check` and `Line`: imported, or assigned."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        # figures have lines too
        if isinstance(node, ast.ImportFrom) and str(node.module).endswith("audit"):
            names |= {a.asname or a.name: a.name for a in node.names if a.name in CLASSES}
    size = -1
    while size < len(names):
        size = len(names)
        for node in ast.walk(tree):
            made = class_of(node.value, names) if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and made is not None:
                names |= {t.id: made for t in node.targets if isinstance(t, ast.Name)}
    return names


def class_of(node: ast.AST | None, names: dict[str, str]) -> str | None:
    """Return which of `CLASSES` an expression is, by one of its names; None for another thing."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr if node.attr in CLASSES else None
    loaded = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    return names.get(node.id) if loaded else None


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == keyword), None)


def kind_of(node: ast.expr | None) -> str | None:
    """Return the kind of a check, in lower case; that of one that names none is the usual one."""
    if node is None:
        return "at_most"
    written = isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "Kind"
    return node.attr.lower() if isinstance(node, ast.Attribute) and written else None


def helper_around(tree: ast.Module, call: ast.Call) -> str:
    """Return the function a caller must name to have the check made, or the method of a class."""
    for node in tree.body:
        inside = isinstance(node, DEFINITION) and any(n is call for n in ast.walk(node))
        if inside and isinstance(node, ast.ClassDef):
            methods = [n for n in node.body if isinstance(n, DEFINITION)]
            return next((m.name for m in methods if any(n is call for n in ast.walk(m))), node.name)
        if inside:
            return node.name
    return ""


def checks_made(source) -> list[Made]:
    """Return every call of `Check` or `Line` in a source."""
    if not any(name in source.text for name in CLASSES) or source.path == LINES:
        return []
    names, found = names_of_check(source.tree), []
    for call in ast.walk(source.tree):
        made = class_of(call.func, names) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or made is None:
            continue
        if (
            source.path == READS_BACK
            and not call.args
            and any(k.arg is None for k in call.keywords)
        ):
            continue
        name, ok = argument(call, 0, "check"), argument(call, 1, "ok")
        kind = argument(call, CLASSES[made], "kind")
        written = isinstance(name, ast.Constant) and isinstance(name.value, str)
        found.append(
            Made(
                place=f"{source.path}:{call.lineno}",
                name=name.value if written else None,
                kind=kind_of(kind),
                # of what is not checked the verdict is None
                always=made == "Check" and isinstance(ok, ast.Constant) and ok.value is not None,
                system=system_of(source.path),
                helper=helper_around(source.tree, call),
            )
        )
    return found


def passed_on(source) -> list[str]:
    """Return places where a class is neither called nor a type: `partial(Check, ...)`, `map`."""
    if not any(name in source.text for name in CLASSES):
        return []
    names = names_of_check(source.tree)
    fine: set[ast.AST] = set()
    for node in ast.walk(source.tree):
        types: list[ast.AST | None] = []
        if isinstance(node, ast.Call):
            fine.add(node.func)
            if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "cast"):
                types = list(node.args)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            types = [node.returns]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            types = [node.annotation]
        elif isinstance(node, ast.Subscript):
            types = [node.slice]
        elif isinstance(node, ast.Assign):
            fine.add(node.value)
        fine |= {part for kind in types if kind is not None for part in ast.walk(kind)}
    return [
        f"{source.path}:{node.lineno} hands {ast.unparse(node)} on; call it with a name instead"
        for node in ast.walk(source.tree)
        if class_of(node, names) and node not in fine
    ]


def renamed(source) -> list[str]:
    """Return places that give a check another name: `replace(check, check=...)`."""
    return [
        f"{source.path}:{call.lineno} renames a check"
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).split(".")[-1] == "replace"
        and any(k.arg == "check" for k in call.keywords)
    ]


@cache
def used_names(node: ast.AST) -> frozenset[str]:
    """Return all names that occur in a piece of code."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.ImportFrom):
            names |= {alias.name for alias in part.names}
    return frozenset(names)


def systems_calling(helper: str, sources) -> set[str]:
    """Return the systems whose sources name a shared helper, or a helper that names it."""
    found: set[str] = set()
    # each helper once, in whatever order: chains of them meet again and again
    known, waiting = {helper}, [helper]
    while waiting:
        name = waiting.pop()
        for source in sources:
            system = system_of(source.path)
            if system is not None:
                found |= {system} if name in used_names(source.tree) else set()
                continue
            named = {
                node.name
                for node in source.tree.body
                if isinstance(node, DEFINITION) and name in used_names(node)
            }
            waiting += named - known
            known |= named
    return found


def made_by_pair(sources) -> dict[tuple[str, str], list[Made]]:
    """Return the calls that make each (system, check)."""
    pairs: dict[tuple[str, str], list[Made]] = {}
    for made in (made for source in sources for made in checks_made(source)):
        if made.name is None:
            continue
        systems = {made.system} if made.system else systems_calling(made.helper, sources)
        for system in systems or {"no system"}:
            pairs.setdefault((system, made.name), []).append(made)
    return pairs


def pairs_made(sources) -> dict[tuple[str, str], list[str]]:
    """Return the places at which each (system, check) is made."""
    every = made_by_pair(sources).items()
    return {pair: [made.place for made in calls] for pair, calls in every}

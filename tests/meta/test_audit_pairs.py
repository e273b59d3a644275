"""A check that has never failed in a test is no check: each one fails in a test that says so.

A test in which a run of a system carries a check with `ok == False` is marked with both,
`@pytest.mark.fails_audit("chains", "ledger_closes")`. The pairs that runs can carry are read
from the sources: names of checks are therefore written out where the check is made.
"""

import ast
from dataclasses import dataclass

SYSTEMS = ("chains", "switching", "rods", "solids")
# a saved run is read back here: its checks were made elsewhere
READS_BACK = "src/stiction/results/store.py"
MARK = "fails_audit"
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# ---- what the sources make


@dataclass(frozen=True)
class Made:
    """One call that makes a check: where, its name if written out, and who to call for it."""

    place: str
    name: str | None
    always: bool
    system: str | None
    helper: str


def system_of(path: str) -> str | None:
    """Return the system a source belongs to, by its folder in the package; None if shared."""
    parts = path.split("/")
    return parts[2] if len(parts) > 3 and parts[2] in SYSTEMS else None


def names_of_check(tree: ast.Module) -> set[str]:
    """Return what a module calls the class `Check`: imported, defined there, or assigned."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} & {"Check"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name for a in node.names if a.name == "Check"}
    size = -1
    while size < len(names):
        size = len(names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and is_check(node.value, names):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def is_check(node: ast.AST | None, names: set[str]) -> bool:
    """Return whether an expression is the class `Check`, by one of its names."""
    if isinstance(node, ast.Attribute):
        return node.attr == "Check" and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == keyword), None)


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
    """Return every call of `Check` in a source."""
    if "Check" not in source.text:
        return []
    names, found = names_of_check(source.tree), []
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call) or not is_check(call.func, names):
            continue
        if (
            source.path == READS_BACK
            and not call.args
            and any(k.arg is None for k in call.keywords)
        ):
            continue
        name, ok = argument(call, 0, "check"), argument(call, 1, "ok")
        written = isinstance(name, ast.Constant) and isinstance(name.value, str)
        found.append(
            Made(
                place=f"{source.path}:{call.lineno}",
                name=name.value if written else None,
                always=isinstance(ok, ast.Constant),
                system=system_of(source.path),
                helper=helper_around(source.tree, call),
            )
        )
    return found


def passed_on(source) -> list[str]:
    """Return places where `Check` is neither called nor a type: `partial(Check, ...)`, `map`."""
    if "Check" not in source.text:
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
        if is_check(node, names) and node not in fine
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


def used_names(node: ast.AST) -> set[str]:
    """Return all names that occur in a piece of code."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    imports = [n for n in ast.walk(node) if isinstance(n, ast.ImportFrom)]
    return names | {alias.name for n in imports for alias in n.names}


def systems_calling(helper: str, sources, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the systems whose sources name a shared helper, or a helper that names it."""
    if helper in seen:
        return set()
    found: set[str] = set()
    for source in sources:
        system = system_of(source.path)
        if system is not None:
            found |= {system} if helper in used_names(source.tree) else set()
            continue
        for node in source.tree.body:
            if isinstance(node, DEFINITION) and helper in used_names(node):
                found |= systems_calling(node.name, sources, seen | {helper})
    return found


def pairs_made(sources) -> dict[tuple[str, str], list[str]]:
    """Return the places at which each (system, check) is made."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for made in (made for source in sources for made in checks_made(source)):
        if made.name is None:
            continue
        systems = {made.system} if made.system else systems_calling(made.helper, sources)
        for system in systems or {"no system"}:
            pairs.setdefault((system, made.name), []).append(made.place)
    return pairs


# ---- what the tests say


def is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == MARK


def marks_on(source) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
    """Return the pairs that tests claim to fail, by place, and what is wrong with the marks."""
    pairs: dict[tuple[str, str], list[str]] = {}
    wrong: list[str] = []
    on_tests: set[ast.AST] = set()
    for test in source.functions:
        if not test.name.startswith("test_"):
            continue
        decorators = [part for entry in test.decorator_list for part in ast.walk(entry)]
        marks = [part for part in decorators if is_mark(part)]
        on_tests |= set(marks)
        kinds = {part.attr for part in decorators if isinstance(part, ast.Attribute)}
        if marks and kinds & {"skip", "xfail"}:
            wrong.append(f"{source.path}:{test.lineno} {test.name} is marked, and never counts")
            continue
        for mark in marks:
            words = [a.value for a in mark.args if isinstance(a, ast.Constant)]
            if len(mark.args) != 2 or mark.keywords or not all(isinstance(w, str) for w in words):
                words = []
            if len(words) != 2:
                wrong.append(f"{source.path}:{mark.lineno} needs a system and a check in quotes")
            else:
                place = f"{source.path}::{test.name}"
                pairs.setdefault((words[0], words[1]), []).append(place)
    wrong += [
        f"{source.path}:{node.lineno} stands on no test"
        for node in ast.walk(source.tree)
        if is_mark(node) and node not in on_tests
    ]
    return pairs, wrong


def marked(sources) -> dict[tuple[str, str], list[str]]:
    pairs: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        for pair, places in marks_on(source)[0].items():
            pairs.setdefault(pair, []).extend(places)
    return pairs


def told(pairs: dict[tuple[str, str], list[str]], which: set[tuple[str, str]]) -> str:
    return "\n".join(f"{s}, {c}: {'; '.join(pairs[s, c])}" for s, c in sorted(which))


# ---- the rules


def test_names_of_checks_are_written_out(package_sources):
    offenders = [
        f"{made.place} computes the name of a check; write it out"
        for source in package_sources
        for made in checks_made(source)
        if made.name is None
    ]
    offenders += [line for s in package_sources for line in passed_on(s) + renamed(s)]
    assert not offenders, "\n".join(offenders)


def test_every_check_can_fail(package_sources):
    made = [made for source in package_sources for made in checks_made(source)]
    assert made
    offenders = [f"{one.place} {one.name}" for one in made if one.always]
    assert not offenders, "always ok: a quantity, a count or a loss, but no check:\n" + "\n".join(
        offenders
    )


def test_every_check_fails_in_a_test(package_sources, test_sources):
    pairs = pairs_made(package_sources)
    missing = set(pairs) - set(marked(test_sources))
    assert not missing, "never seen to fail, made at:\n" + told(pairs, missing)


def test_every_mark_names_a_check_that_exists(package_sources, test_sources):
    pairs = marked(test_sources)
    stale = set(pairs) - set(pairs_made(package_sources))
    assert not stale, "made nowhere, marked at:\n" + told(pairs, stale)
    wrong = [line for source in test_sources for line in marks_on(source)[1]]
    assert not wrong, "\n".join(wrong)


# ---- the rules see what they should


IMPORT = "from stiction.results.audit import Check\n"


def test_the_rules_see_checks_by_any_name(make_source):
    sample = make_source(
        "src/stiction/chains/sample.py",
        "import stiction.results.audit as audit\n"
        "from stiction.results.audit import Check as Line\n"
        "Made = Line\n"
        "def f() -> Line:\n"
        "    a = Made('one', x < 1, x, 1)\n"
        "    b = audit.Check(check='two', ok=x < 1)\n"
        "    return Line(names[0], True, x, None)\n",
    )
    made = checks_made(sample)
    assert [(one.name, one.always) for one in made] == [
        ("one", False),
        ("two", False),
        (None, True),
    ]
    assert {one.system for one in made} == {"chains"}
    assert made[2].place == "src/stiction/chains/sample.py:7"
    assert passed_on(sample) == []
    other = make_source("src/stiction/rods/sample.py", "def f():\n    Check('one', True)\n")
    assert checks_made(other) == []


def test_the_rules_see_checks_that_are_handed_on(make_source):
    sample = make_source(
        "src/stiction/chains/sample.py",
        IMPORT
        + "def f(found: list[Check]) -> Check | None:\n"
        + "    rest: Sequence[Check] = field(default=())\n"
        + "    assert isinstance(found, Check)\n"
        + "    make = partial(Check, 'one')\n"
        + "    return dataclasses.replace(found[0], check='two', ok=True)\n",
    )
    assert [line.split()[0] for line in passed_on(sample)] == ["src/stiction/chains/sample.py:5"]
    assert [line.split()[0] for line in renamed(sample)] == ["src/stiction/chains/sample.py:6"]


def test_a_saved_run_may_be_read_back_in_one_place(make_source):
    text = IMPORT + "def load(kept):\n    return Check(**kept)\n"
    assert checks_made(make_source(READS_BACK, text)) == []
    assert len(checks_made(make_source("src/stiction/results/other.py", text))) == 1


def test_a_shared_check_counts_for_each_system_that_calls_for_it(make_source):
    shared = make_source(
        "src/stiction/results/shared.py",
        IMPORT
        + "def closes(e):\n    return Check('closes', e < 1, e, 1)\n"
        + "def both(e):\n    return [closes(e), closes(2 * e)]\n"
        + "class Ledger:\n"
        + "    def check(self):\n        return Check('sums', self.e < 1, self.e, 1)\n"
        + "def nobody(e):\n    return Check('lost', e < 1, e, 1)\n",
    )
    sources = [
        shared,
        make_source("src/stiction/chains/a.py", "from stiction.results.shared import closes\n"),
        make_source("src/stiction/rods/inner/b.py", "import shared\nx = shared.both(1)\n"),
        make_source("src/stiction/solids/c.py", "x = ledger.check()\n"),
        make_source("src/stiction/plot/d.py", "x = closes(1)\n"),
    ]
    assert set(pairs_made(sources)) == {
        ("chains", "closes"),
        ("rods", "closes"),
        ("solids", "sums"),
        ("no system", "lost"),
    }


def test_the_rules_read_marks(make_source):
    sample = make_source(
        "tests/audit/test_sample.py",
        "import pytest\n"
        "@pytest.mark.fails_audit('chains', 'one')\n"
        "@pytest.mark.fails_audit('chains', 'two')\n"
        "def test_a():\n    assert f()\n"
        "CASES = 1\n"
        "@parametrize('x', [pytest.param(1, marks=pytest.mark.fails_audit('rods', 'c'))])\n"
        "def test_b(x):\n    assert f()\n"
        "@pytest.mark.fails_audit('chains', NAME)\n"
        "def test_c():\n    assert f()\n"
        "@pytest.mark.skip\n"
        "@pytest.mark.fails_audit('chains', 'three')\n"
        "def test_d():\n    assert f()\n"
        "pytestmark = pytest.mark.fails_audit('chains', 'four')\n",
    )
    pairs, wrong = marks_on(sample)
    assert set(pairs) == {("chains", "one"), ("chains", "two"), ("rods", "c")}
    assert [line.split()[0].rpartition(":")[2] for line in wrong] == ["10", "15", "17"]

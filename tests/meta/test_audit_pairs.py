"""A check that has never failed in a test is no check: each one fails in a test that says so.

A test in which a run of a system carries a check with `ok == False` is marked with both,
`@pytest.mark.fails_audit("chains", "ledger_closes")`. The pairs that runs can carry are read
from the sources: names of checks are therefore written out where the check is made.
"""

import ast

from audit_pairs import READS_BACK, checks_made, pairs_made, passed_on, renamed

MARK = "fails_audit"

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


def report(pairs: dict[tuple[str, str], list[str]], which: set[tuple[str, str]]) -> str:
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
    assert not missing, "never seen to fail, made at:\n" + report(pairs, missing)


def test_every_marker_names_a_check_that_exists(package_sources, test_sources):
    pairs = marked(test_sources)
    stale = set(pairs) - set(pairs_made(package_sources))
    assert not stale, "made nowhere, marked at:\n" + report(pairs, stale)
    wrong = [line for source in test_sources for line in marks_on(source)[1]]
    assert not wrong, "\n".join(wrong)


# ---- the rules see what they should


IMPORT = "from stiction.core.audit import Check\n"


def test_the_rules_see_checks_by_any_name(make_source):
    sample = make_source(
        "src/stiction/chains/sample.py",
        "import stiction.core.audit as audit\n"
        "from stiction.core.audit import Check as Row, Line\n"
        "Made = Row\n"
        "def f() -> Row:\n"
        "    a = Made('one', x < 1, x, 1)\n"
        "    b = audit.Check(check='two', ok=x < 1)\n"
        "    c = Line('three', 1.0, 1, '', None, Kind.AT_LEAST)\n"
        "    return Row(names[0], True, x, None)\n",
    )
    made = checks_made(sample)
    assert [(one.name, one.always) for one in made] == [
        ("one", False),
        ("two", False),
        ("three", False),
        (None, True),
    ]
    assert [one.kind for one in made] == ["at_most", "at_most", "at_least", "at_most"]
    assert {one.system for one in made} == {"chains"}
    assert made[3].place == "src/stiction/chains/sample.py:8"
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
    text = IMPORT + "def load(saved):\n    return Check(**saved)\n"
    assert checks_made(make_source(READS_BACK, text)) == []
    assert len(checks_made(make_source("src/stiction/core/other.py", text))) == 1


def test_a_shared_check_counts_for_each_system_that_calls_for_it(make_source):
    shared = make_source(
        "src/stiction/core/shared.py",
        IMPORT
        + "def closes(e):\n    return Check('closes', e < 1, e, 1)\n"
        + "def both(e):\n    return [closes(e), closes(2 * e)]\n"
        + "class Ledger:\n"
        + "    def check(self):\n        return Check('sums', self.e < 1, self.e, 1)\n"
        + "def nobody(e):\n    return Check('lost', e < 1, e, 1)\n",
    )
    sources = [
        shared,
        make_source("src/stiction/chains/a.py", "from stiction.core.shared import closes\n"),
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


def test_the_rules_read_markers(make_source):
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

"""`tools/mutate.py` on a tree of a few lines: what it can change, and what it lets live."""

import ast
import json
import tomllib
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"

AREA = '''"""Areas."""

import math

UNITS = {"area": "m^2", "side": "m"}


def ring(outer, inner):
    """Return the area of a ring.

    Verified by: tests/unit/shapes/test_area.py::test_ring
    """
    if outer < inner:
        raise ValueError(f"{outer} - {inner} < 0")
    return math.pi * (outer**2 - inner**2)


def unseen(a: float, b: float) -> float:
    return 2.0 * a + b
'''
LOOP = '''"""Loops."""

from toy.shapes.area import ring


def count(n):
    i = 0
    while i < n:
        i += 1
    return i
'''
TEST_AREA = """
import math

import pytest

from toy.shapes.area import ring


def test_ring():
    assert ring(2.0, 1.0) == 3.0 * math.pi


def test_order():
    try:
        ring(1.0, 2.0)
    except ValueError:
        return
    raise AssertionError


@pytest.mark.parametrize("area", [0.0, 1.0])
def test_of_which_one_fails_anyway(area):
    assert ring(0.0, 0.0) == area
"""
TEST_LOOP = """
from toy.shapes.loop import count


def test_count():
    assert count(3) == 3
"""
RICH = '''"""Everything that can be changed."""

from __future__ import annotations


class Check: ...


def rich(x: list[float], left: float, last: float, ok: bool) -> dict[str, object]:
    """Not 1.5 + 2.5."""
    y = (left
         + (last - x[0]))  # a comment with + and )
    z = -x[1] / x[2] if not ok and left > 0.5 else 0.25 * left
    assert y + z < 1.0
    y += 1.5 * z
    checks = [Check("closes", y < 2, 1.0), Check("holds", z == y)]
    if len(x) < 3:
        raise ValueError(f"{left + last}")
    names = ("stick", "slip")
    return {"name": names[1], "λ": Quantity(last, "N", "of µ"), "checks": checks, "z": rich(
        x, last, left, ok)}
'''


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    """The tool's modules, importable."""
    monkeypatch.syspath_prepend(str(TOOLS))


@pytest.fixture
def toy(tmp_path):
    """A tree with one package, two modules and two files of tests."""
    files = {
        "src/toy/__init__.py": "",
        "src/toy/shapes/__init__.py": "",
        "src/toy/shapes/area.py": AREA,
        "src/toy/shapes/loop.py": LOOP,
        "tests/unit/shapes/test_area.py": TEST_AREA,
        "tests/unit/shapes/test_loop.py": TEST_LOOP,
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n',
    }
    for name, text in files.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "toy"


def found_in(text, name="src/toy/rich.py"):
    from mutation.operators import mutants_of
    from mutation.source import Source

    return mutants_of(Source(name, text.encode()))


def pick(mutants, operator, old, new):
    (found,) = [m for m in mutants if (m.operator, m.old, m.new) == (operator, old, new)]
    return found


def test_every_fault_is_python_on_the_same_lines():
    from mutation.operators import OPERATORS

    mutants = found_in(RICH)
    assert {m.operator for m in mutants} == set(OPERATORS)
    valid = ast.dump(ast.parse(RICH))
    for mutant in mutants:
        changed = mutant.applied(RICH.encode())
        assert ast.dump(ast.parse(changed)) != valid, mutant
        assert changed.count(b"\n") == RICH.count("\n"), mutant
    assert len({m.id for m in mutants}) == len(mutants)


@pytest.mark.parametrize(
    ("operator", "old", "new"),
    [
        ("sign", "last - x[0]", "last + x[0]"),
        ("sign", "-x[1]", "+x[1]"),
        ("sign", "y += 1.5 * z", "y -= 1.5 * z"),
        ("dropped term", "last - x[0]", "last"),
        ("dropped term", "not ok and left > 0.5", "not ok"),
        ("wrong index", "x[2]", "x[1]"),
        ("one per cent", "0.25 * left", "0.2525 * left"),
        ("swapped names", "rich( x, last, left, ok)", "rich( x, left, last, ok)"),
        ("comparison", "y < 2", "y <= 2"),
        ("comparison", "not ok", "ok"),
        ("check disabled", 'Check("closes", y < 2, 1.0)', 'Check("closes", True, 1.0)'),
        ("refusal dropped", "len(x) < 3", "False"),
        ("wrong unit", 'Quantity(last, "N", "of µ")', 'Quantity(last, "kN", "of µ")'),
        ("wrong kind", '("stick", "slip")', '("slip", "slip")'),
        ("wrong kind", 'Check("holds", z == y)', 'Check("closes", z == y)'),
    ],
)
def test_each_kind_of_fault(operator, old, new):
    assert pick(found_in(RICH), operator, old, new).file == "src/toy/rich.py"


def test_texts_and_promises_are_left_alone():
    for mutant in found_in(RICH):
        line = RICH.splitlines()[mutant.line - 1]
        assert '"""' not in line
        assert "assert" not in line
        assert "raise" not in line


def test_names_of_faults_survive_edits_elsewhere():
    before = {m.id for m in found_in(AREA)}
    after = {m.id for m in found_in(AREA.replace("import math\n", "import math\n\nMORE = 3\n"))}
    assert before == after


def test_the_draw_repeats_and_reaches_every_package(toy):
    from mutation.choice import candidates, draw, sample
    from mutation.tree import Tree

    (toy / "src/toy/rich.py").write_text(RICH, encoding="utf-8")
    tree = Tree(toy)
    every = candidates(tree)
    drawn = draw(tree, every, 20, seed=1)
    assert len(drawn) == 20
    assert [m.id for m in drawn] == [m.id for m in draw(tree, every, 20, seed=1)]
    assert {m.id for m in drawn} != {m.id for m in draw(tree, every, 20, seed=2)}
    assert {tree.part(m.file) for m in sample(tree, drawn, 2, seed=1)} == {"shapes", "(top)"}


def test_the_nearest_tests_come_first(toy):
    from mutation.nearest import Nearest
    from mutation.tree import Tree

    tree = Tree(toy)
    mutant = pick(found_in(AREA, "src/toy/shapes/area.py"), "sign", "outer**2 - inner**2", SUM)
    near = Nearest(tree).of(mutant)
    assert near.first == ["tests/unit/shapes/test_area.py", "tests/unit/shapes/test_loop.py"]
    assert near.meant == ["tests/unit/shapes/test_area.py::test_ring"]


def test_units_and_kinds_are_held_against_the_golden_tables(toy):
    from mutation.judge import Judge
    from mutation.nearest import Nearest
    from mutation.tree import Tree

    golden = "tests/golden/test_golden.py"
    (toy / "tests/golden").mkdir()
    (toy / golden).write_text("def test_units():\n    assert True\n", encoding="utf-8")
    (toy / "src/toy/rich.py").write_text(RICH, encoding="utf-8")
    tree = Tree(toy)
    faults = found_in(RICH)
    for fault in faults:
        near = Nearest(tree).of(fault)
        reported = fault.operator in ("wrong unit", "wrong kind")
        assert (near.meant == [f"{golden}::test_units"]) is reported
        # once as compiled code, with every case, and never as plain code
        stages = [stage for stage in Judge.stages(fault, near, False) if golden in stage.files]
        assert [(stage.plain, stage.whole) for stage in stages] == (
            [(False, True)] if reported else []
        )
    assert {"wrong unit", "wrong kind"} < {fault.operator for fault in faults}


def test_what_is_private_is_near_the_tests_of_its_public_name(toy):
    from mutation.nearest import Nearest
    from mutation.tree import Tree

    hidden = AREA.replace("def ring(", "def _ring(")
    assert hidden != AREA
    (toy / "src/toy/shapes/area.py").write_text(hidden, encoding="utf-8")
    mutant = pick(found_in(hidden, "src/toy/shapes/area.py"), "sign", "outer**2 - inner**2", SUM)
    assert mutant.function == "_ring"
    near = Nearest(Tree(toy))
    public, other = (f"tests/unit/shapes/test_{name}.py" for name in ("area", "loop"))
    assert near._score(public, mutant, 1) < near._score(other, mutant, 1)
    assert near.of(mutant).first[0] == public


SUM = "outer**2 + inner**2"


@pytest.mark.parametrize(
    ("old", "new", "compiles"),
    [
        ("x + LOW", "x - LOW", True),  # a kernel
        ("x + 2.0", "x - 2.0", False),  # Python beside it
        ("LOW = 0.5", "LOW = 0.505", True),  # a constant that kernels may hold
        ("FAR = 0.5", "FAR = 0.505", False),
    ],
)
def test_what_is_compiled_with_a_fault(toy, old, new, compiles):
    from mutation.tree import Tree

    files = {
        "src/toy/low.py": "LOW = 0.5\n",
        "src/toy/far.py": "FAR = 0.5\n",
        "src/toy/high.py": (
            "from toy.low import LOW\nfrom toy.numerics.jit import kernel\n"
            "@kernel\ndef f(x):\n    return x + LOW\n"
            "def g(x):\n    return x + 2.0\n"
        ),
    }
    for name, text in files.items():
        (toy / name).write_text(text, encoding="utf-8")
    mutants = [m for name, text in files.items() for m in found_in(text, name)]
    (mutant,) = [m for m in mutants if (m.old, m.new) == (old, new)]
    assert Tree(toy).in_kernel(mutant) is compiles


def test_it_kills_what_tests_see_and_lets_live_what_they_do_not(toy, tmp_path, capsys, monkeypatch):
    import mutate

    # a quick start: the toy needs no plugin
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    mutants = found_in(AREA, "src/toy/shapes/area.py")
    seen = pick(mutants, "sign", "outer**2 - inner**2", SUM)
    alive = pick(mutants, "sign", "2.0 * a + b", "2.0 * a - b")
    equal = pick(mutants, "dropped term", "2.0 * a + b", "2.0 * a")
    out, argued = tmp_path / "report.json", tmp_path / "argued.toml"
    argued.write_text(
        '[[equivalent]]\nfile = "src/toy/shapes/area.py"\nfunction = "unseen"\n'
        'operator = "dropped term"\nold = "2.0 * a + b"\nargument = "b is zero"\n'
    )
    words = ["--root", str(toy), "--out", str(out), "--argued", str(argued)]
    for mutant in (seen, alive, equal):
        words += ["--only", mutant.id]
    assert mutate.main(words) == 1
    rows = json.loads(out.read_text())["mutants"]
    assert rows[seen.id]["verdict"] == "killed"
    assert rows[seen.id]["by"] == "tests/unit/shapes/test_area.py::test_ring"
    assert rows[alive.id]["verdict"] == "survived"
    assert rows[alive.id]["tests"] == 4, "a test that fails on the valid tree reports nothing"
    assert rows[equal.id]["verdict"] == "argued"
    reported = capsys.readouterr().out
    assert "below 90%" in reported
    assert "2 tried" in reported
    # what is known is not tried again, and the tree is as it was
    assert mutate.main(words) == 1
    assert "0 tried" in capsys.readouterr().out
    assert (toy / "src/toy/shapes/area.py").read_text() == AREA


@pytest.mark.parametrize(
    ("seen", "of", "sampled", "good"),
    [
        (9, 10, False, True),
        (8, 10, False, False),
        # 0.9^10 + ... : two of ten are missed in every fourth sample, four in every eightieth
        (8, 10, True, True),
        (6, 10, True, False),
        (215, 240, False, False),
        (216, 240, False, True),
    ],
)
def test_a_sample_may_be_unlucky(toy, seen, of, sampled, good):
    from mutation.judge import Verdict
    from mutation.report import Report
    from mutation.tree import Tree

    (toy / "src/toy/rich.py").write_text(RICH * 30, encoding="utf-8")
    mutants = found_in(RICH * 30)[:of]
    report = Report(None, Tree(toy), 1)
    for i, mutant in enumerate(mutants):
        report.add(mutant, Verdict("killed" if i < seen else "survived"), 1.0)
    lines, found = report.table(mutants, sampled=sampled)
    assert found is good
    assert any("below" in line for line in lines) is not good


class Stub:
    """A bench whose tests end, or do not."""

    def __init__(self, ends_when_valid):
        self.valid, self.ends = True, ends_when_valid

    def put_in(self, mutant):
        self.valid = False

    def take_out(self):
        self.valid = True

    def run(self, orders, *, plain, limit, cold=False):
        from mutation.bench import Outcome, Result

        name = next(name for name in orders["only"] if name.endswith("::test_count"))
        if self.valid and self.ends:
            return Outcome(0, {name: Result("passed", 0.1)}, [], "")
        return Outcome(None, {}, [], name)


@pytest.mark.parametrize(("ends", "verdict"), [(True, "timed out"), (False, "undecided")])
def test_no_end_says_nothing_if_the_unchanged_tree_is_slow_too(toy, ends, verdict):
    from mutation.judge import Judge
    from mutation.nearest import Nearest
    from mutation.tree import Tree

    tree = Tree(toy)
    endless = pick(found_in(LOOP, "src/toy/shapes/loop.py"), "sign", "i += 1", "i -= 1")
    found = Judge(tree, Nearest(tree)).judge(Stub(ends), endless)
    assert found.verdict == verdict
    assert found.by == "tests/unit/shapes/test_loop.py::test_count"


def test_a_failure_counts_only_if_it_is_the_doing_of_the_fault(toy):
    from mutation.bench import Outcome, Result
    from mutation.judge import Judge
    from mutation.nearest import Nearest
    from mutation.tree import Tree

    class Sloppy(Stub):
        """Its test fails after others, whatever the fault does."""

        def run(self, orders, *, plain, limit, cold=False):
            order, ring = (f"tests/unit/shapes/test_area.py::test_{n}" for n in ("order", "ring"))
            names = {order: Result("passed", 0.1)}
            if ring not in orders["never"]:
                names[ring] = Result("failed", 0.1, "AssertionError")
            return Outcome(len(names) - 1, names, [], "")

    tree = Tree(toy)
    fault = pick(found_in(AREA, "src/toy/shapes/area.py"), "sign", "outer**2 - inner**2", SUM)
    assert Judge(tree, Nearest(tree)).judge(Sloppy(True), fault).verdict == "survived"


def test_a_copy_is_as_the_tree_but_for_the_fault(toy, tmp_path):
    from mutation.bench import Bench
    from mutation.tree import Tree

    saved = toy / "src/toy/shapes/__pycache__/ring.kernel"
    saved.parent.mkdir()
    saved.write_text("compiled")
    mutant = pick(found_in(AREA, "src/toy/shapes/area.py"), "sign", "outer**2 - inner**2", SUM)
    bench = Bench(Tree(toy), tmp_path / "bench")
    bench.put_in(mutant)
    assert SUM in (bench.root / mutant.file).read_text()
    assert (bench.root / saved.relative_to(toy)).read_text() == "compiled"
    bench.take_out()
    assert (bench.root / mutant.file).read_text() == AREA


def test_what_takes_too_long_is_ended(toy, tmp_path):
    from mutation.bench import Bench
    from mutation.tree import Tree

    file = "tests/unit/shapes/test_slow.py"
    (toy / file).write_text(
        "import time\n"
        "def test_slow():\n"
        "    time.sleep(60.0)\n"
        "def test_deaf():\n"
        "    while True:\n"
        "        try:\n"
        "            time.sleep(60.0)\n"
        "        except BaseException:\n"
        "            pass\n"
        "def test_late(): ...\n"
    )
    bench = Bench(Tree(toy), tmp_path / "bench")
    names = [f"{file}::test_{name}" for name in ("slow", "deaf", "late")]
    done = bench.run({"only": names, "alarm": 0.2}, plain=True, limit=50.0)
    found = [(name.partition("::")[2], r.outcome, r.error) for name, r in done.tests.items()]
    assert found == [("test_slow", "skipped", "TooSlow"), ("test_deaf", "failed", "TooSlow")]
    assert not done.ended_well
    # what has no time left is left out, and is no failure
    done = bench.run({"only": names, "budget": 0.0}, plain=True, limit=50.0)
    assert done.ended_well
    assert done.tests == {}


def test_every_argued_fault_is_in_the_tree():
    from mutation.choice import argued
    from mutation.operators import mutants_of
    from mutation.source import Source

    path = TOOLS / "mutation_equivalent.toml"
    files = {row["file"] for row in tomllib.loads(path.read_text("utf-8"))["equivalent"]}
    found = [m for f in files for m in mutants_of(Source(f, (TOOLS.parent / f).read_bytes()))]
    # an entry that speaks of no fault ends the program
    assert len(argued(path, found)) >= len(files)

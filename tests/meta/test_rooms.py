"""The house: shared layers name no system, folders stay small, few imports go in circles."""

import ast
import re
from collections import defaultdict

SYSTEMS = ("chains", "switching", "rods", "solids", "faults", "bodies")
SHARED = ("plot", "core", "numerics")
# classes, kinds of events and losses, quantities and figures that belong to one system
WORDS = re.compile(
    r"\b(chains?|switching|rods?|solids?|faults|strings?|wheel|turntable|peel\w*|onset\w*|"
    r"stick_set|two_folds?|codim2_line|escaping_start|burridge\w*|stop_time|critical_force|"
    r"fracture_energy|contact_length|lambda_n)\b",
    re.IGNORECASE,
)
MOST_MODULES = 16
# the kit holds the player and painter of movies of all systems, besides that of figures
# the command line holds the completion scripts of three shells (240 lines), and --json and --quiet
# of every command, besides the commands
MOST_LINES = {"plot": 2300, "cli": 1400}
MOST_CIRCLES = 1


def words_in(source) -> list[str]:
    """Return names, attributes, imports and strings of the code that name a system."""
    docs = {id(node.value) for node in ast.walk(source.tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(source.tree):
        texts = []
        if isinstance(node, ast.Name):
            texts = [node.id]
        elif isinstance(node, ast.Attribute):
            texts = [node.attr]
        elif isinstance(node, ast.arg):
            texts = [node.arg]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            texts = [node.name]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            texts = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # a message may show what a call looks like
            shows = node.value.startswith(("for example ", "a system, such as "))
            texts = [] if id(node) in docs or shows else [node.value]
        found += [f"{source.path}:{node.lineno} {t!r}" for t in texts if WORDS.search(t)]
    return found


def in_folder(sources, folder):
    return [source for source in sources if source.path.startswith(f"src/stiction/{folder}/")]


def test_shared_layers_name_no_system(package_sources):
    # a citation is a key of a paper, and the keys are listed in one place
    shared = [s for folder in SHARED for s in in_folder(package_sources, folder)]
    offenders = [w for s in shared if not s.path.endswith("citations.py") for w in words_in(s)]
    assert not offenders, "\n".join(offenders)


def test_the_check_sees_a_system(make_source):
    for line in (
        "from stiction.chains.model import Chain",
        "names = ['two_fold']",
        "def onset_time(run): ...",
        "run.quantities['stop_time']",
    ):
        assert words_in(make_source("sample.py", line)), line
    assert words_in(make_source("sample.py", '"""Chains and rods in words."""\nx = "slip"')) == []


def test_folders_stay_small(package_sources):
    modules = defaultdict(int)
    for source in package_sources:
        modules[source.path.rpartition("/")[0]] += 1
    crowded = {folder: n for folder, n in modules.items() if n > MOST_MODULES}
    assert not crowded


def test_the_kit_and_the_command_line_stay_small(package_sources):
    for folder, most in MOST_LINES.items():
        lines = sum(len(source.lines) for source in in_folder(package_sources, folder))
        assert 0 < lines <= most, f"{folder}: {lines} lines"


def test_private_modules_stay_in_their_folder(package_sources):
    offenders = []
    for source in package_sources:
        folder = source.path.removeprefix("src/").rpartition("/")[0].replace("/", ".")
        for node in ast.walk(source.tree):
            module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            if module is None:
                continue
            named = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            for name in named:
                head, _, last = name.rpartition(".")
                private = last.startswith("_") and not last.startswith("__") and last.islower()
                # the package's own private modules are for all of it
                if private and head.startswith("stiction.") and head != folder:
                    offenders.append(f"{source.path}:{node.lineno} {name}")
    assert not offenders, "\n".join(offenders)


def imports_of(source, known):
    """Return the modules of ours that a source imports: at import time, and later by any means."""
    now, later = set(), set()
    inside = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            inside |= {id(part) for part in ast.walk(node)}
    typing = {
        id(part)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in ast.walk(node)
    }
    for node in ast.walk(source.tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            first = node.args[0]
            names = [first.value] if isinstance(first, ast.Constant) else []
        if id(node) in typing:
            continue
        (later if id(node) in inside else now).update(name for name in names if name in known)
    return now, later


def circles(graph):
    """Return the sets of modules that reach each other (Tarjan's strong components)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(graph.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while True:
                        part.add(member := stack.pop())
                        on.discard(member)
                        if member == node:
                            break
                    if len(part) > 1:
                        found.append(part)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def graphs(sources):
    names = {
        s.path.removeprefix("src/")
        .removesuffix(".py")
        .removesuffix("/__init__")
        .replace("/", "."): s
        for s in sources
    }
    now, ever = {}, {}
    for name, source in names.items():
        at_once, later = imports_of(source, names)
        now[name] = at_once - {name}
        ever[name] = (at_once | later) - {name}
    return now, ever


def test_no_circle_at_import_time(package_sources):
    assert circles(graphs(package_sources)[0]) == []


def test_few_lazy_circles(package_sources):
    found = circles(graphs(package_sources)[1])
    assert len(found) <= MOST_CIRCLES, "\n".join(" ".join(sorted(part)) for part in found)


def test_the_check_sees_circles():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert circles({"a": {"b"}, "b": set()}) == []

"""Every public name is described, shown in use, and executed: in a script, page or docstring."""

import ast
import doctest
import importlib
import inspect
import re
import sys

import stiction
from stiction.catalogue import SUBPACKAGES, attribute, names_in, top

# Pages that only list names, or that the build writes, show nothing in use.
NOT_SHOWN_IN = ("docs/_build/", "docs/auto_examples/", "docs/api/")


def pages(root) -> str:
    """Return the text of all pages and scripts in which a name may be shown."""
    paths = [*root.glob("examples/**/*.py"), *root.glob("docs/**/*.md"), root / "README.md"]
    shown = [
        path
        for path in paths
        if path.is_file() and not path.relative_to(root).as_posix().startswith(NOT_SHOWN_IN)
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in shown)


def unshown(names, text: str) -> list[str]:
    return [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def test_public_names_exist():
    missing = [name for name in stiction.__all__ if not hasattr(stiction, name)]
    assert not missing, f"in stiction.__all__ but not there: {missing}"
    assert len(set(stiction.__all__)) == len(stiction.__all__)


def test_every_public_name_is_shown(root):
    missing = unshown(stiction.__all__, pages(root))
    assert not missing, "in no example, page or README:\n" + "\n".join(missing)


def test_the_check_sees_an_unshown_name():
    assert unshown(["Chain", "solve"], "st.Chains and st.solve()") == ["Chain"]


# ---- names that code uses which the suite runs: scripts, pages and docstrings


def dotted_names(text: str) -> set[str]:
    """Return the full names, such as stiction.rods.Arc, that a piece of Python uses."""
    tree, bound, used = ast.parse(text), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = (a for a in node.names if a.name.partition(".")[0] == "stiction")
            bound.update({a.asname or "stiction": a.name if a.asname else "stiction" for a in ours})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stiction"):
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            head, dot, rest = ast.unparse(node).partition(".")
            if head in bound:
                used.add(f"{bound[head]}{dot}{rest}")
    return used


def executed(root) -> set[str]:
    """Return the names that gallery scripts, pages and examples of docstrings use."""
    texts = [path.read_text("utf-8") for path in root.glob("examples/*/plot_*.py")]
    for path in [root / "README.md", *root.glob("docs/**/*.md")]:
        if path.is_file() and "_build" not in path.parts:
            blocks = re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
            texts.append("\n".join(blocks))
    for path in root.glob("src/stiction/**/*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if ">>>" in text else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                parts = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
                texts.append("".join(part.source for part in parts))
    return set().union(*(dotted_names(text) for text in texts))


def names_of_users() -> dict[str, str]:
    """Return {stiction.subpackage.name or stiction.name: module} of every public name."""
    subpackages = {
        f"stiction.{r}.{name}": m for r in SUBPACKAGES for name, m in names_in(r).items()
    }
    return {**subpackages, **{f"stiction.{name}": module for name, module in top().items()}}


def not_executed(public: dict[str, str], used: set[str]) -> list[str]:
    """Return the public names that no executed code uses, under any of their addresses."""
    heads = {".".join(name.split(".")[:n]) for name in used for n in range(2, 8)}
    homes: dict[tuple[str, str], set[str]] = {}
    for name, module in public.items():
        last = name.rpartition(".")[2]
        homes.setdefault((module, last), {f"{module}.{last}"}).add(name)
    return [name for name, m in public.items() if not homes[m, name.rpartition(".")[2]] & heads]


def test_every_public_name_is_executed(root):
    missing = not_executed(names_of_users(), executed(root))
    assert not missing, "in no executed script, page or docstring:\n" + "\n".join(missing)


def test_the_check_sees_a_name_that_is_not_executed():
    code = "import stiction as st\nfrom stiction.rods import Arc as Bow\nst.laws.Dahl(1, 2)\nBow()"
    used = dotted_names(code)
    assert used == {"stiction.laws.Dahl", "stiction.laws", "stiction.rods.Arc", "stiction"}
    public = {
        "stiction.rods.Arc": "stiction.rods.centreline",
        "stiction.rods.Helix": "stiction.rods",
    }
    assert not_executed(public, used) == ["stiction.rods.Helix"]


# ---- names that the pages of the API describe


def described(root) -> set[str]:
    """Return the modules that an API page describes, of those that the build writes as well."""
    sys.path.insert(0, str(root / "docs"))
    try:
        pages = importlib.import_module("_pages")
    finally:
        sys.path.remove(str(root / "docs"))
    texts = [path.read_text("utf-8") for path in (root / "docs" / "api").glob("*.md")]
    texts += [pages.page(subpackage) for subpackage in SUBPACKAGES]
    return set(re.findall(r"\.\. auto(?:module|function|class):: ([\w.]+)", "\n".join(texts)))


def test_every_public_name_is_described(root):
    modules, missing = described(root), []
    for name, module in names_of_users().items():
        held = attribute(module, name.rpartition(".")[2])
        # sphinx shows what a module defines and lists, where the module has a page
        home, short = held.__module__, held.__name__
        listed = getattr(importlib.import_module(home), "__all__", [short])
        shown = home in modules and short in listed
        alone = {f"{home}.{short}", f"{module}.{short}"} & modules
        if not (shown or alone) or not inspect.getdoc(held):
            missing.append(f"{name} of {home}")
    assert not missing, "on no page of the API:\n" + "\n".join(missing)


def test_names_of_the_glossary_exist(root):
    text = (root / "docs" / "notation.md").read_text("utf-8")
    names = sorted(set(re.findall(r"`(st(?:\.\w+)+)", text)))
    assert len(names) > 30
    for name in names:
        found = importlib.import_module("stiction")
        for part in name.split(".")[1:]:
            found = getattr(found, part)

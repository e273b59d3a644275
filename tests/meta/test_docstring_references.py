"""Docstrings keep their word: every `Source:` says where from, every `Verified by:` exists."""

import ast
import re

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
REFERENCE = re.compile(r"tests/[\w/.-]+\.py(?:::\w+)*")


def docstrings(source) -> list[tuple[str, str]]:
    """Return (place, docstring) of a module, its classes and its functions."""
    found = []
    for node in ast.walk(source.tree):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if text:
            found.append((f"{source.path}:{getattr(node, 'name', 'module')}", text))
    return found


def entries(text: str, word: str) -> list[str]:
    """Return what follows each `word`, up to a blank line or the next entry."""
    pattern = rf"{word}:(.*?)(?=\n[ \t]*\n|\bSource:|\bVerified by:|\Z)"
    return [match.strip() for match in re.findall(pattern, text, flags=re.DOTALL)]


def defined_names(tree: ast.Module) -> set[str]:
    """Return the functions of a test file as `name` and, in a class, `Class::name`."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (entry for entry in node.body if isinstance(entry, ast.FunctionDef))
            names.update(f"{node.name}::{entry.name}" for entry in inner)
    return names


def broken_references(place: str, text: str, root) -> list[str]:
    offenders = []
    for entry in entries(text, "Verified by"):
        references = REFERENCE.findall(entry)
        if not references:
            offenders.append(f"{place} names no test: {entry!r}")
        for reference in references:
            path, _, function = reference.partition("::")
            if not (root / path).is_file():
                offenders.append(f"{place} -> {reference}: no such file")
            elif function not in defined_names(ast.parse((root / path).read_text("utf-8"))):
                offenders.append(f"{place} -> {reference}: no such test")
    return offenders


def test_verified_by_resolves(package_sources, root):
    offenders = [
        line
        for source in package_sources
        for place, text in docstrings(source)
        for line in broken_references(place, text, root)
    ]
    assert not offenders, "\n".join(offenders)


def test_source_is_named(package_sources):
    offenders = [
        place
        for source in package_sources
        for place, text in docstrings(source)
        if not all(entries(text, "Source"))
    ]
    assert not offenders, "empty `Source:` in:\n" + "\n".join(offenders)


def test_the_check_sees_broken_references(root):
    here = "tests/meta/test_docstring_references.py"
    good = f"Source: a paper, eq. (1).\nVerified by: {here}::test_source_is_named"
    assert broken_references("good", good, root) == []
    assert len(broken_references("x", f"Verified by: {here}::test_of_nothing", root)) == 1
    assert len(broken_references("x", f"Verified by: {here}", root)) == 1
    assert len(broken_references("x", "Verified by: tests/nowhere.py::test_a", root)) == 1
    assert len(broken_references("x", "Verified by: inspection", root)) == 1
    assert entries("Source:\n\nVerified by: x", "Source") == [""]

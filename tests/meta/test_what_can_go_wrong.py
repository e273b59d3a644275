"""The page on what can go wrong has every status, loss and check of chains and flows.

The names are read from the sources; that the examples do what the page says is tested where all
pages are (`tests/examples/test_pages.py`).
"""

import ast
import re
from pathlib import Path

from audit_pairs import argument, made_by_pair, pairs_made

from stiction import Status
from stiction.core.audit import Kind
from stiction.switching.event_driven import _KINDS

# what notes a loss of a flow
_NOTES = ("self._note_loss", "self._lost")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-can-go-wrong.md"


def headings(text: str) -> dict[str, set[str]]:
    """Return the names in the headings below each section of the page."""
    found: dict[str, set[str]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
            found[section] = set()
        elif line.startswith("### "):
            found[section] |= set(re.findall(r"`([^`]+)`", line))
    return found


def words_in(node: ast.expr | None) -> set[str]:
    """Return the words that an expression may be: one, or one of two."""
    if isinstance(node, ast.IfExp):
        return words_in(node.body) | words_in(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) else set()


def losses_made(sources, folder: str) -> set[str]:
    """Return the kinds of losses that are written out in the sources of a system."""
    kinds = set()
    for source in sources:
        if f"/{folder}/" not in source.path:
            continue
        for call in ast.walk(source.tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "Loss":
                kind = argument(call, 1, "kind")
                kinds |= words_in(kind)
            elif isinstance(call, ast.Call) and ast.unparse(call.func) in _NOTES:
                kinds |= words_in(argument(call, 0, "kind"))
    return kinds


def test_every_kind_is_on_the_page(package_sources):
    page, checks = headings(PAGE.read_text("utf-8")), set(pairs_made(package_sources))
    assert page["Status"] == {status.value for status in Status}
    assert page["Chains: losses of determinism"] == losses_made(package_sources, "chains")
    flows = losses_made(package_sources, "switching") | set(_KINDS) | {"fold"}
    assert page["Flows: losses of determinism"] == flows
    for name, system in (("Chains", "chains"), ("Flows", "switching")):
        made = {check for where, check in checks if where == system}
        assert page[f"{name}: the audit"] == made


def kinds_on_the_page(text: str) -> set[tuple[str, str, str]]:
    """Return what the table says: kind, system, check."""
    found = set()
    for kind, system, checks in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, re.MULTILINE):
        found |= {(kind, system, check) for check in re.findall(r"`(\w+)`", checks)}
    return found


def test_the_page_has_the_kind_of_every_check(package_sources):
    """A check names its kind where it is made, and the page says the same of all of them."""
    calls = made_by_pair(package_sources)
    unnamed = [made.place for every in calls.values() for made in every if made.kind is None]
    assert not unnamed, f"write the kind out, as Kind.CONDITION: {unnamed}"
    made = {
        (one.kind, "flows" if system == "switching" else system, check)
        for (system, check), every in calls.items()
        for one in every
    }
    assert {kind for kind, _, _ in made} == {kind.value for kind in Kind}
    assert kinds_on_the_page(PAGE.read_text("utf-8")) == made
    assert len(made) == len(calls), "the same check of one system is of two kinds"


def test_a_kind_left_out_is_seen():
    assert headings("## Status\n### `solved`, `stopped`\nwords\n") == {
        "Status": {"solved", "stopped"}
    }

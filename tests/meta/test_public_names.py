"""Every public name is shown in use: in an example, on a documentation page or in the README."""

import re

import stiction

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

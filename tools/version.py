"""The version of what is built, from the tags of git: `python tools/version.py` prints it.

A commit with the tag v1.2.3 is version 1.2.3, and `_version.py` must say so too. Commits after a
tag are 1.2.4.dev5+gabcdef0, five commits on the way to the next. Without git, in a clone without
tags and in an sdist, it is what `_version.py` says. `STICTION_VERSION` goes before all of them.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_WRITTEN = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_DESCRIBED = re.compile(r"v(\d+(?:\.\d+)+)-(\d+)-g([0-9a-f]+)(-dirty)?")


def written(root: Path = ROOT) -> str:
    """Return the version that stands in the package."""
    text = (root / "src" / "stiction" / "_version.py").read_text(encoding="utf-8")
    (found,) = _WRITTEN.findall(text)
    return str(found)


def version(root: Path = ROOT) -> str:
    """Return the version to build; what the package says where no tag reports."""
    if given := os.environ.get("STICTION_VERSION", ""):
        return given
    ours, reported = written(root), _describe(root)
    if reported is None:
        return ours
    tag, commits, commit, dirty = reported
    if commits == "0" and not dirty:
        if tag != ours:
            raise SystemExit(
                f"tag v{tag}: got __version__ = {ours!r}; needs {tag!r}.\n"
                "Why: what is installed would call itself otherwise than its release.\n"
                f"Try: python tools/release.py {tag}, commit, and set the tag anew."
            )
        return tag
    *head, last = tag.split(".")
    following = ".".join([*head, str(int(last) + 1)]) if tag == ours else ours
    return f"{following}.dev{commits}+g{commit}" + (".dirty" if dirty else "")


def _describe(root: Path) -> tuple[str, str, str, str] | None:
    """Return tag, commits since, commit and whether files differ; None where git does not know."""
    try:
        # the tags of a tree around this one say nothing
        top = _git(root, "rev-parse", "--show-toplevel")
        if Path(top).resolve() != root.resolve():
            return None
        words = ("describe", "--tags", "--long", "--dirty", "--match", "v[0-9]*")
        found = _DESCRIBED.fullmatch(_git(root, *words))
    except (OSError, subprocess.CalledProcessError):
        return None
    return None if found is None else (found[1], found[2], found[3], found[4] or "")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    print(version())

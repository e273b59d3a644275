"""Shell completion of saved runs, studies, papers and systems.

Typer, the library of the command line, calls these functions with the incomplete word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from stiction.io.scenario.completion import paths

__all__ = ["folders", "one_of", "papers", "studies", "systems"]


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return a completion function for a fixed list of words."""
    return lambda incomplete: _begin(words, incomplete)


def folders(incomplete: str) -> list[str]:
    """Return saved runs and studies in the current folder or in `out`; without any, all folders."""
    saved = [
        file.parent.as_posix()
        for pattern in ("*/summary.json", "out/*/summary.json", "*/study.toml", "out/*/study.toml")
        for file in sorted(Path().glob(pattern))
    ]
    return _begin(dict.fromkeys(saved), incomplete) or paths(incomplete, "")


def studies(incomplete: str) -> list[str]:
    """Return built-in studies, and files of studies, that begin with `incomplete`."""
    from stiction.studies.listing import ready

    return _begin(ready(), incomplete) + paths(incomplete)


def papers(incomplete: str) -> list[str]:
    """Return the papers that can be reproduced and begin with `incomplete`."""
    from stiction.papers.making import PAPERS

    return _begin((*PAPERS, "all"), incomplete)


def systems(incomplete: str) -> list[str]:
    """Return the systems that begin with `incomplete`."""
    from stiction.numerics.compiling.folders import systems as known

    return _begin((*known(), "studies"), incomplete)


def _begin(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]

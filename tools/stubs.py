"""Write the stubs that show type checkers and editors what each public name is.

::

    python tools/stubs.py          # writes src/stiction/__init__.pyi and one for each subpackage
    python tools/stubs.py --check  # exit code 1 if they are not what the catalogue says

Names are imported lazily at run time, which no type checker can follow; the stubs say the same
as plain imports. They are derived from `stiction.catalogue` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from stiction.catalogue import SUBPACKAGES, TOP, names_in  # noqa: E402

_NOTE = "# Written by tools/stubs.py from stiction/catalogue.py.\n\n"


def stubs() -> dict[Path, str]:
    """Return the text of every stub by its path."""
    package = ROOT / "src" / "stiction"
    top = {**TOP, "__version__": "stiction._version", "solve": "stiction.solve"}
    subpackages = "".join(
        f"from stiction import {name} as {name}\n" for name in (*SUBPACKAGES, "exact", "plot")
    )
    found = {package / "__init__.pyi": _NOTE + subpackages + _imports(top)}
    for subpackage in SUBPACKAGES:
        found[package / subpackage / "__init__.pyi"] = _NOTE + _imports(names_in(subpackage))
    return found


def _imports(names: Mapping[str, str]) -> str:
    rows = sorted((module, name) for name, module in names.items())
    return "".join(f"from {module} import {name} as {name}\n" for module, name in rows)


def main() -> int:
    """Write the stubs, or with --check return 1 where a file differs."""
    stale = [path for path, text in stubs().items() if not _same(path, text)]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the catalogue says")
        return int(bool(stale))
    for path in stale:
        path.write_text(stubs()[path], encoding="utf-8")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())

"""Write the address of the project where a placeholder stands: `python tools/fill_home.py ADDRESS`.

The project has no public home yet, and an invented one would lead to strangers: all files say
https://example.org/stiction, an address that is reserved for examples.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "https://example.org/stiction"
FILES = ("pyproject.toml", "Dockerfile", "conda/recipe/recipe.yaml")
_ADDRESS = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}(/[\w./-]*)?", re.IGNORECASE)


def filled(text: str, address: str) -> str:
    """Return a text with an address in place of the placeholder."""
    if not _ADDRESS.fullmatch(address):
        raise SystemExit(f"got {address!r}; needs an address such as https://forge.net/us/stiction")
    return text.replace(PLACEHOLDER, address.rstrip("/"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for name in FILES:
        place = ROOT / name
        place.write_text(filled(place.read_text("utf-8"), sys.argv[1]), encoding="utf-8")

"""Reference numbers that were made without the package; see tests/reference/README.md."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "reference"


def reference(name):
    """Return the parsed reference file."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))

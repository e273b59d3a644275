"""The shared reference numbers, where the checkout has them beside it."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "reference"


def reference(name):
    """Return the parsed reference file, or skip the test that asks for it."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"reference numbers are not beside the checkout ({path.name})")
    return json.loads(path.read_text())

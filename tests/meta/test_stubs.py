"""Stubs are written anew wherever a public name moves."""

import subprocess
import sys


def test_stubs_are_what_the_catalogue_says(root):
    done = subprocess.run(
        [sys.executable, root / "tools" / "stubs.py", "--check"], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout

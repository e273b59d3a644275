"""Build the sdist, a wheel from it, and try that wheel where nothing else is installed.

`python tools/try_packages.py PYTHON...`: for each interpreter a new environment gets the wheel, and
the first preset runs in an empty home; it must solve, write its folder, and take at most 3 s of the
processor. The sdist must hold what it takes to test and to document.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_CPU = 3.0
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "Makefile", "CHANGELOG.md")
NEEDED += ("tests/conftest.py", "docs/conf.py", "src/stiction/py.typed", "tools/constraints.txt")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def main() -> int:
    """Build, install and run; return how many interpreters failed."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        builder = _environment(Path(sys.executable), place / "builder", "hatchling>=1.25")
        subprocess.run(
            [builder, "-m", "hatchling", "build", "-t", "sdist", "-d", place], cwd=ROOT, check=True
        )
        (source,) = place.glob("*.tar.gz")
        lost = missing(source)
        print(f"{source.name}: {source.stat().st_size / 1e6:.1f} MB; lacks {lost or 'nothing'}")
        subprocess.run([builder, *PIP, "wheel", "--no-deps", "-w", place, source], check=True)
        (wheel,) = place.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        bad = sum(
            not tried(Path(name), wheel, place / str(k)) for k, name in enumerate(sys.argv[1:])
        )
    return bad + bool(lost)


def missing(source: Path) -> list[str]:
    """Return what an sdist should hold and does not."""
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    return [name for name in NEEDED if name not in held]


def tried(python: Path, wheel: Path, folder: Path) -> bool:
    """Return whether the first preset runs from a wheel, and say how long it took."""
    own = _environment(python, folder, str(wheel))
    (folder / "home").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    took = []
    for name in ("first", "second"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [own.parent / "stiction", "run", "slip-wave", "--no-figures", "--out", name]
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    good = done.returncode == 0 and done.stdout.startswith("SOLVED") and took[0] <= MOST_CPU
    version = subprocess.run([own, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(
        f"{version}: the first preset takes {took[0]:.2f} s of the processor, then {took[1]:.2f} s"
    )
    if not good:
        print(done.stdout, done.stderr)
    return good


def _environment(python: Path, folder: Path, *packages: str) -> Path:
    subprocess.run([python, "-m", "venv", folder], check=True)
    own = folder / "bin" / "python"
    subprocess.run([own, *PIP, "install", *packages], check=True)
    return own


if __name__ == "__main__":
    sys.exit(main())

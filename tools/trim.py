"""Make the environment of this project smaller: what no run of it reads goes.

Wheels of libraries bring their own tests, sources in C and symbols for debuggers, over a hundred
megabytes. The byte code of what a run imports is written here once, instead of that of all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))
# what runs and their figures import
_USED = (
    "stiction.cli.run",
    "stiction.plot",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "xarray",
    "h5netcdf",
    "numba",
    "scipy.sparse.linalg",
)


def main() -> int:
    """Trim the environment of this interpreter; refuse to touch any other."""
    if sys.prefix == sys.base_prefix:
        print("got an interpreter outside an environment; needs that of .venv", file=sys.stderr)
        return 2
    before = size()
    for folder in list(SITE.glob("*/**/tests")):
        # what is called testing is for others, and may import its own tests
        if folder.is_dir() and "testing" not in folder.parts:
            shutil.rmtree(folder, ignore_errors=True)
    for source in [*SITE.rglob("*.c"), *SITE.rglob("*.pyx")]:
        source.unlink()
    for name in ("setuptools", "pkg_resources", "_distutils_hack"):
        shutil.rmtree(SITE / name, ignore_errors=True)
    (SITE / "distutils-precedence.pth").unlink(missing_ok=True)
    for folder in list(SITE.glob("pip/**/__pycache__")):
        shutil.rmtree(folder, ignore_errors=True)
    strip = shutil.which("strip")
    if strip:
        without_symbols(strip)
    imports()
    print(f"trimmed the environment from {before:.0f} to {size():.0f} MB")
    return 0


def without_symbols(strip: str) -> None:
    """Take the symbols for debuggers out of libraries; all back if anything no longer loads."""
    saved = {}
    for library in SITE.rglob("*.so"):
        if library.parent.name.endswith(".libs"):
            continue  # laid out anew when the wheel was made, they do not survive it
        small = library.with_name(library.name + ".small")
        whole = library.with_name(f".{library.name}.whole")
        done = subprocess.run([strip, "--strip-unneeded", "-o", small, library], check=False)
        if done.returncode == 0 and small.stat().st_size < library.stat().st_size:
            saved[library] = library.replace(whole)
            small.replace(library)
        small.unlink(missing_ok=True)
    whole_again = not imports()
    for library, whole in saved.items():
        if whole_again:
            whole.replace(library)
        whole.unlink(missing_ok=True)


def imports() -> bool:
    """Import what runs import, which writes its byte code; return whether that went well."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    code = "import " + ", ".join(_USED)
    return subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def size() -> float:
    """Return how large the environment is [MB]."""
    files = (path for path in Path(sys.prefix).rglob("*") if not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


if __name__ == "__main__":
    raise SystemExit(main())

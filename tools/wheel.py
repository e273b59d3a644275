"""Build a wheel that carries its compiled kernels: `make wheel`, or python tools/wheel.py [DIR].

Kernels are compiled for a kind of processor that most have (x86-64-v3), and lie in the package
under `_kernels/KIND`. Whatever does not fit the machine it is installed on, Python, Numba, NumPy
or an older processor, is compiled there as from a plain wheel. The package itself is
copied first, and nothing is left in the sources.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# what `numerics.compiling.cache.TARGETS` knows, by the name of the machine
KINDS = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3", "aarch64": "arm64", "arm64": "arm64"}
CPUS = {"x86-64-v3": "x86-64-v3", "arm64": "generic"}
NO_WHEEL = """tools/wheel.py: got no package `wheel`; needs it to name the platform.
Why: the kernels inside run on one kind of machine.
Try: make wheel, or pip install "stiction[wheel]"."""
_BUILT_FROM = ("src", "tools", "pyproject.toml", "README.md", "LICENSE")


def main() -> int:
    """Build the wheel and print where it is."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    kind = KINDS.get(platform.machine())
    if kind is None:
        print(f"got a {platform.machine()}; needs one of {', '.join(KINDS)}", file=sys.stderr)
        return 2
    if not list(importlib.metadata.distributions(name="wheel")):
        print(NO_WHEEL, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        for name in _BUILT_FROM:
            copy(ROOT / name, tree / name)
        kernels = tree / "src/stiction/_kernels" / kind
        compile_into(kernels, tree / "src", kind)
        made = build(tree, out)
        count = sum(1 for _ in kernels.glob("*.kernel"))
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB, {count} kernels")
    return 0


def copy(source: Path, place: Path) -> None:
    """Copy a file or a folder, without what was compiled or computed."""
    if source.is_dir():
        shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    else:
        shutil.copy(source, place)


def compile_into(folder: Path, source: Path, kind: str) -> None:
    """Compile all kernels of the package for a kind of processor, and keep what Python calls."""
    folder.mkdir(parents=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "STICTION_CACHE_DIR": str(folder),
        "STICTION_TARGET": kind,
        "STICTION_KERNELS": "compiled",
        "NUMBA_CPU_NAME": CPUS[kind],
        "NUMBA_CPU_FEATURES": "",
    }
    code = "from stiction.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code, "compile"], env=environment, check=True)
    for inner in folder.glob("*.inner"):
        inner.unlink()


def build(tree: Path, out: Path) -> Path:
    """Build the wheel of a tree; return where it is."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        # the copy has no tags
        reported = [sys.executable, str(ROOT / "tools" / "version.py")]
        named = subprocess.run(reported, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(
            [*pip, "wheel", "--no-deps", "-w", scratch, str(tree)],
            env={**os.environ, "STICTION_VERSION": named},
            check=True,
        )
        (plain,) = Path(scratch).glob("*.whl")
        tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        words = [f"--python-tag={tag}", f"--abi-tag={tag}", f"--platform-tag={_platform()}"]
        tags = [sys.executable, "-m", "wheel", "tags", "--remove", *words, str(plain)]
        subprocess.run(tags, check=True, capture_output=True)
        (made,) = Path(scratch).glob("*.whl")
        return Path(shutil.move(made, out / made.name))


def _platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    raise SystemExit(main())

"""Try the oldest and the newest libraries that pyproject.toml allows, on each Python.

::

    python tools/matrix.py                 # README and the quick suite; hours
    python tools/matrix.py --part          # README and a named part of the suite, in plain Python
    python tools/matrix.py 3.13-newest     # one environment of four; with --part too
    python tools/matrix.py --find          # say which interpreters are there
    python tools/matrix.py --oldest        # write the lists of the oldest anew: tools/oldest-*.txt

Each environment is made in build/matrix. What README shows is run as a user does, figures
included, and `stiction doctor` must find no fault. What pip loads is cached in a folder, from which
the next attempt installs where the index does not answer. When all four passed, the newest are
written into src/stiction/core/provenance.py, after which later ones are named where they run.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "matrix"
PROVENANCE = ROOT / "src" / "stiction" / "core" / "provenance.py"
SAVED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stiction-ci" / "matrix"

PYTHONS = ("3.11", "3.13")
EVERY = tuple(f"{python}-{which}" for python in PYTHONS for which in ("oldest", "newest"))
# the two that differ most
ENDS = ("3.11-oldest", "3.13-newest")

# What has failed with some version, and what each library is used for; `--part` takes it.
PART = (
    "tests/unit/switching/two_folds/test_finding.py",  # NumPy: eigenvalues, least squares
    "tests/unit/rods/strings/test_model.py::test_scenario_round_trip",  # NumPy: roots
    "tests/unit/fits/test_reading.py",  # pandas: tables from files
    "tests/unit/fits/test_comparison.py",  # SciPy: designs and searches; pandas: tables of results
    "tests/unit/core/test_events.py",  # pandas
    "tests/unit/io/test_store.py",  # HDF5, NetCDF, xarray, msgspec
    "tests/unit/plot/test_style.py",  # Matplotlib
    "tests/unit/chains/figures/test_figures.py",  # Matplotlib
    "tests/unit/test_main.py",  # Typer, Rich
    "tests/unit/doctor/test_doctor.py",  # SciPy: sparse solvers; Numba: one kernel
    "tests/audit/test_laws_with_state.py",
)
# what those tests import; the whole suite takes the extra `test`
FOR_PART = ("pytest>=8.3", "hypothesis>=6.120")
BUILDERS = ("hatchling>=1.25", "editables")

PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def main() -> int:
    """Return how many environments failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="ENVIRONMENT", help=", ".join(EVERY))
    parser.add_argument("--part", action="store_true", help="a part of the suite, in plain Python")
    parser.add_argument("--find", action="store_true", help="say which interpreters are there")
    parser.add_argument("--oldest", action="store_true", help="write the lists of the oldest anew")
    given = parser.parse_args()
    if unknown := set(given.names) - set(EVERY):
        parser.error(f"got {', '.join(sorted(unknown))}; needs some of {', '.join(EVERY)}")
    if given.find or given.oldest:
        for python in PYTHONS:
            print(f"Python {python}: {interpreter(python)}", flush=True)
            if given.oldest:
                write_oldest(python)
        return 0
    names = given.names or (ENDS if given.part else EVERY)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    begun = time.monotonic()
    for name in names:
        install(name, given.part)
    print(f"installed in {time.monotonic() - begun:.0f} s", flush=True)
    # the part is tried on all at once, one process each; the suite takes every core itself
    with ThreadPoolExecutor(len(names) if given.part else 1) as pool:
        bad = sum(not good for good in pool.map(lambda name: tried(name, given.part), names))
    if not bad and tuple(names) == EVERY:
        write_tried()
    return bad


# ---- interpreters and environments


def interpreter(version: str) -> Path:
    """Return a Python of this minor version that starts and can make environments."""
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [sys.executable, *([found] if found else [])]
    candidates += [str(p) for p in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    asks = f"import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2] == '{version}')"
    for candidate in candidates:
        try:
            said = subprocess.run(
                [candidate, "-c", asks], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if said.stdout.strip() == "True":
            return Path(candidate)
    raise SystemExit(
        f"matrix: got no Python {version} with venv; needs one.\n"
        "Why: bounds that nobody tries are guesses.\n"
        f"Try: apt-get install python{version} python{version}-venv, or pyenv install {version}."
    )


def install(name: str, part: bool) -> None:
    """Make an environment from the index, or from what an earlier run has saved."""
    version, _, which = name.partition("-")
    subprocess.run([interpreter(version), "-m", "venv", BUILD / name], check=True)
    python, saved = BUILD / name / "bin" / "python", SAVED / f"{name}{'-part' if part else ''}"
    bounds = ("-c", oldest_file(version)) if which == "oldest" else ()
    wanted = (".", *FOR_PART) if part else (".[test]",)
    print(f"{name}: installing", flush=True)
    for attempt in (1, 2, 3):
        with tempfile.TemporaryDirectory() as fresh:
            words = [python, *PIP, "--timeout", "20", "download", "--dest", fresh, *bounds]
            if _ran([*words, *BUILDERS, *wanted], seconds=300):
                shutil.rmtree(saved, ignore_errors=True)
                shutil.copytree(fresh, saved)
                break
        print(f"{name}: attempt {attempt}: the index does not answer", flush=True)
    words = [python, *PIP, "install", "--no-index", "--find-links", saved, *bounds, "--editable"]
    subprocess.run([*words, *wanted], cwd=ROOT, check=True)


def _ran(words: Sequence[str | Path], seconds: float) -> bool:
    try:
        return subprocess.run(words, cwd=ROOT, timeout=seconds, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


# ---- what is tried


def tried(name: str, part: bool) -> bool:
    """Return whether README, doctor and the tests pass in an environment; print what failed."""
    begun, log = time.monotonic(), BUILD / f"{name}.log"
    python = BUILD / name / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    tests: tuple[str, ...] = ("-n", "auto", "--dist", "worksteal", "--speed", "quick")
    if part:
        environment["STICTION_KERNELS"] = "plain"
        tests = ("-p", "no:cacheprovider", "--speed", "quick", *PART)
    # an old library may call what has been deprecated below it since; users do not see that
    old = ("-W", "ignore::DeprecationWarning") if name.endswith("oldest") else ()
    readme = (*old, "tests/examples/test_pages.py", "-k", "README or shown or dynamicist")
    bad = []
    with tempfile.TemporaryDirectory() as folder, log.open("w") as out:
        todo = [("stiction doctor", folder, ["-m", "stiction", "doctor"])]
        todo += [(" ".join(c), folder, ["-m", "stiction", *c]) for c in commands()]
        todo += [("README", ROOT, ["-m", "pytest", *readme])] if part else []
        todo += [("tests", ROOT, ["-m", "pytest", *old, *tests])]
        for what, where, words in todo:
            print(f"\n==== {what}", file=out, flush=True)
            done = subprocess.run(
                [python, *words], cwd=where, env=environment, stdout=out, stderr=out, check=False
            )
            if done.returncode:
                bad.append(what)
    took = time.monotonic() - begun
    print(f"{name}: {'failed: ' + ', '.join(bad) if bad else 'passed'}, {took:.0f} s", flush=True)
    print("\n".join(log.read_text("utf-8").splitlines()[-60 if bad else -1 :]), flush=True)
    return not bad


def commands() -> Iterator[list[str]]:
    """Return the commands of README and of a first page, which end by themselves."""
    pages = ("README.md", "docs/learn/dynamicist.md")
    text = "\n".join((ROOT / page).read_text("utf-8") for page in pages)
    for line in re.findall(r"^(?:\$ |\.venv/bin/)stiction (.*)$", text, re.MULTILINE):
        yield shlex.split(line, comments=True)


# ---- versions


def bounds() -> dict[str, str]:
    """Return the lower bound of each library that the package needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return dict(line.split(">=") for line in project["dependencies"])


def oldest_file(python: str) -> Path:
    """Return where the oldest versions for a Python are listed."""
    return ROOT / "tools" / f"oldest-{python}.txt"


def write_oldest(python: str) -> None:
    """Write for each library the oldest allowed version that has a wheel for this Python."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interpreter(python), "-m", "venv", folder], check=True)
        own = Path(folder) / "bin" / "python"
        lines = [f"{name}=={_oldest(own, name, bound)}" for name, bound in bounds().items()]
    head = f"# the oldest allowed that have wheels for Python {python}: tools/matrix.py --oldest"
    oldest_file(python).write_text("\n".join([head, *lines, ""]), "utf-8")


def _oldest(python: Path, name: str, bound: str) -> str:
    # pip lists what has a wheel for this Python where it finds no release that was asked for
    dry = ("install", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:")
    words = [python, *PIP, *dry, f"{name}==0"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    listed = re.search(r"from versions: ([^)]*)", said)
    versions = [v.strip() for v in listed[1].split(",")] if listed else []
    allowed = [v for v in versions if re.fullmatch(r"[\d.]+", v) and _numbers(v) >= _numbers(bound)]
    if not allowed:
        raise SystemExit(f"matrix: no release of {name} from {bound} on has a wheel; pip: {said}")
    return min(allowed, key=_numbers)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def write_tried() -> None:
    """Write down the newest versions, which have passed."""
    python = BUILD / EVERY[-1] / "bin" / "python"
    asks = (
        "import importlib.metadata, platform, sys\n"
        "print('python', platform.python_version())\n"
        "for name in sys.argv[1:]: print(name, importlib.metadata.version(name))\n"
    )
    said = subprocess.run(
        [python, "-c", asks, *bounds()], capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split() for line in said.splitlines())
    table = "".join(f'    "{name}": "{version}",\n' for name, version in found.items())
    text = PROVENANCE.read_text("utf-8")
    made = re.sub(r"TRIED = \{\n.*?\}", lambda _: f"TRIED = {{\n{table}}}", text, flags=re.DOTALL)
    PROVENANCE.write_text(made, "utf-8")


if __name__ == "__main__":
    sys.exit(main())

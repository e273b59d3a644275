"""The checks of `stiction doctor`: each one tries a part of the installation and reports it.

A check solves a small system, compiles a small function, or writes a small file. Only temporary
files are written. `examine` calls each check, which yields rows (name, state, value, advice), and
makes a `Finding` of each row. `stiction doctor` shows the findings.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import platform
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from stiction._extensions import GROUPS
from stiction.catalogue import CATALOGUE, module_outside, outside
from stiction.core.files import UNREADABLE
from stiction.core.provenance import TRIED, is_untried, release
from stiction.doctor.finding import FAULT, NOTE, OK, Finding
from stiction.errors import ExtensionWarning, StictionError
from stiction.numerics.checks import cores_of_process

__all__ = ["examine"]

# (name, state, value, advice) of a finding; the name of the check function is its part
Row = tuple[Any, ...]

_PACKAGE = Path(__file__).resolve().parents[1]
_THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")]
_FAILURES = (*UNREADABLE, StictionError, ImportError)
# less free disk space or memory is reported [bytes]
_LEAST_FREE = 1e9
_EXTRAS = {
    "pardiso": "a fast sparse solver for solids, x86-64 only",
    "amg": "solids of more than 10^5 unknowns",
    "explore": "a page with sliders on this machine",
    "mesh": "meshes of solids from files",
    "viz3d": "rods as tubes",
    "cluster": "studies on many machines",
    "fmi": "chains for other simulators",
    "zarr": "other programs that read a study",
}
_REQUIREMENT = re.compile(r"^([\w.-]+)\s*(?:\[[\w,.-]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$")


def examine() -> list[Finding]:
    """Check this machine and return the findings, part by part.

    Only temporary files are written, and no network is used.

    Verified by: tests/unit/doctor/test_doctor.py::test_a_complete_installation
    """
    findings: list[Finding] = []
    for check in (versions, machine, threads, solvers, kernels, files, figures, extras, extensions):
        try:
            findings.extend(Finding(check.__name__, *row) for row in check())
        except ImportError as error:
            # a missing or broken package must not hide further faults
            words, advice = str(error), "install it again"
            findings.append(Finding(check.__name__, "import", FAULT, words, advice))
    return findings


def _fault_if(bad: bool, name: str, value: str, advice: str) -> Row:
    """Return a row of a finding: a note with advice if `bad`, else OK."""
    return (name, NOTE, value, advice) if bad else (name, OK, value)


def _attempt(name: str, attempt: Callable[[], str], advice: str) -> Row:
    """Return a row with the text that an attempt returns; a fault with advice if it raises."""
    try:
        return name, OK, attempt()
    except _FAILURES as error:
        return name, FAULT, str(error).partition("\n")[0], advice


# ---- packages


def versions() -> Iterator[Row]:
    """Report Python, this package and every package that it needs."""
    python = platform.python_version()
    ours = importlib.metadata.version("stiction")
    yield "stiction", OK, f"{ours} for Python {python}"
    if is_untried("python", python):
        yield _version_status("Python", "python", python)
    yield "installed in", OK, f"{sys.executable}, {_PACKAGE}"
    yield from (_package(name, bound) for name, bound, extra in _requirements() if not extra)


def extras() -> Iterator[Row]:
    """Report every extra that a user may want: whether it is installed, and its purpose."""
    every = list(_requirements())
    for extra, what in _EXTRAS.items():
        packages = [_package(name, bound) for name, bound, of in every if of == extra]
        there = packages and all(state == OK for _, state, *_ in packages)
        words = ", ".join(f"{name} {value}" for name, _, value, *_ in packages)
        value = f"{words if there else 'not installed'}: {what}"
        yield _fault_if(not there, extra, value, f'pip install "stiction[{extra}]"')


def extensions() -> Iterator[Row]:
    """Report laws and systems of other packages: whether they can be imported."""
    for kind in GROUPS:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ExtensionWarning)
            for name, entry in sorted(outside(kind).items()):
                if module_outside(kind, name):
                    yield name, OK, f"{CATALOGUE[kind].article} of {entry.distribution}"
        for one in said:
            yield GROUPS[kind], FAULT, str(one.message).partition("\n")[0]


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Yield the requirements of the package: (name, bound such as ">=2.0", extra or "")."""
    for line in importlib.metadata.requires("stiction") or ():
        if match := _REQUIREMENT.match(line):
            marker = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", match[3] or "")
            yield match[1], match[2].strip(), marker[1] if marker else ""


def _package(name: str, bound: str) -> Row:
    """Return a row for a required package: a fault if it is missing or too old."""
    version, advice = _version(name), f'pip install "{name}{bound}"'
    if not version:
        return name, FAULT, "is not installed", advice
    least = re.search(r">=\s*([\d.]+)", bound)
    if least and release(version) < release(least[1]):
        return name, FAULT, f"{version}, needs {bound}", advice
    return (
        _version_status(name, name, version) if is_untried(name, version) else (name, OK, version)
    )


def _version_status(name: str, known: str, version: str) -> Row:
    """Return a note that a version is later than the tested one."""
    words = f"{version}, later than the tested version {TRIED[known]}"
    return name, NOTE, words, "repeat a run with known results, and report differences"


def _version(name: str) -> str:
    """Return the version of a package; "" if it is not installed."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return ""


# ---- the machine


def machine() -> Iterator[Row]:
    """Report the system, memory, disk and the current folder."""
    processor = _proc("cpuinfo", r"model name\s*:\s*(.+)")
    processor = processor or platform.processor() or platform.machine()
    yield "system", OK, f"{platform.platform()}, {processor}"
    if free := 1024 * int(_proc("meminfo", r"MemAvailable:\s*(\d+)") or 0):
        advice = "solids of 10^5 unknowns and studies need more"
        yield _fault_if(free < _LEAST_FREE, "free memory", f"{free / 1e9:.1f} GB", advice)
    try:
        here = Path.cwd()
        disk = shutil.disk_usage(here).free
    except OSError as error:
        why = error.strerror or error
        yield "this folder", FAULT, f"cannot be read: {why}", "change to another folder"
        return
    advice = "runs of solids and studies need more"
    yield _fault_if(disk < _LEAST_FREE, "free disk", f"{disk / 1e9:.1f} GB, here", advice)

    def written() -> str:
        try:
            with tempfile.TemporaryFile(dir=here):
                return f"{here} can be written"
        except OSError as error:
            why = error.strerror or error
            raise OSError(f"{here} cannot be written: {why}") from error

    advice = "results go to a folder `out` here; use --out DIR, or another folder"
    yield _attempt("this folder", written, advice)


def _proc(file: str, pattern: str) -> str:
    """Return the match of a pattern in a file of /proc, "" if there is none."""
    with contextlib.suppress(OSError):
        if match := re.search(pattern, Path("/proc", file).read_text(encoding="utf-8")):
            return match[1].strip()
    return ""


def threads() -> Iterator[Row]:
    """Report cores, and inconsistent limits on threads."""
    every = os.cpu_count() or 1
    ours = cores_of_process()
    yield "cores", OK, f"{ours}" + ("" if ours == every else f", of {every} in this machine")
    given = {name: os.environ[name] for name in _THREADS if name in os.environ}
    words = ", ".join(f"{name}={value}" for name, value in given.items())
    yield "limits", OK, words or "none set"
    for name, value in given.items():
        # OpenMP takes one number for each level of nested regions, as in 2,1
        counts = value.split(",") if name.startswith("OMP") else [value]
        if value and not all(count.isdigit() and int(count) >= 1 for count in counts):
            yield name, FAULT, repr(value), "give a whole number from 1"
        elif value and int(counts[0]) > ours:
            # more threads than cores make the solvers slower, not faster
            yield name, NOTE, f"{value} threads on {ours} cores", "give fewer"


# ---- solvers and kernels


def solvers() -> Iterator[Row]:
    """Report sparse solvers; each installed one solves a small linear system."""
    from stiction.numerics.direct.pardiso import installed
    from stiction.numerics.linear_solvers import Multigrid, Pardiso, SuperLU

    fast = 'pip install "stiction[pardiso]" makes large solids faster (x86-64 only)'
    large = 'pip install "stiction[amg]" for solids of more than 10^5 unknowns'
    for name, solver, there, advice in (
        ("SuperLU", SuperLU, True, ""),
        ("PARDISO", Pardiso, installed(), fast),
        ("multigrid", Multigrid, _version("pyamg"), large),
    ):
        tried = _attempt(name, partial(_solved, solver), "install it again") if there else ()
        yield tried or (name, NOTE, "not installed", advice)


def _solved(solver: Callable[[], Any]) -> str:
    """Return the error of a solver on a system of 100 unknowns."""
    import numpy as np
    from scipy.sparse import csr_matrix, diags_array

    n = 100
    matrix = csr_matrix(diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)))  # type: ignore[call-overload,unused-ignore]
    wanted = np.linspace(1.0, 2.0, n)
    solution = solver().start().factorise(matrix).solve(matrix @ wanted)
    off = float(np.abs(solution - wanted).max())
    if not off <= 1e-10:
        raise ArithmeticError(f"is wrong by {off:.1e}")
    return f"solves {n} unknowns to {off:.0e}"


def kernels() -> Iterator[Row]:
    """Report the cache of compiled kernels, the compiled systems, and a test of the compiler."""
    from stiction.numerics.compiling import folders

    source = str(_PACKAGE / "__init__.py")
    if (folder := folders.folder_for(source)) is None:
        advice = "every process compiles again; set STICTION_CACHE_DIR to a folder of yours"
        yield "cached in", FAULT, folders.why_unusable(source), advice
    else:
        size = sum(p.stat().st_size for p in folder.glob("*") if p.is_file())
        words = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
        yield "cached in", OK, f"{folder} and beside other sources, {words}"
    if any(folders.PACKAGED.glob("*")):
        yield "packaged", OK, f"came with the package, {folders.PACKAGED}"
    if given := os.environ.get("STICTION_KERNELS"):
        yield "STICTION_KERNELS", OK, given
    for name in folders.systems():
        ready = folders.is_ready(name)
        words = "compiled" if ready else "not compiled ahead of time"
        advice = f"`stiction compile {name}` compiles all kernels; runs compile those they need"
        yield _fault_if(not ready, name, words, advice)
    yield _attempt("compiler", _compiled, "install Numba again")


def _compiled() -> str:
    """Compile a small function with Numba and check its result."""
    import numba

    def sum_of_squares(n: int) -> float:
        total = 0.0
        for i in range(n):
            total += float(i) * float(i)
        return total

    compiler: Any = numba
    try:
        right = compiler.njit(sum_of_squares)(10) == sum_of_squares(10)
    except numba.core.errors.NumbaError as error:
        raise RuntimeError(str(error)) from error
    if not right:
        raise ArithmeticError("compiled code gives a wrong result")
    return f"works, Numba {numba.__version__}"


# ---- files and figures


def files() -> Iterator[Row]:
    """Report whether a small NetCDF file is read as it was written."""
    import h5netcdf
    import h5py
    import numpy as np

    def read_back() -> str:
        wanted = np.linspace(0.0, 1.0, 7)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "check.nc")
            with h5netcdf.File(path, "w") as file:
                file.dimensions = {"time": wanted.size}
                file.create_variable("x", ("time",), data=wanted)
            with h5netcdf.File(path, "r") as file:
                if not (file.variables["x"][...] == wanted).all():
                    raise ArithmeticError("reads other numbers")
        return f"written and read back, HDF5 {h5py.version.hdf5_version}"

    yield _attempt("NetCDF", read_back, "free space in /tmp, or install h5py again")


def figures() -> Iterator[Row]:
    """Report fonts, whether a figure can be drawn, and what animations need."""
    import matplotlib
    from matplotlib import font_manager

    name = Path(font_manager.findfont(font_manager.FontProperties())).stem
    known = len(font_manager.fontManager.ttflist)
    yield "fonts", OK, f"{name}, of {known} that Matplotlib knows"
    cache = matplotlib.get_cachedir()
    advice = (
        "set MPLCONFIGDIR to a writable folder; otherwise Matplotlib searches fonts at every start"
    )
    yield _fault_if(not os.access(cache, os.W_OK), "font cache", cache, advice)
    yield _attempt("PNG", _drawn, "install Matplotlib again")
    program, advice = shutil.which("ffmpeg"), "only --animate mp4 needs ffmpeg; html and gif do not"
    yield _fault_if(not program, "ffmpeg", program or "not found", advice)


def _drawn() -> str:
    """Draw a small figure in the style of runs."""
    from stiction.plot.style import colour_bar, many_colours, new_figure

    buffer = io.BytesIO()
    figure = new_figure(1.0, 1.0)
    figure.text(0.5, 0.5, "µ")
    colour_bar(figure.add_subplot(), many_colours(), (0.0, 1.0), "mass", "kg")
    figure.savefig(buffer, format="png")
    if not buffer.getvalue().startswith(b"\x89PNG"):
        raise ArithmeticError("not drawn")
    return f"drawn, {buffer.tell()} bytes"

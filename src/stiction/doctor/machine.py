"""The checks of `stiction doctor`: each tries what it tells of, and none changes anything."""

from __future__ import annotations

import importlib.metadata
import io
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stiction.core.provenance import is_untried
from stiction.doctor.extras import core, extras, untried
from stiction.doctor.finding import FAULT, NOTE, OK, Finding

__all__ = ["examine"]

_PACKAGE = Path(__file__).resolve().parents[1]
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_LEAST_FREE = 1e9  # bytes of disk and of memory below which it is told


def examine() -> list[Finding]:
    """Return what was found on this machine, part by part.

    Nothing is written but temporary files, and nothing is asked of a network.

    Verified by: tests/unit/doctor/test_doctor.py::test_a_sound_machine
    """
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _versions,
        _machine,
        _threads,
        _solvers,
        _kernels,
        _files,
        _figures,
        extras,
    )
    findings: list[Finding] = []
    for check in checks:
        try:
            findings.extend(check())
        except ImportError as error:
            # a package that is absent or broken must not hide what else is wrong
            part = check.__name__.strip("_")
            findings.append(Finding(part, "import", FAULT, str(error), "install it again"))
    return findings


def _versions() -> Iterator[Finding]:
    where = f"{sys.executable}, {_PACKAGE}"
    ours = importlib.metadata.version("stiction")
    yield Finding("versions", "stiction", OK, f"{ours} for Python {platform.python_version()}")
    python = platform.python_version()
    if is_untried("python", python):
        yield Finding("versions", "Python", NOTE, *untried("python", python))
    yield Finding("versions", "installed in", OK, where)
    yield from core()


# ---- the machine


def _machine() -> Iterator[Finding]:
    yield Finding("machine", "system", OK, f"{platform.platform()}, {_processor()}")
    free = _free_memory()
    if free:
        low = free < _LEAST_FREE
        advice = "solids of 10^5 unknowns and studies need more" if low else ""
        state = NOTE if low else OK
        yield Finding("machine", "free memory", state, f"{free / 1e9:.1f} GB", advice)
    disk = shutil.disk_usage(Path.cwd()).free
    state, advice = OK, ""
    if disk < _LEAST_FREE:
        state, advice = NOTE, "runs of solids and studies need more"
    yield Finding("machine", "free disk", state, f"{disk / 1e9:.1f} GB, here", advice)
    yield _writable()
    yield _graphics_card()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    return found or platform.processor() or platform.machine()


def _free_memory() -> int:
    """Return the memory that is free [bytes]; 0 if nobody says."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 0


def _writable() -> Finding:
    here = Path.cwd()
    try:
        with tempfile.TemporaryFile(dir=here):
            pass
    except OSError as error:
        what = f"{here} cannot be written: {error.strerror or error}"
        advice = "results go to a folder `out` here; use --out DIR, or another folder"
        return Finding("machine", "this folder", FAULT, what, advice)
    return Finding("machine", "this folder", OK, f"{here} can be written")


def _graphics_card() -> Finding:
    advice = "only ensembles of wheels use one; all else runs without"
    try:
        importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        return Finding("machine", "graphics card", NOTE, "not looked for", advice)
    from numba import cuda

    if cuda.is_available():
        name = cuda.get_current_device().name
        words = name.decode() if isinstance(name, bytes) else str(name)
        return Finding("machine", "graphics card", OK, words)
    return Finding("machine", "graphics card", NOTE, "none that CUDA can use", advice)


# ---- threads


def _threads() -> Iterator[Finding]:
    every = os.cpu_count() or 1
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    share = "" if ours == every else f", of {every} in this machine"
    yield Finding("threads", "cores", OK, f"{ours}{share}")
    given = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    yield Finding("threads", "limits", OK, ", ".join(given) or "none set")
    # more threads than cores make the solvers slower, not faster
    for name in _THREADS:
        value = os.environ.get(name, "")
        if value and not (value.isdigit() and int(value) >= 1):
            yield Finding("threads", name, FAULT, repr(value), "give a whole number from 1")
        elif value and int(value) > ours:
            yield Finding("threads", name, NOTE, f"{value} threads on {ours} cores", "give fewer")


# ---- solvers


def _solvers() -> Iterator[Finding]:
    from stiction.numerics.direct.pardiso import installed
    from stiction.numerics.linear_solvers import Multigrid, Pardiso, SuperLU

    yield _solved("SuperLU", SuperLU)
    if not installed():
        advice = 'pip install "stiction[pardiso]" makes large solids faster (x86-64 only)'
        yield Finding("solvers", "PARDISO", NOTE, "not installed", advice)
    else:
        yield _solved("PARDISO", Pardiso)
    try:
        importlib.metadata.version("pyamg")
    except importlib.metadata.PackageNotFoundError:
        advice = 'pip install "stiction[amg]" for solids of more than 10^5 unknowns'
        yield Finding("solvers", "multigrid", NOTE, "not installed", advice)
    else:
        yield _solved("multigrid", Multigrid)


def _solved(name: str, solver: Callable[[], object]) -> Finding:
    """Return whether a solver gives the right answer to a small problem of 100 unknowns."""
    import numpy as np
    from scipy.sparse import diags_array

    from stiction.errors import StictionError

    n = 100
    matrix = diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()  # type: ignore[call-overload,unused-ignore]
    wanted = np.linspace(1.0, 2.0, n)
    try:
        from scipy.sparse import csr_matrix

        factors = solver().start().factorise(csr_matrix(matrix))  # type: ignore[attr-defined]
        off = float(np.abs(factors.solve(matrix @ wanted) - wanted).max())
    except (StictionError, OSError, ImportError, ArithmeticError) as error:
        what = str(error).partition("\n")[0]
        return Finding("solvers", name, FAULT, what, "install it again")
    if not off <= 1e-10:
        return Finding("solvers", name, FAULT, f"is wrong by {off:.1e}", "install it again")
    return Finding("solvers", name, OK, f"solves 100 unknowns to {off:.0e}")


# ---- kernels


def _kernels() -> Iterator[Finding]:
    from stiction.numerics.compiling.folders import (
        PACKAGED,
        folder_for,
        is_ready,
        systems,
        why_unusable,
    )

    source = str(_PACKAGE / "__init__.py")
    folder = folder_for(source)
    if folder is None:
        advice = "every run compiles anew; set STICTION_CACHE_DIR to a folder of yours"
        yield Finding("kernels", "kept in", FAULT, why_unusable(source), advice)
    else:
        size = sum(p.stat().st_size for p in folder.glob("*") if p.is_file())
        yield Finding("kernels", "kept in", OK, f"{folder} and beside other sources, {_size(size)}")
    if any(PACKAGED.glob("*")):
        yield Finding("kernels", "packaged", OK, f"came with the package, {PACKAGED}")
    given = os.environ.get("STICTION_KERNELS", "")
    if given:
        yield Finding("kernels", "STICTION_KERNELS", OK, given)
    for name in systems():
        if is_ready(name):
            yield Finding("kernels", name, OK, "compiled")
        else:
            advice = f"`stiction compile {name}` does it once, runs do it by themselves"
            yield Finding("kernels", name, NOTE, "not compiled beforehand", advice)
    yield _compiles()


def _compiles() -> Finding:
    """Return whether Numba makes machine code here that is right."""
    import numba

    try:
        compiler: Any = numba
        made = compiler.njit(_sum_of_squares)
        right = made(10) == _sum_of_squares(10)
    except (numba.core.errors.NumbaError, OSError, RuntimeError) as error:
        return Finding("kernels", "compiler", FAULT, str(error).partition("\n")[0], "install Numba")
    if not right:
        return Finding("kernels", "compiler", FAULT, "makes wrong code", "install Numba again")
    return Finding("kernels", "compiler", OK, f"works, Numba {numba.__version__}")


def _sum_of_squares(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += float(i) * float(i)
    return total


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


# ---- files and figures


def _files() -> Iterator[Finding]:
    """Tell whether a small NetCDF file comes back as it was written."""
    import h5netcdf
    import h5py
    import numpy as np

    wanted = np.linspace(0.0, 1.0, 7)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "check.nc")
            with h5netcdf.File(path, "w") as file:
                file.dimensions = {"time": wanted.size}
                file.create_variable("x", ("time",), data=wanted)
            with h5netcdf.File(path, "r") as file:
                same = bool((file.variables["x"][...] == wanted).all())
    except OSError as error:
        yield Finding("files", "NetCDF", FAULT, str(error).partition("\n")[0], "free /tmp, or h5py")
        return
    words = f"written and read back, HDF5 {h5py.version.hdf5_version}"
    if same:
        yield Finding("files", "NetCDF", OK, words)
    else:
        yield Finding("files", "NetCDF", FAULT, "reads other numbers", "install h5py again")


def _figures() -> Iterator[Finding]:
    import matplotlib
    from matplotlib import font_manager

    name = Path(font_manager.findfont(font_manager.FontProperties())).stem
    known = len(font_manager.fontManager.ttflist)
    yield Finding("figures", "fonts", OK, f"{name}, of {known} that Matplotlib knows")
    cache = matplotlib.get_cachedir()
    writable = os.access(cache, os.W_OK)
    advice = "" if writable else "set MPLCONFIGDIR, or fonts are searched at every start"
    yield Finding("figures", "font cache", OK if writable else NOTE, cache, advice)
    yield _drawn()
    if (program := shutil.which("ffmpeg")) is None:
        advice = "only --animate mp4 needs it; html and gif do not"
        yield Finding("figures", "ffmpeg", NOTE, "not found", advice)
    else:
        yield Finding("figures", "ffmpeg", OK, program)


def _drawn() -> Finding:
    """Return whether a figure made as those of runs are becomes a picture."""
    from stiction.plot.style import colour_bar, many_colours, new_figure

    buffer = io.BytesIO()
    try:
        figure = new_figure(1.0, 1.0)
        figure.text(0.5, 0.5, "µ")
        colour_bar(figure.add_subplot(), many_colours(), (0.0, 1.0), "mass", "kg")
        figure.savefig(buffer, format="png")
    except (TypeError, ValueError, AttributeError) as error:
        # a release that has another interface
        advice = "install Matplotlib again"
        return Finding("figures", "PNG", FAULT, str(error).partition("\n")[0], advice)
    drawn = buffer.getvalue().startswith(b"\x89PNG")
    words = f"drawn, {buffer.tell()} bytes" if drawn else "not drawn"
    return Finding("figures", "PNG", OK if drawn else FAULT, words)

"""Kernels that a package brings: for a kind of processor, and left aside where they do not fit."""

import os
import platform
import shutil
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the kind under test is x86-64-v3"
)

MODULE = """
    from stiction.numerics.jit import kernel

    @kernel(separate=True)
    def low(x):
        return x * x

    @kernel
    def high(a):
        sum_ = 0.0
        for i in range(a.size):
            sum_ += low(a[i])
        return sum_
"""
CALL = """
import sys
from pathlib import Path
from stiction.numerics.compiling import folders
folders.PACKAGED = Path("packaged").resolve()
{before}
import numba.core.event as ev
import numpy as np
with ev.install_recorder("numba:compile") as seen:
    from toy import high
    print(high(np.arange(4.0)), sum(e.is_start for _, e in seen.buffer))
"""
OLDER = """
from llvmlite import binding
real = binding.get_host_cpu_features

def older():
    found = real()
    found.update(avx2=False, avx512f=False)
    return found

binding.get_host_cpu_features = older
"""


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    """A folder with a module and, packaged, its kernels."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "toy.py").write_text(textwrap.dedent(MODULE))
    saved = folder / "packaged" / "x86-64-v3"
    saved.mkdir(parents=True)
    answer, compiled, _ = call(
        folder,
        STICTION_CACHE_DIR=str(saved),
        STICTION_TARGET="x86-64-v3",
        NUMBA_CPU_NAME="x86-64-v3",
        NUMBA_CPU_FEATURES="",
    )
    assert (answer, compiled) == (14.0, 2)
    for path in saved.glob("*.inner"):
        path.unlink()
    return folder


@pytest.fixture
def package(compiled_once, tmp_path):
    """A copy of that folder, to change."""
    return shutil.copytree(compiled_once, tmp_path, dirs_exist_ok=True)


def call(folder, before="", **variables):
    """Return what a fresh process computes, how many kernels it compiles, and what it says."""
    saved = {k: v for k, v in os.environ.items() if not k.startswith(("STICTION_", "NUMBA_"))}
    saved["STICTION_CACHE_DIR"] = str(folder / "own")
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(before=before)],
        cwd=folder,
        env={**saved, "STICTION_KERNELS": "compiled", **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer, compiled = done.stdout.split()
    return float(answer), int(compiled), done.stderr


def test_packaged_kernels_are_taken(package):
    assert call(package) == (14.0, 0, "")
    assert not list((package / "own").glob("*.kernel"))


def test_they_work_from_another_folder(package, tmp_path_factory):
    moved = tmp_path_factory.mktemp("elsewhere") / "package"
    package.rename(moved)
    os.utime(moved / "toy.py")
    assert call(moved) == (14.0, 0, "")


def test_an_older_processor_compiles(package):
    assert call(package, OLDER) == (14.0, 2, "")
    # its own kernels serve it the next time
    assert call(package, OLDER) == (14.0, 0, "")


def test_a_processor_that_the_user_names_compiles(package):
    assert call(package, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="")[:2] == (14.0, 2)


def test_sources_that_were_edited_compile(package):
    source = package / "toy.py"
    source.write_text(source.read_text().replace("x * x", "x + x"))
    assert call(package) == (12.0, 2, "")


def test_a_folder_that_others_may_write_to_is_left_aside(package):
    (package / "packaged" / "x86-64-v3").chmod(0o777)
    assert call(package)[:2] == (14.0, 2)


def test_a_truncated_kernel_is_reported_and_compiled(package):
    for path in (package / "packaged" / "x86-64-v3").glob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-10])
    answer, compiled, said = call(package)
    assert (answer, compiled) == (14.0, 2)
    assert "a damaged kernel is compiled again" in said

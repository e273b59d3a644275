"""`stiction doctor` on machines that are made up: each line by its words."""

import importlib.metadata
import os
from types import SimpleNamespace

import numpy as np
import pytest

from stiction.doctor import FAULT, NOTE, OK, Finding, checks
from stiction.errors import StictionError
from stiction.numerics.compiling import folders


def rows(check):
    return {row[0]: row[1:] for row in check()}


@pytest.mark.parametrize(
    ("every", "allowed", "words"),
    [
        (8, range(8), "8"),
        (8, range(3), "3, of 8 in this machine"),
        # a system that does not know has one
        (None, range(1), "1"),
        (None, None, "1"),
        (6, None, "6"),
    ],
)
def test_cores(monkeypatch, every, allowed, words):
    monkeypatch.setattr(os, "cpu_count", lambda: every)
    if allowed is None:
        monkeypatch.delattr(os, "sched_getaffinity")
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(allowed), raising=False)
    for name in checks._THREADS:
        monkeypatch.delenv(name, raising=False)
    assert rows(checks.threads) == {"cores": (OK, words), "limits": (OK, "none set")}


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ("1", None),
        ("4", None),
        ("", None),
        ("5", (NOTE, "5 threads on 4 cores", "give fewer")),
        ("0", (FAULT, "'0'", "give a whole number from 1")),
        ("-1", (FAULT, "'-1'", "give a whole number from 1")),
        ("1.5", (FAULT, "'1.5'", "give a whole number from 1")),
    ],
)
def test_limits_on_threads(monkeypatch, value, row):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)), raising=False)
    for name in checks._THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", value)
    found = rows(checks.threads)
    assert found["limits"] == (OK, f"MKL_NUM_THREADS={value}")
    assert found.get("MKL_NUM_THREADS") == row


def test_limits_on_nested_threads(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)), raising=False)
    for value, state in (("2,1", None), ("8,1", NOTE), ("2,0", FAULT), ("2,", FAULT)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert rows(checks.threads).get("OMP_NUM_THREADS", (None,))[0] == state


def proc(memory, processor="Model of 1970"):
    texts = {"cpuinfo": f"model name\t: {processor}\n", "meminfo": f"MemAvailable:  {memory} kB\n"}
    return lambda file, pattern: (
        m[1].strip() if (m := checks.re.search(pattern, texts[file])) else ""
    )


@pytest.mark.parametrize(
    ("kilobytes", "disk", "memory_row", "disk_row"),
    [
        # 2 10^6 kB of 1024 bytes are 2.048 GB
        (2_000_000, 5_500_000_000, (OK, "2.0 GB"), (OK, "5.5 GB, here")),
        (500_000, 300_000_000, (NOTE, "0.5 GB"), (NOTE, "0.3 GB, here")),
    ],
)
def test_memory_and_disk(monkeypatch, kilobytes, disk, memory_row, disk_row):
    monkeypatch.setattr(checks, "_proc", proc(kilobytes))
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda here: SimpleNamespace(free=disk))
    found = rows(checks.machine)
    assert found["system"][1].endswith(", Model of 1970")
    assert found["free memory"][:2] == memory_row
    assert found["free disk"][:2] == disk_row
    assert len(found["free memory"]) == len(found["free disk"]) == (2 if memory_row[0] == OK else 3)
    assert found["this folder"] == (OK, f"{checks.Path.cwd()} can be written")


def test_a_machine_without_proc(monkeypatch):
    monkeypatch.setattr(checks, "_proc", lambda file, pattern: "")
    for processor, machine, reported in (("arm", "m1", "arm"), ("", "m1", "m1")):
        monkeypatch.setattr(checks.platform, "processor", lambda p=processor: p)
        monkeypatch.setattr(checks.platform, "machine", lambda m=machine: m)
        found = rows(checks.machine)
        assert found["system"][1].endswith(f", {reported}")
        assert "free memory" not in found


def test_what_proc_says(monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text("cpu\nmodel name : A 1 \nmodel name : B\n")
    monkeypatch.setattr(checks, "Path", lambda root, file: tmp_path / file)
    assert checks._proc("cpuinfo", r"model name\s*:\s*(.+)") == "A 1"
    assert checks._proc("cpuinfo", r"no such (\d)") == ""
    assert checks._proc("meminfo", r"(.+)") == ""


@pytest.mark.parametrize(
    ("version", "bound", "row"),
    [
        ("2.1", ">=2.0", (OK, "2.1")),
        ("2.0", ">=2.0", (OK, "2.0")),
        ("1.10", ">=1.9", (OK, "1.10")),
        ("1.9", ">=1.10", (FAULT, "1.9, needs >=1.10", 'pip install "other>=1.10"')),
        ("1.9", "", (OK, "1.9")),
        ("", ">=1", (FAULT, "is not installed", 'pip install "other>=1"')),
    ],
)
def test_versions_of_packages(monkeypatch, version, bound, row):
    monkeypatch.setattr(checks, "_version", lambda name: version)
    assert checks._package("other", bound) == ("other", *row)


def test_what_is_installed_is_asked_by_name():
    assert checks._version("numpy") == np.__version__
    assert checks._version("nothing-of-the-kind") == ""


def test_requirements_are_read(monkeypatch):
    asked = ["a>=1.0", "b[x,y] (<3)", 'c>=2; extra == "mesh"', "d", "!broken"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: asked)
    reported = [("a", ">=1.0", ""), ("b", "<3", ""), ("c", ">=2", "mesh"), ("d", "", "")]
    assert list(checks._requirements()) == reported
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: None)
    assert list(checks._requirements()) == []


def test_extras_are_there_if_all_of_them_are(monkeypatch):
    asked = [(name, "", extra) for name, extra in (("a", "mesh"), ("b", "mesh"), ("c", "amg"))]
    monkeypatch.setattr(checks, "_requirements", lambda: asked)
    monkeypatch.setattr(checks, "_version", {"a": "1", "b": "", "c": "3"}.get)
    found = rows(checks.extras)
    mesh = "not installed: meshes of solids from files"
    assert found["mesh"] == (NOTE, mesh, 'pip install "stiction[mesh]"')
    assert found["amg"] == (OK, "c 3: solids of more than 10^5 unknowns")
    # one that asks for nothing is not there
    assert found["zarr"][0] == NOTE


def test_an_attempt_is_ok_or_a_fault_with_its_first_line():
    def fails():
        raise StictionError("no\nmore")

    assert checks._attempt("it", lambda: "works", "repair it") == ("it", OK, "works")
    assert checks._attempt("it", fails, "repair it") == ("it", FAULT, "no", "repair it")


@pytest.mark.parametrize("factor", [1.0, 1.0 + 1e-12, 1.0 + 1e-9, np.nan])
def test_a_solver_is_tried_on_a_known_solution(factor):
    # the largest of the wanted numbers is 2, so it is off by twice the relative error
    class Solver:
        def start(self):
            return self

        def factorise(self, matrix):
            self.matrix = matrix.toarray()
            assert self.matrix.shape == (100, 100)
            return self

        def solve(self, b):
            return factor * np.linalg.solve(self.matrix, b)

    if factor - 1.0 < 1e-10:
        assert checks._solved(Solver).startswith("solves 100 unknowns to ")
    else:
        with pytest.raises(ArithmeticError, match=r"is wrong by (2\.0e-09|nan)"):
            checks._solved(Solver)


def test_solvers_that_are_absent_are_noted(monkeypatch):
    monkeypatch.setattr("stiction.numerics.direct.pardiso.installed", lambda: False)
    monkeypatch.setattr(checks, "_version", lambda name: "")
    found = rows(checks.solvers)
    assert found["SuperLU"][0] == OK
    for name, extra in (("PARDISO", "pardiso"), ("multigrid", "amg")):
        assert found[name][:2] == (NOTE, "not installed")
        assert f"stiction[{extra}]" in found[name][2]


@pytest.mark.parametrize(
    ("size", "words"), [(99_900, "99.9 kB"), (100_000, "0.1 MB"), (2_500_000, "2.5 MB")]
)
def test_kernels_are_listed_with_their_size_and_state(monkeypatch, tmp_path, size, words):
    saved = tmp_path / "saved"
    (saved / "folder").mkdir(parents=True)
    (saved / "a").write_bytes(b"\0" * 900)
    (saved / "b").write_bytes(b"\0" * (size - 900))
    monkeypatch.setattr(folders, "folder_for", lambda source: saved)
    monkeypatch.setattr(folders, "PACKAGED", tmp_path / "none")
    monkeypatch.setattr(folders, "systems", lambda: {"chains": 0, "rods": 0})
    monkeypatch.setattr(folders, "is_ready", lambda name: name == "rods")
    monkeypatch.setattr(checks, "_compiled", lambda: "works")
    monkeypatch.delenv("STICTION_KERNELS", raising=False)
    found = rows(checks.kernels)
    assert found == {
        "cached in": (OK, f"{saved} and beside other sources, {words}"),
        "chains": (
            NOTE,
            "not compiled ahead of time",
            "`stiction compile chains` compiles all kernels; runs compile those they need",
        ),
        "rods": (OK, "compiled"),
        "compiler": (OK, "works"),
    }
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "index").write_bytes(b"")
    monkeypatch.setenv("STICTION_KERNELS", "plain")
    found = rows(checks.kernels)
    assert found["packaged"] == (OK, f"came with the package, {tmp_path / 'none'}")
    assert found["STICTION_KERNELS"] == (OK, "plain")


def test_files_that_read_other_numbers_are_a_fault(monkeypatch):
    import h5netcdf

    assert rows(checks.files)["NetCDF"][0] == OK

    class Other(h5netcdf.File):
        def create_variable(self, name, dimensions, *, data):
            return super().create_variable(name, dimensions, data=np.append(data[:-1], 2.0))

    monkeypatch.setattr(h5netcdf, "File", Other)
    state, words, _ = rows(checks.files)["NetCDF"]
    assert (state, words) == (FAULT, "reads other numbers")


@pytest.mark.parametrize("there", [True, False])
def test_programs_and_caches_of_figures(monkeypatch, there):
    monkeypatch.setattr(checks.shutil, "which", lambda name: "/bin/ffmpeg" if there else None)
    monkeypatch.setattr(checks.os, "access", lambda path, mode: there)
    monkeypatch.setattr(checks, "_drawn", lambda: "drawn")
    found = rows(checks.figures)
    assert found["PNG"] == (OK, "drawn")
    assert found["ffmpeg"][:2] == ((OK, "/bin/ffmpeg") if there else (NOTE, "not found"))
    assert found["font cache"][0] == (OK if there else NOTE)
    assert "that Matplotlib knows" in found["fonts"][1]


def test_a_picture_is_one(monkeypatch):
    assert checks._drawn().startswith("drawn, ")
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda self, file, format: file.write(b"GIF")
    )
    with pytest.raises(ArithmeticError, match="not drawn"):
        checks._drawn()


def test_lines_of_a_finding():
    found = Finding("machine", "free disk", NOTE, "0.1 GB, here", "make room")
    assert found.lines(80) == ["- free disk         0.1 GB, here; make room"]
    # a screen that is too narrow still has twenty letters for the words
    assert found.lines(10) == ["- free disk         0.1 GB, here; make", " " * 20 + "room"]
    assert Finding("p", "n", OK, "").lines(80) == ["  n"]
    assert Finding("p", "n", OK, "a-b " + "x" * 50).lines(40) == [
        "  n                 a-b",
        " " * 20 + "x" * 50,
    ]


def test_what_is_asked_for_extras_is_no_part_of_the_package(monkeypatch):
    asked = [("a", ">=1", ""), ("b", ">=1", "mesh")]
    monkeypatch.setattr(checks, "_requirements", lambda: asked)
    monkeypatch.setattr(checks, "_version", lambda name: "1.5")
    found = rows(checks.versions)
    assert found["a"] == (OK, "1.5")
    assert "b" not in found
    home = checks.Path(checks.importlib.import_module("stiction").__file__).parent
    assert found["installed in"] == (OK, f"{checks.sys.executable}, {home}")


def test_a_release_that_is_too_new_is_named(monkeypatch):
    monkeypatch.setitem(checks.TRIED, "other", "1.4")
    monkeypatch.setattr(checks, "_version", lambda name: "1.5")
    reported = "1.5, later than the tested version 1.4"
    advice = "repeat a run with known results, and report differences"
    assert checks._package("other", ">=1.0") == ("other", NOTE, reported, advice)
    assert checks._version_status("Other", "other", "1.5") == ("Other", NOTE, reported, advice)


def test_a_folder_that_is_gone_is_a_fault(monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(checks.Path, "cwd", gone)
    words = "cannot be read: No such file or directory"
    assert rows(checks.machine)["this folder"][:2] == (FAULT, words)


@pytest.mark.parametrize(
    ("error", "why"), [(OSError(13, "denied"), "denied"), (OSError("odd"), "odd")]
)
def test_a_folder_that_cannot_be_written_says_why(monkeypatch, error, why):
    def closed(dir):
        raise error

    monkeypatch.setattr(checks.tempfile, "TemporaryFile", closed)
    state, words, _ = rows(checks.machine)["this folder"]
    assert (state, words) == (FAULT, f"{checks.Path.cwd()} cannot be written: {why}")

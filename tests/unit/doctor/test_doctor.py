"""`stiction doctor`: a valid machine, each fault that can be made, lines that fit."""

import dataclasses
import importlib.metadata
import json

import pytest

from stiction.core.provenance import TRIED
from stiction.doctor import FAULT, NOTE, OK, Finding, checks, examine, screen
from stiction.numerics import linear_solvers
from stiction.numerics.compiling import folders
from stiction.plot import style


@pytest.fixture(scope="module")
def findings():
    return examine()


def named(findings, name):
    return next(finding for finding in findings if finding.name == name)


def found_by(check):
    return [Finding(check.__name__, *row) for row in check()]


def test_a_complete_installation(findings):
    assert [finding for finding in findings if finding.state == FAULT] == []
    parts = list(dict.fromkeys(finding.part for finding in findings))
    assert parts == [
        "versions",
        "machine",
        "threads",
        "solvers",
        "kernels",
        "files",
        "figures",
        "extras",
    ]
    numpy = importlib.metadata.version("numpy")
    assert named(findings, "numpy") == Finding("versions", "numpy", OK, numpy)
    assert "solves 100 unknowns to" in named(findings, "SuperLU").value
    assert "works" in named(findings, "compiler").value
    # every extra that a user may want is there, with what it is for
    optional = {f.name for f in findings if f.part == "extras"}
    extras = {"pardiso", "amg", "mesh", "viz3d", "cluster", "fmi", "zarr", "explore"}
    assert optional == extras
    assert "meshes of solids" in named(findings, "mesh").value


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_screen_fits(findings, width):
    lines = screen(findings, width).splitlines()
    # what is in one piece, such as a path, may be longer
    assert all(len(line) <= width or " " not in line.strip()[18:].strip() for line in lines)
    assert lines[-1] == "no fault found"
    assert "versions" in lines


def test_faults_are_counted():
    good, bad = Finding("solvers", "SuperLU", OK, "works"), Finding("files", "disk", FAULT, "full")
    assert screen([good, bad], 80).splitlines() == [
        "solvers",
        "  SuperLU           works",
        "files",
        "! disk              full",
        "1 fault: files: disk",
    ]
    assert screen([bad, bad], 80).endswith("2 faults: files: disk, files: disk")


def test_old_and_absent_packages_are_faults(monkeypatch):
    asked = ["numpy>=99.0", "nothing-of-the-kind>=1", "scipy", 'numba>=99; extra == "amg"']
    monkeypatch.setattr(checks.importlib.metadata, "requires", lambda name: asked)
    *_, old, absent, any_version = found_by(checks.versions)
    assert (old.state, old.advice) == (FAULT, 'pip install "numpy>=99.0"')
    assert "needs >=99.0" in old.value
    assert (absent.state, absent.value) == (FAULT, "is not installed")
    assert any_version.state == OK
    amg = named(found_by(checks.extras), "amg")
    assert (amg.state, amg.advice) == (NOTE, 'pip install "stiction[amg]"')


def test_a_release_that_was_not_tried_is_noted(monkeypatch):
    monkeypatch.setattr(checks.importlib.metadata, "requires", lambda name: ["numpy>=2.0"])
    tried = named(found_by(checks.versions), "numpy")
    assert tried.state == OK
    monkeypatch.setitem(TRIED, "numpy", "1.26.4")
    later = named(found_by(checks.versions), "numpy")
    assert later.state == NOTE
    assert "later than the tested version 1.26.4" in later.value
    assert later.advice
    # Python itself, and no fault of either: the exit code stays 0
    assert [f for f in found_by(checks.versions) if f.name == "Python"] == []
    monkeypatch.setitem(TRIED, "python", "3.10.4")
    assert named(found_by(checks.versions), "Python").state == NOTE


def test_figures_that_cannot_be_drawn_are_a_fault(monkeypatch):
    def old(*_, **__):
        raise TypeError("get_figure() got an unexpected keyword argument 'root'\nmore")

    monkeypatch.setattr(style, "colour_bar", old)
    found = named(found_by(checks.figures), "PNG")
    assert found.state == FAULT
    assert found.value == "get_figure() got an unexpected keyword argument 'root'"


def test_a_compiler_that_fails_or_is_wrong_is_a_fault(monkeypatch):
    import numba

    def refused(function):
        raise numba.core.errors.TypingError("no such type\nmore")

    for njit, words in (
        (refused, "no such type"),
        (lambda f: float, "compiled code gives a wrong result"),
    ):
        monkeypatch.setattr(numba, "njit", njit)
        found = named(found_by(checks.kernels), "compiler")
        assert (found.state, found.value) == (FAULT, words)


def test_a_solver_that_is_wrong_is_a_fault(monkeypatch):
    class Wrong:
        def start(self):
            return self

        def factorise(self, matrix):
            return self

        def solve(self, b):
            return 0.9 * b

    monkeypatch.setattr(linear_solvers, "SuperLU", Wrong)
    found = named(found_by(checks.solvers), "SuperLU")
    assert found.state == FAULT
    assert "is wrong by" in found.value


def test_folders_that_cannot_be_written_are_faults(monkeypatch, tmp_path):
    def closed(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(checks.tempfile, "TemporaryFile", closed)
        found = named(found_by(checks.machine), "this folder")
    assert found.state == FAULT
    assert found.value.endswith(" cannot be written: Permission denied")
    assert "--out" in found.advice
    monkeypatch.setattr(folders, "folder_for", lambda source: None)
    assert named(found_by(checks.kernels), "cached in").state == FAULT


@pytest.mark.parametrize(("value", "state"), [("two", FAULT), ("0", FAULT), ("100000", NOTE)])
def test_threads_that_make_no_sense_are_reported(monkeypatch, value, state):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    found = named(found_by(checks.threads), "OMP_NUM_THREADS")
    assert found.state == state


def test_a_package_that_cannot_be_imported_hides_nothing(monkeypatch):
    def files():
        raise ImportError("libhdf5 is gone")
        yield

    monkeypatch.setattr(checks, "files", files)
    found = examine()
    assert named(found, "import") == Finding(
        "files", "import", FAULT, "libhdf5 is gone", "install it again"
    )
    assert named(found, "fonts").state == OK


def test_findings_are_plain(findings):
    text = json.dumps([dataclasses.asdict(finding) for finding in findings])
    assert json.loads(text)[0]["part"] == "versions"

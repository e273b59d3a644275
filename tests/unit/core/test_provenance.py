"""Releases that nobody tried are named in the provenance of a run, and others are not."""

import pytest

from stiction.core import provenance as module


@pytest.fixture
def fresh():
    """Versions are read once in a process: read them anew, here and after."""
    module._versions.cache_clear()
    yield
    module._versions.cache_clear()


@pytest.mark.parametrize(
    ("known", "version", "later"),
    [
        ("2.5.5", "2.5.9", False),
        ("2.5.5", "2.6.0", True),
        ("2.5.5", "2.6.0rc1", True),
        ("2.5.5", "3.0.0", True),
        ("2.5.5", "2.4.6", False),
        ("3.13.0", "3.14.0", True),
        ("3.13.0", "3.13.7", False),
        ("2.10.1", "2.9.0", False),
        ("13.0.0", "13", False),
    ],
)
def test_a_later_series_was_not_tried(monkeypatch, known, version, later):
    monkeypatch.setitem(module.TRIED, "numpy", known)
    assert module.is_untried("numpy", version) == later
    assert not module.is_untried("a package that is not needed", version)


@pytest.mark.usefixtures("fresh")
def test_provenance_names_what_was_not_tried(monkeypatch):
    monkeypatch.setattr(module.importlib.metadata, "version", lambda name: "2.0.0")
    for name in ("python", "numpy", "numba", "scipy"):
        monkeypatch.setitem(module.TRIED, name, "99.0")
    assert "untried" not in module.provenance(1.0)
    module._versions.cache_clear()
    monkeypatch.setitem(module.TRIED, "numpy", "1.9.9")
    monkeypatch.setitem(module.TRIED, "scipy", "1.9")
    made = module.provenance(1.0)
    assert made["untried"] == "numpy 2.0.0, scipy 2.0.0"
    assert made["scipy"] == "2.0.0"


def test_solving_takes_what_compiling_does_not():
    known = module.provenance(3.0, 1.0)
    assert (known["wall_s"], known["compile_s"], known["solve_s"]) == (3.0, 1.0, 2.0)

"""The newest releases that the package was tried with; later ones are named where they run."""

from __future__ import annotations

import re

__all__ = ["TRIED", "is_untried", "release"]

# written by `python tools/matrix.py` when everything passed with the newest that pip resolves
TRIED = {
    "python": "3.13.0",
    "numpy": "2.5.5",
    "numba": "0.68.1",
    "scipy": "1.18.1",
    "msgspec": "0.22.0",
    "tomli-w": "1.2.0",
    "typer": "0.29.2",
    "rich": "15.0.0",
    "h5py": "3.16.0",
    "h5netcdf": "1.8.2",
    "xarray": "2026.9.0",
    "pandas": "3.1.1",
    "matplotlib": "3.11.2",
    "pillow": "13.0.0",
}


def is_untried(name: str, version: str) -> bool:
    """Return whether `version` is of a later series, as 2.5 is after 2.4, than any tried.

    Verified by: tests/unit/core/test_tried.py::test_a_later_series_was_not_tried
    """
    known = TRIED.get(name)
    return known is not None and release(version)[:2] > release(known)[:2]


def release(version: str) -> tuple[int, ...]:
    """Return the numbers a version begins with, without zeros at the end."""
    found = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)

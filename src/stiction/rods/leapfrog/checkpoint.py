"""Check of a checkpoint of rods: arrays of contacts must be NaN exactly where no contact is saved.

A column of such an array is a numbered place for a contact. It is in use at the saved times at
which its mode is a number; elsewhere mode, gap, force and so on are NaN, and sums over time are 0.
`LeapfrogStepper` calls it when it resumes a run, so that a damaged checkpoint is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import refused
from stiction.rods.contact import kernels as ck

__all__ = ["check_open_contacts"]

# sums are zero, not NaN, for contacts without a record
_SUMS = ("contact_contact_impact_loss", "contact_contact_impulse")
_MODE, _RESIDUAL = "contact_contact_mode", "contact_rolling_residual"


def check_open_contacts(saved: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise StoreError if an array is NaN where its contact has a record, or the reverse.

    Parameters
    ----------
    saved : arrays of the checkpoint by name; those of contacts are (saved times, contacts, ...)

    Raises
    ------
    StoreError : naming the array.

    Verified by: tests/unit/test_wrong_checkpoints.py::test_wrong_arrays_are_refused
    """
    mode = saved[_MODE]
    for name, values in saved.items():
        if not name.startswith("contact_"):
            continue
        absent = np.isnan(mode) & (name not in _SUMS)
        if name == _RESIDUAL:
            absent = absent | (mode != ck.ROLL)
        if (np.isnan(values) != absent.reshape(absent.shape + (1,) * (values.ndim - 2))).any():
            raise refused(
                name, "NaN in place of a number, or a number in place of NaN", _numbers_of(name)
            )


def _numbers_of(name: str) -> str:
    """Return which entries of an array of contacts must be numbers."""
    if name in _SUMS:
        return "numbers for all contacts"
    if name == _RESIDUAL:
        return "numbers for contacts that roll, NaN for all others"
    return "numbers for monitored contacts, NaN for all others"

"""Rows by name: views of the tables, in kernels that count no references."""

import importlib

import numpy as np

from stiction.chains.theta import state
from stiction.numerics import jit
from stiction.numerics.tridiagonal import system_of

NAMES = {"masses_of", "modes_of", "motion_of", "system_of", "trial_of"}
KERNELS = (
    "chains.theta.exact_kernels",
    "chains.theta.smooth_kernels",
    "chains.blocks.theta_kernels",
)


def test_rows_are_named_by_kernels_without_copies_of_arrays():
    """Others would give back references that they have not been given."""
    for module in KERNELS:
        importlib.import_module(f"stiction.{module}")
    naming = [k for k in jit.KERNELS if NAMES & set(k.py_func.__code__.co_names)]
    assert len(naming) > 40
    assert [k for k in naming if k.options.get("_nrt", True)] == []


def test_every_row_has_one_name():
    f, m = np.zeros((state.F_ROWS, 4)), np.zeros((state.M_ROWS, 4), np.int8)
    rows = [row for of in (system_of, state.masses_of, state.motion_of) for row in of(f)]
    *rows_of_trial, friction_after = state.trial_of(f)
    rows += rows_of_trial
    for number, row in enumerate(rows):
        row[:] = number
    assert f[:, 0].tolist() == list(range(state.F_ROWS))
    assert np.shares_memory(friction_after, rows[-1])
    for number, row in enumerate(state.modes_of(m)):
        row[:] = number
    assert m[:, 0].tolist() == [0, 1, 2]

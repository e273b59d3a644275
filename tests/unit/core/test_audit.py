"""What failed checks say of the whole run."""

import dataclasses
import math

import numpy as np
import pytest

from stiction.core.audit import Audit, Check, Kind, Line


@pytest.mark.parametrize(
    ("ok", "value", "limit", "kind", "untrusted"),
    [
        (True, 1e9, 1.0, Kind.AT_MOST, False),
        (False, 99.0, 1.0, Kind.AT_MOST, False),
        (False, 101.0, 1.0, Kind.AT_MOST, True),
        (False, 1e-7, 1e-9, Kind.AT_MOST, False),
        (False, 1.1e-7, 1e-9, Kind.AT_MOST, True),
        (False, math.inf, 1.0, Kind.AT_MOST, True),
        (False, math.nan, 1.0, Kind.AT_MOST, True),
        (False, None, 1.0, Kind.AT_MOST, False),
        (False, 1.0, 0.0, Kind.AT_MOST, False),
        (False, 1.0, None, Kind.AT_MOST, False),
        (False, 0.01, 0.3, Kind.AT_LEAST, False),
        (False, 0.002, 0.3, Kind.AT_LEAST, True),
        (False, 0.0, 0.3, Kind.AT_LEAST, True),
        (False, math.nan, 0.3, Kind.AT_LEAST, True),
        (False, -1e-7, -1e-9, Kind.AT_LEAST, False),
        (False, -1.1e-7, -1e-9, Kind.AT_LEAST, True),
        (False, 1.0, 0.0, Kind.CONVERGENCE, True),
        (False, None, None, Kind.CONVERGENCE, True),
        (True, 0.0, 0.0, Kind.CONVERGENCE, False),
        (False, 1e9, 1.0, Kind.CONDITION, False),
    ],
)
def test_a_run_is_untrusted(ok, value, limit, kind, untrusted):
    check = Check("made_up", ok, value, limit, kind=kind)
    assert (check.untrusted != "") == untrusted
    assert check.untrusted.startswith("made_up" if untrusted else "")
    assert Audit([Check("held", True, 0.0, 1.0), check]).untrusted == check.untrusted


def test_all_reasons_are_given():
    audit = Audit(
        [
            Check("ledger_closes", False, 1e-3, 1e-9),
            Check("contacts_solved", False, 2143.0, 0.0, kind=Kind.CONVERGENCE),
            Check("no_interpenetration", False, -1.0, 0.0, kind=Kind.CONDITION),
        ]
    )
    assert audit.untrusted == (
        "ledger_closes 0.001 is beyond 100 times its limit 1e-09; "
        "contacts_solved failed (2.14e+03); this check tests convergence"
    )


@pytest.mark.parametrize(
    ("kind", "values"), [(Kind.AT_MOST, [1.0, 3.0]), (Kind.AT_LEAST, [3.0, 1.0])]
)
def test_a_line_of_one_and_of_many(kind, values):
    many = Line("near", np.array([*values, np.nan, np.nan]), 2.0, kind=kind)
    assert many.holds.tolist() == [True, False, False, False]
    exempt = np.array([False, True, False, True])
    assert dataclasses.replace(many, exempt=exempt).holds.tolist() == [True, True, False, True]
    for value, ok in zip(values, (True, False), strict=True):
        check = Line("near", np.float64(value), 2.0, "how near [m]", 0.5, kind).of_run()
        assert check == Check("near", ok, value, 2.0, 0.5, "how near [m]", kind)
        assert type(check.ok) is bool
        assert type(check.value) is float

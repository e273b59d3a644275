"""What failed checks say of the whole run."""

import math

import pytest

from stiction.core.audit import Audit, Check, Kind


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
        "contacts_solved failed (2.14e+03), which is a check of convergence"
    )

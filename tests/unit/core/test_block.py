"""The ledgers of many members are those of `Ledger`, member by member."""

import numpy as np
import pytest

from stiction.core.block import ledger_of
from stiction.core.ledger import COLUMNS, Ledger


@pytest.mark.parametrize("contacts", [1, 3])
@pytest.mark.parametrize("scheme", [False, True])
def test_ledgers_of_members_are_those_of_single_runs(contacts, scheme):
    rng = np.random.default_rng(contacts)
    members, rows = 4, 5
    sums, heat = rng.normal(size=(members, rows, 4)), rng.normal(size=(members, rows, contacts))
    # one column at a time is by far the largest: it decides the size of the energies
    for k in range(4):
        sums[k, 2, k] = 100.0 * (-1.0) ** k
    algorithmic = rng.normal(size=(members, rows)) if scheme else None
    many = ledger_of(sums, heat, algorithmic)
    end = many.at_end()
    for m in range(members):
        kinetic, stored, work, viscous = sums[m].T
        took = algorithmic[m] if scheme else np.zeros(1)
        one = Ledger(
            np.arange(float(rows)), kinetic, stored, work, heat[m],
            viscous_heat=viscous, algorithmic=took,
        )  # fmt: skip
        np.testing.assert_array_equal(many.imbalance[m], one.imbalance)
        np.testing.assert_array_equal(many.friction_heat[m], one.total_friction_heat)
        assert many.scale[m] == one.scale
        assert many.imbalance_rel[m] == one.imbalance_rel
        for name, column in one.columns().items():
            assert end[f"energy.{name}"][m] == column[-1], name
    assert list(end) == [f"energy.{name}" for name in COLUMNS]


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 20])
def test_few_rows_are_summed_as_many_are(rows):
    """Up to eight rows are summed number by number: the same size and imbalance as by arrays."""
    rng = np.random.default_rng(rows)
    parts = rng.normal(size=(7, rows)) * np.array([[1, 2, 3, 4, 5, 6, 7]]).T
    heat = rng.normal(size=(rows, 2))
    kinetic, stored, work, adhesive, viscous, impact, scheme = parts
    one = Ledger(
        np.arange(float(rows)), kinetic, stored, work, heat,
        adhesive=adhesive, viscous_heat=viscous, impact_loss=impact, algorithmic=scheme,
    )  # fmt: skip
    energy = kinetic + stored + adhesive
    off = energy - energy[0] - work + heat.sum(axis=1) + viscous + impact + scheme
    np.testing.assert_allclose(one.imbalance, off, rtol=1e-13, atol=1e-13)
    size = max(np.abs(parts).max(), np.abs(heat.sum(axis=1)).max())
    assert one.scale == pytest.approx(size, rel=1e-15)
    assert one.imbalance_rel == pytest.approx(np.abs(off).max() / size, rel=1e-12)

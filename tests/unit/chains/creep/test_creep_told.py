"""How far contacts creep in the cases that the page on presliding tells."""

import pytest

import stiction as st

METHOD = st.chains.Radau(rtol=1e-6)


def crept(law, load, end, stiffness=1e-6, damping=1.0):
    """Return the creep of a kilogram over its deflection at break-away."""
    chain = st.Chain(mass=1.0, stiffness=stiffness, damping=damping, law=law, load=load)
    run = st.solve(chain, METHOD, (0.0, end), save=2, throw=False)
    (check,) = (c for c in run.audit if c.check == "rest_does_not_drift")
    assert check.ok == (check.value <= 1.0)
    return check.value, len(run.event_log)


def test_half_a_cycle_stands_until_it_comes_back():
    law = st.laws.LuGre(1e3, 10.0, 0.0, 0.3, 0.3, 0.1)
    load = st.chains.Sine(0.96 * 0.3 * 9.81, 3.0)
    for turns, end in enumerate((1.0, 2.0, 3.0), start=1):
        found, reversals = crept(law, load, end)
        assert reversals == turns
        assert found == pytest.approx(2.636 if turns % 2 else 0.2934, rel=1e-3)


def test_contacts_that_ring_creep():
    numbers = (2e4, 70.0, 0.02, 0.3, 0.25, 0.01)
    laws = {
        9.38: st.laws.Dahl(2e4, 0.3),
        0.592: st.laws.LuGre(*numbers),
        0.00445: st.laws.ElastoPlastic(*numbers, elastic_share=0.7),
    }
    for wanted, law in laws.items():
        found, _ = crept(law, st.Constant(2.0), 1.0, 30.0, 0.0)
        assert found == pytest.approx(wanted, rel=5e-3)

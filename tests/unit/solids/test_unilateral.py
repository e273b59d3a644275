"""Laws of hard contact as functions of the gap."""

import numpy as np
import pytest

import stiction as st


def test_coulomb_is_ea_without_tension():
    law = st.LennardJones.from_strength(max_tension=5e4, work_of_adhesion=0.05)
    gaps = np.linspace(0.5, 1.5, 31) * law.gap_max
    friction, same = st.solids.Coulomb(0.3), st.EA(0.3, 0.0)
    assert np.array_equal(friction.threshold(gaps, law), same.threshold(gaps, law))
    assert np.array_equal(friction.slope(gaps, law), same.slope(gaps, law))
    assert np.array_equal(friction.table(law), same.table(law))
    assert friction.gap_cut(law) == law.gap_eq
    assert not friction.per_current_area
    # mu times the pressure, and nothing under tension
    pressed = law.traction(0.5 * law.gap_eq)
    assert friction.threshold(0.5 * law.gap_eq, law) == pytest.approx(0.3 * pressed, rel=1e-15)


def test_signorini_has_no_stiffness():
    law = st.solids.Signorini()
    assert np.array_equal(law.traction([1e-12, 1.0]), [0.0, 0.0])
    assert np.isnan(law.traction(0.0))
    assert np.isnan(law.stiffness(-1.0))
    assert law.potential(3.0) == 0.0
    assert (law.length, law.gap_eq, law.gap_max, law.max_tension) == (0.0, 0.0, 0.0, 0.0)
    with pytest.raises(st.ModelError, match="given by constants"):
        law.table()


def test_coefficients_are_not_negative():
    with pytest.raises(st.ModelError, match="friction dissipates energy"):
        st.solids.Coulomb(-0.1)


def test_hard_contact_in_a_scenario(tmp_path):
    block = st.solids.Body(st.solids.rectangle(1.0, 0.5, (2, 1)))
    plane = st.solids.RigidPlane((0.0, 0.0), (0.0, 1.0))
    bottom = st.solids.Boundary(0, "bottom")
    contact = st.solids.Contact(bottom, plane, st.solids.Signorini(), st.solids.Coulomb(0.2))
    top = st.solids.Driven(
        st.solids.Boundary(0, "top"), 1, st.solids.Program((0.0, 1.0), (0.0, -0.01))
    )
    run = st.solve(
        st.Solid([block], [contact], [top, st.solids.Fixed(st.solids.Boundary(0, "top"), (0,))])
    )
    run.save(tmp_path / "run")
    again = st.load(tmp_path / "run")
    assert again.system.contacts[0].friction.mu == 0.2
    assert isinstance(again.system.contacts[0].adhesion, st.solids.Signorini)

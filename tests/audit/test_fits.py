"""Each check of a fit, in a case in which it fails, and in one in which it holds."""

import numpy as np
import pytest
from fit_cases import cases

import stiction as st
from stiction.fits import Curve, Free, ImposedSlip

RIG = ImposedSlip(offset=Free(), drift=Free())


def failed(fit):
    return {check.check for check in fit.audit.failed}


def fitted(force, **more):
    case = cases(120)["Coulomb"]
    curve = Curve(
        force=force, time=case.time, displacement=case.displacement, normal_force=10.0, **more
    )
    return st.fit(curve, st.Coulomb, RIG)


def measured(size=0.02, seed=7):
    force = cases(120)["Coulomb"].force()
    return force + np.random.default_rng(seed).normal(0.0, size, force.size)


def test_a_true_law_holds_every_check():
    assert failed(fitted(measured(), noise=0.02)) == set()


@pytest.mark.fails_audit("fits", "no_outliers")
def test_one_wrong_row():
    force = measured()
    force[40] += 0.3
    assert "no_outliers" in failed(fitted(force))


@pytest.mark.fails_audit("fits", "misfit_is_noise")
def test_noise_that_was_said_to_be_less():
    assert failed(fitted(measured(), noise=0.005)) == {"misfit_is_noise", "no_outliers"}


@pytest.mark.fails_audit("fits", "residuals_white")
def test_noise_that_is_alike_from_row_to_row():
    force, noise = cases(120)["Coulomb"].force(), np.zeros(120)
    rng = np.random.default_rng(4)
    for k in range(1, 120):
        noise[k] = 0.9 * noise[k - 1] + rng.normal(0.0, 0.02)
    assert "residuals_white" in failed(fitted(force + noise))


@pytest.mark.fails_audit("fits", "parameters_known")
def test_stick_alone():
    t = np.linspace(0.0, 10.0, 101)
    force = 0.3 * t + np.random.default_rng(0).normal(0.0, 0.02, t.size)
    curve = Curve(force=force, time=t, velocity=np.zeros(101), normal_force=10.0)
    assert "parameters_known" in failed(st.fit(curve, st.Coulomb, ImposedSlip(0.0, 0.0)))


@pytest.mark.fails_audit("fits", "starts_agree")
@pytest.mark.fails_audit("fits", "search_ended")
def test_nothing_but_noise():
    """Where no friction was measured, searches wander, and most end in places of their own."""
    case = cases(60)["Coulomb"]
    curve = case.curve(np.random.default_rng(0).normal(0.0, 1.0, case.time.size))
    found = [failed(st.fit(curve, law, RIG, seed=s)) for law in LAWS for s in range(3)]
    assert all("parameters_known" in one for one in found)
    assert any("starts_agree" in one for one in found)
    assert any("search_ended" in one for one in found)


LAWS = (st.laws.LuGre, st.laws.Stribeck)

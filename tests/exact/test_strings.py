"""Strings in rolling contact against closed forms, an ordinary equation and reference numbers."""

import numpy as np
import pytest
from references import reference

import stiction as st
from stiction.exact.strings import (
    first_harmonics_sum,
    periodic_contact,
    symmetric_contact,
    symmetric_force,
)
from stiction.rods import Bump, Pluck, RollingStrings, Sine, Sum
from stiction.rods.methods import Characteristics


def values(run, name, t):
    """Return a variable at the times asked for, without the start."""
    return run.data[name].sel(time=t).values


@pytest.fixture(scope="module")
def known():
    return reference("rods.json")


@pytest.fixture(scope="module")
def symmetric():
    system = RollingStrings(s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=33)
    t = (0.0, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    return st.solve(system, Characteristics(step=1e-3), (0.0, 100.0), save=t)


@pytest.fixture(scope="module")
def offset():
    system = RollingStrings(G1=0.5, G2=0.5, s1=2.0, s2=2.5, u0=Sine(2, 1.0), nodes=33)
    t = (0.0, 1.0, 5.0, 10.0, 20.0, 40.0, 50.0, 80.0, 100.0)
    return st.solve(system, Characteristics(check=False), (0.0, 100.0), save=t)


def test_closed_forms_solve_their_equation():
    t = np.array([0.5, 2.0, 7.0])
    path = periodic_contact(t, 2.0, 1.3, lambda x, m: -np.sin(x) * np.sin(m))
    assert np.allclose(path, symmetric_contact(t, 2.0, 1.3), rtol=0.0, atol=1e-13)


def test_symmetric_case(symmetric):
    t = symmetric.time
    s = symmetric_contact(t, 2.0, 1.0)
    assert np.abs(symmetric.data.s1.values - s).max() <= 1e-12
    assert np.abs(symmetric.data.s2.values - s).max() <= 1e-12
    both = symmetric.data.u1.values + symmetric.data.v1.values
    assert np.abs(both - first_harmonics_sum(t)).max() <= 1e-11
    assert symmetric.energy.imbalance_rel <= 1e-12


def test_sum_and_difference_keep_their_energies(symmetric):
    for name in ("energy_P", "energy_M"):
        energy = symmetric.data[name].values
        # their cross term is a sum over Gauss points, which kinks of the waves make less sharp
        assert np.abs(energy - energy[0]).max() <= 3e-5 * energy[0]
    total = symmetric.data.energy_P + symmetric.data.energy_M
    assert np.allclose(total, symmetric.data.energy_u + symmetric.data.energy_v, rtol=1e-13)


def test_force_before_waves_return(symmetric):
    force = values(symmetric, "contact_force", 1.0)
    assert force == pytest.approx(symmetric_force(1.0, 2.0, 1.0), abs=1e-12)


def test_symmetric_reference_numbers(symmetric, known):
    case = known["B_fixed_symmetric"]
    assert np.abs(values(symmetric, "s1", case["t"]) - case["s"]).max() <= 1e-12
    # the reference states its own error of u1
    assert np.abs(values(symmetric, "u1", case["t"]) - case["u1"]).max() <= case["u1_err"]
    assert np.abs(values(symmetric, "contact_force", case["t"]) - case["lam"]).max() <= 1e-10


def test_periodic_case(known):
    case = known["A_periodic"]
    start = Sum([Sine(1, 1.0), Sine(2, 0.5, np.pi / 2)])
    system = RollingStrings(ends="periodic", G1=0.8, G2=0.8, s1=1.0, s2=1.0, u0=start, nodes=33)
    method = Characteristics(step=1e-3, check=False)
    run = st.solve(system, method, (0.0, 100.0), save=[0.0, *case["t"]])
    ode = periodic_contact(
        case["t"][:3],
        1.0,
        0.8,
        lambda x, m: -np.sin(x) * np.sin(m) - np.cos(2.0 * x) * np.sin(2.0 * m),
    )
    assert np.abs(values(run, "s1", case["t"][:3]) - ode).max() <= 1e-12
    assert np.abs(values(run, "s1", case["t"]) - case["s"]).max() <= 1e-12
    assert np.abs(values(run, "u1", case["t"]) - case["u1"]).max() <= case["u1_err"]
    assert np.abs(values(run, "contact_force", case["t"]) - case["lam"]).max() <= 1e-11
    both = run.data.u1.values + run.data.v1.values
    assert np.abs(both - first_harmonics_sum(run.time)).max() <= 1e-11
    # P = sin x cos t + cos(2x) cos(2t) / 2 holds for the fields too
    x, t = run.data.x.values, run.time[:, None]
    free = np.sin(x) * np.cos(t) + 0.5 * np.cos(2.0 * x) * np.cos(2.0 * t)
    assert np.abs(run.data.u.values + run.data.v.values - free).max() <= 1e-11


def test_offset_contact_points(offset, known):
    case = known["C_fixed_offset_weak"]
    for name in ("s1", "s2", "u1", "v1"):
        assert np.abs(values(offset, name, case["t"]) - case[name]).max() <= 1e-9, name
    energy = offset.data.energy_u.values + offset.data.energy_v.values
    assert np.abs(energy / energy[0] - 1.0).max() <= 1e-9
    assert offset.audit.ok
    # the reference itself is uncertain by up to 1e-7 where corners of lam are near
    force = values(offset, "contact_force", case["t"])
    assert np.abs(force - case["lam"]).max() <= 3e-7


def test_fields_satisfy_the_mean_rolling_condition_and_the_ends(offset):
    data = offset.data
    for name in ("u", "v", "u_t", "v_t"):
        assert np.abs(data[name].values[:, [0, -1]]).max() <= 1e-10
    # without any contact force u would still be sin x cos t
    assert np.abs(data.u.values[0] - np.sin(data.x.values)).max() <= 1e-14


def test_node_of_the_mode_is_a_resting_contact():
    system = RollingStrings(s1=np.pi, s2=np.pi, u0=Sine(2, 1.0), nodes=17)
    run = st.solve(system, Characteristics(step=1e-2), (0.0, 20.0), save=41)
    assert np.abs(run.data.s1.values - np.pi).max() <= 1e-12
    assert np.abs(run.data.contact_force.values).max() <= 1e-10
    free = np.sin(run.data.x.values) * np.cos(run.time[:, None])
    assert np.abs(run.data.u.values - free).max() <= 1e-9


def test_uncoupled_pluck_is_d_alembert():
    # a contact on a straight part of a symmetric pluck of both strings carries no force
    system = RollingStrings(
        length=4.0, s1=1.0, s2=1.0, G1=0.3, G2=0.3, u0=Pluck(2.0, 0.2), v0=Pluck(2.0, 0.2), nodes=41
    )
    run = st.solve(system, Characteristics(step=1e-2, corners=200), (0.0, 4.0), save=9)
    x, t = run.data.x.values, run.time[:, None]

    def wave(z):
        z = np.mod(z, 8.0)
        sign = np.where(z > 4.0, -1.0, 1.0)
        z = np.where(z > 4.0, z - 4.0, z)
        return sign * 0.1 * np.minimum(z, 4.0 - z)

    free = 0.5 * (wave(x - t) + wave(x + t))
    assert np.abs(run.data.u.values - free).max() <= 1e-12
    assert np.abs(run.data.contact_force.values).max() <= 1e-12


def test_resistance_heat_closes_the_ledger():
    system = RollingStrings(
        speed=(1.0, 1.3),
        length=(6.0, 7.0),
        ends="periodic",
        F=0.7,
        G1=0.5,
        G2=0.4,
        u0=Bump(0.0, 2.0, 0.3),
        rolling_resistance=0.3,
        nodes=9,
    )
    run = st.solve(system, Characteristics(step=2e-3, check=False), (0.0, 20.0), save=41)
    heat = run.ledger.friction_heat.values
    assert run.energy.imbalance_rel <= 1e-8
    assert (np.diff(heat) >= 0.0).all()
    assert heat[-1] > 0.05 * run.energy.scale


def test_breakdown_is_located_and_reported():
    system = RollingStrings(G1=1.5, G2=1.5, s1=1.0, s2=1.5, u0=Sine(2, 1.0), nodes=5)
    run = st.solve(system, Characteristics(step=2e-3), (0.0, 200.0), save=201, throw=False)
    check = {c.check: c for c in run.audit}
    assert run.status is st.Status.NO_CONTINUATION
    assert not check["contact_subsonic"].ok
    assert check["contact_subsonic"].time == run.t_end < 200.0
    assert check["contact_subsonic"].value == pytest.approx(1.0, abs=1e-3)
    # this time does not settle as the step gets smaller, and the audit says so
    assert not check["converged"].ok
    assert list(run.events.kind) == ["breakdown"]
    assert np.abs(run.data.s1_rate.values).max() <= 1.0


@pytest.mark.slow
def test_breakdown_at_equal_mobilities_converges():
    system = RollingStrings(s1=2.0, s2=3.5, u0=Sine(2, 1.0), nodes=5)
    method = Characteristics(step=1.25e-4, check=False, max_steps=5_000_000)
    run = st.solve(system, method, (0.0, 365.0), save=74, throw=False)
    assert run.status is st.Status.NO_CONTINUATION
    # longer steps than 2.5e-4 miss it: the contact nearly outruns the waves at t = 241
    assert run.t_end == pytest.approx(360.51, abs=5e-3)


def test_law_that_folds_back_stops_before_the_wave_speed():
    # F = c = G2 = 1, G1 = 0, v at rest: w_u = 2 V - V^3 folds at V = sqrt(2/3)
    system = RollingStrings(
        G1=0.0, G2=1.0, s1=10.0, s2=10.0, length=20.0, u_t0=Bump(5.0, 4.0, 2.4), nodes=5
    )
    run = st.solve(system, Characteristics(step=1e-3), (0.0, 8.0), save=17, throw=False)
    assert run.status is st.Status.NO_CONTINUATION
    assert "folds back" in run.reason
    check = {c.check: c for c in run.audit}["contact_subsonic"]
    assert not check.ok
    assert check.value == pytest.approx(np.sqrt(2.0 / 3.0), abs=1e-3)

"""Theta schemes against the shared reference numbers and against brute force."""

import itertools

import numpy as np
import pytest
from references import reference

import stiction as st

CASES = {
    "A_baseline_const": (1e-3, 2e-3),
    "A_baseline_stribeck": (1e-3, 2e-3),
    "B_ramp_1": (1e-3, 2e-3),
    "B_ramp_damped_1": (1e-3, 2e-3),
    "C_unequal_124": (1e-3, 2e-3),
    "D_wave50_step": (2e-5, 2e-5),
}


def chain_of(case):
    """Return the chain a reference case describes."""
    law = st.Coulomb(case["mu_s"])
    if case["v_s"] is not None:
        law = st.ExponentialWeakening(case["mu_s"], case["mu_k"], case["v_s"])
    force = case["force"]
    return st.Chain(
        mass=case["m"],
        stiffness=case["k"],
        damping=case["c"],
        gravity=case["g"],
        load=st.Ramp(force.get("r", 0.0), start=force.get("f0", 0.0)),
        law=law,
        x0=case["x0"],
        v0=case["v0"],
    )


@pytest.mark.parametrize("name", CASES)
def test_exact_friction_converges(name):
    """Source: chains.json, displacements at its sample times and the times of first slip."""
    case = reference("chains.json")[name]
    coarse, bound = CASES[name]
    chain, times = chain_of(case), [float(t) for t in case["samples_xv"]]
    exact = np.array([x for x, _ in case["samples_xv"].values()])
    for step, part in ((coarse, 1.0), (coarse / 10.0, 0.2)):
        run = st.solve(chain, st.ThetaStepper(step, 0.5), (0.0, case["T"]), save=times)
        rows = np.searchsorted(run.time, times)
        assert np.max(np.abs(run.variables["x"].values[rows] - exact)) < part * bound
        onset = np.array(run.quantities["onset_time"].value)
        late = onset - np.array(case["first_slip"])
        assert np.all(np.abs(late) < 2.5 * step)
        assert run.stats["unconverged_steps"] == 0
        assert run.audit.ok
        if case["t_stop"] is not None:
            assert abs(run.quantities["stop_time"].value - case["t_stop"]) < 5.0 * step
            assert not run.final["v"].any()


def test_events_are_those_of_the_reference():
    """At a step that resolves them, the same changes of mode in the same order."""
    case = reference("chains.json")["B_ramp_1"]
    run = st.solve(chain_of(case), st.ThetaStepper(1e-4, 0.5), (0.0, case["T"]), save=2)
    log = run.event_log
    assert [(i, kind) for _, i, kind, _ in case["events"]] == list(
        zip(log.contact.tolist(), log.kind, strict=True)
    )
    assert np.max(np.abs(log.time - [t for t, *_ in case["events"]])) < 2e-4


def test_smoothed_friction_nears_the_exact_one():
    case = reference("chains.json")["A_baseline_const"]
    chain, exact = chain_of(case), np.array(case["samples_xv"]["4.0"][0])
    errors = []
    for width in (1e-1, 1e-2, 1e-3):
        run = st.solve(chain, st.chains.RegularizedTheta(1e-4, 0.5, width), (0.0, 4.0), save=2)
        errors.append(np.max(np.abs(run.final["x"] - exact)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 2e-3


# ---- brute force: every combination of modes, dense matrices, the sheet's own unknown


def matrix(links):
    """Return K or C from its links, written out densely."""
    n = len(links) - 1
    rise = np.zeros((n + 1, n))
    for i in range(n):
        rise[i, i], rise[i + 1, i] = 1.0, -1.0
    return rise.T @ np.diag(links) @ rise


def brute_step(p, x, v, t, h, theta):
    """Return x, v, modes after one step, by trying all modes in the unknown v_{l+1}."""
    n, late = len(x), t + theta * h
    load = p["share"] * (theta * p["f"](t + h) + (1.0 - theta) * p["f"](t))
    stiff = p["K"] + np.diag(p["plate"])
    base = p["M"] @ v / h - (1.0 - theta) * p["C"] @ v
    base += load - stiff @ (x + theta * (1.0 - theta) * h * v)
    base += p["plate"] * p["plate_speed"] * late
    full = p["M"] / h + theta * p["C"] + theta**2 * h * stiff
    found = []
    for modes in itertools.product((-1, 0, 1), repeat=n):
        modes = np.array(modes)
        system, right = full.copy(), base - modes * p["bound"]
        for i in np.flatnonzero(modes == 0):
            system[i], right[i] = 0.0, p["belt"] - (1.0 - theta) * v[i]
            system[i, i] = theta
        new = np.linalg.solve(system, right)
        mean = theta * new + (1.0 - theta) * v
        slip, drive = mean - p["belt"], base - full @ new
        fits = np.where(modes == 0, np.abs(drive) <= p["bound"], modes * slip > 0.0)
        if fits.all():
            found.append((x + h * mean, np.where(modes == 0, p["belt"], new), modes))
    assert len(found) == 1, "the inclusion of a step has one solution"
    return found[0]


def parts(chain, f):
    """Return a chain as brute force reads it."""
    return {
        "M": np.diag(chain.masses),
        "K": matrix(chain.link_stiffness),
        "C": matrix(chain.link_damping),
        "plate": chain.plate_springs,
        "plate_speed": chain.plate_speed,
        "belt": chain.belt_speed,
        "bound": chain.stick_bound,
        "share": chain.load_weights,
        "f": f,
    }


def test_a_cycle_of_the_active_set_is_settled():
    """Steps far too long, in which the active set goes round for ever."""
    chain = st.Chain(
        mass=[0.17, 0.12, 4.89],
        stiffness=[3.9, 98.4, 55.8],
        normal_force=[18.9, 31.0, 2.5],
        law=st.Coulomb(0.5),
        x0=[0.6, 0.3, -0.8],
        v0=[-1.9, -1.5, -2.4],
        load=st.Constant(10.0),
    )
    run = st.solve(chain, st.ThetaStepper(1.0, 1.0), (0.0, 6.0), save=7)
    assert run.stats["rescued_steps"] > 0
    assert run.stats["unconverged_steps"] == 0
    x, v = np.array(chain.x_start), np.array(chain.v_start)
    for step in range(6):
        x, v, modes = brute_step(parts(chain, lambda t: 10.0), x, v, 1.0 * step, 1.0, 1.0)
        np.testing.assert_allclose(run.variables["x"].values[step + 1], x, rtol=0.0, atol=1e-12)
        assert np.array_equal(run.variables["mode"].values[step + 1], modes)


@pytest.mark.parametrize("theta", [0.5, 0.6, 1.0])
@pytest.mark.parametrize("kind", ["belt", "plate", "both walls", "free"])
def test_like_brute_force(kind, theta):
    """Every step of a chain on a belt, pulled by a plate, held by two walls or by none."""
    n, h, steps = 3, 0.02, 150
    extra = {
        "belt": {"belt_speed": 0.7, "stiffness": [30.0, 20.0, 25.0], "damping": 0.3},
        "plate": {
            "stiffness": [30.0, 20.0, 25.0],
            "plate_stiffness": [5.0, 0.0, 8.0],
            "plate_speed": 0.4,
        },
        "both walls": {
            "stiffness": [30.0, 20.0, 25.0, 10.0],
            "damping": [0.1, 0.0, 0.5, 0.2],
            "supports": "both",
            "belt_speed": -0.3,
            "plate_stiffness": 2.0,
            "plate_speed": 0.1,
        },
        "free": {"stiffness": [20.0, 25.0], "damping": 0.4, "supports": "none"},
    }[kind]
    chain = st.Chain(
        mass=[1.0, 2.0, 0.5],
        load=st.chains.Sine(6.0, 2.0),
        load_vector=[0.5, 0.0, 1.0],
        law=st.Coulomb([0.3, 0.2, 0.4]),
        x0=[0.1, 0.0, -0.2],
        v0=[0.5, 0.0, -0.4],
        **extra,
    )
    p = parts(chain, lambda t: 6.0 * np.sin(2.0 * t))
    run = st.solve(chain, st.ThetaStepper(h, theta), (0.0, steps * h), save=steps + 1)
    x, v = np.array([0.1, 0.0, -0.2]), np.array([0.5, 0.0, -0.4])
    saved = [run.variables[name].values for name in ("x", "v", "mode")]
    seen = set()
    for step in range(steps):
        x, v, modes = brute_step(p, x, v, step * h, h, theta)
        seen |= set(modes.tolist())
        np.testing.assert_allclose(saved[0][step + 1], x, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(saved[1][step + 1], v, rtol=0.0, atol=1e-9)
        assert np.array_equal(saved[2][step + 1], modes)
    assert len(seen) == n

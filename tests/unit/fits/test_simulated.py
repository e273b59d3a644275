"""A whole scenario as the rig: its numbers come back, whatever system it is."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.core.method import default_method
from stiction.errors import ModelError, ScenarioError
from stiction.fits import Curve, Free, Simulated, fit_scenario
from stiction.fits.simulated import RunProblem, _rising
from stiction.io.scenario import read_scenario

CHAIN = dataclasses.replace(read_scenario("slip-wave"), t_end=8.0)
T = np.linspace(0.1, 7.9, 120)


def measured(scenario, name, noise, along="time"):
    run = scenario.solve(save=400)
    name, _, place = name.partition("[")
    values = np.asarray(run.data[name])
    values = values[:, int(place[:-1])] if place else values
    x = np.asarray(run.time) if along == "time" else np.asarray(run.data[along])
    at = T if along == "time" else np.linspace(x[1], x[-2], T.size)
    size = noise * np.ptp(values)
    force = np.interp(at, x, values) + np.random.default_rng(3).normal(0.0, size, T.size)
    return Curve(force=force, time=T, displacement=at, title="drawn")


# no offset of the force, and no drift
ALONE = {"offset": 0.0, "drift": 0.0}


@pytest.fixture(scope="module")
def chain():
    true = dataclasses.replace(
        CHAIN, system=dataclasses.replace(CHAIN.system, law=st.Coulomb(0.21), stiffness=23.0)
    )
    curve = measured(true, "x[2]", 0.01)
    rig = Simulated(CHAIN, force="x[2]", drift=0.0)
    return fit_scenario(curve, rig, ["law.mu", "stiffness"])


def test_a_chain_gives_its_numbers_back(chain):
    for name, truth in (("law.mu", 0.21), ("stiffness", 23.0), ("rig.offset", 0.0)):
        found = chain[name]
        assert abs(found.value - truth) <= 4.0 * found.error
        assert found.low < truth < found.high
        assert not found.message
    assert chain["law.mu"].error < 0.01 * 0.21
    assert (chain["law.mu"].unit, chain["stiffness"].unit) == ("1", "N/m")
    assert chain.audit.ok


def test_a_lower_bound_alone_may_be_negative():
    curve = Curve(force=np.sin(T), time=T, displacement=T)
    rig = Simulated(CHAIN, force="x[2]", **ALONE)
    for free, size in ((Free(low=-1.0), 0.025), (Free(low=-1.0, high=2.0), 0.3)):
        problem = RunProblem([curve], rig, {"law.mu": free})
        assert problem._smallest_size("law.mu") == pytest.approx(size)


def test_offsets_and_drifts_start_at_those_of_the_first_run():
    x = CHAIN.solve(save=400)
    x = np.interp(T, x.time, np.asarray(x.data["x"])[:, 2])
    curves = [Curve(force=x + k + 0.1 * k * (T - T[0]), time=T, displacement=T) for k in (1.0, 2.0)]
    for given in ({}, {"drift": 0.1}, {"drift": Free(start=0.1)}, {"offset": Free(low=0.0)}):
        problem = RunProblem(curves, Simulated(CHAIN, force="x[2]", **given), ["law.mu"])
        starts = [q.start for q in problem.parameters if q.name == "rig.offset[1]"]
        assert starts == pytest.approx([1.0], rel=1e-3)
        problem.typical_sizes(np.array([q.start for q in problem.parameters]))
    # the fit ends there, not in the minimum beside it
    chain = st.Chain(mass=1.0, stiffness=2.0, load=st.Ramp(0.3), law=st.Coulomb(0.1), n=1)
    scenario = dataclasses.replace(CHAIN, system=chain, method=default_method(chain))
    curve = measured(scenario, "x[0]", 1e-3)
    curve = dataclasses.replace(curve, force=curve.force + 0.5)
    fit = fit_scenario(curve, Simulated(scenario, "x[0]", drift=0.0), ["law.mu"])
    assert fit["law.mu"].value == pytest.approx(0.1, rel=1e-2)  # reason: the noise of the data


def test_a_quantity_that_pauses_is_compared_in_both_directions():
    x = np.array([1.0, 2.0, 2.0, 3.0])
    assert _rising(x, "x").tolist() == [0, 1, 3]
    assert _rising(-x, "x").tolist() == [3, 1, 0]
    with pytest.raises(st.ModelError, match="reverses"):
        _rising(np.array([1.0, 2.0, 1.0]), "x")


def test_what_was_found_runs_on(chain, tmp_path):
    chain.save(tmp_path / "fit", figures=False)
    again = read_scenario(tmp_path / "fit/scenario.toml")
    assert again.system.law.mu == pytest.approx(chain["law.mu"].value, rel=1e-12)
    assert "mu = 0.2" in (tmp_path / "fit/law.toml").read_text()


def test_undetermined_parameters_are_reported():
    # the load is given alone: mass does not matter where nothing moves
    still = dataclasses.replace(CHAIN, t_end=1.0)
    run = still.solve(save=50)
    noise = np.random.default_rng(1).normal(0.0, 1e-3, 40)
    curve = Curve(force=noise, time=run.time[:40], displacement=run.time[:40])
    found = fit_scenario(curve, Simulated(still, force="x[2]", **ALONE), ["law.mu"])
    assert found.unknown == ("law.mu",)


def test_a_contact_of_solids_gives_its_friction_back():
    """EA's coefficient from the force that pulls a strip sideways while it sticks and slides."""
    changes = ["system.cells=[10, 2]", "system.u_end=2", "method.steps=3"]
    strip = read_scenario("strip-peeling", changes)
    curve = measured(strip, "force_x", 0.01, along="displacement")
    rig = Simulated(strip, force="force_x", along="displacement", rows=10, **ALONE)
    found = fit_scenario(curve, rig, {"model.mu": Free(start=0.012)})
    assert found["model.mu"].low < 0.01 < found["model.mu"].high
    assert found["model.mu"].error < 0.02 * 0.01
    assert found.scenario().system.model.mu == found["model.mu"].value
    assert "run_can_be_trusted" not in [check.check for check in found.audit.failed]


@pytest.mark.parametrize(
    ("rig", "free", "words"),
    [
        ({"force": "y"}, ["law.mu"], "one of .*x"),
        ({"force": "x"}, ["law.mu"], r"x\[0\] to x\[2\]"),
        ({"force": "x[7]"}, ["law.mu"], r"x\[0\] to x\[2\]"),
        ({"force": "x[2]", "along": "v"}, ["law.mu"], "one of|v\\[0\\]"),
        ({"force": "x[2]"}, [], "paths of fields"),
        ({"force": "x[2]"}, ["law.nu"], "law.mu"),
        ({"force": "x[2]"}, ["x0"], "one number|bounds"),
        ({"force": "x[2]"}, ["load"], "one number"),
    ],
)
def test_what_cannot_be_compared_is_refused(rig, free, words):
    curve = Curve(force=np.sin(T), time=T, displacement=T)
    with pytest.raises((ModelError, ScenarioError), match=words):
        fit_scenario(curve, Simulated(CHAIN, **rig, **ALONE), free)


def test_data_beyond_the_run_are_refused():
    curve = Curve(force=np.sin(T), time=2.0 * T, displacement=T)
    with pytest.raises(ModelError, match="the range of the run"):
        fit_scenario(curve, Simulated(CHAIN, force="x[2]", **ALONE), ["law.mu"])


def test_noise_of_some_curves_alone_is_refused():
    """Curves of known noise would be weighed against others in newtons."""
    one = Curve(force=np.sin(T), time=T, displacement=T, noise=1e-3)
    other = Curve(force=np.sin(T), time=T, displacement=T)
    with pytest.raises(ModelError, match="all curves or of none"):
        fit_scenario([one, other], Simulated(CHAIN, force="x[2]", **ALONE), ["law.mu"])


@pytest.mark.fails_audit("fits", "run_can_be_trusted")
def test_what_the_run_does_not_hold_the_fit_does_not_either():
    """So few elements do not resolve the zone that peels: the run says so, and its fit too."""
    changes = ["system.cells=[40, 2]", "system.u_end=8", "method.steps=16"]
    strip = read_scenario("strip-peeling", changes)
    curve = Curve(force=1e-3 * T, time=T, displacement=T)
    rig = Simulated(strip, force="force_x", along="displacement", rows=17, **ALONE)
    (check,) = RunProblem([curve], rig, ["model.mu"]).checks(np.array([0.01]))
    assert not check.ok
    assert "process_zone_resolved" in check.note


# ---- derivatives of the run

DAMPED = dataclasses.replace(
    CHAIN,
    system=st.Chain(
        mass=[1.0, 1.3],
        stiffness=[20.0, 15.0],
        damping=0.3,
        law=st.StaticKinetic(0.25, 0.2),
        load=st.chains.Sine(9.0, 1.1),
        gravity=10.0,
    ),
    method=st.EventDriven(),
)
FOUR = ["law.mu_static", "system.law.mu_kinetic", "stiffness[1]", "load.amplitude"]


def problem_of(scenario, force, free, **rig):
    name, _, place = force.partition("[")
    values = np.asarray(scenario.solve(save=400).data[name])
    values = values[:, int(place[:-1])] if place else values
    curve = Curve(force=np.interp(T, np.linspace(0.0, 8.0, 400), values), time=T, displacement=T)
    return RunProblem([curve], Simulated(scenario, force=force, **rig), free)


@pytest.mark.parametrize("along", ["time", "x[1]"])
def test_jacobian_against_differences(along):
    scenario, free, at = DAMPED, FOUR, T
    if along != "time":
        # pushed forward with a force that varies
        load = st.chains.SumOf([st.Constant(25.0), st.chains.Sine(9.0, 1.1)])
        system = dataclasses.replace(DAMPED.system, supports="none", stiffness=15.0, load=load)
        scenario = dataclasses.replace(DAMPED, system=system, t_end=8.0)
        free = ["law.mu_kinetic", "stiffness", "load.parts[0].value"]
        end = scenario.solve(save=2).data.x.values[-1, 1]
        at = np.linspace(0.02, 0.6, T.size) * end
    curve = Curve(force=np.sin(T), time=T, displacement=at, noise=0.02)
    problem = RunProblem([curve], Simulated(scenario, force="v[0]", along=along), free)
    y = problem.coordinates.coordinates(np.array([q.start for q in problem.parameters]))
    exact = problem.jacobian(y)
    assert problem.jacobian_note == "exact, by derivatives of the run"
    problem.relative_step = 1e-5
    differenced = super(RunProblem, problem).jacobian(y)
    np.testing.assert_allclose(exact, differenced, atol=1e-6 * np.abs(exact).max())
    fixed = problem.jacobian(y, (2, problem.parameters[2].start))
    assert not fixed[:, 2].any()
    assert fixed[:, 0].any()


def test_one_run_gives_residuals_and_jacobian():
    problem = problem_of(DAMPED, "x[1]", FOUR, **ALONE)
    y = problem.coordinates.coordinates(np.array([q.start for q in problem.parameters])) + 0.01
    before = problem.evaluations
    problem.prepare(y)
    exact = problem.residuals(y)
    problem.jacobian(y)
    assert problem.evaluations == before + 1
    plain = problem._run(problem.coordinates.physical(y))[0][0]
    np.testing.assert_array_equal(exact, plain - problem.data[0])


@pytest.mark.parametrize(
    ("scenario", "force", "free", "why"),
    [
        (CHAIN, "x[2]", ["law.mu"], "grazing at t = 3.85746"),
        (DAMPED, "friction[1]", ["law.mu_kinetic"], "not a component of the state"),
        (DAMPED, "x[1]", ["x0[0]", "method.rtol"], "not a parameter of the system"),
        (
            dataclasses.replace(DAMPED, method=st.ThetaStepper(0.01)),
            "x[1]",
            ["law.mu_kinetic"],
            "ThetaStepper",
        ),
    ],
)
def test_differences_where_a_run_has_no_derivative(scenario, force, free, why):
    free = {name: Free(start=0.01, low=-1.0, high=1.0) if "x0" in name else Free() for name in free}
    if "x0[0]" in free:
        system = dataclasses.replace(scenario.system, x0=[0.01, 0.0])
        scenario = dataclasses.replace(scenario, system=system)
    problem = problem_of(scenario, force, free, **ALONE)
    y = problem.coordinates.coordinates(np.array([q.start for q in problem.parameters]))
    assert np.isfinite(problem.jacobian(y)).all()
    assert problem.jacobian_note.startswith("by differences of runs: ")
    assert why in problem.jacobian_note


def test_four_parameters_are_found_by_derivatives():
    truth = dict(zip(FOUR, (0.27, 0.19, 16.0, 9.3), strict=True))
    from stiction.studies.fields import changed, place_of

    true = changed(DAMPED, [place_of(DAMPED, x) for x in truth], list(truth.values()))
    rig = Simulated(DAMPED, force="x[1]", **ALONE)
    found = fit_scenario(measured(true, "x[1]", 0.01), rig, FOUR)
    assert found.jacobian == "exact, by derivatives of the run"
    assert "Jacobian          exact" in repr(found)
    assert found.audit.ok
    for name, value in truth.items():
        assert abs(found[name].value - value) <= 4.0 * found[name].error
    # the same optimum as by differences
    problem = RunProblem(found.curves, rig, FOUR)
    problem._slopes_of_run = lambda values: None
    problem.tolerance = 1e-11
    at = problem.coordinates.coordinates(np.array([e.value for e in found.estimates]))
    from stiction.fits.search import minimised

    again = problem.coordinates.physical(minimised(problem, at + 0.01).y)
    np.testing.assert_allclose([e.value for e in found.estimates], again, rtol=1e-5)

import dataclasses
import json
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from fit_cases import cases, fields
from matplotlib.figure import Figure

import stiction as st
from stiction.errors import ModelError, StoreError
from stiction.fits import Curve, SpringDrive
from stiction.fits.figures import FitFigures
from stiction.fits.fitted_scenario import scenario_of_fit
from stiction.fits.folder import fit_in, report
from stiction.fits.outcome import Estimate
from stiction.fits.predicting.models import Predictor
from stiction.fits.rigs import ImposedSlip
from stiction.io.verify import DAMAGED, VALID, examined


@pytest.fixture(scope="module")
def dahl():
    case = cases(80)["Dahl"]
    return st.fit(case.drawn(0), st.laws.Dahl, case.rig)


def base(found, case):
    return found.rig.offset + found.rig.drift * case.time


@pytest.mark.parametrize("name", ["Dahl", "AgeingLaw", "pulled StaticKinetic"])
def test_a_fit_runs_on(name, dahl):
    case = cases(80)[name]
    found = dahl if name == "Dahl" else st.fit(case.drawn(0), type(case.law), case.rig)
    scenario = found.scenario()
    from stiction.io.scenario.writer import write_scenario

    again = st.read_scenario(write_scenario(scenario))
    assert again.system.law == found.law
    if name == "pulled StaticKinetic":
        run = again.solve(save=case.time)
        load = np.asarray(again.system.load.value)
        spring = load - again.system.stiffness * np.asarray(run.data["x"])[:, 0]
        # arcs of slip are followed to 1e-5 in a fit
        np.testing.assert_allclose(spring, found.forces[0] - base(found, case), atol=1e-4)


def test_a_folder_is_complete(tmp_path, dahl):
    folder = dahl.save(tmp_path / "fit")
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "fit.json", "law.toml", "scenario.toml", "residuals.csv", "report.html", "figures",
    }  # fmt: skip
    assert {p.stem for p in (folder / "figures").iterdir()} == set(dahl.plot.NAMES)
    saved = json.loads((folder / "fit.json").read_text())
    assert saved["parameters"]["mu"]["value"] == dahl["mu"].value
    law = tomllib.loads((folder / "law.toml").read_text())["law"]
    assert law["type"] == "Dahl"
    assert law["sigma0"] == dahl.law.sigma0
    rows = np.genfromtxt(folder / "residuals.csv", delimiter=",", skip_header=1)
    np.testing.assert_array_equal(rows[:, 2] - rows[:, 3], rows[:, 4])
    with pytest.raises(StoreError, match="does not exist yet"):
        dahl.save(folder)
    dahl.save(folder, overwrite=True, figures=False)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"mine\.txt"):
        dahl.save(folder, overwrite=True)


def verified(folder):
    ((kind, _, verdict),) = examined(folder)
    assert kind == "fit"
    return verdict


def test_a_saved_fit_is_loaded(tmp_path, dahl):
    folder = dahl.save(tmp_path / "fit", figures=False)
    found = st.load(folder)
    assert isinstance(found, st.fits.SavedFit)
    assert found.law == dahl.law
    assert repr(found) == repr(dahl)
    assert found.warnings == dahl.warnings
    for one, other in zip(found.estimates, dahl.estimates, strict=True):
        assert [one.name, one.value, one.low, one.high, one.message] == [
            other.name, other.value, other.low, other.high, other.message,
        ]  # fmt: skip
    assert found["mu"].error == dahl["mu"].error
    # its law goes on in another scenario
    chain = st.read_scenario("slip-wave", [f"system.law=@{folder / 'law.toml'}"])
    assert chain.system.law == dahl.law
    # the key of earlier files
    former = (folder / "fit.json").read_text().replace('"message": ', '"told": ')
    (folder / "fit.json").write_text(former)
    changed = st.load(folder, unverified=True)
    assert changed["mu"].message == dahl["mu"].message
    assert "fit.json was changed" in changed.unverified
    assert not found.unverified
    with pytest.raises(KeyError, match="did you mean 'mu'"):
        changed["nu"]
    for spoilt in (former.replace('"error": ', '"eror": '), '{"parameters": [1]}'):
        (folder / "fit.json").write_text(spoilt)
        with pytest.raises(StoreError, match=r"fit\.json.*cannot be read"):
            st.load(folder, unverified=True)
    (folder / "fit.json").write_text(former)
    (folder / "law.toml").write_text("")
    with pytest.raises(StoreError, match=r"law\.toml"):
        st.load(folder)
    assert st.load(folder, unverified=True)["mu"].value == dahl["mu"].value


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Dahl", ("Invented: the mass", "the stiffness")),
        ("AgeingLaw", ("Invented: the spring",)),
        ("pulled Coulomb", ("Invented: the mass",)),
        ("pulled StaticKinetic", ()),
    ],
)
def test_a_scenario_names_what_is_invented(name, words, dahl):
    case = cases(80)[name]
    found = dahl if name == "Dahl" else st.fit(case.drawn(0), type(case.law), case.rig)
    note = found.scenario().note
    assert all(word in note for word in words)
    assert ("Invented" in note) == bool(words)
    if name == "Dahl":
        assert f"{found.scenario().system.mass[0]:.4g} kg" in note


@pytest.mark.parametrize("law", [st.Coulomb(0.3), st.laws.Dahl(50.0, 0.3)])
def test_a_scenario_starts_with_the_force_of_the_test(law):
    t, k, start = np.linspace(0.0, 1.0, 101), 10.0, 0.2
    pull = np.minimum(start + k * 0.1 * t, 0.3)
    curve = Curve(force=pull, time=t, displacement=0.1 * t, noise=1e-3)
    rig = SpringDrive(k, offset=0.0, drift=0.0, force_start=start)
    block = scenario_of_fit(SimpleNamespace(curves=[curve], forces=[pull], rig=rig, law=law)).system
    # the spring of the block at x = 0 has the first force, and so have the bristles
    forces = [block.load.at(0.0), block.load.at(0.5)]
    np.testing.assert_allclose(forces, [start, start + 0.5], rtol=1e-12)
    if isinstance(law, st.laws.Dahl):
        assert 50.0 * block.law.deflection_start == pytest.approx(start, rel=1e-12)


@pytest.mark.parametrize("rig", [st.fits.ImposedSlip(), SpringDrive(10.0)])
def test_the_load_follows_many_cycles(rig):
    t = np.linspace(0.0, 10.0, 2000)
    place, normal = 0.1 * np.sin(40.0 * np.pi * t), 1.0 + 0.1 * t
    force = 0.3 * np.sign(np.cos(40.0 * np.pi * t))
    curve = Curve(force=force, time=t, displacement=place, normal_force=normal)
    law = st.Coulomb(0.3)
    found = scenario_of_fit(SimpleNamespace(curves=[curve], forces=[force], rig=rig, law=law))
    block = found.system
    load = np.interp(t, block.load.time, block.load.value)
    # to 2 % of the force, or, for imposed slip, of the path
    limit = 0.02 * (0.3 if isinstance(rig, SpringDrive) else 0.2 * block.stiffness)
    assert np.abs(load - block.stiffness * (place - place[0])).max() <= limit
    assert "The normal force is the mean of the measured one." in found.note


def test_damage_is_reported(tmp_path, dahl):
    folder = dahl.save(tmp_path / "fit", figures=False)
    # the folder itself, or one above it
    assert verified(folder).code == verified(tmp_path).code == VALID
    text = (folder / "law.toml").read_text()
    (folder / "law.toml").write_text(text + "\n")
    assert verified(folder).code == DAMAGED
    assert "law.toml: was changed" in str(verified(folder))
    (folder / "law.toml").unlink()
    assert "law.toml: is missing" in str(verified(folder))
    (folder / "law.toml").write_text(text)
    (folder / "fit.json").write_text("{")
    assert verified(folder).code == DAMAGED
    with pytest.raises(StoreError, match="a saved fit"):
        fit_in(folder)
    assert fit_in(tmp_path) is None


def test_the_report_holds_what_was_found(dahl):
    page = report(dahl)
    for estimate in dahl.estimates:
        assert f"{estimate.value:.6g}" in page
    assert page.count("data:image/png;base64,") == len(dahl.plot.NAMES)
    assert "http" not in page.split("data:image")[0]


def test_a_summary_says_what_matters(dahl):
    text = repr(dahl)
    assert text.startswith("FITTED, audit held: Dahl, ImposedSlip, 80 of 80 rows")
    assert "sigma0" in text
    assert "<table>" in dahl._repr_html_()
    assert list(dahl.table.index) == [e.name for e in dahl.estimates]


def test_unknown_figures_are_refused(tmp_path, dahl):
    with pytest.raises(ModelError, match="did you mean 'profiles'"):
        dahl.plot.write(tmp_path, ["profile"])


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_profiles_show_the_drop_at_the_ends(level, dahl):
    """The squared quantile of Student's t, since the noise is estimated."""
    fit = dataclasses.replace(dahl, intervals=st.fits.Profile(level=level))
    expected = scipy.stats.t.ppf(0.5 + 0.5 * level, dahl.freedom) ** 2
    for ax in fit.plot.profiles().axes:
        (dashed,) = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert dashed.get_ydata() == pytest.approx([expected] * 2, rel=1e-9)


def test_the_drawn_profile_of_a_parabola_is_that_parabola():
    """The signed square root of the drop is interpolated, which is a straight line here."""
    at = np.array([1.0, 1.5, 2.0, 2.6, 3.0])
    places = np.column_stack([at, 3.0 * (at - 2.0) ** 2])
    estimate = Estimate("mu", "1", 2.0, 0.1, 1.5, 2.5, "", places)
    ax = Figure().subplots()
    FitFigures._profile(None, ax, estimate, 3.84)
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(y, 3.0 * (x - 2.0) ** 2, atol=1e-12)


def test_curves_of_two_kinds_share_their_axes():
    speed = np.linspace(-0.5, 0.5, 40)
    time = np.linspace(7.0, 10.0, 60)
    place = 0.1 * np.sin(4.0 * time)
    slow = st.fits.Curve(force=30.0 * np.sign(speed), velocity=speed, normal_force=100.0)
    push = 30.0 * np.sign(np.cos(4.0 * time))
    moved = st.fits.Curve(force=push, time=time, displacement=place, normal_force=100.0)
    ratio = st.fits.Curve(force=0.3 * np.sign(speed), velocity=speed)
    made = {
        words: SimpleNamespace(
            curves=curves,
            forces=[np.asarray(curve.force) for curve in curves],
            residuals=[0.01 * np.asarray(curve.force) for curve in curves],
        )
        for words, curves in {
            ("velocity (m/s)", "row", "force (N)"): [slow, moved],
            ("displacement (m)", "time (s)", "force (N)"): [moved, moved],
            ("velocity (m/s)", "row", "coefficient of friction"): [ratio],
        }.items()
    }
    for (across, clock, force), fit in made.items():
        left, right = FitFigures(fit).data().axes
        assert (left.get_xlabel(), right.get_xlabel(), left.get_ylabel()) == (across, clock, force)
        first, second, _ = FitFigures(fit).residuals().axes
        assert (first.get_xlabel(), second.get_xlabel()) == (clock, across)
        assert first.get_ylabel().endswith("(N)") == force.endswith("(N)")
        # measured times need not begin at 0
        begin = 7.0 if clock == "time (s)" else 0.0
        assert right.lines[0].get_xdata()[0] == first.lines[0].get_xdata()[0] == begin


def test_the_scenario_of_a_law_with_states_and_stick_runs():
    """The scheme in series carries no states, so that it is one of steps."""
    law = st.laws.AgeingCoulomb(0.3, 0.02, 0.1, 1e-3)
    t = np.linspace(0.0, 10.0, 101)
    x = 1e-3 * (np.minimum(t, 4.0) + np.maximum(t - 6.0, 0.0))
    case = Curve(force=np.sin(t), time=t, displacement=x)
    made = Predictor(case, ImposedSlip(), type(law))(fields(law), {}).force
    found = st.fit(Curve(force=made, time=t, displacement=x, noise=1e-3), law, free=["growth"])
    run = found.scenario().solve(save=t)
    assert run.status.ok
    pull = -np.asarray(run.data["friction"])[:, 0] + found.rig.offset + found.rig.drift * t
    # slip that follows the imposed one to 2 % of the path
    late = (t > 8.0) | ((t > 2.0) & (t < 4.0))
    np.testing.assert_allclose(pull[late], made[late], rtol=1e-2)

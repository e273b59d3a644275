"""`stiction fit` from the command line, end to end."""

import json
from pathlib import Path

import numpy as np
import pytest
from fit_cases import cases
from typer.testing import CliRunner

import stiction as st
from stiction.cli.main import app
from stiction.io.scenario import read_scenario

RUN = CliRunner()


@pytest.fixture
def file(tmp_path):
    case = cases(60)["Dahl"]
    curve = case.drawn(1)
    rows = np.column_stack([case.time, 1e6 * case.displacement, 1e3 * np.asarray(curve.force)])
    path = tmp_path / "loop.csv"
    head = "time [s],displacement [um],force [mN]"
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.9g")
    return path


def test_a_fit_from_the_command_line(file, tmp_path):
    out = tmp_path / "fit"
    asked = ["fit", str(file), "--law", "Dahl", "--normal-force", "10", "--out", str(out)]
    done = RUN.invoke(app, [*asked, "--no-figures"])
    assert done.exit_code == 0, done.output
    reported = json.loads((out / "fit.json").read_text())
    # reason: noise of 1 % on 60 rows
    assert reported["parameters"]["sigma0"]["value"] == pytest.approx(2e4, rel=0.03)
    mu = reported["parameters"]["mu"]
    # one interval in twenty misses the truth, so that a single set says nothing of coverage
    assert mu["low"] < mu["value"] < mu["high"]
    # reason: five standard errors
    assert mu["value"] == pytest.approx(0.3, abs=5.0 * mu["error"])
    assert "FITTED, audit held: Dahl" in done.output
    shown = RUN.invoke(app, ["show", str(out)])
    assert reported["screen"] in shown.output
    assert RUN.invoke(app, ["verify", str(out)]).exit_code == 0
    (out / "law.toml").write_text("")
    assert RUN.invoke(app, ["verify", str(out)]).exit_code == 2
    again = RUN.invoke(app, [*asked, "--no-figures"])
    assert again.exit_code == 2
    assert "does not exist yet" in again.output


def test_python_fits_a_file_as_the_command_line_does(file, tmp_path):
    out = tmp_path / "fit"
    asked = ["fit", str(file), "--law", "Dahl", "--normal-force", "10", "--out", str(out), "-q"]
    assert RUN.invoke(app, [*asked, "--no-figures"]).exit_code == 0
    reported = json.loads((out / "fit.json").read_text())["parameters"]
    curve = st.fits.read_curve(file, normal_force=10.0)
    for rig in (None, st.fits.ImposedSlip()):
        found = st.fit(curve, st.laws.Dahl, rig)
        assert {e.name: (e.value, e.low, e.high) for e in found.estimates} == {
            name: (one["value"], one["low"], one["high"]) for name, one in reported.items()
        }
    assert {"rig.offset", "rig.drift"} < set(reported)


def test_fields_of_a_scenario_are_fitted(tmp_path):
    changes = ["system.law.mu=0.21", "solve.t_end=8"]
    run = read_scenario("slip-wave", changes).solve(save=200)
    x = np.asarray(run.data["x"])[:, 2]
    noise = np.random.default_rng(2).normal(0.0, 0.01 * np.ptp(x), x.size)
    rows = np.column_stack([run.time, run.time, x + noise])[1:-1:2]
    path, out = tmp_path / "wave.csv", tmp_path / "fit"
    head = "time [s],displacement [m],force [N]"
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.9g")
    asked = ["fit", str(path), "--scenario", "slip-wave", "--force-of", "x[2]", "--drift", "0"]
    done = RUN.invoke(app, [*asked, "--free", "law.mu", "--out", str(out), "--no-figures"])
    assert done.exit_code == 0, done.output
    reported = json.loads((out / "fit.json").read_text())["parameters"]["law.mu"]
    assert abs(reported["value"] - 0.21) <= 4.0 * reported["error"] < 0.04 * 0.21
    assert reported["low"] < reported["value"] < reported["high"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--law", "Dahll"], "did you mean 'Dahl'"),
        (["--law", "Dahl", "--unit", "force=m"], "is not a unit of force"),
        (["--law", "Dahl", "--unit", "force"], "NAME=VALUE"),
        ([], "neither --law nor --scenario"),
        (["--law", "Dahl", "--scenario", "slip-wave"], "both --law and --scenario"),
        (["--scenario", "slip-wave", "--free", "law.mu"], "the name of a saved quantity"),
        (["--scenario", "slip-wave", "--force-of", "x[2]"], "paths of fields"),
        (["--scenario", "slip-wafe", "--force-of", "x[2]", "--free", "law.mu"], "slip-wave"),
        (["--scenario", "slip-wave", "--force-of", "x[2]", "--rig-mass", "1"], "of these options"),
        (["--law", "Dahl", "--rig-mass", "1"], "--rig-stiffness as well"),
        (["--law", "Dahl", "--rig-stiffness", "stiff"], "a number, or free"),
        (["--law", "Dahl", "--fix", "powre=1"], "did you mean 'power'"),
        (["--law", "Dahl", "--fix", "mu=free"], "needs a number.\nWhy"),
        (["--law", "Dahl", "--fix", "mu=free"], "Try: --fix mu=0.1"),
        (["--law", "Dahl", "--fix", "mu:3"], "Try: --fix mu=0.3"),
        (["--law", "Dahl", "--unit", "force=N", "--unit", "force=mN"], "'force' twice"),
        (["--law", "Dahl", "--law", "Dhal"], "did you mean 'Dahl'"),
        (["--law", "Dahl", "--law", "Coulomb", "--fix", "sigma0=2e4"], "sigma0"),
        (["--law", "Dahl", "--law", "Dahl"], "Dahl twice"),
        (["--law", "Dahl", "--free", "mu", "--fix", "mu=0.3"], "'mu' in --free and in --fix"),
        (["--law", "Dahl", "--force-of", "x[0]"], "--force-of or --along"),
        (["--law", "Dahl", "--along", "x[0]"], "--force-of or --along"),
        (["--law", "Dahl", "--column", "force=Fx"], "these columns"),
        (["--law", "Dahl", "--decimal", "comma"], "'.' or ','"),
    ],
)
def test_odd_questions_end_with_2(file, tmp_path, more, words):
    done = RUN.invoke(app, ["fit", str(file), "--out", str(tmp_path / "x"), *more])
    assert done.exit_code == 2, done.output
    assert words in done.output
    assert not (tmp_path / "x").exists()


def test_a_decimal_mark_is_asked_for(tmp_path):
    # forces of 3 N in millinewtons, as a program writes them that marks thousands
    way = np.r_[0:20, 20:0:-1]
    force = np.where(np.arange(40) < 20, 3000, -3000) + np.random.default_rng(1).integers(-9, 9, 40)
    rows = [f"{x}.5;{f:,}" for x, f in zip(way, force, strict=True)]
    path = tmp_path / "marked.csv"
    path.write_text("\n".join(["displacement [mm];force [mN]", *rows]))
    asked = ["fit", str(path), "--law", "Coulomb", "--normal-force", "10", "--no-figures", "--json"]
    done = RUN.invoke(app, [*asked, "--out", str(tmp_path / "fit")])
    assert done.exit_code == 2
    assert "in line 2 of column 'force [mN]'" in done.output
    assert "--decimal" in done.output
    assert not (tmp_path / "fit").exists()
    done = RUN.invoke(app, [*asked, "--out", str(tmp_path / "fit"), "--decimal", "."])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["fits"][0]["parameters"]["mu"]["value"]
    assert found == pytest.approx(0.3, rel=2e-3)


def test_two_laws_as_json(file, tmp_path):
    asked = ["fit", str(file), "--law", "Dahl", "--law", "Coulomb", "--normal-force", "10"]
    done = RUN.invoke(app, [*asked, "--json", "--no-figures", "--out", str(tmp_path / "two")])
    assert done.exit_code == 0, done.output
    reported = json.loads(done.stdout)
    assert [one["law"] for one in reported["fits"]] == ["Dahl", "Coulomb"]
    assert [Path(one["folder"]).name for one in reported["fits"]] == ["Dahl", "Coulomb"]
    first, second = reported["comparison"]
    assert (first["law"], second["law"]) == ("Dahl", "Coulomb")
    assert first["aic"] < second["aic"]
    quiet = RUN.invoke(app, [*asked, "-q", "--no-figures", "--out", str(tmp_path / "quiet")])
    assert (quiet.exit_code, quiet.stdout) == (0, "")

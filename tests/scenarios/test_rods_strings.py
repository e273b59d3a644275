"""Strings in rolling contact through the command line: the built-in scenarios and bad input."""

import csv
import json
import math

import numpy as np
import pytest
from references import reference

from stiction.io.scenario import built_in, read_scenario

NAMES = sorted(name for name in built_in() if name.startswith("string-"))


def ran(stiction, here, name, *more):
    answer = stiction("run", name, "--no-figures", *more)
    return answer, json.loads((here / "out" / name / "summary.json").read_text())


def test_there_is_one_of_each_kind():
    kinds = {"figure-2", "periodic", "symmetric", "offset", "plucked", "breakdown"}
    assert {name.removeprefix("string-") for name in NAMES} == kinds


@pytest.mark.parametrize("name", NAMES)
def test_it_says_where_it_comes_from(name):
    scenario = read_scenario(name)
    assert 10 < len(scenario.title) <= 85
    assert scenario.paper
    words = " ".join(scenario.note.split())
    assert words
    if scenario.figure.startswith("Fig"):
        assert "missing in the available text" in words
        assert "assumed" in words
    if name in ("string-figure-2", "string-symmetric", "string-offset"):
        assert "second mode" in words


@pytest.mark.parametrize(
    ("name", "row", "tolerance"),
    [
        ("string-periodic", "A_periodic", 1e-12),
        ("string-symmetric", "B_fixed_symmetric", 1e-12),
        ("string-offset", "C_fixed_offset_weak", 1e-9),
    ],
)
def test_reference_cases(stiction, here, name, row, tolerance):
    answer, summary = ran(stiction, here, name)
    assert answer.code == 0, answer
    case = reference("rods.json")[row]
    at = case["t"].index(summary["t_end"])
    wanted = case["s"][at] if "s" in case else case["s1"][at]
    assert summary["final"]["s1"][0] == pytest.approx(wanted, abs=tolerance)
    assert summary["energy"]["imbalance_rel"] <= 1e-9
    checks = {check["check"]: check["ok"] for check in summary["audit"]}
    assert checks["contact_subsonic"]
    assert checks["converged"]


@pytest.mark.parametrize("name", ["string-figure-2", "string-plucked"])
def test_it_can_be_trusted(stiction, here, name):
    # the audit solves it again with twice the step
    answer, summary = ran(stiction, here, name)
    assert answer.code == 0, answer
    assert summary["status"] == "solved"
    assert [check for check in summary["audit"] if not check["ok"]] == []
    assert summary["energy"]["imbalance_rel"] <= 1e-9


def test_breakdown_is_where_the_wave_is_four_high(stiction, here):
    answer, summary = ran(stiction, here, "string-breakdown")
    assert answer.code == 1
    assert "speed of the waves" in answer.err
    assert summary["status"] == "no_continuation"
    # the wave B(x) / 2 that runs to the left meets s: with z = s + t, z' = 1 + B(z) / 4, up to 1

    def wave(z):
        q = ((z - 15.0) / 4.0) ** 2
        return np.where(q < 1.0, 5.0 * np.exp(1.0 - 1.0 / np.maximum(1.0 - q, 1e-300)), 0.0)

    where = 15.0 - 4.0 * math.sqrt(1.0 - 1.0 / (1.0 - math.log(0.8)))
    gauss, weights = np.polynomial.legendre.leggauss(200)
    z = 10.0 + 0.5 * (where - 10.0) * (gauss + 1.0)
    when = 0.5 * (where - 10.0) * float(weights @ (1.0 / (1.0 + 0.25 * wave(z))))
    assert summary["t_end"] == pytest.approx(when, rel=1e-7)
    assert summary["final"]["s1"][0] == pytest.approx(where - when, rel=1e-7)
    with (here / "out" / "string-breakdown" / "events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["kind"] == "breakdown"
    assert float(row["time"]) == summary["t_end"]


def test_the_scenario_written_runs_again(stiction, here):
    short = ("--set", "solve.t_end=1.0", "--set", "solve.save=11")
    _, first = ran(stiction, here, "string-offset", *short)
    again = here / "out" / "string-offset" / "scenario.toml"
    assert stiction("run", again, "--no-figures", "--out", "second").code == 0
    second = json.loads((here / "second" / "summary.json").read_text())
    assert second["final"] == first["final"]


@pytest.mark.parametrize(
    "setting",
    [
        "system.s1=7.0",
        "system.s2=0.0",
        "system.speed=-1.0",
        "system.ends=loose",
        "system.G1=nan",
        "system.u0={type='Sine', mode_number=0, amplitude=1.0}",
        "system.u0={type='Sine', mode_number=2, amplitude=1.0, phase=1.0}",
        "system.u0={type='Sinus'}",
        "system.u_t0={type='Sine', mode_number=1, amplitude=9.0}",
        "system.nodes=1",
        "system.lenght=1.0",
        "system.drag=0.1",
        "method.step=0.0",
        "method.step=1e-9",
        "method.type=EventDriven",
        "solve.t_end=0.0",
    ],
)
def test_bad_input_leaves_nothing(refused, setting):
    assert refused("run", "string-offset", "--set", setting)


def test_figures_are_written_and_drawn_again(stiction, here):
    short = ("--set", "solve.t_end=5.0", "--set", "solve.save=101", "--set", "method.check=false")
    assert stiction("run", "string-symmetric", *short).code == 0
    folder = here / "out" / "string-symmetric" / "figures"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["contact.png", "energy.png", "field.png", "paths.png", "spectrum.png"]
    answer = stiction("plot", "out/string-symmetric", "--what", "overview")
    assert answer.code == 0, answer
    assert (folder / "overview.png").read_bytes().startswith(b"\x89PNG")

"""A check that is not made has neither held nor failed, and everything says so."""

import dataclasses
import json

import pytest

import stiction as st
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism
from stiction.core.summary import doubts
from stiction.explore.report import report_of_run
from stiction.io.store import load, save
from stiction.rods.section import GivenSection

UNKNOWN = Check("no_overlap", None, None, 1e-3, None, "rod 3: a section without a radius")


@pytest.fixture
def partly(run):
    """Return a run of which one check held and one was not made."""
    checks = (Check("ledger_closes", True, 0.0, 1e-9), UNKNOWN)
    return dataclasses.replace(run, audit=Audit(checks), determinism=Determinism())


def test_what_is_not_checked_is_reported(partly):
    audit = partly.audit
    assert audit.ok
    assert (audit.failed, audit.not_checked) == ((), (UNKNOWN,))
    assert [check.check for check in audit.held] == ["ledger_closes"]
    assert repr(audit) == "<Audit: 1 held, not checked: no_overlap>"
    assert "every assumption that was checked held" in audit._repr_html_()
    assert "not checked" in audit._repr_html_()
    assert "audit held, 1 not checked" in repr(partly)
    screen = " ".join(str(partly).split())
    words = "1 held: ledger_closes; 1 not checked: no_overlap (rod 3: a section without a radius)"
    assert f"audit {words}" in screen
    # --strict asks for what failed
    assert doubts(partly) == []


def test_failed_checks_stand_before_those_that_were_not_made(partly):
    bad = Check("friction_dissipates", False, 2.0, 1.0)
    audit = Audit((*partly.audit, bad))
    assert not audit.ok
    names = ["friction_dissipates", "no_overlap", "ledger_closes"]
    assert [check.check for check in audit.by_verdict] == names
    assert repr(audit) == "<Audit: 1 held, FAILED: friction_dissipates, not checked: no_overlap>"
    verdicts = report_of_run(dataclasses.replace(partly, audit=audit))["verdicts"]
    assert verdicts[2] == ["audit", False, "failed: friction_dissipates; not checked: no_overlap"]


def test_files_carry_it(partly, tmp_path):
    folder = save(partly, tmp_path / "run")
    written = json.loads((folder / "summary.json").read_text())["audit"][1]
    expected = {"check": "no_overlap", "ok": None, "value": None, "limit": 1e-3, "time": None}
    assert written == expected | {"kind": "at_most"}
    loaded = load(folder)
    assert tuple(loaded.audit) == tuple(partly.audit)
    assert str(loaded) == str(partly)


# ---- which checks of which systems

LONG = st.Chain(mass=1.0, n=201, stiffness=20.0, law=st.Coulomb(0.2), load=st.Constant(1.0))
SHORT = dataclasses.replace(LONG, n=3)
STRINGS = st.rods.RollingStrings()
BARE = st.rods.CosseratRod(
    GivenSection(100.0, 300.0, 0.01, 0.01, 0.3, 1e-5),
    st.rods.Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
    elements=8,
)


@pytest.mark.parametrize(
    ("system", "method", "t_end", "name", "why"),
    [
        (LONG, st.EventDriven(), 0.1, "replay_agrees", "200 masses"),
        (SHORT, st.chains.EventDriven(replay=False), 0.1, "replay_agrees", "replay=False"),
        (STRINGS, st.rods.Characteristics(0.1, check=False), 0.5, "converged", "check=False"),
        (st.Rods([BARE]), st.RollingLeapfrog(), 1e-3, "no_overlap", "without a radius"),
    ],
)
def test_the_reason_is_given(system, method, t_end, name, why):
    run = st.solve(system, method, (0.0, t_end), save=2)
    (line,) = [check for check in run.audit if check.check == name]
    assert (line.ok, line.value, line.time) == (None, None, None)
    assert why in line.note
    assert run.audit.ok


def test_a_check_that_cannot_apply_is_no_line():
    """Perfect rolling has no bound of friction, and a theta scheme no replay."""
    crossed = st.solve(st.CrossedRods(elements=20), st.RollingLeapfrog(), (0.0, 1e-3), save=2)
    assert "friction_within_bound" not in [check.check for check in crossed.audit]
    stepped = st.solve(SHORT, st.ThetaStepper(1e-2), (0.0, 0.1), save=2)
    assert "replay_agrees" not in [check.check for check in stepped.audit]


def test_rods_that_have_a_radius_are_checked_beside_one_that_has_none():
    """Two rods pass through each other between saved states, beside a third without a shape."""
    round_one = st.rods.CircularSection(0.01, 1e6)
    free = {"left": st.rods.Free(), "right": st.rods.Free()}
    falls = st.rods.CosseratRod(
        round_one,
        st.rods.Straight([0.0, -0.2, 0.05], [0.0, 0.2, 0.05]),
        elements=16,
        motion=[st.rods.RigidMotion((0.0, 0.0, -1.0))],
        **free,
    )
    lies = st.rods.CosseratRod(
        round_one, st.rods.Straight([-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]), elements=16
    )
    far = dataclasses.replace(BARE, centreline=st.rods.Straight([5.0, 0.0, 0.0], [6.0, 0.0, 0.0]))
    for rods, pair in (([lies, falls], "rod 1 and rod 2"), ([far, lies, falls], "rod 2 and rod 3")):
        for rows in (2, 13):
            method = st.RollingLeapfrog()
            run = st.solve(st.Rods(rods), method, (0.0, 0.1), save=rows, throw=False)
            assert run.status is st.Status.UNTRUSTED
            (failed,) = run.audit.failed
            assert failed.check == "no_overlap"
            assert failed.value > 1.8
            assert pair in failed.note
            bare = [check.note for check in run.audit.not_checked]
            assert bare == ([] if far not in rods else ["rod 1: a section without a radius"])

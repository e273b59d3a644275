"""Statements on a tape, judged on forces that are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.laws import DI, EA
from stiction.papers.adhesive_friction import tape

U = np.linspace(0.0, 10.0, 1001)
YES, PARTLY, NO = "holds", "holds partly", "does not hold"


def run(fx, fy, slides=None, ok=True):
    values = {"displacement": U, "force_x": fx, "force_y": fy}
    return SimpleNamespace(
        variables={name: SimpleNamespace(values=v) for name, v in values.items()},
        status=SimpleNamespace(ok=ok),
        quantities={"full_sliding_at": SimpleNamespace(value=slides)},
    )


@pytest.fixture
def made(monkeypatch):
    """Runs by model and friction: peaks of F_x at u = 5, full sliding where it is said."""
    runs, asked = {}, []

    def find(model, mu, full):
        asked.append((model, mu, full))
        return runs[model, mu]

    monkeypatch.setattr(tape, "_run", find)
    for mu in (0.05, 0.01):
        bump = np.exp(-((U - 5.0) ** 2))
        runs[EA, mu] = run(bump, 2.0 * U, slides=5.0)
        runs[DI, mu] = run(bump, 2.0 * U)
    return runs, asked


@pytest.mark.parametrize(
    ("more", "vertical", "strong", "weak"),
    [
        (0.01, YES, NO, YES),
        (0.04, PARTLY, PARTLY, YES),
        (0.1, NO, YES, PARTLY),
        (0.3, NO, YES, NO),
    ],
)
def test_forces_of_both_models(made, more, vertical, strong, weak):
    runs, _ = made
    for mu in (0.05, 0.01):
        one = runs[EA, mu]
        fx, fy = (one.variables[name].values for name in ("force_x", "force_y"))
        runs[DI, mu] = run((1.0 + more) * fx, (1.0 - more) * fy)
    rows = tape._rows(False)
    assert [row.ours for row in rows[:4]] == pytest.approx([more] * 4)
    words = [row.verdict.partition(":")[0] for row in rows[:4]]
    assert words == [vertical, vertical, strong, weak]
    assert [row.what.partition(":")[0] for row in rows[:4]] == ["mu 0.05", "mu 0.01"] * 2
    assert [row.paper for row in rows[:4]] == ["very close"] * 2 + ["not similar", "similar"]


def test_forces_are_compared_while_both_stick(made):
    """Up to 9 along the direction of pulling, which is u sqrt(2)."""
    runs, _ = made
    for at, apart in ((6.3, True), (6.4, False)):
        late = 2.0 * U
        late[np.argmin(np.abs(U - at))] += 5.0
        runs[DI, 0.05] = run(late, late)
        runs[EA, 0.05] = run(2.0 * U, 2.0 * U)
        # the largest force so far is 2 * 6.36, that of the whole curve 20
        largest = 2.0 * U[np.sqrt(2.0) * U <= 9.0][-1]
        vertical, _, horizontal, _, *_ = tape._rows(False)
        assert vertical.ours == pytest.approx(5.0 / 20.0)
        assert horizontal.ours == pytest.approx(apart * 5.0 / largest)


def test_runs_that_ended_early_judge_nothing(made):
    runs, _ = made
    runs[DI, 0.05] = run(*(2 * [2.0 * U]), ok=False)
    rows = tape._rows(False)[:4]
    assert [row.verdict for row in rows[::2]] == ["does not hold: DI ended at u = 14.1 L0"] * 2
    assert rows[1].verdict == YES


@pytest.mark.parametrize(
    ("slides", "verdict"), [(5.0, YES), (5.45, YES), (4.55, YES), (5.55, NO), (4.4, NO)]
)
def test_the_peak_is_where_all_of_it_slides(made, slides, verdict):
    runs, asked = made
    runs[EA, 0.05].quantities["full_sliding_at"].value = slides
    runs[EA, 0.01].quantities["full_sliding_at"].value = None
    at, peak, never = tape._rows(True)[4:]
    assert at.ours == pytest.approx(np.sqrt(2.0) * slides)
    assert peak.ours == pytest.approx(np.sqrt(2.0) * 5.0)
    assert peak.verdict == verdict
    assert never.ours == "not met"
    assert {full for _, _, full in asked} == {True}


def test_panels_show_both_forces_of_both_models(made):
    _, asked = made
    panels = tape._panels(True)
    assert [p.across for p in panels] == [
        f"displacement u / L0, mu = {mu:g}" for mu in (0.05, 0.01)
    ]
    lines = [line for panel in panels for line in panel.lines]
    words = ["EA vertical", "EA horizontal", "DI vertical", "DI horizontal"]
    assert [line.label for line in lines] == words * 2
    for line in lines:
        np.testing.assert_allclose(line.x, np.sqrt(2.0) * U)
        upward = line.label.endswith("vertical")
        np.testing.assert_array_equal(line.y, 2.0 * U if upward else np.exp(-((U - 5.0) ** 2)))
    assert set(asked) == {(model, mu, True) for model in (EA, DI) for mu in (0.05, 0.01)}


@pytest.mark.parametrize(
    ("mu", "full", "end", "size"), [(0.05, True, 14.0, "paper"), (0.01, False, 4.0, "quick")]
)
def test_runs_are_those_of_the_paper(monkeypatch, mu, full, end, size):
    seen = []
    monkeypatch.setattr(
        tape, "solve", lambda system, method, span, **named: seen.append((system, named)) or "run"
    )
    tape._run.cache_clear()
    assert tape._run(DI, mu, full) == "run"
    tape._run.cache_clear()
    ((system, named),) = seen
    assert system.model == DI(mu=mu)
    assert (system.u_end, system.size) == (end, size)
    assert named["throw"] is False

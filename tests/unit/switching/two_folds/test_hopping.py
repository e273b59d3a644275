"""The way out of a two-fold by hops nobody sees, beside the maps of the exact model."""

import numpy as np
import pytest

import stiction as st
from stiction.methods import EventDriven
from stiction.switching import NormalForm
from stiction.switching.ensembles.study import ensemble
from stiction.switching.two_folds.hopping import hop_away

J1, J2 = -1.2, -1.5


def exact(y, z, side, t_end):
    """Return x, y, z and the crossings of f+ = (-y, 1, J1), f- = (z, J2, 1) from (0, y, z)."""
    t, crossings = 0.0, 0
    while True:
        flight = -2.0 * y if side > 0.0 else -2.0 * z
        if t + flight > t_end:
            s = t_end - t
            if side > 0.0:
                return (-y * s - 0.5 * s * s, y + s, z + J1 * s), crossings
            return (z * s + 0.5 * s * s, y + J2 * s, z + s), crossings
        y, z = (-y, z - 2.0 * J1 * y) if side > 0.0 else (y - 2.0 * J2 * z, -z)
        t, side, crossings = t + flight, -side, crossings + 1


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("distance", [3e-11, 1e-9, 3e-7, 1e-5])
def test_hops_of_the_exact_model(side, distance):
    system = NormalForm(J1, J2)
    start = np.array([0.0, -0.7 * distance, -0.4 * distance])
    hops = hop_away(system, start, 0, np.array([side]), 0, 10.0)
    end, crossings = exact(*start[1:], side, float(hops.nodes[-1, 0]) * (1.0 + 1e-9))
    assert len(hops.landings) == crossings
    assert hops.nodes[-1, 1:] == pytest.approx(end, rel=1e-6, abs=1e-9)
    assert np.all(np.diff(hops.nodes[:, 0]) > 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_ensemble_hops_out_of_a_two_fold(side):
    system = NormalForm(J1, J2)
    rng, t_end = np.random.default_rng(3), 0.7
    distances = 10.0 ** rng.uniform(-10.5, -6.5, 12)
    angles = rng.uniform(0.2, 1.3, 12)
    starts = np.stack([0.0 * distances, -distances * np.cos(angles), -distances * np.sin(angles)]).T
    found = ensemble(system, starts, t_end, sides=np.full(12, side))
    assert list(found.end) == ["time"] * 12
    for start, state, counts in zip(starts, found.state, found.counts, strict=True):
        end, crossings = exact(*start[1:], side, t_end)
        assert state == pytest.approx(end, rel=1e-4, abs=1e-5)
        assert counts[0] == crossings


def test_a_run_hops_as_an_ensemble_does():
    system = NormalForm(J1, J2, x0=[0.0, -7e-10, -4e-10], mode="+")
    run = st.solve(system, EventDriven(rtol=1e-10), t_span=(0.0, 0.7), save=701)
    end, crossings = exact(-7e-10, -4e-10, 1.0, 0.7)
    assert [run.final[name] for name in "xyz"] == pytest.approx(end, rel=1e-6, abs=1e-9)
    assert (run.events["kind"] == "cross").sum() == crossings
    assert np.all(np.diff(run.events["time"]) > 0.0)
    for t, x, y, z in zip(run.time[1:], *(run.variables[n].values[1:] for n in "xyz"), strict=True):
        assert (x, y, z) == pytest.approx(exact(-7e-10, -4e-10, 1.0, t)[0], rel=1e-3, abs=1e-6)


def test_the_first_return_of_the_wheel_does_not_depend_on_the_tolerance():
    from stiction.switching.choosing.exits import EscapingWedge
    from stiction.switching.flow.trajectory import Tolerance
    from stiction.switching.two_folds.finding import two_fold

    wheel = st.WheelOnTurntable()
    star = two_fold(wheel, [0.1859, -0.03012, -1.037])
    wedge = EscapingWedge(wheel, np.asarray(star.x), Tolerance(1e-11))
    starts = np.array([wedge.point(0.44, distance) for distance in (1e-8, 1e-7)])
    loose, strict = (
        ensemble(wheel, starts, 500.0, sides=np.ones(2), method=EventDriven(rtol=rtol))
        for rtol in (1e-8, 1e-12)
    )
    assert list(strict.end) == ["codim2_line"] * 2
    assert loose.time == pytest.approx(strict.time, abs=1e-5)
    # 80-bit arithmetic in coordinates about the two-fold
    assert strict.time[1] == pytest.approx(2.75916364, abs=1e-7)

"""Records of a solid: extremes, energies, requested samples."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.solids.equilibria.history import (
    PULLS,
    Energies,
    Extremes,
    Recorder,
    Sample,
    after_spring_change,
    fracture_energy,
    missing_energy,
)


def points(pressure, gap):
    return {"normal_traction": np.array(pressure), "gap": np.array(gap)}


def test_extremes_keep_the_worst_and_when():
    seen, strongest, none = Extremes(), np.array([2.0, 4.0]), np.zeros(2)
    seen.update(1.0, points([1.0, 1.0], [0.3, 0.5]), strongest, none)
    assert (seen.pressure, seen.gap) == ((0.5, 1.0), (0.3, 1.0))
    seen.update(2.0, points([0.5, 3.0], [0.4, 0.2]), strongest, none)
    assert (seen.pressure, seen.gap) == ((0.75, 2.0), (0.2, 2.0))
    # what is no worse changes nothing, nor does what is as bad
    seen.update(3.0, points([1.5, 0.0], [0.2, 0.9]), strongest, none)
    assert (seen.pressure, seen.gap) == ((0.75, 2.0), (0.2, 2.0))
    # the first value is compared, not the time at which it was
    seen.update(4.0, points([1.6, 0.0], [0.19, 0.9]), strongest, none)
    assert (seen.pressure, seen.gap) == ((0.8, 4.0), (0.19, 4.0))


def test_points_that_were_ever_pulled_are_saved():
    seen, strongest, none = Extremes(), np.array([2.0, 4.0, 1.0]), np.zeros(3)
    pull = -PULLS * strongest
    seen.update(0.0, points(1.01 * pull * [1, 0, 0], [1.0] * 3), strongest, none)
    assert seen.in_tension.tolist() == [True, False, False]
    seen.update(
        1.0, points(1.01 * pull * [0, 1, 0] + 0.99 * pull * [0, 0, 1], [1.0] * 3), strongest, none
    )
    assert seen.in_tension.tolist() == [True, True, False]


def energies(**change):
    given = {
        "stored": 1.0, "adhesive": -2.0, "work": 3.0, "heat": (0.5, 0.25), "algorithmic": 0.125,
        "reciprocity": 0.0625, "condition_work": (2.0, 1.0),
    }  # fmt: skip
    return Energies(**given | change)


@pytest.mark.parametrize(
    ("change", "missing", "turned"),
    [
        ({}, 0.0, 0.0),
        ({"stored": 1.5, "work": 3.5}, 0.0, 1.0),
        ({"stored": 1.5}, 0.5, 0.5),
        ({"adhesive": -3.0}, 1.0, 1.0),
        ({"work": 4.0}, 1.0, 1.0),
        ({"heat": (1.5, 0.5)}, 1.25, 1.25),
        ({"algorithmic": 0.625}, 0.5, 0.5),
        # work that both passes do not share counts as missing
        ({"algorithmic": 0.625, "reciprocity": 0.5625}, 0.0, 0.0),
        ({"stored": 0.0, "heat": (1.0, 0.75)}, 0.0, 2.0),
        ({"stored": 2.0, "adhesive": -1.0, "work": 5.0}, 0.0, 4.0),
    ],
)
def test_energy_that_a_step_does_not_account_for(change, missing, turned):
    assert missing_energy(energies(), energies(**change)) == pytest.approx((missing, turned))


def test_springs_do_work_when_they_are_put_on():
    made = after_spring_change(energies(), {1: 0.5, 0: -0.125})
    assert (made.stored, made.work, made.condition_work) == (1.375, 3.375, (1.875, 1.5))
    assert after_spring_change(energies(), {}) == energies()
    # one that is no condition's counts all the same
    assert after_spring_change(energies(), {7: 1.0})[:3] == (2.0, -2.0, 4.0)


def recorder(wanted, *, every=False, snapshots=3, end=10.0):
    return Recorder(SimpleNamespace(), np.array(wanted, dtype=float), every, snapshots, end)


def row(t):
    return Sample(t, {}, {}, energies(), 0)


def test_times_that_are_meant_to_be_the_same():
    made = recorder([2.0, 4.0, 6.0], end=10.0)
    # a part of the span of 8, or of the time itself
    assert made.tolerance(0.0) == pytest.approx(8e-12)
    assert made.tolerance(-20.0) == pytest.approx(20e-12)
    assert made.is_save_time(4.0 + 7e-12)
    assert not made.is_save_time(4.0 + 9e-12)
    assert not made.is_save_time(5.0)
    assert made.save_times_between(2.0, 6.0) == [4.0]
    assert made.save_times_between(1.0, 7.0) == [2.0, 4.0, 6.0]
    assert made.save_times_between(4.0 - 7e-12, 6.0 + 7e-12) == []
    assert recorder([2.0, 4.0], every=True).save_times_between(1.0, 5.0) == []


def test_the_last_sample_is_saved_once():
    made = recorder([0.0, 1.0])
    made.save_last()
    assert made.samples == []
    made.last = row(0.5)
    made.save_last()
    made.save_last()
    assert [r.time for r in made.samples] == [0.5]
    made.last = row(0.75)
    made.pictures = [(1.0, np.array([1.0])), (0.0, np.array([2.0])), (1.0, np.array([3.0]))]
    made.finish()
    assert [r.time for r in made.samples] == [0.5, 0.75]
    # the later of two pictures of one time
    assert [(t, u.tolist()) for t, u in made.pictures] == [(0.0, [2.0]), (1.0, [3.0])]


@pytest.mark.parametrize(("count", "times"), [(3, [2.0, 6.0, 10.0]), (1, [2.0, 10.0])])
def test_pictures_are_spread_from_the_first_row_to_the_end(count, times):
    assert recorder([2.0, 4.0], snapshots=count)._picture_times.tolist() == times


def peeling(lengths, works, stored=0.0):
    path = []
    for i, (length, work) in enumerate(zip(lengths, works, strict=True)):
        energy = energies(work=work, stored=stored)
        path.append(Sample(float(i), {"long": length}, {}, energy, 0))
    return path


def test_the_fracture_energy_is_work_over_length():
    """5 J/m for every metre that is peeled, over two steps to each side."""
    lengths = [10.0, 10.0, 9.0, 7.0, 6.0, 2.0, 1.0]
    works = [0.0] + [5.0 * (10.0 - x) for x in lengths[1:]]
    path = peeling(lengths, works)
    found = fracture_energy(path, 10.0, [path[i] for i in (3, 4, 5, 6)], "long")
    # at row 3 the lower end of the difference has just begun to peel
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx([5.0, 5.0, 5.0])
    # what is stored is not spent
    path = peeling(lengths, works, stored=3.0)
    assert fracture_energy(path, 10.0, path[5:], "long") == pytest.approx([5.0, 5.0])


def test_the_fracture_energy_is_a_difference_over_four_steps():
    lengths = 10.0 - np.arange(10.0)
    works = np.arange(10.0) ** 2
    path = peeling(lengths, works)
    found = fracture_energy(path, 10.0, path, "long")
    assert np.isnan(found[:3]).all()
    # (i + 2)^2 - (i - 2)^2 over 4 is 2 i; at the end over three steps and over two
    assert found[3:8] == pytest.approx(2.0 * np.arange(3, 8))
    assert found[8:] == pytest.approx([(81.0 - 36.0) / 3.0, (81.0 - 49.0) / 2.0])
    # rows between steps are interpolated
    between = [row(5.5)]
    assert fracture_energy(path, 10.0, between, "long") == pytest.approx([11.0])
    # where nothing peels there is none
    still = peeling(np.full(6, 10.0), np.arange(6.0))
    assert np.isnan(fracture_energy(still, 10.0, still, "long")).all()
